#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune/fit.py and judge.py on points that a known model made: python3 tests/tune/test_fit.py. Skipped (77) without numpy or
lightgbm with scikit-learn."""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import lightgbm  # noqa: F401
    import numpy as np
    import sklearn  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TUNE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tune"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TUNE))

import fit  # noqa: E402
import points as tune_points  # noqa: E402
import report  # noqa: E402

FEATURES = ("memory", "issue", "lines", "exchange", "strategy", "steps")
NOISE = 0.01
STRATEGIES = ("row", "row_tile", "split_row")
OPTIONS = ("--trees", 50, "--leaves", 31)
FAMILIES = ("softmax", "norm", "loss")


def true_time(features):
    """What is slowest hides what is faster, one strategy exchanges twice, and "lines" is nothing."""
    exchange = features["exchange"] * (2 if features["strategy"] == 1 else 1)
    return features["memory"] * (max(1, features["issue"]) + exchange + (0.3 if features["steps"] > 4 else 0))


def make_points(problems=60, candidates=25, devices=("NVIDIA H100", "NVIDIA H200"), seed=5):
    draw = np.random.default_rng(seed)
    out = []
    for number, device in ((number, device) for number in range(problems) for device in devices):
        memory = 10 ** draw.uniform(1, 2.5)
        for candidate in range(candidates):
            strategy = int(draw.integers(len(STRATEGIES)))
            features = {"memory": memory, "issue": 10 ** draw.normal(-0.1, 0.3), "lines": 10 ** draw.normal(-0.2, 0.3),
                        "exchange": 10 ** draw.normal(-1, 0.4), "strategy": strategy,
                        "steps": int(draw.integers(1, 9))}
            us, us_again = true_time(features) * np.exp(draw.normal(0, NOISE, 2))
            out.append({"problem": number, "family": FAMILIES[number % 3], "program": f"y = f{number % 20}(x)",
                        "shape": f"{number}x1000", "device": device, "schedule": f"block 256, candidate {candidate}",
                        "strategy": STRATEGIES[strategy], "chosen": candidate == 0, "us": us, "us_again": us_again,
                        "features": features})
    return out


def read_header(text):
    """The tables of a header, as C reads them."""
    names = "".join(re.findall(r'^ {4}"(.*)"', text, re.MULTILINE)).split()
    count, roots = re.search(r"kiln__tree_roots\[(\d+) \+ 1\] = \{([^}]*)\};", text).groups()
    roots = [int(root) for root in roots.replace(",", " ").split()]
    nodes = [(int(feature), (int(left), int(right)), np.float32(limit)) for feature, left, right, limit
             in re.findall(r"\{(\d+), \{(\d+), (\d+)\}, ([^ f}]+)f?\}", text)]
    leaves = re.search(r"kiln__tree_leaves\[\] = \{([^}]*)\};", text).group(1)
    leaves = [np.float32(leaf.rstrip("f")) for leaf in leaves.replace(",", " ").split()]
    assert len(roots) == int(count) + 1
    return names, roots, nodes, leaves


def slowdown_of(header, features):
    names, roots, nodes, leaves = header
    total = 0.0
    for tree, root in enumerate(roots[:-1]):
        at = 0
        while at < 128:
            feature, child, limit = nodes[root + at]
            at = child[not np.float32(features[names[feature]]) <= limit]
        total += leaves[root + tree + at - 128]
    return 2 ** total


class FitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, records, name="points.jsonl"):
        path = self.folder / name
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        return str(path)

    def run_fit(self, *arguments):
        command = [sys.executable, "-B", str(TUNE / "fit.py"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def fit(self, records, *options):
        """The report of a fit that must succeed."""
        out = self.folder / "report.json"
        done = self.run_fit(self.write(records), "--report-json", out, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(out.read_text(encoding="utf-8"))

    def trees(self, records):
        """All points, and the trees that OPTIONS fit to all."""
        points, _ = tune_points.load([self.write(records)])
        return points, fit.fit(points, argparse.Namespace(trees=50, leaves=31, threads=1))

    def assert_chooses(self, found, least=0.85):
        for name, groups in found["sets"].items():
            self.assertGreater(groups["overall"]["model's first"]["within_5_percent"], least, name)


class Recovery(FitTest):
    def test_a_known_model_chooses_what_is_best(self):
        found = self.fit(make_points())
        self.assert_chooses(found)
        counts = [groups["overall"]["problems"] for groups in found["sets"].values()]
        self.assertEqual((counts[0], sum(counts)), (found["fitted"], 120))
        for name in "held-out programs", "held-out shapes":
            overall = found["sets"][name]["overall"]
            self.assertGreater(overall["problems"], 20)
            self.assertLess(overall["library's own"]["within_5_percent"], 0.5, name)

    def test_predictions_are_slowdowns(self):
        points, model = self.trees(make_points())
        predicted = model.predict(points)
        self.assertTrue((points.of_problem(np.minimum, predicted) == 1).all())
        slowdowns = points.us / points.of_problem(np.minimum, points.us)
        near = slowdowns < 1.5
        ratios = predicted[near] / slowdowns[near]
        self.assertLess(np.quantile(np.abs(np.log(ratios)), 0.9), 0.15)

    def test_folds_have_not_seen_what_they_choose(self):
        found = self.fit(make_points(), "--folds", 4)
        self.assertEqual(list(found["sets"]), ["held-out programs"])
        self.assertEqual(found["sets"]["held-out programs"]["overall"]["problems"], 120)
        self.assert_chooses(found)

    def test_a_guess_would_not_do(self):
        points, _ = tune_points.load([self.write(make_points())])
        verdicts = report.judge(points, points.features[:, 1], lambda record: "fitted")
        self.assertLess(report.summarise(verdicts, "model's first")["within_5_percent"], 0.8)

    def test_what_is_held_out_is_not_seen(self):
        records = make_points()
        points, _ = tune_points.load([self.write(records)])
        set_of = tune_points.hold_out(points, 1 / 3, 1)
        spoilt = [{**record, "us": record["us"] * (1 if set_of(record) == "fitted" else 1 + i % 7)}
                  for i, record in enumerate(records)]
        before, after = self.fit(records), self.fit(spoilt)
        self.assertEqual(before["gains"], after["gains"])
        self.assertNotEqual(before["sets"]["held-out programs"], after["sets"]["held-out programs"])

    def test_what_is_far_from_the_best_hardly_counts(self):
        records, best = make_points(), {}
        for record in sorted(records, key=lambda record: record["us"]):
            fastest = best.setdefault(tune_points.problem_key(record), record)
            if record["us"] > 2.5 * fastest["us"] and record["problem"] % 2:
                record["us"] *= 3
        self.assert_chooses(self.fit(records))

    def test_what_counts_has_the_gain(self):
        gains = self.fit(make_points())["gains"]
        self.assertEqual(list(gains)[0], "issue")
        self.assertEqual(list(gains.values()), sorted(gains.values(), reverse=True))
        self.assertAlmostEqual(sum(gains.values()), 1)
        self.assertLess(gains["lines"], 0.02)

    def test_more_threads_fit_the_same(self):
        records = make_points(problems=20)
        self.assertEqual(self.fit(records), self.fit(records, "--threads", 2))

    def test_a_tree_without_a_split_is_added_to_the_first(self):
        class Booster:
            def feature_importance(self, _):
                return np.zeros(len(FEATURES))

            def dump_model(self):
                leaves = [{"leaf_index": i, "leaf_value": value} for i, value in enumerate((1.0, 2.0))]
                split = {"split_index": 0, "split_feature": 3, "threshold": 0.5, "left_child": leaves[1],
                         "right_child": leaves[0]}
                return {"tree_info": [{"tree_structure": tree} for tree in ({"leaf_value": 0.25}, split, split)]}

        trees = fit.Trees(Booster())
        self.assertEqual((trees.roots, list(trees.leaves)), ([0, 1, 2], [1.25, 2.25, 1, 2]))
        below, above = np.zeros((2, len(FEATURES)), dtype=np.float32)
        above[3] = 0.6
        self.assertEqual(list(trees.sums(np.array([below, above]))), [4.25, 2.25])


class Report(FitTest):
    def test_the_same_seed_gives_the_same_output(self):
        path = self.write(make_points(problems=20))
        runs = [self.run_fit(path, "--seed", seed) for seed in (3, 3, 4)]
        self.assertEqual([run.returncode for run in runs], [0, 0, 0])
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        self.assertNotEqual(runs[0].stdout, runs[2].stdout)

    def test_a_lucky_best_is_judged_by_its_second_measurement(self):
        records = make_points(problems=1, candidates=2, devices=("NVIDIA H100",))
        for record, us, again, issue in zip(records, (10.0, 8.0), (10.0, 9.9), (1.0, 2.0)):
            record.update(us=us, us_again=again, features={**record["features"], "issue": issue})
        verdict = self.judge_by_issue(records)
        self.assertAlmostEqual(verdict.behind["model's first"], 10 / 9.9)
        self.assertAlmostEqual(verdict.behind["best of its first 3"], 1)
        del records[0]["us_again"]
        self.assertAlmostEqual(self.judge_by_issue(records).behind["model's first"], 10 / 8)

    def test_a_later_file_has_second_measurements(self):
        first = make_points(problems=1, candidates=3, devices=("NVIDIA H100",))
        for record in first:
            del record["us_again"]
        second = [{**first[1], "us": 7.0, "chosen": True}, {**first[2], "us": 8.0}]
        points, _ = tune_points.load([self.write(first), self.write(second, "second.jsonl")])
        np.testing.assert_array_equal(points.us, [record["us"] for record in first])
        np.testing.assert_array_equal(points.us_again, [np.nan, 7, 8])
        self.assertEqual(list(points.chosen), [False, True, False])

    def judge_by_issue(self, records):
        points, _ = tune_points.load([self.write(records)])
        return report.judge(points, points.features[:, 1], lambda record: "fitted")[0]

    def test_the_worst_problem_is_told_of(self):
        records = make_points(problems=20)
        odd = [record for record in records if record["problem"] == 7 and record["device"] == "NVIDIA H100"]
        slow = max(odd, key=lambda record: record["us"])
        fast = min(record["us"] for record in odd) / 3
        slow.update(us=fast, us_again=fast, schedule="much faster than its features")
        points, _ = tune_points.load([self.write(records)])
        predicted = np.array([true_time(record["features"]) for record in points.records])
        model = argparse.Namespace(predict=lambda points: predicted, gains=np.zeros(len(FEATURES)))
        worst = report.make(points, 0, model, lambda record: "fitted", 3)["worst"][0]
        self.assertEqual((worst["problem"], worst["shape"], worst["best"]["schedule"]),
                         (7, "7x1000", "much faster than its features"))
        self.assertEqual(len(worst["best"]["features"]), 3)
        self.assertEqual(worst["best"]["features"].keys(), worst["choice"]["features"].keys())
        for name, value in worst["best"]["features"].items():
            self.assertEqual(value, slow["features"][name])
            self.assertNotEqual(value, worst["choice"]["features"][name])

    def test_what_differs_most_is_told_by_ratio(self):
        records = make_points(problems=1, candidates=2, devices=("NVIDIA H100",))
        for record, values in zip(records, ((10, 1, 0, 4, 0, 3), (10, 2, 0.001, 1, 1, 3))):
            record["features"] = dict(zip(FEATURES, values))
        points, _ = tune_points.load([self.write(records)])
        self.assertEqual(report.differences(points, 0, 1), ["strategy", "exchange", "issue"])
        self.assertEqual(report.differences(points, 1, 1), [])

    def test_devices_are_fitted_together_and_reported_apart(self):
        records = make_points(problems=20)
        paths = [self.write([record for record in records if record["device"] == f"NVIDIA {name}"], f"{name}.jsonl")
                 for name in ("H100", "H200")]
        done = self.run_fit(*paths, "--hold-out", 0)
        self.assertRegex(done.stdout, r"1000 points of 40 problems, 40 of them fitted")
        self.assertRegex(done.stdout, r"on NVIDIA H100 +20 \|(.|\n)*on NVIDIA H200 +20 \|")

    def test_the_header_predicts_what_the_report_does(self):
        header = self.folder / "model_trees.h"
        found = self.fit(make_points(problems=20), "--hold-out", 0, "--write", header, "--worst", 40, *OPTIONS)
        tables = read_header(header.read_text(encoding="utf-8"))
        self.assertEqual(tables[0], list(FEATURES))
        points, model = self.trees(make_points(problems=20))
        self.assertEqual(tables[1], model.roots)
        predicted = model.predict(points)
        for where in points.problems()[::8]:
            slowdowns = np.array([slowdown_of(tables, record["features"]) for record in points.records[where]])
            np.testing.assert_allclose(slowdowns / slowdowns.min(), predicted[where], rtol=1e-5)
        for worst in found["worst"]:
            self.assertIn(worst["best"]["predicted"], predicted)

    def test_the_header_is_as_C_wants_it(self):
        header = self.folder / "model_trees.h"
        self.fit(make_points(problems=20), "--write", header, "--trees", 9, "--leaves", 7)
        text = header.read_text(encoding="utf-8")
        names, roots, nodes, leaves = read_header(text)
        self.assertEqual((len(roots), roots[0], roots[-1], len(leaves)), (10, 0, len(nodes), len(nodes) + 9))
        for begin, end in zip(roots, roots[1:]):
            children = sorted(child for node in nodes[begin:end] for child in node[1])
            size = end - begin
            self.assertLess(size, 7)
            self.assertEqual(children, [*range(1, size), *range(128, 128 + size + 1)])
        self.assertTrue(all(feature < len(names) for feature, _, _ in nodes))
        self.assertNotRegex(text, r"[{ ]-?\d+f")
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        self.assertTrue(text.startswith("/* SPDX-License-Identifier: Apache-2.0 */\n"))
        self.assertIn("#ifndef KILN_SCHEDULE_MODEL_TREES_H\n", text)
        self.assertIn(" on NVIDIA H100, NVIDIA H200.", text)
        self.assertIn("fit.py points.jsonl --report-json report.json", text)
        self.assertNotIn(os.sep + "tmp", text)

    def test_a_candidate_without_others_is_left_out(self):
        records = make_points(problems=20)
        alone = {**records[0], "problem": 99}
        self.assertIn("; 1 more points have nothing", self.run_fit(self.write([*records, alone])).stdout)


class Judge(FitTest):
    def judge(self, choices, records, *options):
        command = [sys.executable, "-B", str(TUNE / "judge.py"), self.write(choices, "choices.jsonl"),
                   self.write(records), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def choices(self, records, choose):
        """Each problem's fastest or slowest candidate of the first device, as gather prints what is not timed."""
        out = {}
        for record in records:
            of = [r for r in records if (r["problem"], r["device"]) == (record["problem"], record["device"])]
            out.setdefault(record["problem"], {**choose(of, key=lambda r: r["us"]), "chosen": True})
        return [{key: value for key, value in record.items() if not key.startswith("us")} for record in out.values()]

    def test_the_best_is_the_best(self):
        records = make_points(problems=8, devices=("NVIDIA H100",))
        done = self.judge(self.choices(records, min), records)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("8 problems, the choice was measured in 8", done.stdout)
        self.assertRegex(done.stdout, r"new over best +1.000 in the geometric mean, 100 % within 5 %")

    def test_the_worst_is_not(self):
        records = make_points(problems=8, devices=("NVIDIA H100",))
        done = self.judge(self.choices(records, max), records)
        self.assertRegex(done.stdout, r"new over best +[2-9][0-9.]+ in the geometric mean, +0 % within 5 %")

    def test_choices_that_were_not_measured(self):
        records = make_points(problems=4, devices=("NVIDIA H100",))
        unknown = [{**choice, "schedule": "block 32"} for choice in self.choices(records, min)]
        self.assertEqual(self.judge(unknown, records).stdout, "4 problems; none of the choices was measured\n")

    def test_no_choices(self):
        done = self.judge([], [])
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Ajudge.py: there are no points in [^\n]*\n\Z")


