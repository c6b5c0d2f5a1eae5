# SPDX-License-Identifier: Apache-2.0
"""What compare.py measures: programs, the shapes of each set, the bytes that must move, and the bar of each case."""
import dataclasses
import math
import re

from kiln_ctypes import type_size

TRAFFIC = 256 << 20  # bytes that a case of a sweep moves, about
CHIP_BYTES = 132 * (228 + 256) * 1024  # shared memory and registers of an H100's 132 multiprocessors
SMALL_TRAFFIC = 16e6
LONG_ROW = 262144


@dataclasses.dataclass(frozen=True)
class Program:
    """tensors: inputs, then the output. Their shapes by letter, for a case of shape S that reduces axes A: m: S; r: the
    last of S; c: S with 1 for the last; s: S with 1 for each of A; k: the first and last of S, 1 between them."""
    text: str
    tensors: str
    output_type: str = ""  # "": the case's own
    spread: float = 1.0    # inputs are uniform in -spread .. spread


PROGRAMS = {
    "softmax": Program("y = softmax(x)", "mm", spread=4),
    "softmax_grad": Program("dx = softmax_grad(y, g)", "mmm"),
    "rms_norm": Program("y = rms_norm(x, w)", "mrm"),
    "layer_norm": Program("y = layer_norm(x, w, b)", "mrrm"),
    "reduce_scale": Program("y = reduce_scale(x)", "mm"),
    "sum": Program("s = sum(x)", "ms"),
    "max": Program("s = max(x)", "ms"),
    "var": Program("s = var(x)", "ms"),
    "argmax": Program("s = argmax(x)", "ms", output_type="i64"),
    "mul": Program("y = a * b", "mmm"),
    "gelu_bias_mul": Program("y = gelu_tanh(a + b) * c", "mrmm"),
    "silu_mul": Program("y = silu(a) * b", "mmm"),
    "add_row": Program("y = x + b", "mrm"),
    "scale_rows": Program("y = x * s", "mcm"),
    "add_mask": Program("y = x + a", "mkm"),
    "to_f16": Program("y = x", "mm", output_type="f16"),
}
REDUCTIONS = ("sum", "max", "var", "argmax")
ELEMENTWISE = ("mul", "gelu_bias_mul", "silu_mul", "add_row", "scale_rows", "add_mask", "to_f16")


@dataclasses.dataclass(frozen=True)
class Case:
    set: str
    program: str
    type: str
    shape: tuple
    axes: tuple = (-1,)

    @property
    def definition(self):
        return PROGRAMS[self.program]

    @property
    def name(self):
        axes = "" if self.axes == (-1,) else " axes " + ",".join(map(str, self.axes))
        return f"{self.program} {self.type} {'x'.join(map(str, self.shape))}{axes}"

    @property
    def reduced(self):
        return sorted(axis % len(self.shape) for axis in self.axes) if self.program not in ELEMENTWISE else []

    @property
    def cols(self):
        return math.prod(self.shape[axis] for axis in self.reduced) if self.reduced else self.shape[-1]

    @property
    def kept(self):
        """Contiguous elements behind the last reduced axis; 1: rows have contiguous columns."""
        return math.prod(self.shape[self.reduced[-1] + 1:]) if self.reduced else 1

    def tensors(self):
        """(shape, type) of each, inputs first."""
        def shape_of(letter):
            whole, reduced = self.shape, self.reduced
            middle = (1,) * max(0, len(whole) - 2)
            return {"m": whole, "r": whole[-1:], "c": whole[:-1] + (1,), "k": whole[:1] + middle + whole[-1:],
                    "s": tuple(1 if i in reduced else n for i, n in enumerate(whole))}[letter]
        types = [self.type] * (len(self.definition.tensors) - 1) + [self.definition.output_type or self.type]
        return list(zip(map(shape_of, self.definition.tensors), types))

    @property
    def bytes(self):
        return sum(math.prod(shape) * type_size(kind) for shape, kind in self.tensors())

    def bar(self):
        """(the least roof ratio, why)."""
        row_bytes = [shape[-1] * type_size(kind) for shape, kind in self.tensors() if shape == self.shape]
        if self.bytes < SMALL_TRAFFIC:
            return 1 / 1.15, "under 16 MB"
        if self.program in ELEMENTWISE:
            return 0.97, "elementwise"
        if self.kept > 1:
            return (0.95, "leading axes") if self.kept >= 64 else (None, "few contiguous kept elements")
        if self.cols > LONG_ROW:
            if self.program in REDUCTIONS:
                return 0.97, "huge rows, reduction"
            held = sum(self.cols * type_size(kind) for shape, kind in self.tensors()[:-1] if shape == self.shape)
            return (0.80, "huge rows on the chip") if held <= CHIP_BYTES else (0.70, "huge rows")
        if self.cols < 128:
            return 0.93, "small rows"
        return (0.97, "aligned rows") if all(n % 16 == 0 for n in row_bytes) else (0.95, "unaligned rows")


