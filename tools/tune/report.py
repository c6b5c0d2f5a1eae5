# SPDX-License-Identifier: Apache-2.0
"""How well a fitted model chooses, as a table and as JSON; and its coefficients as a C header."""
import datetime
import json
import os
import re
import shlex
import sys

import numpy as np

from points import SETS, InputError

CHOOSERS = {"model's first": 1, "best of its first 3": 3, "best of its first 5": 5, "library's own": None}
CELL = "{:>4}{:>5}{:>7}{:>6}{:>6}"


class Verdict:
    """What a model chooses for a problem, beside the best that was measured.

    behind: for each of CHOOSERS its choice's time over the best's, None where there is no choice.
    """

    def __init__(self, points, where, predicted, set_name):
        us = points.us[where]
        order = np.argsort(predicted[where], kind="stable")
        self.set_name, self.predicted = set_name, predicted
        self.best, self.choice = where.start + int(np.argmin(us)), where.start + int(order[0])
        self.best_record, self.choice_record = points.records[self.best], points.records[self.choice]
        self.behind = {}
        for name, first in CHOOSERS.items():
            among = order[:first] if first else [i for i in range(len(us)) if points.records[where][i].get("chosen")]
            picked = min(among, key=lambda i: us[i], default=None)
            self.behind[name] = None if picked is None else self.ratio(points, where.start + picked)

    def ratio(self, points, choice):
        """By second measurements where there are any: the best was selected by the first."""
        pair = [choice, self.best]
        choice_us, best_us = (points.us_again if np.isfinite(points.us_again[pair]).all() else points.us)[pair]
        return choice_us / best_us

    def groups(self):
        """The rows of the table that the problem counts in."""
        record = self.best_record
        return ["overall", f"family {record['family']}", f"best by {record['strategy']}", f"on {record['device']}"]


def judge(points, model, set_of):
    predicted = model.predict(points)
    return [Verdict(points, where, predicted, set_of(points.records[where.start])) for where in points.problems()]


def summarise(verdicts, chooser):
    """None where the chooser chose nothing."""
    behind = np.array([v.behind[chooser] for v in verdicts if v.behind[chooser] is not None])
    if not len(behind):
        return None
    return {"within_5_percent": np.mean(behind <= 1.05), "within_15_percent": np.mean(behind <= 1.15),
            "median": np.median(behind), "p90": np.quantile(behind, 0.9), "worst": np.max(behind)}


def tables(verdicts):
    """{set: {group: {"problems": n, chooser: what summarise gives}}}, groups in the order of their kinds."""
    out = {}
    for set_name in SETS:
        groups = {}
        for verdict in verdicts:
            for kind, group in enumerate(verdict.groups() if verdict.set_name == set_name else []):
                groups.setdefault((kind, group), []).append(verdict)
        out[set_name] = {group: {"problems": len(mine), **{name: summarise(mine, name) for name in CHOOSERS}}
                         for (_, group), mine in sorted(groups.items())}
    return out


def cell(summary):
    if summary is None:
        return CELL.format(*"-----")
    within = [f"{100 * summary[name]:.0f}" for name in ("within_5_percent", "within_15_percent")]
    return CELL.format(*within, f"{summary['median']:.3f}", f"{summary['p90']:.2f}", f"{summary['worst']:.2f}")


def print_table(set_name, groups):
    heads = "".join(f" |{name:>28}" for name in CHOOSERS)
    units = f" |{CELL.format('5 %', '15 %', 'median', 'p90', 'worst')}" * len(CHOOSERS)
    print(f"\n{set_name:<34}{'':>8}{heads}\n{'':<34}{'problems':>8}{units}")
    for group, row in groups.items():
        print(f"{group:<34}{row['problems']:>8}" + "".join(f" |{cell(row[name])}" for name in CHOOSERS))


def print_coefficients(points, model):
    """With the share that each term has, on average, in what is predicted for a candidate."""
    parts = model.parts(points)
    shares = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    rows = model.coefficients
    alike = (rows == rows[0]).all()
    print(f"\np = {model.power:.3g}\n{'term':<20}{'':<12}{'share':>7}" +
          ("  coefficient" if alike else "".join(f"{name:>13}" for name in points.strategies)))
    for term, name in enumerate(points.term_names):
        kind = "serial" if model.serial[term] else "overlapping"
        numbers = "".join(f"{value:13.4g}" for value in (rows[:1] if alike else rows)[:, term])
        print(f"{name:<20}{kind:<12}{100 * shares[term]:5.1f} %{numbers}")


