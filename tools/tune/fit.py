#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the model that ranks candidate schedules to what gather measured, and reports how well it chooses.

    tools/tune/fit.py h100.jsonl h200.jsonl
    tools/tune/fit.py h100.jsonl h200.jsonl --hold-out 0 --write src/schedule/model_coefficients.h

The model is a sum: each of a point's terms, a time, by a coefficient that says how much of it is not hidden behind the
others.

Only which candidate is first matters, so that is what the fit makes good. The candidates of a problem are chosen with
probabilities that fall by e with every --blur of predicted time (0.03: 3 %), and the fit minimises what such a choice
takes longer than the best candidate, on average over all problems: its expected regret. Half and twice as long are the
same misfortune as far as the fit is concerned. It begins with a blur ten times as large, where the regret has few
valleys, from coefficients that make log(predicted / measured) small. In the end all coefficients are scaled alike, which
changes no ranking, so that predictions are microseconds.

Held out, and never seen by the fit, are a share of the programs, and of the shapes, which are the problems' numbers;
the same on all devices. The report tells them apart. --folds N fits N times, each time without an N-th of the programs,
and reports on all problems by the fit that has not seen their program.

Noise. The fastest of many noisy measurements was lucky, and beside it every choice looks worse than it is. A second
measurement, "us_again" or the same candidate in a later file, takes that out of the report: the best is selected by the
first, and it and the choice are judged by the second.

exit codes: 0 fitted, whatever the figures say; 2 the command line or the points are wrong.
"""
import argparse
import random
import signal
import sys

import numpy as np
from scipy.optimize import minimize, nnls

import report
from points import InputError, hold_out, load

BLURS = (10, 3, 1)   # times --blur, one after another
MOST_REGRET = 1.0    # twice the best's time; worse is as bad
RIDGE = 1e-4         # on logarithms of coefficients, about where the fit begins: decides what the points leave open
LEAST = 1e-6         # of what a term explains in the mean: less is none
TINY = 1e-300        # in place of 0, where that has no logarithm


class Model:
    """Coefficients, one for each term."""

    def __init__(self, coefficients):
        self.coefficients = coefficients

    def parts(self, points):
        """What each term adds to the predicted time, points x terms."""
        return points.terms * self.coefficients

    def predict(self, points):
        return np.maximum(points.terms @ self.coefficients, TINY)


class Fit:
    """The parameters are logarithms of coefficients, in units of the start's."""

    def __init__(self, points, blur):
        self.points, self.blur = points, blur
        best = points.of_problem(np.minimum, points.us)
        self.regrets = np.minimum(points.us / best - 1, MOST_REGRET)
        self.problems = len(points.starts)
        self.unit = self.start()
        self.used = self.unit > 0

    def start(self):
        """Of least squares of relative errors, by problem alike: no term of them is negative. What those leave out gets a
        hundredth of what it could be, so that the fit may find it."""
        points = self.points
        weight = 1 / np.sqrt(np.repeat(points.sizes, points.sizes))
        relative = points.terms / points.us[:, None] * weight[:, None]
        solution, _ = nnls(relative, weight)
        means = (points.terms / points.us[:, None]).mean(axis=0)
        floor = np.where(means > LEAST, 0.01 / np.maximum(means, LEAST), 0)
        return np.where(means > LEAST, np.maximum(solution, floor), 0)

    def coefficients(self, parameters):
        out = np.zeros(len(self.unit))
        out[self.used] = self.unit[self.used] * np.exp(parameters)
        return out

    def loss(self, parameters, blur):
        """The mean expected regret, and its derivatives by the parameters."""
        points = self.points
        parts = points.terms[:, self.used] * self.coefficients(parameters)[self.used]
        time = np.maximum(parts.sum(axis=1), TINY)
        logs = np.log(time) / blur
        odds = np.exp(points.of_problem(np.minimum, logs) - logs)
        chance = odds / points.of_problem(np.add, odds)
        expected = points.of_problem(np.add, chance * self.regrets)
        by_log = -chance * (self.regrets - expected) / blur
        slopes = by_log @ (parts / time[:, None])
        value = (chance * self.regrets).sum() / self.problems + RIDGE * parameters @ parameters
        return value, slopes / self.problems + 2 * RIDGE * parameters

    def solve(self, parameters):
        for times in BLURS:
            found = minimize(self.loss, parameters, (times * self.blur,), jac=True, method="L-BFGS-B",
                             bounds=[(-8, 8)] * len(parameters), options={"maxiter": 500})
            parameters = found.x
        return found.fun, parameters

    def scaled(self, model):
        """The same ranking, in microseconds."""
        logs = np.log(model.predict(self.points) / self.points.us)
        return Model(model.coefficients * np.exp(-np.median(logs)))

    def run(self, starts, seed):
        """The best of several starts: the first is the least squares', others are drawn about it."""
        draw, size = np.random.default_rng(seed), int(self.used.sum())
        begins = [np.zeros(size)] + [draw.normal(0, 1, size) for _ in range(starts - 1)]
        _, parameters = min((self.solve(begin) for begin in begins), key=lambda pair: pair[0])
        return self.scaled(Model(self.coefficients(parameters)))


