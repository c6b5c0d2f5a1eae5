#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how far results of functions are off, in units in the last place of their type, and writes a table of
docs/accuracy.md, or with --check compares with it: no function may be less accurate than the page says.

accuracy.py --library build/libkiln.so [--check] [--only PART] [--every N] [--page docs/accuracy.md]

Kernels run on the GPU, or on that of KILN_DRIVER and KILN_NVRTC, the software GPU, whose exp, sin and so on are the C
library's; each has a table. f32 and f64 are compared with mpmath at points spread over the whole range, f16 and bf16 at
every number, with Kiln's CPU reference in double precision, which is compared with mpmath as well; f32 also with f64 at every
number, or every N-th, on the software GPU only where --every says so. KILN_MPMATH names a folder with the packages mpmath
and ml_dtypes; without them, NumPy or a GPU it ends with 77.
"""
import argparse
import ctypes
import datetime
import itertools
import math
import os
import pathlib
import re
import sys

if os.environ.get("KILN_MPMATH"):
    sys.path.append(os.environ["KILN_MPMATH"])
try:
    import ml_dtypes
    import mpmath  # noqa: F401
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools" / "bench"))
import kiln_ctypes as kiln  # noqa: E402
from accuracy_cases import ONE, TWO, least_counted, m, text_of  # noqa: E402
from accuracy_sweep import sweep  # noqa: E402
from gpu_memory import HostMemory, open_memory  # noqa: E402

HEAD = """# Accuracy

The largest error of each function in units in the last place of the result's type, subnormal results included, rounded up
to halves: 0.5 is rounded correctly. `tools/accuracy.py` measures it and writes this page; the test `software_gpu_accuracy`
holds every number in it.

- f32 and f64 are compared with mpmath at some thousand points over the whole range, and of functions of two numbers at
  random ones; f16 and bf16 at every number. Where a table says so, functions of one number in f32 are also
  compared with the same in f64. The last column of the first table is the CPU reference in double precision.
- The first table's kernels run on the [software GPU](software-gpu.md), whose `exp`, `log` and so on are the C library's. A
  device's own are those of CUDA, with [the errors that NVIDIA tells](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#mathematical-functions-appendix):
  a few units at most in f32 and fewer in f64. Where Kiln computes with them, as in `sigmoid`, errors may be larger by as much.
- In f64 and on the CPU results below 2^-1022 do not count.
- If every output is f16, bf16 or fp8, exponentials are only as accurate as those types can show, and results of `sigmoid`,
  `silu`, `gelu`, `gelu_tanh`, `mish`, `normcdf`, `normpdf`, `erfc` and their gradients below 1e-36 may be 0: they do not count here.
- Where a result passes through 0 its error is that of its parts: of functions with a `*` results below 1/16 do not count.
- `+ - * abs floor ceil trunc round`, comparisons and conversions are exact or rounded correctly in every type, and so are
  `sqrt` and `/`, but for what only outputs of f16, bf16 or fp8 are made of: there they are within 2 units of an f32 before
  the output is rounded.
"""
SOFTWARE, GPU = "On the software GPU", "On a GPU"
KINDS = {SOFTWARE: ("f32", "f64", "f16", "bf16", "cpu"), GPU: ("f32", "f64", "f16", "bf16")}
BITS = {"f32": (24, -126), "f64": (53, -1022), "f16": (11, -14), "bf16": (8, -126), "cpu": (53, -1022)}
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "cpu": np.float64}


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


class Runner:
    def __init__(self, library):
        self.kiln, self.memory = kiln.Kiln(library), open_memory(False)

    def run(self, expressions, arrays, kind):
        """Results of some functions, from one kernel, as f64 (exact)."""
        names = [f"y{i}" for i in range(len(expressions))]
        text = "; ".join(f"y{i} = {text_of(one)}" for i, one in enumerate(expressions))
        memory = HostMemory() if kind == "cpu" else self.memory
        program = kiln.Program(self.kiln, text, [-1], names)
        whole = [arrays[name] for name in program.input_names()]
        whole += [np.zeros_like(whole[0]) for _ in names]
        places = [memory.copy_in(array) for array in whole]
        tensors = [kiln.view(place, "f64" if kind == "cpu" else kind, array.shape) for place, array in zip(places, whole)]
        if kind == "cpu":
            program.run_cpu(tensors)
        else:
            plan = kiln.Plan(self.kiln, text, tensors, [-1], names)
            plan.launch()
            for place, array in zip(places, whole):
                memory.copy_out(place, array)
            plan.close()
        program.close()
        memory.release()
        return [array.astype(np.float64) for array in whole[-len(names):]]


def inside_of(where):
    """Whether a function counts at a number between two, or at a pair."""
    return where if callable(where) else lambda x: where[0] <= x <= where[1]


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
    expression, formula, where = case[0], case[1], inside_of(case[2])
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
    expression, where = case[0], inside_of(case[2])
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


def measure(only, runner, kinds):
    """Yields (expression, kind, error, where)."""
    exact = Exact()
    for names, cases, make in ((("x",), ONE, lambda kind: (points(kind),)), (("a", "b"), TWO, pairs)):
        cases = [case for case in cases if only in case[0]]
        for kind in kinds:
            arguments = make(kind)
            given = dict(zip(names, arguments))
            wide = {name: array.astype(np.float64) for name, array in given.items()}
            for first in range(0, len(cases), 14):
                some = cases[first:first + 14]
                texts = [case[0] for case in some]
                results = runner.run(texts, given, kind)
                narrow = kind in ("f16", "bf16")
                references = runner.run(texts, wide, "cpu") if narrow else [exact] * len(some)
                for case, result, reference in zip(some, results, references):
                    found = (worst_of_16_bits if narrow else worst)(case, arguments, result, reference, kind)
                    yield (case[0], kind, *found)


def halves(error):
    return f"{math.ceil(error * 2 - 0.01) / 2:g}" if math.isfinite(error) else "-"


def section_of(page, title):
    """The text below a title up to the next one; empty where there is none."""
    return (page.split(f"\n## {title}\n")[1:] or [""])[0].split("\n## ")[0]


def rows_of(page, title):
    """Expression to the errors of the page's table by kind."""
    rows = re.findall(r"^\| `([^`]+)`(\\\*)? \| (.*) \|$", section_of(page, title), re.MULTILINE)
    return {name + "*" * bool(star): dict(zip(KINDS[title], cells.split(" | "))) for name, star, cells in rows}


