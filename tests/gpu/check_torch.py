# SPDX-License-Identifier: Apache-2.0
"""Functions of the language, and gradients derived of them, against PyTorch in double precision.

Each is run on random shapes of f64, f32, f16 and bf16, with zeros, infinities and NaN where PyTorch says the same of them,
on rows that are masked altogether and rows without elements. A result may be off by two units in its last place, and by
as many roundings of the largest number at hand as its bound says (torch_functions.py). Gradients are of f64 and f32,
where no two numbers of a row are alike. 77 where there is no PyTorch, or no GPU.

check_torch.py --library build/libkiln.so [--seed 1] [--shapes 20] [--function NAME] [--any-shape] [--cpu]
"""
import argparse
import os
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench"))
try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import kiln_ctypes as kiln  # noqa: E402
import program_types as types  # noqa: E402
from gpu_memory import open_memory  # noqa: E402
from torch_functions import (  # noqa: E402
    ANY, COLUMNS, FUNCTIONS, KEPT, LABEL, POSITIVE, PROBABILITIES, SIGN, UNIT)

ROUNDING = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -24, "bf16": 2.0 ** -24}  # of what results are computed in
DIGITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
LEAST = {"f64": -1074, "f32": -149, "f16": -24, "bf16": -133}
GRADIENT_BOUND = 256


def drawn(rng, kind, rows, columns):
    """Numbers of the kind, before they are rounded to a type."""
    shape = (rows, columns)
    if kind == LABEL:
        return rng.integers(0, max(columns, 1), (rows, 1))
    if kind == KEPT:
        return (rng.random(shape) < 0.7) & (np.arange(rows) % 4 != 3)[:, None]
    if kind == PROBABILITIES:
        powers = np.exp(rng.standard_normal(shape))
        return powers / powers.sum(-1, keepdims=True)
    return {ANY: lambda: 2 * rng.standard_normal(shape), POSITIVE: lambda: 0.1 + rng.exponential(1.5, shape),
            UNIT: lambda: rng.uniform(0.02, 0.98, shape), SIGN: lambda: rng.choice([-1.0, 1.0], shape),
            COLUMNS: lambda: 1 + 0.5 * rng.standard_normal(columns)}[kind]()


def with_specials(rng, values):
    """A row of zeros; now and then NaN and infinities."""
    values[int(rng.integers(len(values)))] = 0
    for what in (np.nan, np.inf, -np.inf):
        if rng.random() < 0.3:
            values[tuple(int(rng.integers(n)) for n in values.shape)] = what
    return values


class Array:
    """A tensor in memory: contiguous, stored as its type."""

    def __init__(self, kind, shape, values=None):
        self.kind, self.shape = kind, tuple(shape)
        if kind == "bool":
            self.codes = np.zeros(self.shape, np.uint8) if values is None else values.astype(np.uint8)
        elif values is None:
            self.codes = np.zeros(self.shape, types.word(kind))
        else:
            self.codes = np.ascontiguousarray(types.encode(kind, values).reshape(self.shape))

    def values(self):
        return self.codes.astype(bool) if self.kind == "bool" else types.decode(self.kind, self.codes)


class Runner:
    def __init__(self, arguments):
        self.on_cpu = arguments.cpu
        self.memory = open_memory(arguments.cpu)
        self.kiln = kiln.Kiln(arguments.library, policy=3 if arguments.any_shape else 0)

    def input_names(self, text, outputs):
        program = kiln.Program(self.kiln, text, [-1], outputs)
        names = program.input_names()
        program.close()
        return names

    def gradient(self, text, arrays, names, wrt):
        program = kiln.Program(self.kiln, text, [-1], ["y"])
        try:
            return program.gradient([kiln.view(0, arrays[n].kind, arrays[n].shape) for n in names], wrt)
        finally:
            program.close()

    def run(self, text, inputs, outputs):
        """inputs: arrays in the program's order; outputs: arrays by name, which are filled."""
        arrays = [*inputs, *outputs.values()]
        try:
            places = [self.memory.copy_in(array.codes) for array in arrays]
            tensors = [kiln.view(place, a.kind, a.shape) for place, a in zip(places, arrays)]
            if self.on_cpu:
                program = kiln.Program(self.kiln, text, [-1], list(outputs))
                program.run_cpu(tensors)
                program.close()
            else:
                plan = kiln.Plan(self.kiln, text, tensors, [-1], list(outputs))
                plan.launch()
                self.memory.check(self.memory.driver.cuCtxSynchronize())
                plan.close()
            for place, array in zip(places, arrays):
                self.memory.copy_out(place, array.codes)
        finally:
            self.memory.release()


def finite(values):
    return np.where(np.isfinite(values), np.abs(values), 0)


def largest_at_hand(function, inputs, expected):
    """Beside each result; of a sum all that it is made of."""
    scale = finite(expected)
    for values in inputs:
        size = finite(values.astype(np.float64))
        if function.rows and size.ndim == 2:
            size = size.sum(-1, keepdims=True) if expected.shape[-1] == 1 else size.max(-1, keepdims=True, initial=0)
        scale = scale + size
    return np.broadcast_to(scale, expected.shape)


