# SPDX-License-Identifier: Apache-2.0
"""What the programs of check_programs.py are drawn with: launches, their tensors, how these lie in memory."""
import numpy as np
import program_types as types


class Tensor:
    """shape and strides are those that Kiln sees, given is that of values and results."""

    def __init__(self, name, kind, shape, values=None):
        self.name, self.type, self.values, self.reference = name, kind, values, None
        self.kept = None  # of an output: which elements nothing is written to
        self.places = None  # of each element, where a layout's specification has it
        self.given = tuple(shape)
        self.seen(shape, contiguous(shape))

    def seen(self, shape, strides):
        self.shape, self.strides = tuple(shape), tuple(int(s) for s in strides)


class Work:
    """A launch. roles: of each tensor, for as_tiles: "elements", "columns", "row", "scales", or "one" for all."""

    def __init__(self, text, scalars=(), axes=(-1,)):
        self.text, self.inputs, self.outputs = text, {}, []
        self.scalars, self.axes, self.roles = list(scalars), list(axes), {}


def contiguous(shape):
    steps = np.cumprod([1, *reversed(shape[1:])])[::-1] if len(shape) else []
    return [int(s) for s in steps]


class Draw:
    def __init__(self, rng):
        self.rng = rng

    def one_of(self, *items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, percent):
        return self.rng.integers(100) < percent

    def floats(self):
        return self.one_of(*types.FLOATS)

    def rows(self):
        return self.one_of(1, 2, 3, 5, 17, 40, 128)

    def columns(self, multiple=1, most=600):
        few = int(self.rng.integers(1, most // multiple + 1))
        return multiple * self.one_of(few, max(1, few // 4), max(1, few // 16))

    def values(self, shape, spread=1.0):
        return self.rng.standard_normal(shape) * spread

    def scattered(self, shape):
        """Of magnitudes far apart, some of them 0."""
        values = self.values(shape) * 2.0 ** self.rng.integers(-6, 7, shape[:1] + (1,) * (len(shape) - 1))
        return np.where(self.rng.random(shape) < 0.1, 0, values)

    def special(self, values):
        """A row of zeros and, now and then, a NaN and an infinity."""
        values[int(self.rng.integers(len(values)))] = 0
        for what in (np.nan, np.inf, -np.inf):
            if self.chance(25):
                values[tuple(int(self.rng.integers(n)) for n in values.shape)] = what
        return values

    def input(self, work, name, kind, values, role="elements"):
        """What the values are once they are stored."""
        tensor = Tensor(name, kind, np.shape(values), types.rounded(kind, values))
        self.pitch(tensor, 30)
        work.inputs[name], work.roles[name] = tensor, role
        return tensor.values

    def pitch(self, tensor, percent):
        """Rows farther apart than they are long, to a multiple of 16 bytes or not."""
        if len(tensor.shape) == 2 and self.chance(percent):
            columns = tensor.shape[1]
            step = self.one_of(-(-columns // 16) * 16, columns + 2 + columns % 2, 2 * columns + columns % 2 * 2)
            tensor.seen(tensor.shape, (step + step % 2, 1))

    def output(self, work, name, kind, shape, reference, role="elements"):
        """reference(results): values and their errors; results: what of the program's outputs is there before."""
        tensor = Tensor(name, kind, shape)
        tensor.reference = reference
        self.pitch(tensor, 30)
        if role == "scales" and self.chance(40):
            pitch = shape[0] + self.one_of(0, -shape[0] % 16, 3)  # column-major, as TMA reads it or not
            tensor.seen(shape, (1, pitch))
        if len(shape) == 1 and self.chance(20):
            tensor.seen(shape, (2,))
        work.outputs.append(tensor)
        work.roles[name] = role
        return tensor

    def quantised_shape(self, block, multiple=1):
        """Rows and columns of what is quantised, block: columns of a scale, or None; and whether its scales lie in tiles,
        as block-scaled matrix multiplications of cuBLAS read them."""
        if block and self.chance(35):
            return self.one_of(1, 20, 32, 128, 128, 256), 4 * block * self.one_of(1, 2, 3), True
        return self.rows(), self.columns(self.one_of(multiple, 4 * (block or multiple))), False


def places_in_tiles(rows, blocks):
    """Of cuBLAS's layout: scales of 128 rows and 4 blocks are 512 elements, row r and block c of them at
    r % 32 * 16 + r // 32 * 4 + c; tiles follow one another along the blocks."""
    r, c = np.arange(rows)[:, None], np.arange(blocks)
    return (r // 128 * (blocks // 4) + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4


def as_tiles(work, rows, columns, block):
    """All tensors with rows in tiles of 4 x 32, or a part of 32, and blocks in fours."""
    blocks = columns // block
    of_rows, steps_of_rows, of_columns = (rows // 128, 4, 32), (128, 32, 1), (blocks // 4, 4, block)
    scales = (128 * blocks, 4, 16, 512, 1, 1)
    if rows <= 32:
        of_rows, steps_of_rows, scales = (rows,), (1,), scales[2:]
    for tensor in [*work.inputs.values(), *work.outputs]:
        role, steps = work.roles[tensor.name], tensor.strides
        if role == "scales":
            tensor.seen((*of_rows, blocks // 4, 4, 1), scales)
            tensor.places = places_in_tiles(rows, blocks)
        elif role == "columns":
            tensor.seen(of_columns, [steps[0] * n for n in contiguous(of_columns)])
        elif role in ("elements", "row"):
            inner = of_columns if role == "elements" else (1, 1, 1)
            tensor.seen((*of_rows, *inner),
                        [steps[0] * n for n in steps_of_rows] + [steps[1] * n for n in contiguous(inner)])
    work.axes = [-3, -2, -1]


def unit(*kinds):
    """A little more than the error of one operation, relative to its result."""
    return 1e-12 if "f64" in kinds else 4e-7
