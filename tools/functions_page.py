#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/functions.md, all functions of the language, from what `kiln functions --json` tells: the library's own
table and the prelude's comments and formulas. With --check it compares the page instead, which the test functions_page
does. Needs nothing but Python.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """# Functions

What a program can call, as `kiln functions` lists it. `tools/functions_page.py` writes this page; the rules that hold for
all of them are in [the language](language.md). The types are those of the result for arguments of f32, i32 and bool; f64,
i64 and the unsigned types follow [a table](language.md#where-types-meet); `-` is refused. A formula
is in the language itself; functions in it that begin with `_` are in [prelude.kiln](../kernel_sources/prelude.kiln) or
[library.kiln](../kernel_sources/library.kiln).
"""
ORDER = ("elementwise", "gated activations", "reductions", "statistics", "order in a row", "softmax and cross-entropy",
         "losses", "normalisation", "quantisers", "rotary embeddings", "optimisers", "images", "gradients", "places",
         "positions", "random numbers", "conversions", "constants", "names of ONNX")


def cell(text):
    return text.replace("|", "\\|")


def plain(text):
    return re.sub(r"([*_<\[])", r"\\\1", cell(text))


def row(function, formulas):
    types = " ".join(function["types"][of] or "-" for of in ("f32", "i32", "bool"))
    line = f"| `{cell(function['signature'])}` | {types} | {plain(function['meaning'])} |"
    formula = f" `{cell(function['formula'])}` |" if function["formula"] else " |"
    return line + formula if formulas else line


def page(functions):
    groups = {}
    for function in functions:
        groups.setdefault(function["group"], []).append(function)
    unknown = sorted(set(groups) - set(ORDER))
    text = [HEAD]
    for group in (*(name for name in ORDER if name in groups), *unknown):
        formulas = any(function["formula"] for function in groups[group])
        text += [f"## {group[0].upper()}{group[1:]}\n", "| function | types | meaning |" + " formula |" * formulas,
                 "|---|---|---|" + "---|" * formulas]
        text += [row(function, formulas) for function in groups[group]]
        text.append("")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kiln", help="the tool")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "functions.md")
    arguments = parser.parse_args()
    told = subprocess.run([arguments.kiln, "functions", "--json"], check=True, capture_output=True, text=True).stdout
    text = page(json.loads(told)["functions"])
    if not arguments.check:
        arguments.page.write_text(text)
    elif not arguments.page.exists() or arguments.page.read_text() != text:
        sys.exit(f"{arguments.page.name} is not what tools/functions_page.py writes: run it with the tool that was built")
    print(f"{text.count(chr(10) + '| `')} functions")


if __name__ == "__main__":
    main()
