#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far results of functions are off, in units in the last place of their type, and writes docs/accuracy.md, or
with --check compares with it: no function may be less accurate than the page says.

accuracy.py --driver LIBRARY --nvrtc LIBRARY [--check] [--only PART] [--page docs/accuracy.md]

Kernels run on the software GPU, whose exp, sin and so on are the C library's; what Kiln makes of them is measured as on a
GPU. f32 and f64 are compared with mpmath at points spread over the whole range, f16 and bf16 at every number, with Kiln's
CPU reference in double precision, which is compared with mpmath as well. KILN_MPMATH names a folder with the packages
mpmath and ml_dtypes; without them or NumPy it ends with 77.
"""
import argparse
import ctypes
import math
import os
import pathlib
import re
import sys

if os.environ.get("KILN_MPMATH"):
    sys.path.append(os.environ["KILN_MPMATH"])
try:
    import ml_dtypes
    import mpmath
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import kiln
import kiln._arrays

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """# Accuracy

The largest error of each function in units in the last place of the result's type, subnormal results included, rounded up
to halves: 0.5 is rounded correctly. `tools/accuracy.py` measures it and writes this page; the test `software_gpu_accuracy`
holds every number in it.

- f32 and f64 are compared with mpmath at some thousand points over the whole range, and of functions of two numbers at
  random ones; f16 and bf16 at every number. The last column is the CPU reference in double precision.