class BadInput(FitTest):
    def refuses(self, sentence, records, *options):
        done = self.run_fit(self.write(records), *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, rf"\Afit.py: [^\n]*{sentence}[^\n]*\n\Z")

    def changed(self, **values):
        """Points of which the third is changed."""
        records = make_points(problems=4)
        records[2].update(values)
        return records

    def test_no_points(self):
        self.refuses("there are no points in .*points.jsonl", [])

    def test_no_file(self):
        done = self.run_fit(self.folder / "missing.jsonl")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Afit.py: .*missing.jsonl cannot be read: .*\n\Z")

    def test_no_json(self):
        self.refuses("points.jsonl:1: the line is no JSON object", ["us"])

    def test_fields_are_missing(self):
        self.refuses("points.jsonl:3: the point has no 'features' that is of type dict", self.changed(features=None))
        self.refuses("points.jsonl:3: the point has no 'strategy'", self.changed(strategy=3))

    def test_features_that_differ(self):
        some = dict.fromkeys(FEATURES, 1.0)
        fewer = {name: 1.0 for name in FEATURES if name != "steps"}
        self.refuses("points.jsonl:3: the point has no feature 'steps'", self.changed(features=fewer))
        self.refuses("points.jsonl:3: the point has a feature 'waves'", self.changed(features={**some, "waves": 1.0}))

    def test_times_that_cannot_be(self):
        for us in -1.0, 0, float("nan"), "fast":
            self.refuses(f"points.jsonl:3: 'us' is {us}, a positive number was expected", self.changed(us=us))
        self.refuses("points.jsonl:3: 'us_again' is -2.5", self.changed(us_again=-2.5))

    def test_features_that_cannot_be(self):
        some = dict.fromkeys(FEATURES, 1.0)
        self.refuses("points.jsonl:3: the feature 'issue' is -0.5", self.changed(features={**some, "issue": -0.5}))
        self.refuses("points.jsonl:3: the feature 'issue' is nan", self.changed(features={**some, "issue": math.nan}))

    def test_too_few_points_for_a_tree(self):
        self.refuses("too few points to fit trees to", make_points(problems=1, candidates=5), "--hold-out", "0")

    def test_more_nodes_than_the_header_can_tell(self):
        self.refuses("600 trees of 128 leaves have more than 65535 nodes", make_points(problems=4), "--trees", "600",
                     "--leaves", "128")

    def test_one_candidate_only(self):
        self.refuses("one candidate only: there is nothing to rank", make_points(problems=9, candidates=1))

    def test_two_lists_of_problems(self):
        self.refuses("points.jsonl:3: problem 0 is 'y = x' here and 'y = f0.x.' before", self.changed(program="y = x"))

    def test_folds_write_no_header(self):
        self.refuses("--folds and --write are both given", make_points(problems=4), "--folds", "2", "--write", "x.h")

    def test_nothing_left_to_fit(self):
        self.refuses("every problem is held out", make_points(problems=2), "--hold-out", "0.9")


if __name__ == "__main__":
    unittest.main()
