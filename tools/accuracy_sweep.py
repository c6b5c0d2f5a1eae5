# SPDX-License-Identifier: Apache-2.0
"""Functions of one number in f32 against themselves in f64, at all 2^32 numbers or every so many of them: the kernels
compute, compare and find the worst of each row themselves, so that the host reads two numbers for a row.

Functions in f64 are compared with mpmath besides: what they are off by is nothing beside a unit of f32.
"""
import kiln_ctypes as kiln
import numpy as np
from accuracy_cases import ONE, least_counted, text_of

COLUMNS, MOST_ROWS = 4096, 4096
LARGEST = 3.4028234663852886e38
# r: what it should be; u: a unit in its last place; e: how many of them the f32 y is off. Between the largest number and
# infinity either is right; a NaN on either side is a fault, as a function has values wherever it is compared.
COMPARE = """
r = {function}; s = abs(r)
u = exp2(maximum(floor(log2(s)), -126) - 23)
high = s + u / 2 >= {largest!r} && abs(y) >= {nearly!r}
d = abs(y - r) / u
e = high ? 0 : isnan(d) ? 1e30 : d
counted = x >= {low!r} && x <= {high!r} && !(s < {least!r})
c = counted ? e : 0
worst = max(c); at = argmax(c)
"""


def comparison(expression, bounds):
    low, high = (min(max(bound, -LARGEST), LARGEST) for bound in bounds)
    statements = COMPARE.format(function=text_of(expression), largest=LARGEST, nearly=LARGEST * (1 - 2.0 ** -24),
                                low=float(low), high=float(high), least=float(least_counted(expression, "f32")))
    return "; ".join(statements.strip().split("\n"))


class Function:
    """Its two plans: of y, and of the worst of each row."""

    def __init__(self, sweep, case):
        self.expression, _, bounds = case
        self.most, self.at = 0.0, None
        memory, rows = sweep.memory, sweep.rows
        self.worst, self.columns = np.zeros((rows, 1)), np.zeros((rows, 1), np.int64)
        self.places = [memory.copy_in(self.worst), memory.copy_in(self.columns)]
        whole = (rows, COLUMNS)
        self.compute = kiln.Plan(sweep.kiln, f"y = {text_of(self.expression)}",
                                 [kiln.view(sweep.x, "f32", whole), kiln.view(sweep.y, "f32", whole)], [-1])
        inputs = {"x": kiln.view(sweep.wide, "f64", whole), "y": kiln.view(sweep.y, "f32", whole)}
        outputs = [kiln.view(self.places[0], "f64", (rows, 1)), kiln.view(self.places[1], "i64", (rows, 1))]
        text, names = comparison(self.expression, bounds), ["worst", "at"]
        program = kiln.Program(sweep.kiln, text, [-1], names)
        order = program.input_names()
        program.close()
        self.compare = kiln.Plan(sweep.kiln, text, [inputs[name] for name in order] + outputs, [-1], names)

    def run(self, sweep, numbers):
        self.compute.launch()
        self.compare.launch()
        sweep.memory.copy_out(self.places[0], self.worst)
        row = int(np.argmax(self.worst))
        if self.worst[row, 0] > self.most:
            sweep.memory.copy_out(self.places[1], self.columns)
            self.most, self.at = float(self.worst[row, 0]), (float(numbers[row, self.columns[row, 0]]),)

    def close(self):
        self.compute.close()
        self.compare.close()


class Sweep:
    def __init__(self, library, memory, rows):
        self.kiln, self.memory, self.rows = library, memory, rows
        numbers = np.zeros((rows, COLUMNS), np.float32)
        self.x, self.y, self.wide = (memory.copy_in(a) for a in (numbers, numbers, numbers.astype(np.float64)))
        whole = (rows, COLUMNS)
        self.widen = kiln.Plan(library, "d = x", [kiln.view(self.x, "f32", whole), kiln.view(self.wide, "f64", whole)], [-1])

    def chunks(self, step):
        """Numbers whose bits lie so far apart, as many at a time as there is memory for."""
        size = self.rows * COLUMNS
        for first in range(0, 2 ** 32, size * step):
            bits = np.arange(first, first + size * step, step, dtype=np.uint64) % 2 ** 32
            yield bits.astype(np.uint32).view(np.float32).reshape(self.rows, COLUMNS)

    def run(self, cases, step):
        """Yields (expression, "f32", error, where)."""
        functions = [Function(self, case) for case in cases]
        for numbers in self.chunks(step):
            self.memory.write(self.x, numbers)
            self.widen.launch()
            for function in functions:
                function.run(self, numbers)
        for function in functions:
            function.close()
            yield function.expression, "f32", function.most, function.at
        self.widen.close()


def sweep(library, memory, only, step):
    """All functions with the text in their names; yields as Sweep.run."""
    rows = min(MOST_ROWS, -(-2 ** 32 // (step * COLUMNS)))
    cases = [case for case in ONE if only in case[0]]
    yield from Sweep(library, memory, rows).run(cases, step)
    memory.release()