def units(kind, values):
    """A unit in the last place of each value."""
    exponent = np.frexp(finite(values))[1] - 1 - DIGITS[kind]
    return np.ldexp(1.0, np.maximum(exponent, LEAST[kind]))


def faults_of(what, kind, got, expected, allowed):
    """A sentence about the first result that is wrong, if any is."""
    error = 2 * units(kind, expected) + np.broadcast_to(allowed, expected.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = types.rounded(kind, expected - error), types.rounded(kind, expected + error)
        good = ((low <= got) & (got <= high)) | (np.isnan(got) & np.isnan(expected))
    if good.all():
        return []
    at = tuple(int(i) for i in np.argwhere(~good)[0])
    return [f"{what}{list(at)} is {got[at]!r}, PyTorch {expected[at]!r} within {error[at]:.3g}; "
            f"{int((~good).sum())} of {good.size}"]


def check(runner, function, rng, kind, rows, columns, special):
    inputs, arrays = {}, {}
    for name, what in function.inputs.items():
        values = drawn(rng, what, rows, columns)
        if special and what == ANY:
            values = with_specials(rng, values)
        stored = {LABEL: "i64", KEPT: "bool"}.get(what, kind)
        arrays[name] = Array(stored, np.shape(values), values)
        inputs[name] = torch.from_numpy(np.ascontiguousarray(arrays[name].values()))
        if what == LABEL:
            inputs[name] = inputs[name].long()
    smooth = [n for n, what in function.inputs.items() if what not in (LABEL, KEPT, SIGN) and function.smooth]
    gradients = smooth if kind in ("f64", "f32") and not special and columns and rows else []
    for name in gradients:
        inputs[name].requires_grad_()
    y = function.of(*inputs.values())
    expected = y.detach().numpy().astype(np.float64)
    result = {"y": Array(kind, expected.shape)}
    runner.run(function.text, [arrays[n] for n in runner.input_names(function.text, ["y"])], result)
    numbers = [arrays[n].values() for n, what in function.inputs.items() if what not in (LABEL, KEPT)]
    allowed = function.bound * ROUNDING[kind] * largest_at_hand(function, numbers, expected)
    faults = faults_of("y", kind, result["y"].values(), expected, allowed)
    if gradients and not faults:
        faults += check_gradient(runner, function, rng, kind, arrays, inputs, gradients, y)
    return faults


def check_gradient(runner, function, rng, kind, arrays, inputs, wrt, y):
    dy = Array(kind, y.shape, rng.standard_normal(y.shape))
    y.backward(torch.from_numpy(np.ascontiguousarray(dy.values())))
    text = runner.gradient(function.text, arrays, runner.input_names(function.text, ["y"]), wrt)
    results = {f"d{name}": Array(kind, arrays[name].shape) for name in wrt}
    given = [dy if name == "dy" else arrays[name] for name in runner.input_names(text, list(results))]
    runner.run(text, given, results)
    numbers = [a.values() for a in arrays.values() if a.kind == kind]
    at_hand = finite(dy.values()).max() * (1 + max(finite(values).max() for values in numbers))
    faults = []
    for name in wrt:
        expected = inputs[name].grad.numpy()
        allowed = GRADIENT_BOUND * ROUNDING[kind] * (finite(expected).max() + at_hand)
        faults += faults_of(f"d{name}", kind, results[f"d{name}"].values(), expected, allowed)
    return faults


def check_function(runner, function, seed, shapes):
    for shape in range(shapes):
        rng = np.random.default_rng([seed, shape, *function.name.encode()])
        kind = ("f64", "f32", "f16", "bf16")[shape % 4]
        rows, columns = int(rng.choice([1, 2, 3, 5, 17, 40])), int(rng.choice([1, 2, 3, 7, 16, 31, 64, 100, 257, 600]))
        special = function.special and shape % 3 == 2
        if shape == shapes - 1 and function.empty:
            columns, special = 0, False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                faults = check(runner, function, rng, kind, rows, columns, special)
            except RuntimeError as error:
                faults = [str(error)]
        if faults:
            return f"{function.text!r} of {kind}[{rows},{columns}], shape {shape} of seed {seed}: {faults[0]}"
    return None


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=os.environ.get("KILN_LIBRARY", "build/libkiln.so"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=20)
    parser.add_argument("--function", choices=sorted(FUNCTIONS))
    parser.add_argument("--any-shape", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    runner, failed = Runner(arguments), 0
    chosen = [FUNCTIONS[arguments.function]] if arguments.function else FUNCTIONS.values()
    for function in chosen:
        fault = check_function(runner, function, arguments.seed, arguments.shapes)
        failed += fault is not None
        if fault:
            print(fault, flush=True)
    print(f"{len(chosen) - failed} functions as PyTorch {torch.__version__} has them, {failed} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
