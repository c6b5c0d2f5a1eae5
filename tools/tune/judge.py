#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what a build chooses by what was measured: its choice's time over that of the choice which was the library's own
when the points were gathered, and over the best candidate's. For changes of how schedules are chosen, without a GPU.

    build/tune/gather problems.jsonl --cache-dir /tmp/none --candidates 1 --untimed > choices.jsonl
    tools/tune/judge.py choices.jsonl tools/tune/points/h100.jsonl.xz tools/tune/points/h200.jsonl.xz --strategies column

Only choices that are among the candidates which were measured can be judged; how many those are is told. --hold-out
and --seed, as given to fit.py for the trees that the build has, leave out the programs that the trees have seen.
"""
import argparse
import json
import signal
import sys

import numpy as np

from points import InputError, hold_out, load

LEAST_CANDIDATES = 10  # of a problem: among fewer, the best is not much


def read_choices(path):
    try:
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return {record["problem"]: record for record in records if record.get("chosen")}


def judge(points, choices, strategies, counts):
    """[own choice's time, new choice's, best's] of each problem whose new choice was measured, and how many there are."""
    times, problems = [], 0
    for of in points.problems():
        records = points.records[of]
        choice = choices.get(records[0]["problem"])
        own = points.us[of][points.chosen[of]]
        if not choice or choice["program"] != records[0]["program"] or len(records) < LEAST_CANDIDATES or not len(own):
            continue
        if not counts(records[0]) or not any(record["strategy"].startswith(strategies) for record in records):
            continue
        problems += 1
        new = [record["us"] for record in records if record["schedule"] == choice["schedule"]]
        times += [[own[0], us, points.us[of].min()] for us in new[:1]]
    return np.array(times), problems


def tell(times, problems):
    if not len(times):
        print(f"{problems} problems; none of the choices was measured")
        return
    own, new, best = times.T
    print(f"{problems} problems, the choice was measured in {len(times)}")
    for name, of in (("new over own", new / own), ("new over best", new / best), ("own over best", own / best)):
        within = [100 * np.mean(of <= limit) for limit in (1.05, 1.15)]
        print(f"{name:14} {np.exp(np.log(of).mean()):6.3f} in the geometric mean, {within[0]:3.0f} % within 5 %, "
              f"{within[1]:3.0f} % within 15 %, {of.max():.2f} the worst")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("choices", help="what gather --candidates 1 --untimed printed")
    parser.add_argument("points", nargs="+", help="as for fit.py")
    parser.add_argument("--strategies", default="", metavar="PREFIX", help="problems that have a candidate of such a strategy")
    parser.add_argument("--hold-out", type=float, default=0, metavar="SHARE", help="judges these programs alone (all)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    try:
        points, _ = load(given.points)
        set_of = hold_out(points, given.hold_out, given.seed)
        seen = (lambda record: True) if not given.hold_out else lambda record: set_of(record) == "held-out programs"
        tell(*judge(points, read_choices(given.choices), given.strategies, seen))
    except InputError as error:
        print(f"judge.py: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
