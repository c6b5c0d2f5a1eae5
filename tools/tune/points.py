# SPDX-License-Identifier: Apache-2.0
"""What gather measured: read and checked, put into arrays by problem, and parted into what is fitted and held out."""
import collections
import gzip
import json
import math
import random

import numpy as np

FIELDS = {"problem": int, "family": str, "program": str, "device": str, "schedule": str, "strategy": str, "terms": dict}
SETS = ("fitted", "held-out programs", "held-out shapes")


class InputError(Exception):
    """One sentence that says what is wrong with the points or the command line."""


class Points:
    """Measured candidates, those of a problem on a device behind one another. Arrays have an element, or a row, each.

    records: as gather wrote them; terms: points x term_names; strategy: an index into strategies; starts, sizes: of
    each problem's points; us_again: NaN where there is none; chosen: the library's own choice.
    """

    def __init__(self, records, term_names, strategies):
        self.records = records = sorted(records, key=problem_key)
        self.term_names, self.strategies = term_names, strategies
        self.terms = np.array([[record["terms"][name] for name in term_names] for record in records], dtype=float)
        self.strategy = np.array([strategies.index(record["strategy"]) for record in records])
        self.us = np.array([record["us"] for record in records], dtype=float)
        self.us_again = np.array([record.get("us_again", math.nan) for record in records], dtype=float)
        self.chosen = np.array([bool(record.get("chosen")) for record in records])
        keys = [problem_key(record) for record in records]
        self.starts = np.array([i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]])
        self.sizes = np.diff(np.append(self.starts, len(records)))

    def subset(self, keep):
        return Points([record for record in self.records if keep(record)], self.term_names, self.strategies)

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
    for name, value in record["terms"].items():
        if not is_number(value) or value < 0:
            raise InputError(f"{where}: the term '{name}' is {value}, a number from 0 on was expected")
    if not any(record["terms"].values()):
        raise InputError(f"{where}: none of the point's terms is above 0")


def read_records(path):
    """Yields (where, record) of each line with "us"; other lines describe problems."""
    try:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            lines = list(file)
    except (OSError, UnicodeDecodeError) as error:
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


def check_terms(record, where, expected):
    for name in expected:
        if name not in record["terms"]:
            raise InputError(f"{where}: the point has no term '{name}', which the points before it have")
    for name in record["terms"]:
        if name not in expected:
            raise InputError(f"{where}: the point has a term '{name}', which the points before it lack")


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
    known, own, programs, term_names = {}, {}, {}, None
    for path in paths:
        for where, record in read_records(path):
            term_names = term_names or list(record["terms"])
            check_terms(record, where, term_names)
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
    strategies = sorted({record["strategy"] for record in compared})
    return Points(compared, term_names, strategies), len(known) - len(compared)


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
