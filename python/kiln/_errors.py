# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one for what is asked, one for what then happens, with the library's status and sentence."""


class Error(Exception):
    """What Kiln refuses or fails at.

    status: the library's name of it, "KILN_E_SHAPE". line, column: the place in the program's text, from 1, or None.

    >>> import kiln
    >>> try:
    ...     kiln.Program("y = softmax(x")
    ... except kiln.Error as error:
    ...     print(error.status, error.line, error.column)
    KILN_E_SYNTAX 1 14
    """

    status = "KILN_E_INTERNAL"
    line = None
    column = None


class ArgumentError(Error, ValueError):
    """A program, an argument or a file is not what it has to be."""


class ExecutionError(Error, RuntimeError):
    """Something is missing on this machine, or failed: the driver, a device, NVRTC, a compile, a launch."""


class OutOfMemoryError(ExecutionError, MemoryError):
    """Host or device memory ran out."""


for kind in (Error, ArgumentError, ExecutionError, OutOfMemoryError):
    kind.__module__ = "kiln"  # where users find them, and what a traceback calls them

LAST_OF_ARGUMENTS = 12  # KILN_E_UNSUPPORTED: statuses up to here are of what was asked
FORMAT = 26
MEMORY = (13, 14)


def error_of(number, status, sentence, line=0, column=0):
    """The exception for a status of the library. line, column: 0 where there is no place in the program's text."""
    if number in MEMORY:
        kind = OutOfMemoryError
    elif number <= LAST_OF_ARGUMENTS or number == FORMAT:
        kind = ArgumentError
    else:
        kind = ExecutionError
    error = kind(sentence)
    error.status = status
    if line:
        error.line, error.column = line, column
    return error


def argument_error(sentence):
    return error_of(1, "KILN_E_ARGUMENT", sentence)
