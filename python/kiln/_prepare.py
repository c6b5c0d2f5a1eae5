# SPDX-License-Identifier: Apache-2.0
"""Kernels that are compiled before they are needed."""
import atexit
import time
import weakref

from . import _core
from ._errors import argument_error, error_of

_POLL_SECONDS = 0.1  # so that a signal is seen
_begun = weakref.WeakSet()


class Preparation(_core.Preparation):
    """What `prepare` began: it goes on by itself. When nothing refers to it any more, what is left of it is cancelled."""

    def __init__(self, context, problems, device, jobs, progress):
        tell = progress and (lambda done, total, index, *error: progress(done, total, index, _error(*error)))
        super().__init__(context, problems, device, jobs, tell)
        _begun.add(self)

    def __repr__(self):
        return f"<kiln.Preparation: {self.done} of {self.total} done>"

    @property
    def done(self):
        return super().progress()[0]

    @property
    def total(self):
        return super().progress()[1]

    @property
    def errors(self):
        """For each problem None, or the kiln.Error that it has come to."""
        return [_error(*super(Preparation, self).result(i)[1:]) for i in range(self.total)]

    def wait(self, timeout=None):
        """Waits until all are done, at most so many seconds; whether they are. Raises the first error in the list."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _POLL_SECONDS if end is None else min(_POLL_SECONDS, max(0, end - time.monotonic()))
            if super().wait(int(left * 1e3)):
                return True
            if end is not None and time.monotonic() >= end:
                return False


def _error(number, status, sentence):
    return error_of(number, status, sentence) if number else None


@atexit.register
def _cancel_all():
    """Nothing is called back once the interpreter ends."""
    for preparation in list(_begun):
        preparation.cancel()
        try:
            preparation.wait()
        except Exception:
            pass


def prepare(problems, *, progress=None, jobs=0, arch=None, device=0):
    """Begins to compile the kernels that calls will need, several at a time, and returns a `Preparation` to wait for.

    problems: for each a program with the arguments of a call, `(program, *args)`, whose last may be a dictionary of
    those by name, `dtype` and `out` among them. Arguments are arrays, whose data is not read, or texts such as
    "f16[8, 64]", and numbers, as for `Program.explain`; "f16[*, 64]" is for any number of rows. All programs have one
    context.
    progress: called with how many are done, how many there are, the index of the one that is done, and None or the
    error that it came to; by a thread of its own, one call at a time.
    jobs: compiles at a time, each in a process of its own. 0: as many as there are processors.
    arch: 90 for sm_90, which needs no GPU. None: for the GPU of that number, `device`.

    >>> import kiln
    >>> softmax = kiln.Program("y = softmax(x * scale)", scalars="scale")
    >>> preparation = kiln.prepare([(softmax, "f16[8, 1024]", 1.0), (softmax, "f16[8, 512]", {"scale": 1.0})],
    ...                            arch=90)  # doctest: +SKIP
    >>> preparation.wait()  # doctest: +SKIP
    True
    """
    listed, context = [], None
    for problem in problems:
        program, *args = problem if isinstance(problem, (tuple, list)) else (problem,)
        if not isinstance(program, _core.Program):
            raise argument_error(f"a problem begins with a {type(program).__name__}, expected a kiln.Program")
        named = dict(args.pop()) if args and isinstance(args[-1], dict) else {}
        dtype, out = named.pop("dtype", None), program._given_outputs(named.pop("out", None))
        listed.append((program, program._arguments(args, named), out, dtype, arch or 0))
        context = context or program.context
    if context is None:
        raise argument_error("there are no problems, expected some")
    return Preparation(context, listed, device, jobs, progress)