class Folded:
    """Of each problem the model that has not seen its program."""

    def __init__(self, points, given):
        programs = sorted({record["program"] for record in points.records})
        random.Random(given.seed).shuffle(programs)
        fold_of = {program: i % given.folds for i, program in enumerate(programs)}
        self.fold = np.array([fold_of[record["program"]] for record in points.records])
        self.models = []
        for fold in range(given.folds):
            seen = points.subset(lambda record: fold_of[record["program"]] != fold)
            self.models.append(Fit(seen, given.blur).run(given.starts, given.seed))
        self.coefficients = np.mean([model.coefficients for model in self.models], axis=0)

    def parts(self, points):
        return points.terms * np.array([model.coefficients for model in self.models])[self.fold]

    def predict(self, points):
        return np.maximum(self.parts(points).sum(axis=1), TINY)


def check_fitted(points, set_of):
    """Held out may be much, but not all."""
    if all(set_of(record) != "fitted" for record in points.records):
        raise InputError("every problem is held out, none is left to fit; --hold-out 0 fits all")


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share from 0 to less than 1")
    return value


def positive(kind):
    def parse(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
        return value
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("points", nargs="+", help="what gather printed, of one list of problems on one device or several; also .gz")
    add("--seed", type=int, default=1, help="draws what is held out, and the starts (1)")
    add("--hold-out", type=share, default=1 / 3, metavar="SHARE", help="of programs, and of shapes (1/3)")
    add("--folds", type=positive(int), metavar="N", help="fits N times instead, each without an N-th of the programs")
    add("--starts", type=positive(int), default=3, metavar="N", help="the fit begins at so many places (3)")
    add("--blur", type=positive(float), default=0.03, help="of predicted times that count as about the same (0.03)")
    add("--worst", type=int, default=20, metavar="N", help="how many of the worst problems are told of (20)")
    add("--report-json", metavar="FILE", help="writes the report as JSON, too")
    add("--write", metavar="FILE", help="writes the coefficients as a C header")
    return parser.parse_args()


def fit_and_report(given):
    if given.folds and given.write:
        raise InputError("--folds and --write are both given: each fold has coefficients of its own")
    points, alone = load(given.points)
    set_of = hold_out(points, given.hold_out, given.seed)
    check_fitted(points, set_of)
    fitted = points.subset(lambda record: set_of(record) == "fitted")
    if given.folds:
        model = Folded(points, given)
        data = report.make(points, alone, model, lambda record: "held-out programs", given.worst)
    else:
        model = Fit(fitted, given.blur).run(given.starts, given.seed)
        data = report.make(points, alone, model, set_of, given.worst)
    if given.write:
        report.write_header(given.write, model, fitted)
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
