# SPDX-License-Identifier: Apache-2.0
"""What a case's results should be, in double precision, and how far from that a result is."""
import math

import numpy

from forms import NumpyMath
from tolerances import LEAST, PEER_FACTOR, TOLERANCES

LAW = 0.02  # the mean of other random numbers' results may differ by so much of the mean magnitude


def as_results(results):
    """A form returns one result or several."""
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Expected:
    """tensors: of tensors.py, filled; picks: of choose_picks."""

    def __init__(self, case, tensors, picks):
        self.case, self.picks = case, picks
        self.inputs = [tensors.read(i, picks) for i, operand in enumerate(tensors.operands) if not operand.is_output]
        self.first_output = len(self.inputs)
        self.types = [operand.type for operand in tensors.operands if operand.is_output]
        with numpy.errstate(all="ignore"):
            math_of_rows = NumpyMath(case.shape, case.axes, picks)
            results = as_results(case.program.form(math_of_rows, *self.inputs, **dict(case.program.scalars)))
        self.wanted = [numpy.asarray(result, float) for result in results]

    def error(self, number, got, of_peer=False):
        """The largest difference over the largest magnitude, beyond half a step of a coarse type; infinite for NaN."""
        wanted, kind = numpy.broadcast_arrays(self.wanted[number], got)[0], self.types[number]
        if numpy.isnan(got).any() or got.size != self.wanted[number].size:
            return math.inf
        if of_peer and self.case.program.random:
            magnitude = numpy.abs(wanted).mean() or 1
            return max(0.0, abs(got.mean() - wanted.mean()) / magnitude - LAW) if got.size > 10000 else 0.0
        if of_peer and self.case.program.name.startswith("arg"):  # of equal elements another library has any
            got, wanted = (numpy.take_along_axis(self.inputs[0], index.astype(int), self.case.axes[0])
                           for index in (got, wanted))
        scale = numpy.abs(wanted).max() or 1.0
        return float((numpy.abs(got - wanted) - half_step(wanted, kind)).max().clip(0) / scale)

    def limit(self, number, of_peer=False):
        """Peers may round between their steps, to the case's type too where a result is wider."""
        own = TOLERANCES[self.types[number]]
        return PEER_FACTOR * max(own, TOLERANCES[self.case.type]) if of_peer else own

    def check(self, tensors, arrays=None):
        """(the largest error, whether each is within its limit). arrays: of a peer, None for Kiln's."""
        largest, right = 0.0, True
        for number in range(len(self.wanted)):
            place = self.first_output + number
            if arrays is None:
                got = tensors.read(place, self.picks)
                error = math.inf if tensors.unwritten(place) else self.error(number, got)
            else:
                got = tensors.read(place, self.picks, arrays[number])
                error = self.error(number, got, True)
            largest, right = max(largest, error), right and error <= self.limit(number, arrays is not None)
        return largest, right


def half_step(wanted, kind):
    """How far from the result its nearest value of that type may be, where that is coarse or the result tiny."""
    size = numpy.abs(wanted)
    if kind == "e4m3":
        return numpy.maximum(size / 16, 2.0 ** -10)
    if kind == "e5m2":
        return numpy.maximum(size / 8, 2.0 ** -17)
    return numpy.full(wanted.shape, 0.5 if kind == "i8" else LEAST.get(kind, 0.0))
