#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of language models, with random types, shapes, strides and values, against NumPy in double precision: what
program_cases.py writes independently of Kiln's own reference. Prints a line that repeats what fails.

check_programs.py --library build/libkiln.so [--seed 1] [--cases 1000] [--case NAME] [--any-shape] [--cpu]
                  [--list]

It runs on the GPU of KILN_DRIVER (libcuda.so.1), also on the software GPU; --any-shape by the kernels that serve any
shape, where the program has one; --cpu runs Kiln's reference instead. Without NumPy or a GPU it ends with 77.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "bench"))
try:
    import numpy as np
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)
import kiln_ctypes as kiln  # noqa: E402
import program_types as types  # noqa: E402
from gpu_memory import open_memory  # noqa: E402
from program_cases import CASES  # noqa: E402
from program_draw import Draw  # noqa: E402

UNTOUCHED = 0xA5
POLICY_COMPILE, POLICY_ANY_SHAPE = 0, 3


class Storage:
    """A tensor in memory: its bytes, and its elements as a view of them."""

    def __init__(self, tensor):
        self.tensor = tensor
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides))
        self.codes = np.full(last + 1 + last % 2 + 1, UNTOUCHED & 15 if tensor.type == "e2m1" else 0,
                             types.word(tensor.type))
        if tensor.type != "e2m1":
            self.codes.view(np.uint8)[:] = UNTOUCHED
        if tensor.values is not None:
            self.view()[...] = types.encode(tensor.type, tensor.values).reshape(tensor.shape)
        self.untouched = self.codes.copy()
        self.data = self.packed()

    def view(self):
        step = self.codes.itemsize
        return np.lib.stride_tricks.as_strided(self.codes, self.tensor.shape, [s * step for s in self.tensor.strides])

    def packed(self):
        if self.tensor.type != "e2m1":
            return self.codes
        pairs = self.codes[: self.codes.size // 2 * 2].reshape(-1, 2)
        return (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)

    def unpack(self):
        """The elements after a launch."""
        if self.tensor.type == "e2m1":
            self.codes[: self.data.size * 2] = np.stack([self.data & 15, self.data >> 4], -1).reshape(-1)
        return self.view()

    def bytes_beside(self):
        """Whether what lies between the elements is as it was."""
        beside = self.codes.copy()
        step = beside.itemsize
        np.lib.stride_tricks.as_strided(beside, self.tensor.shape, [s * step for s in self.tensor.strides])[...] = 0
        np.lib.stride_tricks.as_strided(self.untouched, self.tensor.shape,
                                        [s * step for s in self.tensor.strides])[...] = 0
        return beside.tobytes() == self.untouched[: beside.size].tobytes()


def faults_of(output, got, results):
    """Sentences about an output: each element lies between what is a little less and a little more, rounded."""
    with np.errstate(invalid="ignore"):
        value, error = output.reference(results)
    value = np.broadcast_to(np.asarray(value, np.float64), output.given)
    error = np.broadcast_to(np.nan_to_num(np.asarray(error, np.float64), nan=0, posinf=0), output.given)
    error = np.where(np.isfinite(value), error, 0)
    low, high = types.rounded(output.type, value - error), types.rounded(output.type, value + error)
    with np.errstate(invalid="ignore"):
        good = ((low <= got) & (got <= high)) | (np.isnan(got) & np.isnan(low))
    if output.kept is not None:
        good |= output.kept
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        yield (f"{output.name}{list(at)} is {got[at]!r}, expected {types.rounded(output.type, value)[at]!r} "
               f"({value[at]!r} within {error[at]:.3g}), {int((~good).sum())} of {good.size}")


def kept_faults(output, codes):
    """Whether elements that nothing is written to are as they were."""
    if output.kept is not None and (codes.view(np.uint8).reshape(*codes.shape, -1)[output.kept] != UNTOUCHED).any():
        yield f"{output.name}: rows that no index names have changed"


def place_faults(output, storage, result):
    """Whether elements lie where the layout's specification has them, which knows no strides."""
    if output.places is not None:
        there = types.decode(output.type, storage.codes[output.places])
        if not np.array_equal(there, result, equal_nan=True):
            yield f"{output.name}: its elements do not lie where the layout has them"


def text_of(tensor):
    strides = ",".join(str(s) for s in tensor.strides)
    return f"{tensor.name}={tensor.type}[{','.join(map(str, tensor.shape))}]{{{strides}}}"


class Refused(RuntimeError):
    """The program has no kernel for any shape."""


class Runner:
    def __init__(self, library, memory, on_cpu, any_shape):
        self.kiln = kiln.Kiln(library, policy=POLICY_ANY_SHAPE if any_shape else POLICY_COMPILE)
        self.memory, self.on_cpu, self.any_shape = memory, on_cpu, any_shape

    def plan(self, work, tensors, outputs):
        try:
            return kiln.Plan(self.kiln, work.text, tensors, work.axes, outputs, work.scalars)
        except RuntimeError as error:
            if self.any_shape and str(error).startswith("no kernel serves any shape"):
                raise Refused(str(error)) from error
            raise

    def launch(self, work, tensors):
        outputs = [output.name for output in work.outputs]
        if self.on_cpu:
            program = kiln.Program(self.kiln, work.text, work.axes, outputs, work.scalars)
            program.run_cpu(tensors)
            program.close()
            return
        plan = self.plan(work, tensors, outputs)
        plan.launch()
        self.memory.check(self.memory.driver.cuCtxSynchronize())
        plan.close()

    def input_order(self, work):
        program = kiln.Program(self.kiln, work.text, work.axes, [o.name for o in work.outputs], work.scalars)
        names = program.input_names()
        program.close()
        return [work.inputs[name] for name in names]

    def run(self, work):
        """The results by name, as float64, and sentences about what is wrong."""
        tensors = self.input_order(work) + work.outputs
        storages = [Storage(tensor) for tensor in tensors]
        try:
            addresses = [self.memory.copy_in(storage.data) for storage in storages]
            self.launch(work, [kiln.view(address, t.type, t.shape, t.strides) for address, t in zip(addresses, tensors)])
            for address, storage in zip(addresses, storages):
                self.memory.copy_out(address, storage.data)
        finally:
            self.memory.release()
        return self.compare(work, storages)

    def compare(self, work, storages):
        results, faults = {}, []
        for storage in storages:
            tensor, codes = storage.tensor, storage.unpack().copy()
            if tensor in work.outputs:
                results[tensor.name] = types.decode(tensor.type, codes).reshape(tensor.given)
                faults += faults_of(tensor, results[tensor.name], results)
                faults += kept_faults(tensor, codes)
                faults += place_faults(tensor, storage, results[tensor.name])
            if not storage.bytes_beside():
                faults.append(f"{tensor.name}: memory between its elements has changed")
        return results, faults


def run_case(runner, name, seed):
    """Sentences about the first work of the case that fails, and that work."""
    draw = Draw(np.random.default_rng(seed))
    steps, results = CASES[name](draw), None
    while True:
        try:
            work = steps.send(results)
        except StopIteration:
            return [], None
        try:
            results, faults = runner.run(work)
        except Refused:
            raise
        except RuntimeError as error:
            faults = [str(error)]
        if faults:
            return faults, work


def tell(name, seed, faults, work, any_shape):
    tensors = " ".join(text_of(t) for t in [*work.inputs.values(), *work.outputs])
    print(f"{name}: {faults[0]}\n  {work.text!r} axes {work.axes} {tensors}\n"
          f"  again: check_programs.py --case {name} --seed {seed} --cases 1{' --any-shape' if any_shape else ''}", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=os.environ.get("KILN_LIBRARY", "build/libkiln.so"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--case", choices=sorted(CASES))
    parser.add_argument("--any-shape", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.list:
        print("\n".join(sorted(CASES)))
        return 0
    runner = Runner(arguments.library, open_memory(arguments.cpu), arguments.cpu, arguments.any_shape)
    names, failed, refused = sorted(CASES), 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        name = arguments.case or names[seed % len(names)]
        try:
            faults, work = run_case(runner, name, seed)
        except Refused:
            refused += 1
            continue
        if faults:
            failed += 1
            tell(name, seed, faults, work, arguments.any_shape)
    without = f", {refused} without such a kernel" if arguments.any_shape else ""
    print(f"{arguments.cases - failed - refused} passed, {failed} failed{without}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