def describe_worst(points, model, verdicts, most):
    """The problems whose first choice is furthest behind, as dictionaries."""
    parts = model.parts(points)
    worst = sorted(verdicts, key=lambda verdict: -verdict.behind["model's first"])[:most]
    out = []
    for verdict in worst:
        record, more = verdict.best_record, parts[verdict.best] - parts[verdict.choice]
        problem = {name: record[name] for name in ("problem", "family", "program", "device")}
        problem.update(shape=record.get("shape", ""), set=verdict.set_name, behind=verdict.behind["model's first"])
        for name, point in ("choice", verdict.choice), ("best", verdict.best):
            problem[name] = {"schedule": points.records[point]["schedule"], "us": points.us[point],
                             "predicted_us": parts[point].sum()}
        # the term by which the model takes the best for slower than its choice
        problem["blamed"] = {"term": points.term_names[int(np.argmax(more))], "us": np.max(more)}
        out.append(problem)
    return out


def print_worst(worst):
    for place, problem in enumerate(worst, 1):
        print(f"\n{place:>3}. {problem['behind']:.2f} times the best: {problem['program']}\n     problem "
              f"{problem['problem']} {problem['shape']} ({problem['family']}, {problem['device']}, {problem['set']})")
        for name in "choice", "best":
            point = problem[name]
            print(f"     {name:<7} {point['us']:9.2f} us, predicted {point['predicted_us']:9.2f}: {point['schedule']}")
        print(f"     blamed on the best: '{problem['blamed']['term']}', {problem['blamed']['us']:.2f} us more")


def print_all(points, model, verdicts, alone, most):
    fitted = sum(verdict.set_name == "fitted" for verdict in verdicts)
    print(f"{len(points.us)} points of {len(verdicts)} problems, {fitted} of them fitted; "
          f"{alone} more points have nothing to be compared with")
    print_coefficients(points, model)
    print("\nOf the problems, how many percent have a choice within 5 % and 15 % of the best that was measured; and the "
          "choice's time over the best's.")
    for set_name, groups in tables(verdicts).items():
        if groups:
            print_table(set_name, groups)
    print_worst(describe_worst(points, model, verdicts, most))


def write_text(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def write_json(path, points, model, verdicts, most):
    coefficients = {strategy: dict(zip(points.term_names, map(float, row)))
                    for strategy, row in zip(points.strategies, model.coefficients)}
    serial = [name for name, is_serial in zip(points.term_names, model.serial) if is_serial]
    data = {"points": len(points.us), "power": model.power, "serial": serial, "coefficients": coefficients,
            "sets": tables(verdicts), "worst": describe_worst(points, model, verdicts, most)}
    write_text(path, json.dumps(data, indent=1, default=float) + "\n")


# ---- the C header ----

def c_rows(rows, comments):
    width = max(map(len, rows))
    return "\n".join(f"        {row:<{width}} /* {comment} */" for row, comment in zip(rows, comments))


def c_coefficients(points, model):
    """A number for each term or, where strategies differ, a row of them for each strategy."""
    numbers = [[f"{value:.6g}" for value in row] for row in model.coefficients]
    if all(row == numbers[0] for row in numbers):
        return c_rows([f"{number}," for number in numbers[0]], points.term_names)
    return c_rows(["{" + ", ".join(f"{number:>11}" for number in row) + "}," for row in numbers], points.strategies)


HEADER = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients of the model that ranks candidates, as fitted on {date} by
 *     {command}
 * to {points} points of {problems} problems on {devices}. Not to be edited. */
#ifndef KILN_SCHEDULE_{guard}_H
#define KILN_SCHEDULE_{guard}_H

#include "schedule/model.h"

/* clang-format off */
static const kiln__model_coefficients kiln__coefficients_sm{arch} = {{
    .power = {power:.6g},
    .serial = {{
{serial}
    }},
    .coefficients = {{
{coefficients}
    }},
}};
/* clang-format on */

#endif
"""


def write_header(path, model, fitted, arch):
    """Plain arrays in the order of the points' terms, and of the strategies' names."""
    arguments = [os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:]]
    write_text(path, HEADER.format(
        date=datetime.date.today().isoformat(), command=shlex.join(["tools/tune/fit.py", *arguments]),
        points=len(fitted.us), problems=len(fitted.starts), arch=arch, power=model.power,
        devices=", ".join(sorted({record["device"] for record in fitted.records})),
        guard=re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0]).upper(),
        serial=c_rows([f"{int(is_serial)}," for is_serial in model.serial], fitted.term_names),
        coefficients=c_coefficients(fitted, model)))
