#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a function of src/ or tools/ makes too many decisions, a folder too many for its lines, or where the
schedule has too many members.

Decisions are what lizard counts: if, for, while, case, ?, && and ||, that is the cyclomatic complexity less 1.
complexity_exceptions.txt lists what was over a limit when the check came, as `path function decisions` and
`folder density`. A listed function may not grow, and its line goes when it no longer needs it: --shrink does that, and
lowers the numbers of what has become simpler. Exits with 77 where Python's package lizard is missing, or not the version
of tools/lizard_wheels.txt, since versions count differently. KILN_LIZARD names a folder that has it; tools/check.sh
downloads one.
"""
import argparse
import math
import os
import pathlib
import re
import sys

FUNCTION_LIMIT = 20
DENSITY_LIMIT = 0.35
DENSE_FOLDERS = ("src/schedule", "src/codegen")
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".py"}

STRUCTS = "src/schedule/schedule.h"  # 16 members that all strategies have and the union, of 10 for each of them
MEMBER_LIMITS = {"kiln__schedule": 17, "kiln__row_schedule": 10, "kiln__column_schedule": 10, "kiln__transpose_schedule": 10,
                 "kiln__any_schedule": 10}

TABLES = {"src/schedule/model_trees.h"}  # what a script writes has lines, but no decisions to hide among them
LIST = "tests/checks/complexity_exceptions.txt"


def find_lizard():
    """The package, or None with a sentence printed."""
    if os.environ.get("KILN_LIZARD"):
        sys.path.insert(0, os.environ["KILN_LIZARD"])
    try:
        import lizard
    except ImportError as error:
        print(f"skipped: {error}; KILN_LIZARD names no folder with Python's package lizard")
        return None
    wheels = (pathlib.Path(__file__).resolve().parents[2] / "tools/lizard_wheels.txt").read_text(encoding="utf-8")
    if f"lizard=={lizard.version} " not in wheels:
        print(f"skipped: lizard is {lizard.version}, not the version of tools/lizard_wheels.txt")
        return None
    return lizard


def measure(lizard, root):
    """The decisions of each (path, function), and the decisions a line of code of each dense folder."""
    functions, totals = {}, {folder: [0, 0] for folder in DENSE_FOLDERS}
    for path in sorted(file for part in ("src", "tools") for file in (root / part).rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        name = path.relative_to(root).as_posix()
        file = lizard.analyze_file(str(path))
        for function in file.function_list:
            key = name, function.name
            functions[key] = max(functions.get(key, 0), function.cyclomatic_complexity - 1)
        for folder in DENSE_FOLDERS:
            if name.startswith(folder + "/") and name not in TABLES:
                totals[folder][0] += sum(function.cyclomatic_complexity - 1 for function in file.function_list)
                totals[folder][1] += file.nloc
    return functions, {folder: decisions / max(lines, 1) for folder, (decisions, lines) in totals.items()}


def read_list(path):
    """The comments of the list, its functions and its folders."""
    comments, functions, densities = [], {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            comments.append(line)
        elif len(words) == 2:
            densities[words[0]] = float(words[1])
        else:
            functions[words[0], " ".join(words[1:-1])] = int(words[-1])
    return comments, functions, densities


def write_list(path, comments, functions, densities):
    lines = comments + [f"{folder} {density:.3f}" for folder, density in sorted(densities.items())]
    lines += [f"{file} {name} {count}" for (file, name), count in sorted(functions.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def faults_of_functions(found, listed):
    for (path, name), count in sorted(found.items()):
        allowed = listed.get((path, name), FUNCTION_LIMIT)
        if count > max(allowed, FUNCTION_LIMIT):
            yield f"{path}: {name} makes {count} decisions, over {allowed}: part it"
    for (path, name), allowed in sorted(listed.items()):
        count = found.get((path, name))
        if count is None:
            yield f"{path}: there is no {name} (any more); --shrink takes it off the list"
        elif count <= FUNCTION_LIMIT:
            yield f"{path}: {name} makes {count} decisions, within {FUNCTION_LIMIT}; --shrink takes it off the list"


def faults_of_folders(found, listed):
    for folder, density in found.items():
        if density > listed.get(folder, DENSITY_LIMIT):
            allowed = listed.get(folder, DENSITY_LIMIT)
            yield f"{folder}/ makes {density:.4f} decisions a line of code, over {allowed}"
    for folder in listed:
        if found.get(folder, 0) <= DENSITY_LIMIT:
            yield f"{folder}/ is within {DENSITY_LIMIT} decisions a line of code; --shrink takes it off the list"


def faults_of_structs(text):
    """A union counts as one member: it has one strategy's at a time."""
    text = re.sub(r"union {[^}]*}", "union", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    for name, limit in MEMBER_LIMITS.items():
        body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.DOTALL)
        count = sum(1 + line.count(",") for line in body.group(1).split(";") if line.strip()) if body else 0
        if count == 0 or count > limit:
            yield f"{STRUCTS}: {name} has {count} members, expected 1 to {limit}"


def shrunk(found, listed, limit):
    """What of a list is still needed, with the lower numbers of today."""
    return {key: min(listed[key], found[key]) for key in listed if found.get(key, 0) > limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shrink", action="store_true", help="take off the list what no longer needs it")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2],
                        help="the checkout (default: the one that this file is in)")
    options = parser.parse_args()
    lizard = find_lizard()
    if not lizard:
        return 77
    functions, densities = measure(lizard, options.root)
    comments, listed_functions, listed_densities = read_list(options.root / LIST)
    if options.shrink:
        listed_functions = shrunk(functions, listed_functions, FUNCTION_LIMIT)
        rounded = {folder: math.ceil(density * 1000) / 1000 for folder, density in densities.items()}
        listed_densities = shrunk(rounded, listed_densities, DENSITY_LIMIT)
        write_list(options.root / LIST, comments, listed_functions, listed_densities)

    print(f"{len(functions)} functions; the most decisions:")
    for (path, name), count in sorted(functions.items(), key=lambda item: (-item[1], item[0]))[:5]:
        print(f"  {count:3} {path} {name}")
    for folder, density in densities.items():
        print(f"{folder}/: {density:.4f} decisions a line of code")
    faults = [*faults_of_functions(functions, listed_functions), *faults_of_folders(densities, listed_densities),
              *faults_of_structs((options.root / STRUCTS).read_text(encoding="utf-8"))]
    for fault in faults:
        print(f"error: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
