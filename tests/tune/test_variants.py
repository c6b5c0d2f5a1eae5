#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune/variants.py: each rule that variants.txt changes is there, and its report: python3 tests/tune/test_variants.py."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUNE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tune"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TUNE))

import variants  # noqa: E402


def run(*arguments):
    command = [sys.executable, "-B", str(TUNE / "variants.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(folder, name, times, schedule="block 256"):
    points = [{"problem": problem, "program": "y = softmax(x)", "shape": f"f32[{problem},8]", "schedule": schedule, "us": us,
               "us_again": us * 1.01} for problem, us in enumerate(times)]
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in points), encoding="utf-8")


class Rules(unittest.TestCase):
    def test_each_text_is_once_in_its_file(self):
        done = run("check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_bar_can_be_written(self):
        file, text, _ = variants.rules()["peel-always"]
        self.assertEqual(file, "row.c")
        self.assertIn(" || ", text)

    def test_a_text_can_have_lines(self):
        self.assertEqual(variants.unescaped(r"a\nb \|\| c"), "a\nb || c")

    def test_a_file_without_a_folder_is_a_builder(self):
        self.assertEqual(variants.path_of("row.c").parts, ("src", "schedule", "row.c"))
        self.assertEqual(variants.path_of("src/codegen/row.c").parts, ("src", "codegen", "row.c"))

    def test_a_change_changes_the_rule_alone(self):
        name, (file, text, replacement) = next(iter(variants.rules().items()))
        source = (variants.ROOT / variants.path_of(file)).read_text(encoding="utf-8")
        self.assertEqual(variants.changed(name, (file, text, replacement)).replace(replacement, text, 1).count(text),
                         source.count(text))

    def test_what_is_not_there_is_told(self):
        with self.assertRaises(SystemExit) as told:
            variants.changed("odd", ("row.c", "no such text", "1"))
        self.assertEqual(str(told.exception), "variants.py: odd: 'no such text' is in row.c 0 times, expected once")


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_it_tells_who_misses_a_rule(self):
        for i in (1, 2, 3):
            write(self.folder, f"plain-{i}", (10, 20, 30))
        write(self.folder, "unroll-2", (10, 30, 15), schedule="block 128")
        lines = run("report", self.folder).stdout.splitlines()
        self.assertEqual(lines[2:], ["| unroll-2 | 3 | 0.909 | 1 | 1 | 1.50: y = softmax(x) f32[1,8] |"])

    def test_noise_is_no_difference(self):
        for i, us in enumerate((10, 12, 14), 1):
            write(self.folder, f"plain-{i}", (us,))
        write(self.folder, "unroll-2", (15,))
        self.assertIn("| unroll-2 | 1 | 1.250 | 0 | 0 |", run("report", self.folder).stdout)

    def test_a_build_that_chooses_the_same_has_an_empty_line(self):
        write(self.folder, "plain-1", (10,))
        write(self.folder, "unroll-2", ())
        self.assertIn("| unroll-2 | 0 | | | | |", run("report", self.folder).stdout)

    def test_without_a_build_to_compare_with_there_is_no_report(self):
        write(self.folder, "unroll-2", (10,))
        done = run("report", self.folder)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "variants.py: there are no times of the build without a change\n"))


if __name__ == "__main__":
    unittest.main()
