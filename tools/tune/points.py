# SPDX-License-Identifier: Apache-2.0
"""What gather measured: read and checked, put into arrays by problem, and parted into what is fitted and held out."""
import collections
import gzip
import json
import lzma
import math
import random

import numpy as np

FIELDS = {"problem": int, "family": str, "program": str, "device": str, "schedule": str, "strategy": str, "features": dict}
SETS = ("fitted", "held-out programs", "held-out shapes")


class InputError(Exception):
    """One sentence that says what is wrong with the points or the command line."""


class Points:
    """Measured candidates, those of a problem on a device behind one another. Arrays have an element, or a row, each.

    records: as gather wrote them; features: points x feature_names; starts, sizes: of each problem's
    points; us_again: NaN where there is none; chosen: the library's own choice.
    """

    def __init__(self, records, feature_names):
        self.records = records = sorted(records, key=problem_key)
        self.feature_names = feature_names
        # As many digits as the limits that they are compared with have, and as gather prints.
        self.features = np.array([[float(f"{record['features'][name]:.6g}") for name in feature_names]
                                  for record in records], dtype=np.float32)
        self.us = np.array([record["us"] for record in records], dtype=float)
        self.us_again = np.array([record.get("us_again", math.nan) for record in records], dtype=float)
        self.chosen = np.array([bool(record.get("chosen")) for record in records])
        keys = [problem_key(record) for record in records]
        self.starts = np.array([i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]])
        self.sizes = np.diff(np.append(self.starts, len(records)))

    def subset(self, keep):
        return Points([record for record in self.records if keep(record)], self.feature_names)

    def problems(self):
        """The slice of each problem's points."""
        return [slice(start, start + size) for start, size in zip(self.starts, self.sizes)]

    def of_problem(self, ufunc, values):
        """ufunc (np.add, np.minimum) over the points of each problem, given to each of them."""
        return np.repeat(ufunc.reduceat(values, self.starts, axis=0), self.sizes, axis=0)


def problem_key(record):
    return record["problem"], record["device"]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_record(record, where):
    for name, kind in FIELDS.items():
        if not isinstance(record.get(name), kind):
            raise InputError(f"{where}: the point has no '{name}' that is of type {kind.__name__}")
    for name in record.keys() & {"us", "us_again"}:
        if not is_number(record[name]) or record[name] <= 0:
            raise InputError(f"{where}: '{name}' is {record[name]}, a positive number was expected")
    for name, value in record["features"].items():
        if not is_number(value) or value < 0:
            raise InputError(f"{where}: the feature '{name}' is {value}, a number from 0 on was expected")


def read_records(path):
    """Yields (where, record) of each line with "us"; other lines describe problems."""
    try:
        opener = {".gz": gzip.open, ".xz": lzma.open}.get(path[-3:], open)
        with opener(path, "rt", encoding="utf-8") as file:
            lines = list(file)
    except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise InputError(f"{path}:{number}: the line is no JSON object")
        if "us" in record:
            check_record(record, f"{path}:{number}")
            yield f"{path}:{number}", record


def check_features(record, where, expected):
    for name in expected:
        if name not in record["features"]:
            raise InputError(f"{where}: the point has no feature '{name}', which the points before it have")
    for name in record["features"]:
        if name not in expected:
            raise InputError(f"{where}: the point has a feature '{name}', which the points before it lack")


def add_record(record, known, own):
    """What was measured before has a second measurement now. The library's own choice is what was so last."""
    key = problem_key(record)
    there = known.setdefault((key, record["schedule"]), record)
    if there is not record:
        there.setdefault("us_again", record["us"])
    if record.get("chosen"):
        own.get(key, {})["chosen"] = False
        there["chosen"], own[key] = True, there


def load(paths):
    """All points, and how many were left out because no other candidate of their problem was measured."""
    known, own, programs, feature_names = {}, {}, {}, None
    for path in paths:
        for where, record in read_records(path):
            feature_names = feature_names or list(record["features"])
            check_features(record, where, feature_names)
            number, program = record["problem"], record["program"]
            if programs.setdefault(number, program) != program:
                raise InputError(f"{where}: problem {number} is '{program}' here and '{programs[number]}' before; "
                                 "all files must be of one list of problems")
            add_record(record, known, own)
    if not known:
        raise InputError(f"there are no points in {', '.join(paths)}")
    candidates = collections.Counter(key for key, _ in known)
    compared = [record for (key, _), record in known.items() if candidates[key] > 1]
    if not compared:
        raise InputError(f"each problem in {', '.join(paths)} has one candidate only: there is nothing to rank")
    return Points(compared, feature_names), len(known) - len(compared)


def hold_out(points, share, seed):
    """Returns a function that tells which of SETS a record belongs to: drawn programs, then drawn problem numbers."""
    draw = random.Random(seed)
    held = {}
    for name in ("program", "problem"):
        values = sorted({record[name] for record in points.records})
        held[name] = set(draw.sample(values, round(share * len(values))))

    def set_of(record):
        if record["program"] in held["program"]:
            return "held-out programs"
        return "held-out shapes" if record["problem"] in held["problem"] else "fitted"

    return set_of
