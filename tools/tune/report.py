# SPDX-License-Identifier: Apache-2.0
"""How well a fitted model chooses, as text and as JSON; and its trees as a C header."""
import json
import os
import shlex
import sys
import textwrap

import numpy as np

from points import SETS, InputError

CHOOSERS = {"model's first": 1, "best of its first 3": 3, "best of its first 5": 5, "library's own": None}
MOST_DIFFERENCES = 3
TRIFLE = 0.01  # added to features before they are compared: so much and nothing are about the same
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


def judge(points, predicted, set_of):
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


def differences(points, one, other):
    """The names of the features by whose ratio two points differ most."""
    pair = points.features[[one, other]] + TRIFLE
    ratios = np.abs(np.log(pair[0] / pair[1]))
    most = np.argsort(-ratios, kind="stable")[:MOST_DIFFERENCES]
    return [points.feature_names[i] for i in most if ratios[i] > 0]


def describe(points, verdict, predicted):
    """A problem, the choice and the best, and how they differ."""
    record = verdict.record
    out = {name: record[name] for name in ("problem", "program", "family", "device")}
    out.update({"shape": record.get("shape", ""), "set": verdict.set_name, "behind": verdict.behind["model's first"]})
    names = differences(points, verdict.first, verdict.best)
    for key, point in ("choice", verdict.first), ("best", verdict.best):
        mine = points.records[point]
        out[key] = {"schedule": mine["schedule"], "us": points.us[point], "predicted": predicted[point],
                    "features": {name: mine["features"][name] for name in names}}
    return out


def make(points, alone, model, set_of, most):
    """All that is told of a fit. alone: how many points were left out; most: how many problems are described."""
    predicted = model.predict(points)
    verdicts = judge(points, predicted, set_of)
    worst = sorted(verdicts, key=lambda verdict: -verdict.behind["model's first"])[:most]
    sets = {name: [verdict for verdict in verdicts if verdict.set_name == name] for name in SETS}
    return {"points": len(points.us), "problems": len(verdicts), "fitted": len(sets["fitted"]), "alone": alone,
            "gains": {points.feature_names[i]: model.gains[i] for i in np.argsort(-model.gains, kind="stable")},
            "sets": {name: tabulate(mine) for name, mine in sets.items() if mine},
            "worst": [describe(points, verdict, predicted) for verdict in worst]}


# ---- as text ----

def print_gains(data):
    print(f"\n{'feature':<16}{'share of the gain':>17}")
    for name, gain in data["gains"].items():
        print(f"{name:<16}{100 * gain:15.1f} %")


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
        print(f"     {name:<7} {point['us']:9.2f} us, predicted {point['predicted']:5.2f} times the best: {point['schedule']}")
    best = problem["best"]["features"]
    print("     differ:", ", ".join(f"{name} {value:.4g} and {best[name]:.4g}"
                                    for name, value in problem["choice"]["features"].items()) or "in no feature")


def print_text(data):
    print(f"{data['points']} points of {data['problems']} problems, {data['fitted']} of them fitted; "
          f"{data['alone']} more points have nothing to be compared with")
    print_gains(data)
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
/* clang-format off */
/* {origin} */
#ifndef KILN_SCHEDULE_MODEL_TREES_H
#define KILN_SCHEDULE_MODEL_TREES_H

#include "schedule/model.h"

/* What a node's first number is an index of. */
static const char kiln__tree_features[] =
{features};

/* Where each tree begins among the nodes; the last is their number. */
static const unsigned short kiln__tree_roots[{trees} + 1] = {{
{roots}
}};

/* Feature, children, limit. */
static const kiln__tree_node kiln__tree_nodes[] = {{
{nodes}
}};

/* Logarithms to base 2 of how many times as long as the best a candidate takes; tree t's begin at
 * kiln__tree_roots[t] + t. */
static const float kiln__tree_leaves[] = {{
{leaves}
}};

#endif
"""


def wrap(words, quote=""):
    """Lines of 120 columns. Words, which may have spaces, stay whole."""
    text = " ".join(word.replace(" ", "\xa0") for word in words)
    lines = textwrap.wrap(text, 116 - 3, break_on_hyphens=False, break_long_words=False)
    ends = [f" {quote}"] * (len(lines) - 1) + [quote] if quote else [""] * len(lines)
    return "\n".join(f"    {quote}{line}{end}" for line, end in zip(lines, ends)).replace("\xa0", " ")


def c_float(value):
    text = f"{value:.6g}"
    return text + "f" if "." in text or "e" in text else text


def write_header(path, trees, fitted):
    arguments = [os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:]]
    nodes = [f"{{{feature}, {{{left}, {right}}}, {c_float(limit)}}},"
             for feature, (left, right), limit in zip(trees.feature, trees.child, trees.limit)]
    command = shlex.join(["tools/tune/fit.py", *arguments])
    devices = ", ".join(sorted({record["device"] for record in fitted.records}))
    origin = (f"The trees that schedules are ranked by, as `{command}` fitted them to {len(fitted.us)} points of "
              f"{len(fitted.starts)} problems on {devices}. Not to be edited.")
    write_text(path, HEADER.format(
        origin=textwrap.fill(origin, 114, subsequent_indent=" * ", break_on_hyphens=False, break_long_words=False),
        features=wrap(fitted.feature_names, '"'), trees=len(trees.roots) - 1,
        roots=wrap(f"{root}," for root in trees.roots), nodes=wrap(nodes),
        leaves=wrap(f"{c_float(leaf)}," for leaf in trees.leaves)))
