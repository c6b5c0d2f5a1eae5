#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune/fit.py on points that a known model made: python3 tests/tune/test_fit.py. Skipped (77) without numpy or
scipy."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import scipy.optimize  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TUNE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tune"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TUNE))

import fit  # noqa: E402
import points as tune_points  # noqa: E402
import report  # noqa: E402

TRUE = {"memory": 1.0, "issue": 0.8, "lines": 0.0, "latency": 1.3, "exchange": 0.7, "launch": 1.4}
NOISE = 0.02
STRATEGIES = ("row", "row_tile", "split_row")
FAMILIES = ("softmax", "norm", "loss")


def true_time(terms):
    return sum(TRUE[name] * terms[name] for name in terms)


def make_points(problems=60, candidates=25, devices=("NVIDIA H100", "NVIDIA H200"), seed=5):
    """Terms around the time of the memory's traffic, which is the same for all candidates of a problem, or nearly."""
    draw = np.random.default_rng(seed)
    out = []
    for number, device in ((number, device) for number in range(problems) for device in devices):
        memory = 10 ** draw.uniform(1, 2.5)
        for candidate in range(candidates):
            strategy = int(draw.integers(len(STRATEGIES)))
            terms = {"memory": memory * draw.choice([1, 1, 1.1, 1.3]), "issue": memory * 10 ** draw.normal(-0.2, 0.3),
                     "lines": memory * 10 ** draw.normal(-0.2, 0.3), "latency": memory * 10 ** draw.normal(-0.2, 0.3),
                     "exchange": memory * 10 ** draw.normal(-1, 0.4), "launch": 2.0 * draw.integers(1, 4)}
            time = true_time(terms)
            us, us_again = time * np.exp(draw.normal(0, NOISE, 2))
            out.append({"problem": number, "family": FAMILIES[number % 3], "program": f"y = f{number % 20}(x)",
                        "shape": f"{number}x1000", "device": device, "schedule": f"block 256, candidate {candidate}",
                        "strategy": STRATEGIES[strategy], "chosen": candidate == 0, "us": us, "us_again": us_again,
                        "terms": terms})
    return out


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

    def assert_chooses(self, found, least=0.95):
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

    def test_predictions_are_microseconds(self):
        points, _ = tune_points.load([self.write(make_points())])
        model = fit.Fit(points, 0.03).run(1, 1)
        near = points.us < 1.5 * points.of_problem(np.minimum, points.us)
        ratios = model.predict(points)[near] / points.us[near]
        self.assertLess(abs(np.median(np.log(ratios))), 0.15)

    def test_folds_have_not_seen_what_they_choose(self):
        found = self.fit(make_points(), "--folds", 4)
        self.assertEqual(list(found["sets"]), ["held-out programs"])
        self.assertEqual(found["sets"]["held-out programs"]["overall"]["problems"], 120)
        self.assert_chooses(found, 0.9)

    def test_coefficients_of_1_would_not_do(self):
        points, _ = tune_points.load([self.write(make_points())])
        overall = report.summarise(report.judge(points, fit.Model(np.ones(len(TRUE))), lambda record: "fitted"),
                                   "model's first")
        self.assertLess(overall["within_5_percent"], 0.8)

    def test_what_is_held_out_is_not_seen(self):
        records = make_points()
        points, _ = tune_points.load([self.write(records)])
        set_of = tune_points.hold_out(points, 1 / 3, 1)
        spoilt = [{**record, "us": record["us"] * (1 if set_of(record) == "fitted" else 1 + i % 7)}
                  for i, record in enumerate(records)]
        before, after = self.fit(records), self.fit(spoilt)
        self.assertEqual(before["coefficients"], after["coefficients"])
        self.assertNotEqual(before["sets"]["held-out programs"], after["sets"]["held-out programs"])

    def test_only_differences_within_a_problem_count(self):
        records = make_points()
        for record in records:  # what all candidates of a problem share is nothing to choose by
            factor = 1 + (record["problem"] * 7 + len(record["device"])) % 5
            record.update(us=record["us"] * factor, us_again=record["us_again"] * factor)
        self.assert_chooses(self.fit(records), 0.9)

    def test_what_is_far_from_the_best_hardly_counts(self):
        records, best = make_points(), {}
        for record in sorted(records, key=lambda record: record["us"]):
            fastest = best.setdefault(tune_points.problem_key(record), record)
            if record["us"] > 2.5 * fastest["us"] and record["problem"] % 2:
                record["us"] *= 3
        self.assert_chooses(self.fit(records))

    def test_slopes_are_the_derivatives(self):
        points, _ = tune_points.load([self.write(make_points(problems=4))])
        problem = fit.Fit(points, 0.05)
        at = np.random.default_rng(1).uniform(-0.5, 0.5, int(problem.used.sum()))
        for blur in 0.3, 0.05:
            slopes, step = problem.loss(at, blur)[1], 1e-6
            for i in range(len(at)):
                moved = np.array([at, at])
                moved[:, i] += [-step, step]
                below, above = (problem.loss(each, blur)[0] for each in moved)
                self.assertAlmostEqual(slopes[i], (above - below) / (2 * step), delta=1e-6)

    def test_a_term_that_no_point_has_is_nothing(self):
        records = make_points(problems=9)
        for record in records:
            record["terms"]["lines"] = 0.0
        self.assertEqual(self.fit(records)["coefficients"]["lines"], 0)


