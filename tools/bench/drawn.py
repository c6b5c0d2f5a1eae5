# SPDX-License-Identifier: Apache-2.0
"""Cases of row programs, drawn by a seed: types, shapes, alignments. The same seed draws the same cases."""
import dataclasses
import math
import random

from kiln_ctypes import type_size
from row_programs import ALL

LARGE = 32e6  # bytes: from here on the memory's speed counts, below latency does
TRAFFIC = {"large": (LARGE, 512e6), "small": (64e3, LARGE), "tiny": (2e3, 12e3)}
LONG_ROW = 262144
SECTOR = 32  # bytes
ROWS = 32    # after so many at most they begin at the same places in sectors again


@dataclasses.dataclass(frozen=True)
class Operand:
    name: str
    type: str
    shape: tuple
    strides: tuple
    offset: int   # elements from an address that is aligned
    fill: str
    is_output: bool

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def span(self):
        """Elements from the first to the last in memory, and the offset."""
        return self.offset + 1 + sum((n - 1) * step for n, step in zip(self.shape, self.strides))

    @property
    def sector_bytes(self):
        """Of the whole sectors that have elements: memory moves no less, also where rows lie at a pitch. Rows are ascending,
        and none begins before the last has ended."""
        size = type_size(self.type)
        steps = sorted((step, n) for n, step in zip(self.shape, self.strides) if n > 1)
        if not steps or steps[0][0] != 1 or len(steps) == 1 or steps[1][0] == steps[0][1]:
            return self.elements * size
        row, pitch, sectors, last = steps[0][1] * size, steps[1][0] * size, 0, -1
        for number in range(ROWS):
            begin = self.offset * size + number * pitch
            first, end = begin // SECTOR, (begin + row - 1) // SECTOR
            sectors += end - max(first, last + 1) + 1
            last = end
        return sectors * SECTOR / ROWS * self.elements * size / row

    @property
    def contiguous(self):
        return self.strides == strides_of(self.shape, range(len(self.shape)))


def strides_of(shape, order, pad=0):
    """order: of the axes in memory, the innermost last; its rows are `pad` elements apart."""
    strides, step = [0] * len(shape), 1
    for place, axis in enumerate(reversed(list(order))):
        strides[axis] = step
        step *= shape[axis] + (pad if place == 0 else 0)
    return tuple(strides)


@dataclasses.dataclass(frozen=True)
class Case:
    program: object
    type: str
    shape: tuple      # of the iteration space
    offset: int = 0   # of every tensor, in elements
    pad: int = 0      # elements between the rows of every tensor that has the last axis

    @property
    def name(self):
        words = [self.program.name, self.type, "x".join(map(str, self.shape))]
        words += [f"offset {self.offset}"] if self.offset else []
        words += [f"pitch {self.shape[-1] + self.pad}"] if self.pad else []
        return " ".join(words)

    @property
    def axes(self):
        return [self.program.space.index(letter) for letter in self.program.reduced]

    @property
    def cols(self):
        return math.prod(self.shape[axis] for axis in self.axes) if self.axes else self.shape[-1]

    def operands(self):
        outputs = self.program.outputs()
        return [self.operand(t, False) for t in self.program.inputs()] + [self.operand(t, True) for t in outputs]

    def operand(self, tensor, is_output):
        space = self.program.space
        shape = tuple(n if letter in tensor.axes else 1 for letter, n in zip(space, self.shape))
        order = list(range(len(shape)))
        if tensor.channels_last:
            order.append(order.pop(1))
        has_rows = space[-1] in tensor.axes and len(tensor.axes) > 1 and not tensor.channels_last
        strides = strides_of(shape, order, self.pad if has_rows else 0)
        return Operand(tensor.name, tensor.type or self.type, shape, strides, self.offset, tensor.fill, is_output)

    @property
    def bytes(self):
        """Those that must move: each tensor once."""
        return sum(operand.elements * type_size(operand.type) for operand in self.operands())

    @property
    def sector_bytes(self):
        return sum(operand.sector_bytes for operand in self.operands())

    @property
    def traffic(self):
        return "large" if self.bytes >= LARGE else "small"

    @property
    def lenient(self):
        """Of these less is asked: rows too long for the chip, odd extents behind or along reduced leading axes."""
        leading = bool(self.axes) and max(self.axes) < len(self.shape) - 1
        odd = self.shape[-1] % 2 == 1 or any(self.shape[axis] % 2 == 1 for axis in self.axes)
        return bool(self.axes) and (self.cols > LONG_ROW or (leading and odd))


