#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/functions.md, all functions of the language, and the tables of docs/functions/, a page for each family, from
what `kiln functions --json` tells: the library's own table and the prelude's comments and formulas. With --check it
compares the pages instead, which the test functions_page does. Needs nothing but Python.

A family's page is written by hand, but for what stands between `<!-- functions: NAME NAME ... -->` and
`<!-- end of functions -->`: a row for each of these, and what the prelude's own functions in them are. A meaning that ends in a name and a year in parentheses has its source
there; the page's section Sources, `- **Name and year**: title, place`, has each of them and no other.
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

By family, with examples, commands and the sources of the formulas: [norms](functions/norms.md),
[activations](functions/activations.md), [attention](functions/attention.md), [losses](functions/losses.md),
[quantisers](functions/quantisers.md), [optimisers](functions/optimisers.md), [statistics](functions/statistics.md),
[images](functions/images.md).
"""
ORDER = ("elementwise", "gated activations", "reductions", "statistics", "order in a row", "softmax and cross-entropy",
         "losses", "normalisation", "quantisers", "rotary embeddings", "optimisers", "images", "gradients", "places",
         "positions", "random numbers", "conversions", "constants", "names of ONNX")
# Every function of these groups is on a family's page.
FAMILIES = ("gated activations", "reductions", "statistics", "order in a row", "softmax and cross-entropy", "losses",
            "normalisation", "quantisers", "rotary embeddings", "optimisers", "images", "gradients")
TABLE = re.compile(r"(?<=<!-- functions: )([\w ]+)( -->\n).*?(?=<!-- end of functions -->)", re.DOTALL)
SOURCE = re.compile(r"^- \*\*(.+?)\*\*:", re.MULTILINE)
CITED = re.compile(r"(.*) \(([^()]*)\)")
YEAR = re.compile(r" (1[89]|20)\d\d\b")
OWN = re.compile(r"^fn (_\w+)\((.*?)\) = (.*)$", re.MULTILINE)  # the prelude's own functions, and what has no text:
BUILT_IN = {
    "_count": ("", "the number of elements that are reduced, as a float"),
    "_whole_count": ("", "the number of elements that are reduced, as an integer"),
    "_real_type": ("x", "x as a float"),
    "_wide_type": ("x", "x as i64 or u64"),
    "_is_wide": ("x", "whether x is of i64 or u64"),
    "_argsort": ("keys, descending", "the columns in the order of keys"),
    "_argtop": ("keys, k", "the columns with the k largest keys, in descending order, of equal ones the first"),
    "_by": ("x, columns", "x of these columns"),
}


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


def parted(meaning, sources):
    """The formula, and the names of its sources."""
    match = CITED.fullmatch(meaning)
    names = match[2].split("; ") if match else []
    if names and (YEAR.search(match[2]) or all(name in sources for name in names)):
        return match[1], names
    return meaning, []


def own_functions():
    """Name to parameters and formula of the functions that begin with an underscore."""
    texts = (ROOT / "kernel_sources" / name for name in ("prelude.kiln", "library.kiln"))
    found = {}
    for text in texts:
        for name, parameters, formula in OWN.findall(text.read_text(encoding="utf-8")):
            found[name] = (re.sub(r": \w+", "", parameters), formula)
    return found


def own_of(formulas, known):
    """A row for each of the prelude's own functions in the formulas, and in their formulas."""
    rows, names = [], list(dict.fromkeys(re.findall(r"\b_\w+", " ".join(formulas))))
    for name in names:  # which grows
        if name in BUILT_IN:
            parameters, meaning = BUILT_IN[name]
            rows.append(f"| `{name}({parameters})` | {meaning} |")
        elif name in known:
            parameters, formula = known[name]
            rows.append(f"| `{name}({cell(parameters)})` | `{cell(formula)}` |")
            names += [other for other in dict.fromkeys(re.findall(r"\b_\w+", formula)) if other not in names]
        else:
            sys.exit(f"{name} is in no file of kernel_sources/")
    return rows


class Family:
    """A page of docs/functions/: its text with the tables as they should be, the functions in them, the faults."""

    def __init__(self, path, functions, own):
        self.path, self.functions, self.own, self.faults, self.cited = path, functions, own, [], set()
        self.old = path.read_text(encoding="utf-8")
        self.sources = set(SOURCE.findall(self.old))
        self.names = [name for table in TABLE.finditer(self.old) for name in table[1].split()]
        self.text = TABLE.sub(self.table, self.old)
        self.faults += [f"{path.name} has no source '{name}'" for name in sorted(self.cited - self.sources)]
        self.faults += [f"{path.name} has the source '{name}', of no function there"
                        for name in sorted(self.sources - self.cited)]

    def table(self, match):
        lines = ["| function | formula | program text | source |", "|---|---|---|---|"]
        for name in match[1].split():
            if name not in self.functions:
                self.faults.append(f"{self.path.name} has {name}, which is no function")
                continue
            function = self.functions[name]
            formula, names = parted(function["meaning"], self.sources)
            self.cited.update(names)
            text = f" `{cell(function['formula'])}` " if function["formula"] else " "
            row_text = f"| `{cell(function['signature'])}` | {plain(formula)} |{text}| {'; '.join(names)} |"
            lines.append(row_text.replace("|  |", "| |"))
        known = [self.functions[name] for name in match[1].split() if name in self.functions]
        own = own_of([function["formula"] or "" for function in known], self.own)
        if own:
            lines += ["", "| in these texts | is |", "|---|---|", *own]
        return f"{match[1]}{match[2]}\n" + "\n".join(lines) + "\n\n"


def families(folder, functions):
    """The pages, and the faults of all of them together."""
    known = {function["name"]: function for function in functions}
    own = own_functions()
    pages = [Family(path, known, own) for path in sorted(folder.glob("*.md"))]
    faults = [fault for family in pages for fault in family.faults]
    there = {name for family in pages for name in family.names}
    faults += [f"{folder.name}/ has no page with {function['name']}" for function in functions
               if function["group"] in FAMILIES and function["name"] not in there]
    return pages, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kiln", help="the tool")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "functions.md")
    parser.add_argument("--families", type=pathlib.Path, default=ROOT / "docs" / "functions")
    arguments = parser.parse_args()
    told = subprocess.run([arguments.kiln, "functions", "--json"], check=True, capture_output=True, text=True).stdout
    functions = json.loads(told)["functions"]
    pages, faults = families(arguments.families, functions)
    wanted = {arguments.page: page(functions), **{family.path: family.text for family in pages}}
    for path, text in wanted.items():
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            faults.append(f"{path.name} is not what tools/functions_page.py writes: run it with the tool that was built")
    print(f"{len(functions)} functions, {len(pages)} families")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
