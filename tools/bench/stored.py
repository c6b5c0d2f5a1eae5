# SPDX-License-Identifier: Apache-2.0
"""Kiln's types in NumPy's memory: bf16 and the 8-bit floats, which NumPy lacks, as the integers of their bits."""
import functools

import numpy

DTYPES = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16, "e4m3": numpy.uint8,
          "e5m2": numpy.uint8, "i64": numpy.int64, "i32": numpy.int32, "i16": numpy.int16, "i8": numpy.int8,
          "u8": numpy.uint8, "bool": numpy.uint8}
# What a result holds before it is computed: bytes that no right result has.
POISON = {"f64": numpy.nan, "f32": numpy.nan, "f16": numpy.nan, "bf16": 0x7fff, "e4m3": 0x7f, "e5m2": 0x7f, "i64": -1,
          "i32": -1, "i16": -1, "i8": -128, "bool": 255}


@functools.lru_cache
def eight_bit_values(kind):
    """The value of each of the 256 codes."""
    mantissa_bits, bias = {"e4m3": (3, 7), "e5m2": (2, 15)}[kind]
    codes = numpy.arange(256)
    exponent, mantissa = (codes & 0x7f) >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    scale = 2.0 ** (numpy.maximum(exponent, 1) - bias - mantissa_bits)
    values = (mantissa + ((exponent > 0) << mantissa_bits)) * scale
    if kind == "e5m2":
        values[exponent == 31] = numpy.where(mantissa[exponent == 31] == 0, numpy.inf, numpy.nan)
    else:
        values[codes & 0x7f == 0x7f] = numpy.nan
    return numpy.where(codes < 128, values, -values)


def decode(array, kind):
    """As doubles."""
    if kind == "bf16":
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    if kind in ("e4m3", "e5m2"):
        return eight_bit_values(kind)[array]
    return array.astype(numpy.float64)


def encode(values, kind):
    """Doubles as that type stores them; to nearest, which of two as near does not matter here."""
    if kind == "bf16":
        bits = numpy.asarray(values, numpy.float32).view(numpy.uint32)
        return numpy.where(numpy.isnan(values), 0x7fff, (bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    if kind in ("e4m3", "e5m2"):
        table = eight_bit_values(kind)
        finite = numpy.flatnonzero(numpy.isfinite(table))
        order = finite[numpy.argsort(table[finite], kind="stable")]
        middles = (table[order][1:] + table[order][:-1]) / 2
        return order[numpy.searchsorted(middles, values)].astype(numpy.uint8)
    return numpy.asarray(values).astype(DTYPES[kind])
