#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the model that ranks candidate schedules to what gather measured, and reports how well it chooses.

    tools/tune/fit.py h100.jsonl h200.jsonl
    tools/tune/fit.py h100.jsonl h200.jsonl --hold-out 0 --write src/schedule/model_trees.h

The model is an ensemble of regression trees, fitted by LightGBM. Each looks at a point's features and ends at a leaf; the
sum of the leaves is log2 of how many times as long as the best of its problem a candidate takes, but for what is the
same for all of a problem.

Only the order of a problem's candidates matters, and what is first above all. So the trees are not fitted to times but to
that order, by LambdaRank: of each two candidates of a problem the faster one is pushed ahead, the harder the more the
exchange of their places would cost. Sums are made logarithms of times afterwards, by one factor for all.

Held out, and never seen by the fit, are a share of the programs, and of the shapes, which are the problems' numbers;
the same on all devices. The report tells them apart. --folds N fits N times, each time without an N-th of the programs,
and reports on all problems by the fit that has not seen their program.

Noise. The fastest of many noisy measurements was lucky, and beside it every choice looks worse than it is. A second
measurement, "us_again" or the same candidate in a later file, takes that out of the report: the best is selected by the
first, and it and the choice are judged by the second.

exit codes: 0 fitted, whatever the figures say; 2 the command line or the points are wrong.
"""
import argparse
import decimal
import random
import signal
import sys

import lightgbm
import numpy as np

import report
from points import InputError, hold_out, load

LEAF = 128           # a child from here on is a leaf, as in src/schedule/model.h
MOST_NODES = 65535   # that a root's unsigned short can tell
GRADES = 30          # of a problem's candidates: the best has the highest ...
MOST_REGRET = 0.5    # ... and what takes longer by so much, in logarithms to base 2, the lowest
PROGRESS = 20.0      # learning rates of all trees, added up
NEAR = 1.0           # sums are made times by the candidates that are behind the best by less, in logarithms to base 2
LIMIT = decimal.Context(prec=6, rounding=decimal.ROUND_FLOOR)  # features have six digits: down separates the same ones
AGREE = 1e-3         # of tables and LightGBM, in logarithms to base 2


class Trees:
    """LightGBM's trees as the C header has them. feature, child, limit: of each node, LightGBM's own numbers within a
    tree; roots: each tree's first node, and the number of all; leaves: of a tree begin at its root + its number."""

    def __init__(self, booster):
        gains = booster.feature_importance("gain")
        self.gains = gains / max(gains.sum(), np.finfo(float).tiny)
        trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
        nodes, leaves, self.roots, constant = [], [], [0], 0.0
        for tree in trees:
            if "split_index" not in tree:
                constant += tree["leaf_value"]
                continue
            mine, ends = {}, {}
            self.walk(tree, mine, ends)
            nodes += [mine[i] for i in range(len(mine))]
            leaves.append([ends[i] for i in range(len(ends))])
            self.roots.append(len(nodes))
        if not nodes:
            raise InputError("there are too few points to fit trees to, or their features do not tell them apart")
        leaves[0] = [leaf + constant for leaf in leaves[0]]
        self.feature, self.child = np.array([node[0] for node in nodes]), np.array([node[1] for node in nodes])
        self.limit = np.array([node[2] for node in nodes], dtype=np.float32)
        self.leaves = np.array([float(f"{leaf:.6g}") for tree in leaves for leaf in tree], dtype=np.float32)

    def walk(self, part, nodes, leaves):
        """Puts a node and those below it into nodes, {number: (feature, children, limit)}, and leaves. Returns what its
        parent calls it."""
        if "leaf_index" in part:
            leaves[part["leaf_index"]] = part["leaf_value"]
            return LEAF + part["leaf_index"]
        children = [self.walk(part[side], nodes, leaves) for side in ("left_child", "right_child")]
        nodes[part["split_index"]] = part["split_feature"], children, float(LIMIT.create_decimal(part["threshold"]))
        return part["split_index"]

    def sums(self, features):
        """What the leaves of each point add up to."""
        out = np.zeros(len(features))
        for tree, root in enumerate(self.roots[:-1]):
            at = np.zeros(len(features), dtype=int)
            while len(inner := np.flatnonzero(at < LEAF)):
                node = root + at[inner]
                right = features[inner, self.feature[node]] > self.limit[node]
                at[inner] = self.child[node, right.astype(int)]
            out += self.leaves[root + tree + at - LEAF]
        return out

    def make_times(self, points, regrets):
        """Turns sums that are the larger the faster a candidate is into logarithms of times, 0 for each problem's first
        on average. regrets: what they are to be, 0 for the best of each problem."""
        sums = self.sums(points.features)
        first = points.of_problem(np.maximum, sums)
        near = regrets < NEAR
        behind = (first - sums)[near]
        factor = behind @ regrets[near] / max(behind @ behind, np.finfo(float).tiny)
        self.leaves = np.array([float(f"{leaf:.6g}") for leaf in -factor * self.leaves], dtype=np.float32)
        of_first_tree = self.leaves[:self.roots[1] + 1]
        of_first_tree += np.float32(factor * np.mean(first[points.starts]))

    def predict(self, points):
        """Of each point how many times as long as the first of its problem it takes."""
        sums = self.sums(points.features)
        return 2 ** (sums - points.of_problem(np.minimum, sums))


