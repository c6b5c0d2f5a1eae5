# SPDX-License-Identifier: Apache-2.0
"""Types of elements: the library's names and numbers, and what NumPy, PyTorch and JAX call them."""
from ._errors import argument_error, error_of

# In the order of kiln_type in kiln/kiln.h.
NAMES = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i16", "i8", "u8", "bool",
         "u16", "u32", "u64", "e8m0")
LIBRARY_NAMES = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32",
                 "int16", "int8", "uint8", "bool", "uint16", "uint32", "uint64",
                 "float8_e8m0fnu")
NUMBERS = {name: number for names in (NAMES, LIBRARY_NAMES) for number, name in enumerate(names)}
NUMBERS["bool_"] = NUMBERS["bool"]
LIBRARY_NAME = dict(zip(NAMES, LIBRARY_NAMES))
PYTHON_TYPES = {float: "f64", int: "i64", bool: "bool"}


def type_number(dtype):
    """The library's number of a type: "f16", numpy.float16, numpy.dtype("float16"), torch.float16, float."""
    if dtype in PYTHON_TYPES:
        return NUMBERS[PYTHON_TYPES[dtype]]
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    number = NUMBERS.get(name.rpartition(".")[2])
    if number is None:
        raise error_of(5, "KILN_E_TYPE", f"the type {name} is none of {', '.join(NAMES)}")
    return number


def output_types(dtype, outputs):
    """The number of each output's type, None where the library's rule holds. dtype: one for all, a dictionary by
    name, or a sequence in the order of the outputs."""
    if isinstance(dtype, dict):
        for name in dtype:
            if name not in outputs:
                raise argument_error(f"dtype names '{name}', which is no output; the outputs are {', '.join(outputs)}")
        dtype = [dtype.get(name) for name in outputs]
    elif not isinstance(dtype, (tuple, list)):
        dtype = [dtype] * len(outputs)
    if len(dtype) != len(outputs):
        raise argument_error(f"dtype has {len(dtype)} types, expected {len(outputs)}: {', '.join(outputs)}")
    return [None if one is None else type_number(one) for one in dtype]
