#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tables of functions in docs/language.md with what `kiln functions --json` lists: each function is in one of
them, each name in them is a function, and where the page has parameters and defaults they are those of the function. What a
function means is said without leaning on the one before it, since `kiln functions NAME` shows one alone.

check_functions.py <kiln> <docs/language.md>
"""
import json
import pathlib
import re
import subprocess
import sys

TABLES = ("## Elementwise functions", "## Reductions", "## Rows")
NO_TABLE = ("conversions", "constants")  # types have a section of their own, constants are told in a sentence


def listed(page):
    """Name to signature, or to None where the page gives the name alone."""
    found = {}
    for title in TABLES:
        section = page[page.index("\n" + title + "\n") + len(title) + 1:]
        table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE).group(0)
        for code in re.findall(r"`([^`]*)`", table):
            for name, parameters in re.findall(r"(\w+)(\((?:[^()]|\([^()]*\))*\))?", code):
                if found.setdefault(name, parameters or None) and not parameters:
                    continue
                found[name] = parameters or None
    return found


def faults_of(page, functions):
    names = listed(page)
    known = {function["name"]: function for function in functions}
    for name in sorted(known):
        if known[name]["group"] not in NO_TABLE and name not in names:
            yield f"docs/language.md lacks {name}"
        if known[name]["meaning"].startswith("the same"):
            yield f"{name} means '{known[name]['meaning']}', and alone it does not say as what"
    for name, parameters in sorted(names.items()):
        if name not in known:
            yield f"docs/language.md has {name}, which is no function"
        elif parameters and name != "reduce" and known[name]["signature"] != name + parameters:
            yield f"docs/language.md has {name}{parameters}, it is {known[name]['signature']}"


def main():
    tool, page = sys.argv[1:]
    output = subprocess.run([tool, "functions", "--json"], check=True, stdout=subprocess.PIPE).stdout
    functions = json.loads(output)["functions"]
    faults = list(faults_of(pathlib.Path(page).read_text(encoding="utf-8"), functions))
    for fault in faults:
        print(fault)
    print(f"{len(functions)} functions, {len(faults)} faults")
    return 1 if faults or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