def draw_size(r, low, high):
    """A power of two, a multiple of 8 or more, or any number, with an even logarithm."""
    size = int(2 ** r.uniform(math.log2(low), math.log2(max(low, high))))
    kind = r.random()
    if kind < 0.2:
        return 1 << round(math.log2(size))
    if kind < 0.7:
        step = r.choice([8, 16, 64, 128])
        return max(low, size // step * step or size)
    return max(low, size)


def draw_edge(r, most):
    """Of an image, in pixels."""
    return min(most, r.choice([7, 14, 16, 28, 32, 56, 64, 96, 112, 128, 224, 256, r.randrange(7, 200)]))


def draw_rows(r, n):
    low = min(n, 24)
    return [1, draw_size(r, low, min(n, 1 << 20 if r.random() < 0.1 else 160000))], 0


def draw_columns(r, n):
    return [8, draw_size(r, 3, min(n // 8, 20000))], 0


def draw_middle(r, n):
    cols = draw_size(r, 3, min(n // 8, 4096))
    return [1, draw_size(r, 8, min(n // cols, 4096)), cols], 0


def draw_points(r, n):
    return [1, draw_size(r, min(n, 24), min(n, 100000))], 0


def draw_flat(r, n):
    step = r.choice([1, 8, 1024])
    return [step], 0


def draw_batches(r, n):
    cols = draw_size(r, 16, min(n // 4, 8192))
    return [r.randrange(1, 33), 1, cols], 1


def draw_attention(r, n):
    most = int(min(4096, math.sqrt(n)))
    k = r.choice([77, 197, 577, 1023]) if r.random() < 0.25 and most > 1023 else draw_size(r, min(64, most), most)
    q = k if r.random() < 0.75 else max(1, k // 2)
    return [1, r.choice([1, 4, 8, 12, 16, 32]), q, k], 0


def draw_rotary(r, n):
    return [1, draw_size(r, 4, min(4096, n // 32)), r.choice([1, 2, 8, 32]), r.choice([16, 32, 64, 128, 24])], 0


def draw_sequence(r, n):
    cols = draw_size(r, 8, min(n // 8, 8192))
    return [1, draw_size(r, 4, min(4096, n // cols)), cols], 0


def draw_groups(r, n):
    edge = draw_edge(r, max(2, int(math.sqrt(n / 16))))
    return [1, r.choice([4, 8, 32]), r.choice([1, 2, 4, 10, 15, 16, 20]), edge * edge], 0


def draw_planes(r, n):
    edge = draw_edge(r, max(2, int(math.sqrt(n / 8))))
    return [2, r.choice([3, 16, 48, 64, 96, 128, 255, 256, 512]), edge * edge], 0


def draw_photos(r, n):
    most = max(4, int(math.sqrt(n / 4)))
    return [1, r.choice([3, 3, 3, 4, 1]), draw_edge(r, most), draw_edge(r, most)], 0


def draw_outer(r, n):
    return [1, draw_size(r, 3, 64), draw_size(r, 3, 64), draw_size(r, 3, 2048)], 0


DRAW = {"rows": draw_rows, "columns": draw_columns, "middle": draw_middle, "points": draw_points, "flat": draw_flat,
        "batches": draw_batches, "attention": draw_attention, "rotary": draw_rotary, "sequence": draw_sequence,
        "groups": draw_groups, "planes": draw_planes, "photos": draw_photos, "outer": draw_outer}


def sized(case, axis, target):
    """The same with as much along the axis as moves about so many bytes, at least what it has."""
    def with_extent(n):
        return dataclasses.replace(case, shape=case.shape[:axis] + (n,) + case.shape[axis + 1:])
    step = case.shape[axis]
    more = with_extent(2 * step)
    count = max(1, round((target - case.bytes) / max(1, more.bytes - case.bytes)) + 1)
    return with_extent(step * count if case.program.domain != "columns" else max(step, step * count - step // 3))


def draw_shape(r, program, kind, target):
    """Some draws have more than that of one row or image already: the nearest of a few counts."""
    from row_programs import DOMAINS
    draw, best = DRAW[DOMAINS[program.domain].drawn_as], None
    for _ in range(12):
        shape, axis = draw(r, max(64, int(target / 8)))
        case = sized(Case(program, kind, tuple(shape)), axis, target)
        if best is None or abs(math.log(case.bytes / target)) < abs(math.log(best.bytes / target)):
            best = case
        if 0.7 < best.bytes / target < 1.4:
            break
    return best


def draw_case(r, program, traffic):
    low, high = TRAFFIC[traffic]
    case = draw_shape(r, program, r.choice(program.types.split()), 2 ** r.uniform(math.log2(low), math.log2(high)))
    layout = r.random()
    if layout < 0.12:
        case = dataclasses.replace(case, offset=r.choice([1, 3, 5]))
    elif layout < 0.27 and len(case.shape) > 1 and len(program.tensors()) <= 4:
        case = dataclasses.replace(case, pad=r.choice([1, 8, 24, -case.shape[-1] % 64]))
    return case


def draw(seed, count, programs=ALL, traffic=None):
    """Each program once before any comes again. traffic: a word of TRAFFIC; by default three of four are large."""
    r, cases, names = random.Random(seed), [], set()
    while len(cases) < count:
        for program in r.sample(programs, len(programs)):
            drawn = draw_case(r, program, traffic or r.choices(["large", "small"], [3, 1])[0])
            if drawn.name not in names and len(cases) < count:
                names.add(drawn.name)
                cases.append(drawn)
    return cases
