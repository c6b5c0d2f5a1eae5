#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the model that ranks candidate schedules to what gather measured, and reports how well it chooses.

    tools/tune/fit.py h100.jsonl h200.jsonl --write src/schedule/model_coefficients.h

The model. A kernel keeps several resources busy at a time: memory, issue slots, L1. If they overlapped perfectly, it
would take as long as the busiest of them, which is a roofline; if they did not overlap at all, as long as their sum. A
p-norm is a soft maximum between the two: p = 1 is the sum, p = 16 nearly the maximum. What overlaps with nothing, such
as a launch or a barrier that all threads wait at, is added:

    time = (sum over overlapping terms of (coefficient * term)^p)^(1/p) + sum over serial terms of coefficient * term

The terms are in the points; p and the coefficients are fitted. Only the ranking of a problem's candidates matters, so
the fit makes log(predicted / measured) less its mean over the problem small. Candidates near the problem's best weigh
most, and so do those that a first fit takes for it. In the end all coefficients are scaled alike, which changes no
ranking, so that predictions are microseconds.

Held out, and never seen by the fit, are a share of the programs, and of the shapes, which are the problems' numbers;
the same on all devices. The report tells them apart.

Noise. The fastest of many noisy measurements was lucky, and beside it every choice looks worse than it is. A second
measurement, "us_again" or the same candidate in a later file, takes that out of the report: the best is selected by the
first, and it and the choice are judged by the second.

exit codes: 0 fitted, whatever the figures say; 2 the command line or the points are wrong.
"""
import argparse
import math
import signal
import sys

import numpy as np
from scipy.optimize import least_squares

import report
from points import InputError, hold_out, load

SERIAL = ("launch", "exchange")
NEAR = 0.2           # a candidate that takes so much longer than its problem's best weighs 1/e of it ...
LEAST_WEIGHT = 0.01  # ... and none less than this
RIDGE = 1e-3         # a pull on the parameters so weak that it decides only what the points leave open
USELESS = 5e-3       # a term is left out where that makes the fit worse by no more than this share
MOST_LOG = 12        # of a coefficient, either way, in units of one that explains all of the time
MOST_POWER = 16
TINY = 1e-300        # in place of 0, where that has no logarithm


class Model:
    """p; coefficients, a row for each strategy and a column for each term; and which of the terms are serial."""

    def __init__(self, power, coefficients, serial):
        self.power, self.coefficients, self.serial = power, coefficients, serial

    def parts(self, points):
        """What each term adds to the predicted time, points x terms. An overlapping term has the share of the p-norm
        that its power has of the sum of powers."""
        parts = self.coefficients[points.strategy] * points.terms
        powers = parts[:, ~self.serial] ** self.power
        total = np.maximum(powers.sum(axis=1, keepdims=True), TINY)
        parts[:, ~self.serial] = powers / total * total ** (1 / self.power)
        return parts

    def predict(self, points):
        return np.maximum(self.parts(points).sum(axis=1), TINY)

    def slopes(self, points):
        """Derivatives of log(time): by the log of each coefficient, which is its part's share of the time; by log(p),
        which is -1/p of the entropy of the overlapping shares, times their share of the time."""
        parts = self.parts(points)
        time = np.maximum(parts.sum(axis=1), TINY)
        overlapping = parts[:, ~self.serial]
        shares = overlapping / np.maximum(overlapping.sum(axis=1, keepdims=True), TINY)
        entropy = -(shares * np.log(np.maximum(shares, TINY))).sum(axis=1)
        return parts / time[:, None], -entropy / self.power * overlapping.sum(axis=1) / time

    def times(self, factor):
        return Model(self.power, self.coefficients * factor, self.serial)


def design_of(per_strategy, strategies, terms):
    """How parameters make coefficients: log(coefficients[strategy, term]) = design[strategy, term] @ parameters."""
    if per_strategy == "all":
        return np.eye(strategies * terms).reshape(strategies, terms, -1)
    shared = np.tile(np.eye(terms), (strategies, 1, 1))
    if per_strategy == "none":
        return shared
    factors = np.eye(strategies)[:, None, 1:].repeat(terms, axis=1)  # the first strategy's is 1
    return np.concatenate([shared, factors], axis=2)


class Fit:
    """Weighted least squares. The parameters are those of the design and, last, log(p)."""

    def __init__(self, points, serial, per_strategy):
        self.points, self.serial = points, serial
        self.design = design_of(per_strategy, len(points.strategies), len(points.term_names))
        self.unit = self.units()
        self.ridge = RIDGE * math.sqrt(len(points.starts))
        self.weigh(points.us)

    def units(self):
        """Each term's coefficient if it alone explained the time; 0 for a term that no point has."""
        has = self.points.terms > 0
        logs = np.log(self.points.us)[:, None] - np.log(np.where(has, self.points.terms, 1))
        means = (logs * has).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
        return np.where(has.any(axis=0), np.exp(means), 0)

    def weigh(self, predicted):
        """By how near the best a candidate is measured or predicted; the weights of a problem add up to 1."""
        points = self.points
        best = points.of_problem(np.minimum, points.us)
        behind = np.maximum(np.minimum(points.us, predicted) / best - 1, 0)
        weight = np.maximum(np.exp(-behind / NEAR), LEAST_WEIGHT)
        self.weight = weight / points.of_problem(np.add, weight)

    def centred(self, values):
        """A column, or several, each less its weighted mean over the problem."""
        weight = self.weight if values.ndim == 1 else self.weight[:, None]
        return values - self.points.of_problem(np.add, weight * values)

    def model_of(self, parameters):
        coefficients = self.unit * np.exp(self.design @ parameters[:-1])
        return Model(math.exp(parameters[-1]), coefficients, self.serial)

    def log_errors(self, model):
        return np.log(model.predict(self.points) / self.points.us)

    def residuals(self, parameters):
        errors = self.centred(self.log_errors(self.model_of(parameters)))
        return np.concatenate([np.sqrt(self.weight) * errors, self.ridge * parameters])

    def jacobian(self, parameters):
        by_coefficient, by_power = self.model_of(parameters).slopes(self.points)
        slopes = np.empty((len(by_power), len(parameters)))
        slopes[:, -1] = by_power
        for strategy, design in enumerate(self.design):
            mine = self.points.strategy == strategy
            slopes[mine, :-1] = by_coefficient[mine] @ design
        slopes = np.sqrt(self.weight)[:, None] * self.centred(slopes)
        return np.concatenate([slopes, self.ridge * np.eye(len(parameters))])

    def solve(self, start):
        size = len(start) - 1
        bounds = [-MOST_LOG] * size + [0], [MOST_LOG] * size + [math.log(MOST_POWER)]
        return least_squares(self.residuals, start, self.jacobian, bounds, max_nfev=100)

    def scaled(self, model):
        """The same ranking, in microseconds."""
        return model.times(math.exp(-np.average(self.log_errors(model), weights=self.weight)))

    def loss(self, model):
        return np.sum(self.weight * self.centred(self.log_errors(model)) ** 2)

    def drop_useless(self, model):
        """Sets coefficients of terms to 0 that the fit does as well without, those of the least parts first."""
        most = (1 + USELESS) * self.loss(model)
        for term in np.argsort(self.weight @ model.parts(self.points), kind="stable"):
            kept = model.coefficients[:, term].copy()
            model.coefficients[:, term] = 0
            if self.loss(model) > most:
                model.coefficients[:, term] = kept

    def run(self, starts, seed):
        """The best of several starts, then once more with what it takes for the best weighed like the best."""
        draw, size = np.random.default_rng(seed), self.design.shape[2]
        solutions = [self.solve(np.append(draw.uniform(-4, 0, size), draw.uniform(0.2, 2))) for _ in range(starts)]
        first = min(solutions, key=lambda solution: solution.cost).x
        self.weigh(self.points.us * np.exp(self.centred(self.log_errors(self.model_of(first)))))
        model = self.model_of(self.solve(first).x)
        self.drop_useless(model)
        return self.scaled(model)