- The kernels run on the [software GPU](software-gpu.md), whose `exp`, `log` and so on are the C library's. A device's own are
  those of CUDA, with [the errors that NVIDIA tells](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#mathematical-functions-appendix):
  a few units at most in f32 and fewer in f64. Where Kiln computes with them, as in `sigmoid`, errors may be larger by as much.
- In f64 and on the CPU results below 2^-1022 do not count.
- If every output is f16, bf16 or fp8, exponentials are only as accurate as those types can show, and results of `sigmoid`,
  `silu`, `gelu`, `gelu_tanh`, `mish`, `normcdf`, `normpdf`, `erfc` and their gradients below 1e-36 may be 0: they do not count here.
- Where a result passes through 0 its error is that of its parts: of functions with a `*` results below 1/16 do not count.
- `+ - * abs floor ceil trunc round`, comparisons and conversions are exact or rounded correctly in every type, and so are
  `sqrt` and `/`, but for what only outputs of f16, bf16 or fp8 are made of: there they are within 2 units of an f32 before
  the output is rounded.

| function | f32 | f64 | f16 | bf16 | CPU |
|---|---|---|---|---|---|
"""
KINDS = ("f32", "f64", "f16", "bf16", "cpu")
LEAST_OF_FAST = 1e-36
BITS = {"f32": (24, -126), "f64": (53, -1022), "f16": (11, -14), "bf16": (8, -126), "cpu": (53, -1022)}
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "cpu": np.float64}
m = mpmath.mp
m.prec = 140


def sigmoid(x):
    return 1 / (1 + m.exp(-x))


def normcdf(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def normpdf(x):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


def relu6(x):
    return min(max(x, m.mpf(0)), m.mpf(6))


def gelu_tanh_sigmoid(x):
    return sigmoid(2 * m.sqrt(2 / m.pi) * (x + m.mpf("0.044715") * x ** 3))


def gelu_tanh_grad(x):
    s, slope = gelu_tanh_sigmoid(x), 2 * m.sqrt(2 / m.pi) * (1 + 3 * m.mpf("0.044715") * x ** 2)
    return s + x * s * (1 - s) * slope


def elu(x, alpha=1):
    return x if x > 0 else alpha * m.expm1(x)


def everywhere(x):
    return True


def within(low, high):
    return lambda x: low <= x <= high


SMALL = within(-1e4, 1e4)
POSITIVE = within(5e-324, 1e308)
# Expression, formula, where, and whether results near 0 do not count.
ONE = [
    ("exp(x)", m.exp, SMALL), ("exp2(x)", lambda x: m.mpf(2) ** x, SMALL), ("expm1(x)", m.expm1, SMALL),
    ("log(x)", m.log, POSITIVE), ("log2(x)", lambda x: m.log(x) / m.log(2), POSITIVE), ("log10(x)", m.log10, POSITIVE),
    ("log1p(x)", m.log1p, within(-1 + 2 ** -30, 1e308)),
    ("rsqrt(x)", lambda x: 1 / m.sqrt(x), POSITIVE), ("cbrt(x)", lambda x: m.sign(x) * m.cbrt(abs(x)), everywhere),
    ("sin(x)", m.sin, SMALL), ("cos(x)", m.cos, SMALL), ("tan(x)", m.tan, SMALL),
    ("asin(x)", m.asin, within(-1, 1)), ("acos(x)", m.acos, within(-1, 1)), ("atan(x)", m.atan, everywhere),
    ("sinh(x)", m.sinh, SMALL), ("cosh(x)", m.cosh, SMALL), ("tanh(x)", m.tanh, SMALL),
    ("asinh(x)", m.asinh, everywhere), ("acosh(x)", m.acosh, within(1, 1e308)),
    ("atanh(x)", m.atanh, within(-1 + 2 ** -24, 1 - 2 ** -24)),
    ("erf(x)", m.erf, within(-100, 100)), ("erfc(x)", m.erfc, within(-30, 30)),
    ("erfinv(x)", m.erfinv, within(-1 + 2 ** -24, 1 - 2 ** -24)),
    ("lgamma(x)*", lambda x: m.log(abs(m.gamma(x))), within(1e-30, 170)),
    ("normcdf(x)", normcdf, within(-40, 40)), ("normpdf(x)", normpdf, within(-40, 40)), ("sigmoid(x)", sigmoid, SMALL),
    ("silu(x)", lambda x: x * sigmoid(x), SMALL), ("logsigmoid(x)", lambda x: -m.log1p(m.exp(-x)), within(-1e3, 1e3)),
    ("softplus(x)", lambda x: m.log1p(m.exp(x)), within(-1e3, 1e3)), ("softsign(x)", lambda x: x / (1 + abs(x)), everywhere),
    ("elu(x)", elu, SMALL), ("celu(x, 2)", lambda x: x if x > 0 else 2 * m.expm1(x / 2), SMALL),
    ("selu(x)", lambda x: m.mpf("1.0507009873554804934") * elu(x, m.mpf("1.6732632423543772848")), SMALL),
    ("leaky_relu(x)", lambda x: x if x > 0 else x * m.mpf(0.01), everywhere),
    ("hardsigmoid(x)", lambda x: relu6(x + 3) / 6, everywhere), ("hardswish(x)", lambda x: x * relu6(x + 3) / 6, everywhere),
    ("mish(x)", lambda x: x * m.tanh(m.log1p(m.exp(x))), within(-1e3, 1e3)),
    ("gelu(x)", lambda x: x * normcdf(x), within(-40, 1e4)),
    ("gelu_tanh(x)", lambda x: x * gelu_tanh_sigmoid(x), within(-20, 1e4)),
    ("quick_gelu(x)", lambda x: x * sigmoid(m.mpf(1.702) * x), within(-400, 1e4)),
    ("tanhshrink(x)*", lambda x: x - m.tanh(x), SMALL), ("logit(x)*", lambda x: m.log(x / (1 - x)), within(1e-30, 1 - 2 ** -24)),
    ("softcap(x, 30)", lambda x: 30 * m.tanh(x / 30), SMALL),
    ("srgb_to_linear(x)", lambda x: ((x + m.mpf("0.055")) / m.mpf("1.055")) ** m.mpf("2.4"), within(0.05, 1)),
    ("linear_to_srgb(x)", lambda x: m.mpf("1.055") * x ** (1 / m.mpf("2.4")) - m.mpf("0.055"), within(0.004, 1)),
    ("silu_grad(x, 1)*", lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), within(-1e3, 1e3)),
    ("gelu_grad(x, 1)*", lambda x: normcdf(x) + x * normpdf(x), within(-35, 1e3)),
    ("gelu_tanh_grad(x, 1)*", gelu_tanh_grad, within(-20, 20)),
    ("softplus_grad(x, 1)", sigmoid, SMALL),
]
TWO = [
    ("pow(a, b)", lambda a, b: abs(a) ** b, lambda a, b: a > 0), ("atan2(a, b)", m.atan2, lambda a, b: True),
    ("fmod(a, b)", lambda a, b: m.sign(a) * (abs(a) % abs(b)), lambda a, b: b != 0),
    ("fma(a, b, a)*", lambda a, b: a * b + a, lambda a, b: True),
    ("lerp(a, b, 0.25)*", lambda a, b: a + (b - a) / 4, lambda a, b: True),
    ("logaddexp(a, b)*", lambda a, b: m.log(m.exp(a) + m.exp(b)), lambda a, b: True),
    ("xlogy(a, b)*", lambda a, b: a * m.log(b), lambda a, b: b > 0),
    ("swiglu(a, b)", lambda a, b: a * sigmoid(a) * b, lambda a, b: True),
    ("geglu(a, b)", lambda a, b: a * normcdf(a) * b, lambda a, b: a > -10),
    ("glu(a, b)", lambda a, b: a * sigmoid(b), lambda a, b: True),
]


class SoftwareMemory:
    """Memory of the software GPU, in which kiln allocates results."""

    def __init__(self, path):
        self.driver, context = ctypes.CDLL(path), ctypes.c_void_p()
        assert not self.driver.cuInit(0)
        assert not self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        assert not self.driver.cuCtxSetCurrent(context)

    def empty(self, shape, dtype):
        whole, address = np.empty(shape, dtype), ctypes.c_uint64()
        assert not self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, whole.nbytes)))
        memory = (ctypes.c_char * whole.nbytes).from_address(address.value)
        return np.frombuffer(memory, np.uint8).view(whole.dtype).reshape(whole.shape)

    def copy(self, array):
        own = self.empty(array.shape, array.dtype)
        own[...] = array
        return own


def text_of(expression):
    return expression.rstrip("*")


def points(kind):
    """Numbers of the type: all of 16 bits, else spread by their logarithms, and evenly where functions change."""
    if kind in ("f16", "bf16"):
        every = np.arange(65536, dtype=np.uint16).view(DTYPES[kind])
        with np.errstate(invalid="ignore"):
            return every[np.isfinite(every.astype(np.float64))]
    ends = (1e-45, 3.4e38) if kind == "f32" else (5e-324, 1.7e308)
    spread = np.exp(np.linspace(math.log(ends[0]), math.log(ends[1]), 700))
    near = [np.linspace(-end, end, count) for end, count in ((1, 601), (8, 801), (110, 601), (1000, 301))]
    return np.unique(np.concatenate([spread, -spread, *near]).astype(DTYPES[kind]))


def pairs(kind):
    draw = np.random.default_rng(3)
    a = np.exp(draw.uniform(-6, 3, 3000)) * np.where(draw.random(3000) < 0.5, 1, -1)
    b = np.exp(draw.uniform(-6, 3, 3000)) * np.where(draw.random(3000) < 0.5, 1, -1)
    return a.astype(DTYPES[kind]), b.astype(DTYPES[kind])


def unit(value, kind):
    """Of the last place of a number in the type; value: a float or an mpf that is not 0."""
    bits, least = BITS[kind]
    exponent = int(m.frexp(value)[1]) - 1
    return m.ldexp(1, max(exponent, least) - bits + 1)


def largest(kind):
    return m.mpf(float(ml_dtypes.finfo(DTYPES[kind]).max))


def error_of(got, expected, kind):
    """In units; 0 where an overflow is an infinity."""
    if math.isnan(got):
        return math.inf
    if abs(expected) > largest(kind):  # between the largest and the infinity either is right
        return 0.0 if math.isinf(got) or abs(got) >= largest(kind) * (1 - m.mpf(2) ** -BITS[kind][0]) else math.inf
    if math.isinf(got):
        return 0.0 if abs(expected) + unit(expected, kind) / 2 >= largest(kind) else math.inf
    if expected == 0:
        return abs(got) / float(unit(m.mpf(1e-320), kind)) if got else 0.0
    return float(abs(m.mpf(got) - expected) / unit(expected, kind))


def least_counted(expression, kind):
    """What is nearer to 0 does not count."""
    if expression.endswith("*"):
        return 0.0625
    return {"f16": LEAST_OF_FAST, "bf16": LEAST_OF_FAST, "f64": 2.0 ** -1022, "cpu": 2.0 ** -1022}.get(kind, 0)


def run(expressions, arrays, memory, context):
    """Results of some functions, from one kernel, as f64 (exact)."""
    names = ", ".join(f"y{i}" for i in range(len(expressions)))
    program = kiln.Program("; ".join(f"y{i} = {text_of(one)}" for i, one in enumerate(expressions)), outputs=names,
                           context=context)
    arrays = {name: memory.copy(array) if context else array for name, array in arrays.items()}
    results = program(**{name: arrays[name] for name in program.parameters})
    return [np.asarray(one, np.float64) for one in (results if isinstance(results, tuple) else (results,))]


class Exact:
    """Results of mpmath by function and arguments."""

    def __init__(self):
        self.known = {}

    def __call__(self, expression, formula, where, arguments):
        key = (expression, arguments)
        if key not in self.known:
            self.known[key] = formula(*map(m.mpf, arguments)) if where(*arguments) else None
        return self.known[key]


def worst(case, arguments, results, exact, kind):
    """The largest error of a function against mpmath, and where it is."""
    expression, formula, where = case
    least, most, at = least_counted(expression, kind), 0.0, None
    for index, values in enumerate(zip(*(array.astype(np.float64).tolist() for array in arguments))):
        expected = exact(expression, formula, where, values)
        if expected is None or abs(expected) < least or (expected == 0 and results[index] == 0):
            continue
        error = error_of(results[index], expected, kind)
        if error > most:
            most, at = error, values
    return most, at


def worst_of_16_bits(case, arguments, results, expected, kind):
    """The same against doubles, of all numbers at once."""
    expression, _, where = case
    values = list(zip(*(array.astype(np.float64).tolist() for array in arguments)))
    bits, least = BITS[kind]
    top = float(largest(kind))
    with np.errstate(all="ignore"):
        size = np.abs(expected)
        units = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - 1, least) - bits + 1)
        errors = np.abs(results - expected) / units
        errors[np.isnan(results)] = np.inf
        high = (size + units / 2 >= top) & (np.isinf(results) | (np.abs(results) >= top))  # rounded to the largest or beyond
    errors[high] = 0
    inside = np.array([where(*one) for one in values]) & np.isfinite(expected) & (size >= least_counted(expression, kind))
    errors[~inside] = 0
    at = int(np.argmax(errors))
    return float(errors[at]), values[at]


def measure(only, memory, context):
    """Yields (expression, kind, error, where)."""
    exact = Exact()
    for names, cases, make in ((("x",), ONE, lambda kind: (points(kind),)), (("a", "b"), TWO, pairs)):
        cases = [case for case in cases if only in case[0]]
        for kind in KINDS:
            arguments = make(kind)
            given = dict(zip(names, arguments))
            wide = {name: array.astype(np.float64) for name, array in given.items()}
            for first in range(0, len(cases), 14):
                some = cases[first:first + 14]
                texts = [case[0] for case in some]
                results = run(texts, given, memory, None if kind == "cpu" else context)
                narrow = kind in ("f16", "bf16")
                references = run(texts, wide, memory, None) if narrow else [exact] * len(some)
                for case, result, reference in zip(some, results, references):
                    found = (worst_of_16_bits if narrow else worst)(case, arguments, result, reference, kind)
                    yield (case[0], kind, *found)


def halves(error):
    return f"{math.ceil(error * 2 - 0.01) / 2:g}" if math.isfinite(error) else "-"


def rows_of(page):
    """Expression to the page's errors by kind."""
    rows = re.findall(r"^\| `([^`]+)`(\\\*)? \| (.*) \|$", page, re.MULTILINE)
    return {name + "*" * bool(star): dict(zip(KINDS, cells.split(" | "))) for name, star, cells in rows}


def compare(told, found):
    """Sentences about functions that are less accurate than the page tells."""
    for expression, errors in found.items():
        if expression not in told:
            yield f"the page lacks {expression}"
            continue
        for kind, (error, at) in errors.items():
            if not error <= float(told[expression][kind]) + 0.01:
                yield f"{expression} is {error:.3g} units off in {kind} at {at}, the page tells {told[expression][kind]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True, help="of the software GPU")
    parser.add_argument("--nvrtc", required=True, help="its compiler")
    parser.add_argument("--check", action="store_true", help="compare with the page, and write nothing")
    parser.add_argument("--only", default="", help="functions with this in their names, told and not written")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "accuracy.md")
    options = parser.parse_args()
    memory = SoftwareMemory(options.driver)
    kiln._arrays.NumPy.empty = staticmethod(
        lambda shape, type_name, like: memory.empty(shape, kiln._arrays.extended_dtype(type_name)))
    context = kiln.Context(driver=options.driver, nvrtc=options.nvrtc, host_arrays="gpu")
    found = {}
    for expression, kind, error, at in measure(options.only, memory, context):
        print(f"{expression:24} {kind:5} {error:8.3g} at {at}", flush=True)
        found.setdefault(expression, {})[kind] = (error, at)
    if options.check:
        faults = list(compare(rows_of(options.page.read_text(encoding="utf-8")), found))
        print("\n".join(faults))
        return 1 if faults else 0
    if not options.only:
        lines = [f"| `{text_of(name)}`{chr(92) + '*' if name.endswith('*') else ''} | "
                 + " | ".join(halves(errors[kind][0]) for kind in KINDS) + " |" for name, errors in found.items()]
        options.page.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