def sized(kind, program, type_name, cols, traffic=TRAFFIC):
    """Rows such that the case moves about so many bytes."""
    few, more = Case(kind, program, type_name, (1, cols)), Case(kind, program, type_name, (2, cols))
    per_row = more.bytes - few.bytes
    return Case(kind, program, type_name, (max(1, round((traffic - few.bytes + per_row) / per_row)), cols))


def peers_cases():
    """The cases of the table of peers, in its shapes."""
    def many(program, type_name, shapes, axes=(-1,)):
        return [Case("peers", program, type_name, shape, axes) for shape in shapes]
    halves = [(49152, n) for n in (32, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192, 16384, 32768)]
    norms = [(32768, 256), (32768, 1024), (32768, 4096), (32768, 8192), (16384, 16384), (8192, 65536), (4096, 131072)]
    sums = [(442368, 128), (65536, 1024), (16384, 4096), (4096, 65536), (16, 1 << 24), (1, 1 << 28)]
    image = [(64, 56, 56, 256)]
    return (many("reduce_scale", "f32", [(442368, 128), (49152, 1000)])
            + many("softmax", "f16", halves)
            + many("softmax", "bf16", [(4096, 50257), (4096, 128256), (64, 1 << 20)])
            + many("softmax_grad", "f16", halves)
            + many("sum", "f32", sums)
            + many("sum", "f32", [(65536, 1024), (1 << 20, 64), (4096, 65536)], (0,))
            + many("sum", "f16", image, (0,)) + many("sum", "f16", image, (1,)) + many("sum", "f16", image)
            + many("max", "f16", image, (1, 2))
            + many("argmax", "f32", [(65536, 1024)]) + many("var", "f32", [(65536, 1024)])
            + many("rms_norm", "bf16", norms) + many("layer_norm", "bf16", norms)
            + many("mul", "f16", [(1 << 14,), (1 << 20,), (1 << 26,), (1 << 28,)])
            + many("gelu_bias_mul", "bf16", [(8192, 8192)]))


POWERS = [1 << k for k in range(7, 19)]
SWEEP_COLS = sorted(set(POWERS + [n - 1 for n in POWERS if n > 128] + [n + 1 for n in POWERS if n < LONG_ROW]
                        + [1000, 2000, 3000, 5000, 10000, 20000, 50000, 100000, 200000]
                        + [131, 523, 1031, 4099, 16411, 65537, 131101] + [32000, 50257, 128256, 151936]))
THIN_COLS = (128, 257, 1000, 1023, 1024, 4096, 16384, 50257, 65536, 128256, 262144)
SWEPT = [("softmax", "f16"), ("softmax", "bf16"), ("softmax", "f32"), ("softmax_grad", "f16"), ("rms_norm", "bf16"),
         ("layer_norm", "bf16"), ("reduce_scale", "f32"), ("sum", "f32")]


def sweep_cases():
    return [sized("sweep", program, kind, cols) for program, kind in SWEPT for cols in SWEEP_COLS]


def small_cases():
    columns = (1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80, 96, 100, 127)
    thin = (1, 3, 8, 16, 20, 33, 64, 100, 127)
    return ([sized("small", "softmax", "f16", n) for n in columns]
            + [sized("small", program, kind, n) for program, kind in SWEPT[2:] for n in thin])