def serial_terms(points, given):
    """Which of the points' terms are serial."""
    names = SERIAL if given is None else [name for name in given.split(",") if name]
    for name in names:
        if given is not None and name not in points.term_names:
            raise InputError(f"--serial: there is no term '{name}'; the points have {', '.join(points.term_names)}")
    serial = np.array([name in names for name in points.term_names])
    if serial.all():
        raise InputError("all terms are serial; at least one that overlaps was expected")
    return serial


def check_fitted(points, set_of, per_strategy):
    """Held out may be much, but not all that a coefficient depends on."""
    fitted = {record["strategy"] for record in points.records if set_of(record) == "fitted"}
    if not fitted:
        raise InputError("every problem is held out, none is left to fit; --hold-out 0 fits all")
    missing = sorted(set(points.strategies) - fitted)
    if per_strategy == "all" and missing:
        raise InputError(f"no fitted point has the strategy '{missing[0]}', which needs coefficients of its own")


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share from 0 to less than 1")
    return value


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not at least 1")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("points", nargs="+", help="what gather printed, of one list of problems on one device or several")
    add("--seed", type=int, default=1, help="draws what is held out, and the starts (1)")
    add("--hold-out", type=share, default=1 / 3, metavar="SHARE", help="of programs, and of shapes (1/3)")
    add("--starts", type=count, default=4, metavar="N", help="the fit begins at so many places, the best counts (4)")
    add("--serial", metavar="TERMS", help=f"terms that overlap with nothing, comma between them ({','.join(SERIAL)})")
    add("--per-strategy", choices=("none", "factor", "all"), default="none",
        help="what each strategy has of its own: nothing, a factor of its time, or all coefficients (none)")
    add("--worst", type=int, default=20, metavar="N", help="how many of the worst problems are told of (20)")
    add("--report-json", metavar="FILE", help="writes the report as JSON, too")
    add("--write", metavar="FILE", help="writes the coefficients as a C header")
    add("--arch", type=int, default=90, help="the architecture that the header's table is named by (90)")
    return parser.parse_args()


def fit_and_report(given):
    points, alone = load(given.points)
    serial = serial_terms(points, given.serial)
    set_of = hold_out(points, given.hold_out, given.seed)
    check_fitted(points, set_of, given.per_strategy)
    fitted = points.subset(lambda record: set_of(record) == "fitted")
    model = Fit(fitted, serial, given.per_strategy).run(given.starts, given.seed)
    data = report.make(points, alone, model, set_of, given.worst)
    if given.write:
        report.write_header(given.write, model, fitted, given.arch)
    if given.report_json:
        report.write_json(given.report_json, data)
    report.print_text(data)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly before head does
    try:
        fit_and_report(parse_arguments())
    except InputError as error:
        print(f"fit.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
