#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kiln on tensors with other memory layouts than compare.py's: odd extents behind the reduced axis, pitched and
transposed tensors, masks, bytes, several inputs. Looks for what is slow; results are not checked (gpu_suite does).

  layouts.py [--cases REGEX]              measures (needs PyTorch with CUDA); the slowest come last
  layouts.py --dry-run [--cases REGEX]    lists the cases; needs no GPU
  layouts.py --manifest FILE              writes a manifest of the cases for kiln precompile; needs no GPU

Each kernel takes turns with a copy of the same bytes as in compare.py, 7 rounds. One line each: roof ratio, microseconds,
megabytes, the case and its schedule.

exit codes: 0 measured; 1 a case failed; 2 the command line is wrong; 3 no PyTorch, no GPU or no library.
"""
import argparse
import math
import re
import sys

from kiln_ctypes import type_size, write_manifest

TRAFFIC = 96e6  # bytes that a case moves, about
REDUCTIONS = ("sum", "var", "max", "argmax")


class Laid:
    """A tensor: its type, its shape, and the order of its axes in memory, the last of them padded to `pitch`."""

    def __init__(self, kind, shape, order=None, pitch=None):
        self.kind, self.shape, self.strides = kind, shape, [0] * len(shape)
        step = 1
        for place, axis in enumerate(reversed(order or range(len(shape)))):
            self.strides[axis] = step
            step *= pitch if place == 0 and pitch else shape[axis]
        self.span = step * type_size(kind)

    @property
    def bytes(self):
        return math.prod(self.shape) * type_size(self.kind)


def one_input(program, kind, shape, axes, **layout):
    """program(x): an output of one value per row, or of x's shape."""
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    out = Laid("i64" if program == "argmax" else kind, kept) if program in REDUCTIONS else Laid(kind, shape)
    words = "".join(f" {name} {value}" for name, value in layout.items())
    name = f"{program} {kind} {'x'.join(map(str, shape))} axes {','.join(map(str, axes))}{words}"
    return name, f"y = {program}(x)", axes, [Laid(kind, shape, **layout), out]


def several(name, text, axes, tensors):
    kind = tensors[-1].kind
    return f"{name} {kind} {'x'.join(map(str, tensors[-1].shape))}", text, axes, tensors


def all_cases():
    for kind in ("f16", "f32"):
        def rows_of(*row, tensors=2):
            return max(1, int(TRAFFIC / tensors / type_size(kind) / math.prod(row)))
        for kept in (1, 2, 3, 5, 8, 12, 24, 33, 49, 63, 65, 100, 127, 255, 1001):
            for columns in (7, 64, 197, 1000, 4096):
                for program in ("softmax", "sum"):
                    yield one_input(program, kind, (rows_of(columns, kept), columns, kept), [1])
        for shape in ((100, 33333), (640, 100003), (5000, 1023), (5000, 4097), (100000, 33), (300000, 7), (20000, 255),
                      (5000000, 4), (2000000, 10), (1250000, 16), (833000, 24)):
            for program in ("softmax", "sum", "var"):
                yield one_input(program, kind, shape, [0])
        for shape, axes in (((256, 28, 28), [0, 2, 3]), ((256, 28, 28), [2, 3]), ((224, 224, 3), [0, 1, 2]),
                            ((224, 224, 3), [1, 2]), ((56, 56, 255), [1, 2]), ((197, 767), [0, 1])):
            for program in ("l2_normalize", "sum"):
                yield one_input(program, kind, (rows_of(*shape),) + shape, axes)
        for columns, pitch in ((1000, 1024), (1000, 1001), (1023, 1024), (127, 128), (100, 101), (4095, 4096)):
            for program in ("softmax", "sum"):
                yield one_input(program, kind, (rows_of(columns), columns), [1], pitch=pitch)
        for shape in ((4096, 4096), (1000, 10007), (8192, 1024), (1024, 8192), (65536, 100)):
            for program in ("softmax", "sum"):
                yield one_input(program, kind, shape, [1], order=[1, 0])
        for shape in ((64, 3136, 256), (64, 1024, 64), (8, 1000, 2000)):
            for program in ("softmax", "layer_norm"):
                yield one_input(program, kind, shape, [2], order=[0, 2, 1])
            across, along = Laid(kind, shape, order=[1, 0]), Laid(kind, shape)
            yield several("add transposed", "y = a + b", [], [along, across, along])
            yield several("copy transposed", "y = a * 2", [], [across, along])
        for shape, order in (((64, 64, 112, 112), [0, 2, 3, 1]), ((64, 96, 55, 55), [0, 2, 3, 1]),
                             ((8, 64, 64, 512), [0, 1, 3, 2]), ((300, 200, 400), [2, 1, 0]), ((3, 4096, 1024), [1, 2, 0])):
            to, back = Laid(kind, shape, order=order), Laid(kind, shape)
            for name, a, y in (("permuted", to, back), ("to permuted", back, to)):
                words = " ".join((name, "".join(map(str, order))))
                yield several(words, "y = a * 2", [], [a, y])
                yield several("gelu " + words, "y = gelu(a + b)", [], [a, Laid(kind, (shape[1],) + (1,) * (len(shape) - 2)), y])
        image = Laid("u8", (200, 3, 224, 224), order=[0, 2, 3, 1])
        yield several("image", "y = (a - 127.5) * 0.017", [], [image, Laid(kind, image.shape)])
        for size in (197, 512, 577, 1023):
            x = Laid(kind, (rows_of(12, size, size), 12, size, size))
            batch = x.shape[0]
            for name, mask in (("mask of columns", (batch, 1, 1, size)), ("mask of heads", (1, 1, size, size))):
                yield several(name, "y = softmax(x * 0.125 + m)", [3], [x, Laid(kind, mask), x])
            yield several("mask of bool", "y = softmax(where(m, x * 0.125, -inf))", [3],
                          [Laid("bool", (batch, 1, size, size)), x, x])
            yield several("causal", "y = softmax(where(index(3) <= index(2), x * 0.125, -inf))", [3], [x, x])
    for columns in (100, 1000, 1023, 4096, 50257):
        def rows(kind, tensors, rank=2):
            shape = (max(1, int(TRAFFIC / tensors / type_size(kind) / columns)), columns if rank == 2 else 1)
            return Laid(kind, shape)
        yield several("softmax", "y = softmax(x)", [1], [rows("e4m3", 2), rows("e4m3", 2)])
        yield several("any", "y = any(x)", [1], [rows("bool", 1), rows("bool", 1, rank=1)])
        yield several("argmax", "y = argmax(x)", [1], [rows("f16", 1), Laid("i64", rows("f16", 1, rank=1).shape)])
        x = rows("bf16", 3)
        yield several("layer_norm_grad", "y = layer_norm_grad(x, w, g)", [1], [x, Laid("bf16", (columns,)), x, x])


