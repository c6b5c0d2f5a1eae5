# SPDX-License-Identifier: Apache-2.0
"""Types of tensors in NumPy, by their definitions: codes to values and values to codes. None of it is Kiln's."""
import numpy as np

WORDS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
         "i8": np.int8, "u8": np.uint8}
CODES = {"bf16": np.uint16, "e4m3": np.uint8, "e5m2": np.uint8, "e2m1": np.uint8, "e8m0": np.uint8}
LARGEST = {"e4m3": 448, "e5m2": 57344, "e2m1": 6, "i8": 127}
FLOATS = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2")
NARROW = ("f16", "bf16", "e4m3", "e5m2", "e2m1", "e8m0")
MANTISSA = {"e4m3": 3, "e5m2": 2, "e2m1": 1}
SIGN = {"e4m3": 128, "e5m2": 128, "e2m1": 8}


def word(kind):
    """What an element is stored as; of e2m1 a byte, before two of them are put into one."""
    return np.dtype(WORDS.get(kind) or CODES[kind])


def magnitudes(kind):
    """The value of each code without a sign, by its bits of exponent and mantissa."""
    mantissa_bits = MANTISSA[kind]
    codes = np.arange(SIGN[kind])
    exponent, mantissa = codes >> mantissa_bits, codes % (1 << mantissa_bits)
    bias = {"e4m3": 7, "e5m2": 15, "e2m1": 1}[kind]
    normal = np.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)
    values = np.where(exponent, normal, np.ldexp(mantissa, 1 - bias - mantissa_bits))
    if kind == "e4m3":
        values[127] = np.nan
    if kind == "e5m2":
        values[124:] = [np.inf, np.nan, np.nan, np.nan]
    return values


def decode(kind, codes):
    """Values as float64."""
    if kind in WORDS:
        return codes.astype(np.float64)
    if kind == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "e8m0":
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int32) - 127))
    sign = SIGN[kind]
    return np.where(codes & sign, -1.0, 1.0) * magnitudes(kind)[codes % sign]


def nearest_small(kind, values):
    """To nearest, ties to even codes, saturating; e2m1 has no NaN and stores 6."""
    table = magnitudes(kind)
    table = table[np.isfinite(table)]
    sign = np.signbit(values)
    size = np.minimum(np.nan_to_num(np.abs(values), nan=0, posinf=table[-1]), table[-1])
    above = np.searchsorted(table, size)
    below = np.maximum(above - 1, 0)
    off = (table[above] - size) - (size - table[below])
    code = np.where((off < 0) | ((off == 0) & (above % 2 == 0)), above, below)
    code = np.where(sign, code + SIGN[kind], code)
    return np.where(np.isnan(values), 7 if kind == "e2m1" else 127, code).astype(np.uint8)


def powers_above(values):
    """e8m0: the exponent of the least power of two that is not below |x|."""
    mantissa, exponent = np.frexp(np.abs(np.nan_to_num(values, nan=1, posinf=2.0 ** 127, neginf=2.0 ** 127)))
    exponent = np.where(mantissa == 0, -127, np.where(mantissa == 0.5, exponent - 1, exponent))
    return np.where(np.isnan(values), 255, np.clip(exponent, -127, 127) + 127).astype(np.uint8)


def to_bf16(values):
    """To nearest even at 8 bits, counted from 2^-126 where numbers are smaller."""
    exponent = np.maximum(np.frexp(np.where(np.isfinite(values), values, 0))[1], -125)
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(values, 8 - exponent)), exponent - 8).astype(np.float32)
    return np.where(np.isnan(rounded), 0x7fc0, rounded.view(np.uint32) >> 16).astype(np.uint16)


def encode(kind, values):
    """What a store makes of float64 values."""
    values = np.asarray(values, np.float64)
    if kind == "bf16":
        return to_bf16(values)
    if kind == "e8m0":
        return powers_above(values)
    if kind in CODES:
        return nearest_small(kind, values)
    if np.issubdtype(WORDS[kind], np.floating):
        with np.errstate(over="ignore"):
            return values.astype(WORDS[kind])
    limits = np.iinfo(WORDS[kind])
    return np.clip(np.rint(np.nan_to_num(values, nan=0, posinf=limits.max, neginf=limits.min)), limits.min,
                   min(limits.max, 2.0 ** 62)).astype(WORDS[kind])


def rounded(kind, values):
    return decode(kind, encode(kind, values))