def table_of(found, title, remark):
    """The section of a page."""
    head = ["function", *(kind.replace("cpu", "CPU") for kind in KINDS[title])]
    rows = [[f"`{text_of(name)}`" + "\\*" * name.endswith("*"), *(halves(errors[kind][0]) for kind in KINDS[title])]
            for name, errors in found.items()]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return f"{remark}\n\n" * bool(remark) + "\n".join(lines) + "\n"


def write_page(path, title, section):
    """The other table stays as it is."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {name: section_of(page, name).strip() + "\n" for name in KINDS} | {title: section}
    path.write_text(HEAD + "".join(f"\n## {name}\n\n{text}" for name, text in sections.items() if text.strip()), encoding="utf-8")


def device_name(memory):
    """And the driver's version of CUDA."""
    name, version = ctypes.create_string_buffer(256), ctypes.c_int()
    memory.check(memory.driver.cuDeviceGetName(name, 256, 0))
    memory.check(memory.driver.cuDriverGetVersion(ctypes.byref(version)))
    return f"{name.value.decode()}, a driver of CUDA {version.value // 1000}.{version.value % 1000 // 10}"


def compare(told, found):
    """Sentences about functions that are less accurate than the page tells."""
    for expression, errors in found.items():
        if expression not in told:
            yield f"the page lacks {expression}"
            continue
        for kind, (error, at) in errors.items():
            if not error <= float(told[expression][kind]) + 0.01:
                yield f"{expression} is {error:.3g} units off in {kind} at {at}, the page tells {told[expression][kind]}"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.environ.get("KILN_LIBRARY", "build/libkiln.so"))
    parser.add_argument("--check", action="store_true", help="compare with the page, and write nothing")
    parser.add_argument("--only", default="", help="functions with this in their names, told and not written")
    parser.add_argument("--every", type=int, help="f32: every N-th of all numbers; on a GPU every one")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "accuracy.md")
    return parser.parse_args()


def main():
    options = parse()
    title = SOFTWARE if os.environ.get("KILN_DRIVER") else GPU
    runner = Runner(options.library)
    every = options.every or (1 if title == GPU else 0)
    sweeps = sweep(runner.kiln, runner.memory, options.only, every) if every else ()
    found = {}
    for expression, kind, error, at in itertools.chain(measure(options.only, runner, KINDS[title]), sweeps):
        print(f"{expression:24} {kind:5} {error:8.3g} at {at}", flush=True)
        errors = found.setdefault(expression, {})
        errors[kind] = max(errors.get(kind, (0.0, at)), (error, at), key=lambda one: one[0])
    if options.check:
        faults = list(compare(rows_of(options.page.read_text(encoding="utf-8"), title), found))
        print("\n".join(faults))
        return 1 if faults else 0
    if not options.only:
        numbers = "every number" if every == 1 else f"every {every}th of all numbers"
        device = "" if title == SOFTWARE else f"{device_name(runner.memory)}, {datetime.date.today()}. "
        remark = device + (f"Functions of one number in f32 also at {numbers}." if every else "")
        write_page(options.page, title, table_of(found, title, remark))
    return 0


if __name__ == "__main__":
    sys.exit(main())
