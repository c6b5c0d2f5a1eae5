# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, PyTorch, CuPy, JAX, and others with DLPack: how each is read, and how results are allocated.

kiln._core asks `library_of` for the first object of each type, and keeps what it answers. No library is imported here
before an array of it is passed.
"""
import importlib
import numbers

from ._errors import argument_error
from ._types import LIBRARY_NAME, NUMBERS, type_number

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLPack's device types
LEGACY_STREAM = 1  # DLPack's number of CUDA's legacy default stream


class Library:
    """What kiln._core asks for: how objects of one type are read and allocated.

    view(array, name, written) gives (address, type's number, sizes, strides, on a GPU, device), or a DLPack capsule.
    """

    is_number = False
    synchronizes = False  # work on results is not ordered after the launch's stream, so that a call waits for it
    has_gradients = False
    exchange = None  # DLPack's table of functions, which makes view, empty and stream unnecessary
    stream = None  # of a device's number: the current stream's address
    finish = None  # of an allocated array that has been written: the result


class Numbers(Library):
    """Scalars that are not Python's own: NumPy's, fractions."""

    is_number = True

    @staticmethod
    def number(value):
        """A Python number; (number, True) where it has 32 bits, as no Python integer has."""
        dtype = getattr(value, "dtype", None)
        if dtype is not None and dtype.kind in "iub":
            return (int(value), True) if dtype.itemsize <= 4 and dtype != "uint32" else int(value)
        return int(value) if isinstance(value, numbers.Integral) else float(value)


class NumPy(Library):
    @staticmethod
    def view(array, name, written):
        number = NUMBERS.get(array.dtype.name)
        if number is None or not array.dtype.isnative:
            raise argument_error(f"'{name}' has the type {array.dtype!r}, which no type of Kiln matches")
        if written and not array.flags.writeable:
            raise argument_error(f"'{name}' is read-only")
        size = array.dtype.itemsize
        strides = [stride // size for stride in array.strides]
        if any(stride % size for stride in array.strides):
            raise argument_error(f"'{name}' has strides of {array.strides} bytes, which are no multiples of {size}")
        return array.ctypes.data, number, array.shape, tuple(strides), False, 0

    @staticmethod
    def empty(shape, type_name, like):
        import numpy
        return numpy.empty(shape, extended_dtype(type_name))


def extended_dtype(type_name):
    """NumPy's dtype of a type of Kiln's; bf16 and fp8 are ml_dtypes'."""
    import numpy
    name = LIBRARY_NAME[type_name]
    if type_name not in ("bf16", "e4m3", "e5m2", "e8m0"):
        return numpy.dtype(name)
    try:
        return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except ImportError:
        raise argument_error(f"arrays of {type_name} in NumPy need the package ml_dtypes; dtype= chooses another type")


class PyTorch(Library):
    """By DLPack's table where PyTorch has it (2.10 and newer), else by its attributes."""

    has_gradients = True

    def __init__(self, array):
        import torch
        self.torch = torch
        self.exchange = getattr(type(array), "__dlpack_c_exchange_api__", None)

    def refuse_gradient(self, array, name):
        if self.torch.is_grad_enabled():
            raise argument_error(f"'{name}' requires a gradient, which a program does not record: use kiln.torch, "
                                 f"torch.no_grad() or {name}.detach()")

    @staticmethod
    def view(array, name, written):
        number = NUMBERS.get(str(array.dtype).rpartition(".")[2])
        if number is None or str(array.layout) != "torch.strided":
            raise argument_error(f"'{name}' is a tensor of {array.dtype}, {array.layout}, which Kiln does not read")
        device = array.device
        if device.type not in ("cpu", "cuda"):
            raise argument_error(f"'{name}' is on the device {device}, expected cpu or cuda")
        return array.data_ptr(), number, array.shape, array.stride(), device.type == "cuda", device.index or 0

    def empty(self, shape, type_name, like):
        return self.torch.empty(shape, dtype=getattr(self.torch, LIBRARY_NAME[type_name]), device=like.device)

    def stream(self, device):
        return self.torch.cuda.current_stream(device).cuda_stream


class CuPy(Library):
    def __init__(self, array):
        self.cupy = importlib.import_module(type(array).__module__.partition(".")[0])

    @staticmethod
    def view(array, name, written):
        number = NUMBERS.get(array.dtype.name)
        if number is None:
            raise argument_error(f"'{name}' has the type {array.dtype!r}, which no type of Kiln matches")
        size = array.dtype.itemsize
        return (array.data.ptr, number, array.shape, tuple(stride // size for stride in array.strides), True,
                array.device.id)

    def empty(self, shape, type_name, like):
        with like.device:
            return self.cupy.empty(shape, extended_dtype(type_name))

    def stream(self, device):
        return self.cupy.cuda.get_current_stream().ptr


class JAX(Library):
    """JAX has streams of its own and does not tell them: inputs are waited for, and so is the result.

    In host memory results are NumPy's until they are written, since JAX's arrays do not change.
    """

    synchronizes = True

    @staticmethod
    def view(array, name, written):
        import numpy
        if isinstance(array, numpy.ndarray):
            return NumPy.view(array, name, written)
        if written:
            raise argument_error(f"'{name}' is an array of JAX, which cannot be written to")
        array.block_until_ready()
        if array.__dlpack_device__()[0] == CPU:
            return NumPy.view(numpy.asarray(array), name, False)
        return array.__dlpack__(stream=LEGACY_STREAM)

    @staticmethod
    def empty(shape, type_name, like):
        import jax.numpy
        import numpy
        if like.__dlpack_device__()[0] == CPU:
            return numpy.empty(shape, extended_dtype(type_name))
        return jax.numpy.empty(shape, LIBRARY_NAME[type_name], device=like.device).block_until_ready()

    @staticmethod
    def finish(array):
        import jax.numpy
        return jax.numpy.asarray(array)


class AnyDLPack(Library):
    """Another library: read by __dlpack__ on the legacy default stream, allocated by the array API's `empty`."""

    @staticmethod
    def view(array, name, written):
        kind, _ = array.__dlpack_device__()
        return array.__dlpack__(stream=LEGACY_STREAM) if kind in (CUDA, CUDA_MANAGED) else array.__dlpack__()

    @staticmethod
    def empty(shape, type_name, like):
        if not hasattr(like, "__array_namespace__"):
            raise argument_error(f"arrays of {type(like).__name__} cannot be allocated here: give out=")
        library = like.__array_namespace__()
        return library.empty(shape, dtype=getattr(library, LIBRARY_NAME[type_name]), device=like.device)


def library_of(array, name):
    """How arrays of the type of this one are handled. name: of the parameter that it is for."""
    names = {kind.__module__.partition(".")[0] + "." + kind.__name__ for kind in type(array).__mro__}
    root = type(array).__module__.partition(".")[0]
    if "numpy.ndarray" in names:
        return NumPy()
    if "torch.Tensor" in names:
        return PyTorch(array)
    if "cupy.ndarray" in names:
        return CuPy(array)
    if root in ("jax", "jaxlib") and hasattr(array, "__dlpack__"):
        return JAX()
    if "numpy.generic" in names or isinstance(array, numbers.Real):
        return Numbers()
    if hasattr(array, "__dlpack__"):
        return AnyDLPack()
    raise argument_error(f"'{name}' is a {type(array).__name__}, expected a number, or an array of NumPy, PyTorch, "
                         "CuPy, JAX or another library with __dlpack__")


def stream_address(stream):
    """The address of a stream: a number, or an object of PyTorch's, CuPy's, or with __cuda_stream__."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return getattr(stream, attribute)
    raise argument_error(f"stream is a {type(stream).__name__}, expected an address or a stream's object")


def describe(value):
    """An argument without its data, as kiln._core.Program.infer takes it: (type's number, sizes, strides or None) or a
    number. value: an array, anything with shape and dtype, a text such as "f16[8, 64]", whose first size may be left open
    as *, or a number."""
    if isinstance(value, str):
        return described_text(value)
    if hasattr(value, "shape") and hasattr(value, "dtype") and not is_number(value):
        return type_number(value.dtype), tuple(int(size) for size in value.shape), element_strides(value)
    if is_number(value) and not isinstance(value, (float, int)):
        return Numbers.number(value)
    return value


def is_number(value):
    return isinstance(value, numbers.Real) or "generic" in {kind.__name__ for kind in type(value).__mro__}


def element_strides(array):
    if callable(getattr(array, "stride", None)):
        return tuple(int(stride) for stride in array.stride())
    strides = getattr(array, "strides", None)
    return None if strides is None else tuple(stride // array.dtype.itemsize for stride in strides)


def described_text(text):
    name, bracket, sizes = text.replace(" ", "").partition("[")
    try:
        if bracket and not sizes.endswith("]"):
            raise ValueError
        sizes = [size for size in sizes[:-1].split(",") if size]
        shape = tuple(-1 if size == "*" and axis == 0 else int(size) for axis, size in enumerate(sizes))
    except ValueError:
        raise argument_error(f"'{text}' describes no array, expected such as 'f16[8, 64]'") from None
    return type_number(name), shape, None