def measure(chosen, library):
    try:
        import torch
        torch.zeros(1, device="cuda")
        from kiln_ctypes import Kiln, Plan, view
        from measure import Clock
        kiln = Kiln(library)
    except (ImportError, RuntimeError, OSError) as error:
        print(f"layouts.py: {error}", file=sys.stderr)
        return 3
    clock, lines, failed = Clock(torch, 7), [], 0
    pool = torch.empty(int(32 * TRAFFIC), dtype=torch.uint8, device="cuda").random_(0, 50)
    for name, text, axes, tensors in chosen:
        try:
            at, views = pool.data_ptr(), []
            for tensor in tensors:
                views.append(view(at, tensor.kind, tensor.shape, tensor.strides))
                at += (tensor.span + 1023) // 1024 * 1024
            assert at <= pool.data_ptr() + pool.numel(), "tensors larger than the pool"
            moved, plan = sum(tensor.bytes for tensor in tensors), Plan(kiln, text, views, axes)
            times = clock.medians({"kiln": plan.launch, "copy": clock.copy(moved)})
            us, ratio = times["kiln"][0], times["copy"][0] / times["kiln"][0]
            lines.append((ratio, f"{ratio:.3f} {us:8.1f} us {moved / 1e6:5.0f} MB  {name}  [{plan.info()['schedule']}]"))
            plan.close()
        except (RuntimeError, AssertionError) as error:
            print(f"{name}: FAILED: {error}")
            failed += 1
    for _, line in sorted(lines, reverse=True):
        print(line)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="libkiln.so (default: of build-gpu/ or build/)")
    parser.add_argument("--cases", metavar="REGEX", default="", help="those whose name it is found in: 'axes 1$'")
    parser.add_argument("--dry-run", action="store_true", help="list the cases and their bytes")
    parser.add_argument("--manifest", metavar="FILE", help="write what kiln precompile makes the kernels from")
    options = parser.parse_args()
    try:
        wanted = re.compile(options.cases)
    except re.error as error:
        parser.error(f"--cases '{options.cases}' is no regular expression: {error}")
    chosen = [case for case in all_cases() if wanted.search(case[0])]
    if options.manifest:
        write_manifest(options.manifest, ((text, [(tensor.shape, tensor.kind, tensor.strides) for tensor in tensors], axes)
                                          for _, text, axes, tensors in chosen))
        return 0
    if options.dry_run:
        for name, text, _, tensors in chosen:
            print(f"{sum(tensor.bytes for tensor in tensors) / 1e6:6.0f} MB  {name}: {text}")
        return 0
    from compare import find_library
    library = options.library or find_library()
    if not library:
        print("layouts.py: there is no libkiln.so in build-gpu/ or build/; --library names one", file=sys.stderr)
        return 3
    return measure(chosen, library)


if __name__ == "__main__":
    sys.exit(main())