class Report(FitTest):
    def test_the_same_seed_gives_the_same_output(self):
        path = self.write(make_points(problems=20))
        runs = [self.run_fit(path, "--seed", seed) for seed in (3, 3, 4)]
        self.assertEqual([run.returncode for run in runs], [0, 0, 0])
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        self.assertNotEqual(runs[0].stdout, runs[2].stdout)

    def test_a_lucky_best_is_judged_by_its_second_measurement(self):
        records = make_points(problems=1, candidates=2, devices=("NVIDIA H100",))
        terms = dict.fromkeys(TRUE, 0.0)
        for record, us, again, memory in zip(records, (10.0, 8.0), (10.0, 9.9), (1.0, 2.0)):
            record.update(us=us, us_again=again, terms={**terms, "memory": memory})
        verdict = self.judge_by_memory(records)
        self.assertAlmostEqual(verdict.behind["model's first"], 10 / 9.9)
        self.assertAlmostEqual(verdict.behind["best of its first 3"], 1)
        del records[0]["us_again"]
        self.assertAlmostEqual(self.judge_by_memory(records).behind["model's first"], 10 / 8)

    def test_a_later_file_has_second_measurements(self):
        first = make_points(problems=1, candidates=3, devices=("NVIDIA H100",))
        for record in first:
            del record["us_again"]
        second = [{**first[1], "us": 7.0, "chosen": True}, {**first[2], "us": 8.0}]
        points, _ = tune_points.load([self.write(first), self.write(second, "second.jsonl")])
        np.testing.assert_array_equal(points.us, [record["us"] for record in first])
        np.testing.assert_array_equal(points.us_again, [np.nan, 7, 8])
        self.assertEqual(list(points.chosen), [False, True, False])

    def judge_by_memory(self, records):
        points, _ = tune_points.load([self.write(records)])
        model = fit.Model(np.ones(len(TRUE)))
        return report.judge(points, model, lambda record: "fitted")[0]

    def test_the_worst_problem_is_told_of(self):
        records = make_points(problems=20)
        odd = [record for record in records if record["problem"] == 7 and record["device"] == "NVIDIA H100"]
        slow = max(odd, key=lambda record: record["terms"]["issue"])
        slow.update(us=0.1, us_again=0.1, schedule="much faster than its terms")
        worst = self.fit(records, "--hold-out", 0)["worst"][0]
        self.assertEqual((worst["problem"], worst["shape"], worst["best"]["schedule"]),
                         (7, "7x1000", "much faster than its terms"))
        self.assertIn(worst["blamed"]["term"], ("issue", "latency"))

    def test_devices_are_fitted_together_and_reported_apart(self):
        records = make_points(problems=20)
        paths = [self.write([record for record in records if record["device"] == f"NVIDIA {name}"], f"{name}.jsonl")
                 for name in ("H100", "H200")]
        done = self.run_fit(*paths, "--hold-out", 0)
        self.assertRegex(done.stdout, r"1000 points of 40 problems, 40 of them fitted")
        self.assertRegex(done.stdout, r"on NVIDIA H100 +20 \|(.|\n)*on NVIDIA H200 +20 \|")

    def test_the_header_has_the_coefficients(self):
        header = self.folder / "model_coefficients.h"
        found = self.fit(make_points(problems=20), "--write", header)
        text = header.read_text(encoding="utf-8")
        numbers = re.findall(r"^ {4}(\S+), +/\* (\w+) \*/$", text, re.MULTILINE)
        self.assertEqual(numbers, [(f"{found['coefficients'][name]:.4g}", name) for name in TRUE])
        self.assertIn("kiln__coefficients[KILN__TERMS] = {", text)
        self.assertIn("on NVIDIA H100, NVIDIA H200.", text)
        self.assertIn("fit.py points.jsonl --report-json report.json", text)
        self.assertNotIn(os.sep + "tmp", text)

    def test_a_candidate_without_others_is_left_out(self):
        records = make_points(problems=20)
        alone = {**records[0], "problem": 99}
        self.assertIn("; 1 more points have nothing", self.run_fit(self.write([*records, alone])).stdout)


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
        self.refuses("points.jsonl:3: the point has no 'terms' that is of type dict", self.changed(terms=None))
        self.refuses("points.jsonl:3: the point has no 'strategy'", self.changed(strategy=3))

    def test_terms_that_differ(self):
        fewer = {name: 1.0 for name in TRUE if name != "latency"}
        self.refuses("points.jsonl:3: the point has no term 'latency'", self.changed(terms=fewer))
        self.refuses("points.jsonl:3: the point has a term 'waves'", self.changed(terms={**TRUE, "waves": 1.0}))

    def test_times_that_cannot_be(self):
        for us in -1.0, 0, float("nan"), "fast":
            self.refuses(f"points.jsonl:3: 'us' is {us}, a positive number was expected", self.changed(us=us))
        self.refuses("points.jsonl:3: 'us_again' is -2.5", self.changed(us_again=-2.5))

    def test_terms_that_cannot_be(self):
        self.refuses("points.jsonl:3: the term 'issue' is -0.5", self.changed(terms={**TRUE, "issue": -0.5}))
        self.refuses("points.jsonl:3: none of the point's terms is above 0", self.changed(terms=dict.fromkeys(TRUE, 0)))

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