def fit(points, given):
    regrets = np.log2(points.us / points.of_problem(np.minimum, points.us))
    grades = np.rint(GRADES * (1 - np.minimum(regrets / MOST_REGRET, 1))).astype(int)
    ranker = lightgbm.LGBMRanker(
        n_estimators=given.trees, num_leaves=given.leaves, learning_rate=PROGRESS / given.trees, min_child_samples=40,
        reg_lambda=1, subsample=0.8, subsample_freq=1, colsample_bytree=0.6, random_state=1, deterministic=True,
        force_row_wise=True, num_threads=given.threads, verbose=-1,
        label_gain=[grade ** 2 / GRADES for grade in range(GRADES + 1)],
        lambdarank_truncation_level=int(points.sizes.max()))
    ranker.fit(points.features, grades, group=points.sizes)
    trees = Trees(ranker.booster_)
    assert np.allclose(trees.sums(points.features), ranker.booster_.predict(points.features), rtol=0, atol=AGREE)
    trees.make_times(points, regrets)
    return trees


class Folded:
    """Of each problem the trees that have not seen its program."""

    def __init__(self, points, given):
        programs = sorted({record["program"] for record in points.records})
        random.Random(given.seed).shuffle(programs)
        fold_of = {program: i % given.folds for i, program in enumerate(programs)}
        self.fold = np.array([fold_of[record["program"]] for record in points.records])
        self.models = [fit(points.subset(lambda record: fold_of[record["program"]] != fold), given)
                       for fold in range(given.folds)]
        self.gains = np.mean([model.gains for model in self.models], axis=0)

    def predict(self, points):
        return np.choose(self.fold, [model.predict(points) for model in self.models])


def check_fitted(points, set_of):
    """Held out may be much, but not all."""
    if all(set_of(record) != "fitted" for record in points.records):
        raise InputError("every problem is held out, none is left to fit; --hold-out 0 fits all")


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share from 0 to less than 1")
    return value


def whole(least, most=None):
    def parse(text):
        value = int(text)
        if value < least or (most and value > most):
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least}" + (f" to {most}" if most else " on"))
        return value
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("points", nargs="+", help="what gather printed, of one list of problems on one device or several; also .gz and .xz")
    add("--seed", type=int, default=1, help="draws what is held out (1)")
    add("--hold-out", type=share, default=1 / 3, metavar="SHARE", help="of programs, and of shapes (1/3)")
    add("--folds", type=whole(2), metavar="N", help="fits N times instead, each without an N-th of the programs")
    add("--trees", type=whole(1), default=200, metavar="N", help="how many (200)")
    add("--leaves", type=whole(2, LEAF), default=127, metavar="N", help="of a tree, at most (127)")
    add("--threads", type=whole(1), default=1, metavar="N", help="that LightGBM uses (1); the trees are the same")
    add("--worst", type=int, default=20, metavar="N", help="how many of the worst problems are told of (20)")
    add("--report-json", metavar="FILE", help="writes the report as JSON, too")
    add("--write", metavar="FILE", help="writes the trees as a C header")
    return parser.parse_args()


def fit_and_report(given):
    if given.folds and given.write:
        raise InputError("--folds and --write are both given: each fold has trees of its own")
    if given.trees * (given.leaves - 1) > MOST_NODES:
        raise InputError(f"{given.trees} trees of {given.leaves} leaves have more than {MOST_NODES} nodes")
    points, alone = load(given.points)
    set_of = hold_out(points, given.hold_out, given.seed)
    check_fitted(points, set_of)
    fitted = points.subset(lambda record: set_of(record) == "fitted")
    if given.folds:
        model = Folded(points, given)
        data = report.make(points, alone, model, lambda record: "held-out programs", given.worst)
    else:
        model = fit(fitted, given)
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