def few_cases():
    shapes = [(64, 1 << 20), (4, 1 << 24), (1, 1 << 28)]
    kinds = [("sum", "f32"), ("max", "f16"), ("softmax", "f16"), ("softmax", "bf16"), ("softmax", "f32"),
             ("rms_norm", "bf16"), ("layer_norm", "bf16"), ("reduce_scale", "f32")]
    return ([Case("few", program, kind, shape) for program, kind in kinds for shape in shapes]
            + [Case("few", program, kind, (128, 524288)) for program, kind in kinds[:4]])


def axes_cases():
    sums = [((1 << 20, 64), (0,)), ((65536, 1024), (0,)), ((4096, 65536), (0,)), ((100000, 1000), (0,)),
            ((640, 100003), (0,)), ((64, 1000, 1000), (1,)), ((512, 128, 1024), (1,)), ((16, 65536, 64), (1,)),
            ((64, 56, 56, 256), (1, 2)), ((64, 56, 56, 256), (0, 1, 2))]
    soft = [((64, 1000, 1000), (1,)), ((512, 128, 1024), (1,)), ((4096, 32768), (0,)), ((128, 524288), (0,))]
    return ([Case("axes", "sum", kind, shape, axes) for kind in ("f32", "f16") for shape, axes in sums]
            + [Case("axes", "max", "bf16", shape, axes) for shape, axes in sums[1:8:3]]
            + [Case("axes", "softmax", kind, shape, axes) for kind in ("f16", "f32") for shape, axes in soft])


def elementwise_cases():
    cases = [Case("elementwise", "mul", kind, (n,)) for kind in ("f16", "bf16", "f32") for n in (1 << 25, 44739243)]
    for program, kinds in (("add_row", ("f16", "f32")), ("scale_rows", ("f16", "f32")), ("silu_mul", ("bf16",)),
                           ("gelu_bias_mul", ("f16", "bf16")), ("to_f16", ("f32",))):
        cases += [sized("elementwise", program, kind, n) for kind in kinds for n in (1023, 1024, 8192)]
    masks = [(32, 16, 512, 256), (32, 16, 512, 250)]
    return cases + [Case("elementwise", "add_mask", kind, shape) for kind in ("f16", "f32") for shape in masks]


def latency_cases():
    norms = [(1, 4096), (128, 4096), (1024, 1024), (512, 4096)]
    rows = [(1, 1024), (32, 1024), (1024, 1024), (1024, 1000), (512, 4096), (32, 32768), (8, 50257), (32, 128256)]
    cases = [Case("latency", "softmax", "f16", shape) for shape in rows]
    for program, kind in (("layer_norm", "bf16"), ("rms_norm", "bf16"), ("sum", "f32"), ("reduce_scale", "f32")):
        cases += [Case("latency", program, kind, shape) for shape in norms]
    return (cases + [Case("latency", "sum", "f32", shape) for shape in ((1, 1 << 20), (1, 3000000))]
            + [Case("latency", "sum", "f32", shape, (0,)) for shape in ((1024, 1024), (32, 65536))]
            + [Case("latency", "mul", "f16", (n,)) for n in (1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 21)]
            + [Case("latency", "gelu_bias_mul", "bf16", (256, 4096))])


SETS = {"peers": peers_cases, "sweep": sweep_cases, "small": small_cases, "few": few_cases, "axes": axes_cases,
        "elementwise": elementwise_cases, "latency": latency_cases}


def choose(sets, pattern=None, quick=False, part=None):
    """The cases of these sets, each once, as far as the pattern is found in their names. part: (i, n): the i-th of
    n parts."""
    chosen = {}
    for name in sets:
        for case in SETS[name]():
            thin = case.set == "sweep" and case.cols not in THIN_COLS
            if (pattern is None or re.search(pattern, case.name)) and not (quick and thin):
                chosen.setdefault(case.name, case)
    cases = list(chosen.values())
    return cases[part[0] - 1::part[1]] if part else cases
