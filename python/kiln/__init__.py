# SPDX-License-Identifier: Apache-2.0
"""Row programs to fused CUDA kernels, at run time.

>>> import kiln, numpy as np
>>> softmax = kiln.Program("y = softmax(x * scale)")
>>> softmax(np.zeros((1, 2)), scale=0.5)
array([[0.5, 0.5]])

Arrays of PyTorch, CuPy and JAX on a GPU run there, in one kernel, compiled once and cached. Arrays in host memory are
computed by the CPU reference, which is exact and slow. kiln.torch and kiln.jax make functions with gradients.
"""
from . import _core
from ._context import Context
from ._errors import ArgumentError, Error, ExecutionError, OutOfMemoryError
from ._info import info, set_cache_dir, set_policy
from ._pack_writer import PackWriter
from ._prepare import Preparation, prepare
from ._program import Explanation, Program, run

__version__ = _core.version()
__all__ = ["ArgumentError", "Context", "Error", "ExecutionError", "Explanation", "OutOfMemoryError", "PackWriter",
           "Preparation", "Program", "info", "prepare", "run", "set_cache_dir", "set_policy"]
