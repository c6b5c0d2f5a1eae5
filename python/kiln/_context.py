# SPDX-License-Identifier: Apache-2.0
"""Contexts: caches, options and the log, of the library. Most programs use the default one."""
import os

from . import _core
from ._errors import argument_error
from ._nvrtc import nvrtc_path

POLICIES = {"compile": 0, "never_compile": 1, "any_shape": 3, "background": 4, "range": 5}
LEVELS = ("error", "warning", "info", "debug")
HOST_ARRAYS = ("reference", "gpu")


class Context(_core.Context):
    """Caches and options that programs share.

    cache_dir: the folder of compiled kernels; "" for none. None: KILN_CACHE_DIR, else ~/.cache/kiln.
    policy: "compile", or "never_compile", which raises where neither the kernel nor one that serves its range of columns or any shape is in a
        cache or a pack, or "any_shape": the latter, compiled if need be, and no other, or "background": the latter until
        the kernel has been compiled by a thread of the context's, or "range": one that serves a range of columns, compiled
        once for all of them.
    packs: files of `kiln precompile`. record: a file that gets a line for each kernel that they lack.
    nvrtc, driver: paths of these libraries. None: KILN_NVRTC, CUDA_HOME or CUDA_PATH, else pip's package, else a
    toolkit's; KILN_DRIVER, else the system's.
    schedule: pins parts of every schedule, for tuning. cache_max_bytes, compile_limit_ms: as in kiln/kiln.h.
    host_arrays: "reference" computes arrays in host memory on the CPU; "gpu" launches on the first GPU, where that can
    read all of the host's memory.
    log: a function that is called with a level ("warning") and a message, from any thread.
    log_detail: the last level that it is called with: "error", "warning", "info" or "debug". None: that of KILN_LOG, else
    "warning". docs/observing.md lists the events.

    cache: kernels that you keep yourself: an object with get(key), which gives bytes or None, and set(key, bytes), or
    with one of them; or a mapping, such as a dictionary. Called from any thread, by several at once, and not to call
    Kiln. What is raised there is reported and counts as a miss. Its bytes run on the GPU: let nobody write to it who may
    not do that. docs/cache.md has more.

    `stats()` has the numbers of docs/observing.md: kernels by where they came from, seconds spent, what is loaded.

    >>> import kiln, numpy as np
    >>> context = kiln.Context(cache_dir="", policy="never_compile")
    >>> kiln.Program("y = x * 2", context=context)(np.ones(3))
    array([2., 2., 2.])
    """

    def __init__(self, *, cache_dir=None, policy="compile", packs=(), record=None, nvrtc=None, driver=None,
                 schedule=None, cache_max_bytes=0, compile_limit_ms=0, host_arrays="reference", log=None,
                 log_detail=None, cache=None):
        self._options = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._functions = []
        if policy not in POLICIES:
            raise argument_error(f"the policy is {policy!r}, expected one of {', '.join(POLICIES)}")
        if host_arrays not in HOST_ARRAYS:
            raise argument_error(f"host_arrays is {host_arrays!r}, expected one of {', '.join(HOST_ARRAYS)}")
        if log_detail not in (None, *LEVELS):
            raise argument_error(f"log_detail is {log_detail!r}, expected one of {', '.join(LEVELS)}")
        super().__init__(path_text(cache_dir), path_text(driver), path_text(nvrtc) or nvrtc_path(), POLICIES[policy],
                         schedule, [path_text(pack) for pack in packs], path_text(record), cache_max_bytes,
                         compile_limit_ms, host_arrays == "gpu", log and (lambda level, text: log(LEVELS[level], text)),
                         0 if log_detail is None else LEVELS.index(log_detail) + 1, *cache_methods(cache))

    def add_function(self, name, source, arguments=1, host=None):
        """Programs of the context may call name(x), or name(x, y), name(x, y, z) of 2 or 3 arguments: a function in CUDA
        C++ of your own, which the source defines as `__device__ float name(float x)`. host: the same for arrays that are
        computed on the CPU, a Python function of as many floats, called for each element, in whatever thread; what it
        raises is reported, and the value is NaN. docs/embedding.md has the rules.

        >>> import kiln, numpy as np
        >>> context = kiln.Context(cache_dir="")
        >>> context.add_function("squash", "__device__ float squash(float x) { return x / (1 + fabsf(x)); }",
        ...                      host=lambda x: x / (1 + abs(x)))
        >>> kiln.Program("y = squash(x) * 2", context=context)(np.array([1.0, -3.0], np.float32))
        array([ 1. , -1.5], dtype=float32)
        """
        super().add_function(name, source, arguments, host)
        self._functions.append((name, source, arguments, host))

    def __reduce__(self):
        return restored_context, (self._options, self._functions)

    def __repr__(self):
        defaults = {"policy": "compile", "packs": (), "cache_max_bytes": 0, "compile_limit_ms": 0,
                    "host_arrays": "reference"}
        changed = {name: value for name, value in self._options.items() if value != defaults.get(name)}
        return f"kiln.Context({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def cache_methods(cache):
    """What gets and what sets a kernel of a cache, each None where it has no such method."""
    get, set_ = getattr(cache, "get", None), getattr(cache, "set", None) or getattr(cache, "__setitem__", None)
    if cache is not None and not (get or set_):
        raise argument_error(f"cache is a {type(cache).__name__}, expected an object with get(key) or set(key, bytes)")
    return get, set_


def path_text(path):
    return None if path is None else os.fspath(path)


def restored_context(options, functions=()):
    context = Context(**options)
    for function in functions:
        context.add_function(*function)
    return context


class Default:
    """The context of programs that are made without one; made when the first is."""

    context = None
    options = {}


def default_context():
    if Default.context is None:
        Default.context = Context(**Default.options)
    return Default.context


def set_default_options(**options):
    """Options of kiln.Context for the default context, from the next program on."""
    Context(**{**Default.options, **options})  # a wrong option is refused here, not by the next program
    Default.options = {**Default.options, **options}
    Default.context = None
