#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune/problems.py and gather without a GPU: test_gather.py GATHER. Problems are drawn again by their seed, points are
those of the device that they tell, and the library's own choice is pinned, whatever device compiles it."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUNE = pathlib.Path(__file__).resolve().parents[2] / "tools/tune"
GATHER = None
TYPICAL_BANDWIDTH = 7  # of a device's numbers


def draw(*options):
    made = subprocess.run([sys.executable, "-B", TUNE / "problems.py", *options], capture_output=True, text=True, check=True)
    return made.stdout


def points_of(*arguments):
    made = subprocess.run([GATHER, *arguments], capture_output=True, text=True, check=True,
                          env={"KILN_DRIVER": "/nonexistent"})
    return [json.loads(line) for line in made.stdout.splitlines()]


class Problems(unittest.TestCase):
    def test_a_seed_draws_the_same(self):
        self.assertEqual(draw("--count", "30", "--seed", "5"), draw("--count", "30", "--seed", "5"))
        self.assertNotEqual(draw("--count", "30", "--seed", "5"), draw("--count", "30", "--seed", "6"))

    def test_layouts_and_columns_are_as_asked(self):
        lines = [json.loads(line) for line in draw("--count", "40", "--seed", "5", "--layouts", "row", "--columns", "200000",
                                                   "900000").splitlines()]
        for problem in lines:
            shapes = [text.split("[")[1].split("]")[0].split(",") for text in problem["tensors"]]
            # the nearest power of two may be more
            self.assertTrue(131072 <= max(int(shape[-1]) for shape in shapes) <= 1048576, problem)

    def test_blocks_have_a_value_for_each(self):
        for line in draw("--count", "40", "--seed", "5", "--layouts", "block", "--columns", "100", "1000").splitlines():
            tensors = dict(text.split("=") for text in json.loads(line)["tensors"])
            if "s" in tensors:
                columns = int(tensors["q"].split("[")[1].split("]")[0].split(",")[-1])
                scales = int(tensors["s"].split("[")[1].split("]")[0].split(",")[-1])
                self.assertIn(scales, (-(-columns // 32), -(-columns // 128)))


class Points(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.problems = pathlib.Path(cls.folder.name) / "problems.jsonl"
        cls.problems.write_text(draw("--count", "12", "--seed", "5"), encoding="utf-8")
        cls.points = points_of(cls.problems, "--cache-dir", cls.folder.name, "--candidates", "4", "--untimed")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def again(self, points):
        path = pathlib.Path(self.folder.name) / "points.jsonl"
        path.write_text("".join(json.dumps(point) + "\n" for point in points), encoding="utf-8")
        return points_of(self.problems, "--again", path)

    def test_the_choice_is_pinned(self):
        chosen = [point for point in self.points if point["chosen"]]
        self.assertEqual(len(chosen), 12)
        self.assertTrue(all(point["pins"] for point in chosen))

    def test_the_choice_of_neighbouring_rows_is_pinned_whole(self):
        chosen = [point for point in self.points if point["chosen"] and point["strategy"] == "column"]
        self.assertTrue(chosen)
        for point in chosen:
            for word in ("threads", "vector", "rows"):
                self.assertIn(word, point["pins"])

    def test_equal_schedules_of_a_problem_alone_have_equal_sources(self):
        sources = {}
        for point in self.points:
            sources.setdefault(point["source"], set()).add((point["problem"], point["schedule"]))
        self.assertTrue(all(len(of) == 1 for of in sources.values()), sources)

    def test_again_is_the_same(self):
        renewed = self.again(self.points)
        self.assertEqual([point["features"] for point in renewed], [point["features"] for point in self.points])

    def test_features_are_those_of_the_device(self):
        faster = json.loads(json.dumps(self.points))
        for point in faster:
            point["numbers"][TYPICAL_BANDWIDTH] *= 2
        typical = {(point["problem"], point["schedule"]): point["features"]["memory"] for point in self.points}
        renewed = self.again(faster)
        self.assertGreater(len(renewed), len(faster) / 2)  # a few are other schedules there
        for point in renewed:
            before = typical[point["problem"], point["schedule"]]
            self.assertAlmostEqual(point["features"]["memory"], before / 2, delta=1e-3 * before)

    def test_what_was_once_chosen_is_found_by_its_words(self):
        older = [{**point, "pins": ""} for point in self.points]
        renewed = {(point["problem"], point["schedule"]) for point in self.again(older)}
        self.assertEqual(renewed, {(point["problem"], point["schedule"]) for point in self.points})


if __name__ == "__main__":
    GATHER = sys.argv.pop(1)
    unittest.main()
