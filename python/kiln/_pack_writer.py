# SPDX-License-Identifier: Apache-2.0
"""Packs made by a program that knows its kernels."""
import os
import threading

from . import _core
from ._errors import argument_error


class PackWriter(_core.PackWriter):
    """Collects kernels for a pack, which `kiln.Context(packs=[...])` reads: they are compiled now and not by users.

    Needs NVRTC and no GPU. The same kernels give the same bytes, in whatever order they were added. Any number of threads
    may use one.

    >>> import kiln
    >>> softmax = kiln.Program("y = softmax(x * scale)", scalars="scale")
    >>> packed = kiln.PackWriter()
    >>> for arch in (80, 90):
    ...     packed.add(softmax, "f16[*, 1024]", 1.0, arch=arch)  # doctest: +SKIP
    >>> packed.write("kernels.kpack")  # doctest: +SKIP
    """

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def __repr__(self):
        return "<kiln.PackWriter>"

    def add(self, program, *args, arch, ptx=False, dtype=None, out=None, **kwargs):
        """Adds the kernels that a call of the program with such arguments looks for, from the disk cache or compiled.

        Arguments, dtype and out are as `Program.explain` takes them: "f16[*, 1024]" is for any number of rows. Of numbers
        the kind counts, not the value.
        arch: 90 for sm_90; with ptx PTX for compute_90 and newer. A kernel that is there already is not added twice.
        """
        if not isinstance(program, _core.Program):
            raise argument_error(f"program is a {type(program).__name__}, expected a kiln.Program")
        arguments, described = program._arguments(args, kwargs), program._given_outputs(out)
        with self._lock:
            super().add(program, arguments, described, dtype, arch, ptx)

    def finish(self):
        """The pack with all that was added so far, as bytes."""
        with self._lock:
            return super().finish()

    def write(self, path):
        """Writes the pack to a file. One that is there is replaced whole: readers find the old or the new one."""
        path = os.fspath(path)
        unfinished = f"{path}.{os.getpid()}.{threading.get_ident()}"
        try:
            with open(unfinished, "wb") as file:
                file.write(self.finish())
            os.replace(unfinished, path)
        except BaseException:
            if os.path.exists(unfinished):
                os.remove(unfinished)
            raise
