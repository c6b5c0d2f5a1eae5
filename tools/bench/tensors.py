# SPDX-License-Identifier: Apache-2.0
"""The tensors of a drawn case, in NumPy's memory or in PyTorch's: filled, poisoned, and read back in doubles.

Results are compared on some rows: `picks` has the indices along those axes that are not read whole.
"""
import math
import random

import stored
from kiln_ctypes import type_size, view

CHECKED_ELEMENTS = 1 << 20
MISSING = 0.05  # of the elements of a tensor with holes, these are NaN
FILLS = {"positive": (0.05, 1.0), "log": (-14.0, -4.0), "share": (1e-5, 1e-3)}
CODES = {"u8": (0, 256), "i8": (-127, 128), "i32": (-1000, 1001)}


def value_range(case, operand):
    """Inputs are uniform between these, integers rounded down. Floats have no mean of 0, so that no sum cancels."""
    if operand.fill in ("label", "lengths"):
        first = 1 if operand.fill == "lengths" else 0
        return first, case.cols + first
    if operand.fill == "codes":
        return CODES[operand.type]
    if operand.type == "bool":
        return 0, 4
    return FILLS.get(operand.fill, (-case.program.spread, 1.5 * case.program.spread))


def choose_picks(case, limit=CHECKED_ELEMENTS, seed=1):
    """Of the axes that are kept so many indices that limit elements are compared: the first, the last, some between."""
    kept = [axis for axis in range(len(case.shape)) if axis not in case.axes]
    counts = {axis: case.shape[axis] for axis in kept}
    reduced = math.prod(case.shape[axis] for axis in case.axes)
    while counts and reduced * math.prod(counts.values()) > limit and max(counts.values()) > 3:
        widest = max(counts, key=counts.get)
        counts[widest] = max(3, counts[widest] // 2)
    picks = {}
    for axis, count in counts.items():
        extent = case.shape[axis]
        if count < extent:
            between = random.Random(seed).sample(range(1, extent - 1), count - 2)
            picks[axis] = sorted({0, extent - 1, *between})
    return picks


class HostTensors:
    """In NumPy's memory."""

    def __init__(self, case, seed=0):
        import numpy
        self.np, self.case, self.operands = numpy, case, case.operands()
        random_numbers = numpy.random.default_rng(seed)
        self.arrays = [self.make(operand) for operand in self.operands]
        for operand, array in zip(self.operands, self.arrays):
            if not operand.is_output:
                array[...] = self.values(operand, random_numbers)

    def make(self, operand):
        size = type_size(operand.type)
        memory = self.np.zeros(operand.span * size + 64, self.np.uint8)
        begin = -memory.ctypes.data % 64 + operand.offset * size
        return self.np.ndarray(operand.shape, stored.DTYPES[operand.type], memory, begin,
                               [step * size for step in operand.strides])

    def values(self, operand, random_numbers):
        low, high = value_range(self.case, operand)
        values = random_numbers.uniform(low, high, operand.shape)
        if operand.type == "bool":
            return values >= 1
        if operand.type in ("i64", "i32", "i16", "i8", "u8"):
            values = self.np.floor(values)
        if operand.fill == "holes":
            values = self.np.where(random_numbers.uniform(0, 1, operand.shape) < MISSING, self.np.nan, values)
        return stored.encode(values, operand.type)

    def views(self):
        return [view(array.ctypes.data, operand.type, operand.shape, operand.strides)
                for operand, array in zip(self.operands, self.arrays)]

    def poison(self):
        for operand, array in zip(self.operands, self.arrays):
            if operand.is_output:
                array[...] = stored.POISON[operand.type]

    def unwritten(self, number):
        operand, array = self.operands[number], self.arrays[number]
        if operand.type in ("f64", "f32", "f16"):
            return bool(self.np.isnan(array).any())
        return bool((array == self.np.asarray(stored.POISON[operand.type]).astype(array.dtype)).any())

    def read(self, number, picks):
        """In doubles."""
        array = self.arrays[number]
        for axis, places in picks.items():
            array = array.take(places, axis) if array.shape[axis] > 1 else array
        return stored.decode(array, self.operands[number].type)


class TorchTensors:
    """In PyTorch's, of a GPU or of the CPU."""

    def __init__(self, torch, device, case):
        self.torch, self.device, self.case, self.operands = torch, device, case, case.operands()
        self.arrays = [self.make(operand) for operand in self.operands]
        for operand, array in zip(self.operands, self.arrays):
            if not operand.is_output:
                self.fill(operand, array)

    def make(self, operand):
        memory = self.torch.empty(operand.span, dtype=torch_type(self.torch, operand.type), device=self.device)
        return self.torch.as_strided(memory, operand.shape, operand.strides, operand.offset)

    def fill(self, operand, array):
        low, high = value_range(self.case, operand)
        if array.dtype in (self.torch.float64, self.torch.float32, self.torch.float16, self.torch.bfloat16):
            array.uniform_(low, high)
        else:
            values = self.torch.empty(operand.shape, device=self.device).uniform_(low, high)
            if operand.type == "bool":
                values = values >= 1
            elif operand.type not in ("e4m3", "e5m2"):
                values = values.floor().clamp(max=high - 1)
            array.copy_(values)
        if operand.fill == "holes":
            array.masked_fill_(self.torch.rand(operand.shape, device=self.device) < MISSING, math.nan)

    def views(self):
        return [view(array.data_ptr(), operand.type, operand.shape, operand.strides)
                for operand, array in zip(self.operands, self.arrays)]

    def codes(self, array):
        """Bytes as they are: PyTorch compares and picks no 8-bit floats, and a bool is what it makes of it."""
        return array.view(self.torch.uint8) if array.element_size() == 1 else array

    def poison(self):
        for operand, array in zip(self.operands, self.arrays):
            if operand.is_output and array.element_size() == 1:
                self.codes(array).fill_(stored.POISON[operand.type] & 0xff)
            elif operand.is_output:
                array.fill_(math.nan if array.is_floating_point() else -1)

    def unwritten(self, number):
        operand, array = self.operands[number], self.arrays[number]
        if array.element_size() == 1:
            return bool((self.codes(array) == stored.POISON[operand.type] & 0xff).any())
        return bool((self.torch.isnan(array) if array.is_floating_point() else array == -1).any())

    def read(self, number, picks, array=None):
        """In doubles; array: another one with such a result, of a peer."""
        array = self.codes(self.arrays[number] if array is None else array)
        for axis, places in picks.items():
            if array.shape[axis] > 1:
                array = array.index_select(axis, self.torch.tensor(places, device=self.device))
        kind = self.operands[number].type
        if kind in ("e4m3", "e5m2"):
            return stored.decode(array.cpu().numpy(), kind)
        return (array.view(self.torch.int8) if kind == "i8" else array).double().cpu().numpy()


def torch_type(torch, kind):
    return {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
            "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "i64": torch.int64, "i32": torch.int32,
            "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}[kind]
