# SPDX-License-Identifier: Apache-2.0
"""How well a fitted model chooses, as text and as JSON; and its coefficients as a C header."""
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
    """What is chosen for a problem, beside the best that was measured: best and first, the model's first choice, as
    indices of points; and, for each of CHOOSERS, its choice's time over the best's, None where there is no choice."""

    def __init__(self, points, where, predicted, set_name):
        ranked = where.start + np.argsort(predicted[where], kind="stable")
        self.set_name, self.first = set_name, ranked[0]
        self.best = fastest(points, ranked)
        self.record = points.records[self.best]
        self.behind = {}
        for name, count in CHOOSERS.items():
            choice = fastest(points, ranked[:count] if count else ranked[points.chosen[ranked]])
            self.behind[name] = None if choice is None else behind(points, choice, self.best)

    def groups(self):
        """The rows of the table that the problem counts in."""
        record = self.record
        return ["overall", f"family {record['family']}", f"best by {record['strategy']}", f"on {record['device']}"]


def fastest(points, among):
    return min(among, key=lambda i: points.us[i], default=None)


def behind(points, choice, best):
    """By their second measurements, if both have one: the first ones have selected the best."""
    pair = [choice, best]
    times = points.us_again if np.isfinite(points.us_again[pair]).all() else points.us
    return times[choice] / times[best]


def judge(points, model, set_of):
    predicted = model.predict(points)
    return [Verdict(points, where, predicted, set_of(points.records[where.start])) for where in points.problems()]


def summarise(verdicts, chooser):
    """None where the chooser chose nothing."""
    ratios = np.array([verdict.behind[chooser] for verdict in verdicts if verdict.behind[chooser] is not None])
    if not len(ratios):
        return None
    return {"within_5_percent": np.mean(ratios <= 1.05), "within_15_percent": np.mean(ratios <= 1.15),
            "mean": np.mean(ratios), "median": np.median(ratios), "p90": np.quantile(ratios, 0.9), "worst": np.max(ratios)}


def tabulate(verdicts):
    """{group: {"problems": how many, chooser: what summarise gives}}, groups of a kind together."""
    groups = {}
    for verdict in verdicts:
        for kind, group in enumerate(verdict.groups()):
            groups.setdefault((kind, group), []).append(verdict)
    return {group: {"problems": len(mine), **{name: summarise(mine, name) for name in CHOOSERS}}
            for (_, group), mine in sorted(groups.items())}


def describe(points, verdict, parts):
    """A problem, both schedules, and the term by which the model takes the best for slower than its first choice."""
    record, more = verdict.record, parts[verdict.best] - parts[verdict.first]
    out = {name: record[name] for name in ("problem", "program", "family", "device")}
    out.update({"shape": record.get("shape", ""), "set": verdict.set_name, "behind": verdict.behind["model's first"]})
    for name, point in ("choice", verdict.first), ("best", verdict.best):
        out[name] = {"schedule": points.records[point]["schedule"], "us": points.us[point],
                     "predicted_us": parts[point].sum()}
    out["blamed"] = {"term": points.term_names[np.argmax(more)], "us": np.max(more)}
    return out


def make(points, alone, model, set_of, most):
    """All that is told of a fit. alone: how many points were left out; most: how many problems are described."""
    verdicts, parts = judge(points, model, set_of), model.parts(points)
    shares = (parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
    worst = sorted(verdicts, key=lambda verdict: -verdict.behind["model's first"])[:most]
    sets = {name: [verdict for verdict in verdicts if verdict.set_name == name] for name in SETS}
    return {"points": len(points.us), "problems": len(verdicts), "fitted": len(sets["fitted"]), "alone": alone,
            "terms": [{"name": name, "share": share} for name, share in zip(points.term_names, shares)],
            "coefficients": dict(zip(points.term_names, model.coefficients)),
            "sets": {name: tabulate(mine) for name, mine in sets.items() if mine},
            "worst": [describe(points, verdict, parts) for verdict in worst]}


# ---- as text ----

def print_coefficients(data):
    print(f"\n{'term':<12}{'share':>9}{'coefficient':>14}")
    for term in data["terms"]:
        print(f"{term['name']:<12}{100 * term['share']:7.1f} %{data['coefficients'][term['name']]:14.4g}")


def cell(summary):
    if summary is None:
        return CELL.format(*"-----")
    within = [f"{100 * summary[name]:.0f}" for name in ("within_5_percent", "within_15_percent")]
    return CELL.format(*within, f"{summary['mean']:.3f}", f"{summary['p90']:.2f}", f"{summary['worst']:.2f}")


def print_table(set_name, groups):
    heads = "".join(f" |{name:>28}" for name in CHOOSERS)
    units = f" |{CELL.format('5 %', '15 %', 'mean', 'p90', 'worst')}" * len(CHOOSERS)
    print(f"\n{set_name:<34}{'':>8}{heads}\n{'':<34}{'problems':>8}{units}")
    for group, row in groups.items():
        print(f"{group:<34}{row['problems']:>8}" + "".join(f" |{cell(row[name])}" for name in CHOOSERS))


def print_problem(place, problem):
    print(f"\n{place:>3}. {problem['behind']:.2f} times the best: {problem['program']}\n     problem "
          f"{problem['problem']} {problem['shape']} ({problem['family']}, {problem['device']}, {problem['set']})")
    for name in "choice", "best":
        point = problem[name]
        print(f"     {name:<7} {point['us']:9.2f} us, predicted {point['predicted_us']:9.2f}: {point['schedule']}")
    print(f"     blamed on the best: '{problem['blamed']['term']}', {problem['blamed']['us']:.2f} us more")


def print_text(data):
    print(f"{data['points']} points of {data['problems']} problems, {data['fitted']} of them fitted; "
          f"{data['alone']} more points have nothing to be compared with")
    print_coefficients(data)
    print("\nThe share of problems, in percent, whose choice is within 5 % and within 15 % of the best that was "
          "measured;\nthen the choice's time over the best's.")
    for set_name, groups in data["sets"].items():
        print_table(set_name, groups)
    for place, problem in enumerate(data["worst"], 1):
        print_problem(place, problem)


# ---- files ----

def write_text(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def write_json(path, data):
    write_text(path, json.dumps(data, indent=1, default=float) + "\n")


HEADER = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* How much of each term is not hidden behind the others, as fitted on {date} by
 *     {command}
 * to {points} points of {problems} problems on {devices}. Not to be edited. */
#ifndef KILN_SCHEDULE_{guard}_H
#define KILN_SCHEDULE_{guard}_H

#include "schedule/model.h"

/* clang-format off */
static const double kiln__coefficients[KILN__TERMS] = {{
{coefficients}
}};
/* clang-format on */

#endif
"""


def write_header(path, model, fitted):
    """Numbers in the order of the points' terms."""
    arguments = [os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:]]
    numbers = [f"{value:.4g}," for value in model.coefficients]
    width = max(map(len, numbers))
    write_text(path, HEADER.format(
        date=datetime.date.today().isoformat(), command=shlex.join(["tools/tune/fit.py", *arguments]),
        points=len(fitted.us), problems=len(fitted.starts),
        devices=", ".join(sorted({record["device"] for record in fitted.records})),
        guard=re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0]).upper(),
        coefficients="\n".join(f"    {number:<{width}} /* {name} */"
                               for number, name in zip(numbers, fitted.term_names))))
