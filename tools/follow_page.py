#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page of docs/guide/ as one bash session, for tools/try_guide.sh, and reports what came of it.

Unlike the test guide_NAME, which provides what a page expects to be there, the session has nothing but what the page's
own blocks install; like a reader's terminal it keeps its folder and variables from block to block. Blocks of python are
typed into the `python` that the session then finds. `write` makes the session, `report` compares what it printed with
the page and prints each block's seconds.
"""
import argparse
import inspect
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "checks"))
import check_guide  # noqa: E402

PYTHON = """import doctest
import pathlib
import sys

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Fault(Exception):
    pass


{run_python}

namespace = {{}}
for text in {texts!r}:
    run_python(text, 0, pathlib.Path("page"), namespace)
"""


def sections(source):
    """(heading, text) of each `## ` section; what is above the first has none."""
    parts = re.split(r"^## (.*)$", source, flags=re.MULTILINE)
    return [("", parts[0])] + list(zip(parts[1::2], parts[2::2]))


def blocks(page, wanted):
    """(kind, name, text) of each block in sections whose headings start with one of these."""
    for heading, text in sections(page.read_text(encoding="utf-8")):
        if any(heading.startswith(start) for start in wanted):
            for name, _, kind, body in check_guide.BLOCK.findall(text):
                yield kind, name, body


def write(arguments):
    script, python, steps = ["set -euo pipefail\n"], [], []
    for kind, name, text in blocks(arguments.page, arguments.section):
        if name:
            script.append(f"cat >{name} <<'END_OF_FILE'\n{text}END_OF_FILE\n")
        elif kind == "sh":
            steps.append({"text": text, "prints": None})
            script.append(step(len(steps) - 1, text))
        elif kind == "text" and steps:
            steps[-1]["prints"] = text
        elif kind == "python":
            python.append(text)
    if python:
        run_python = inspect.getsource(check_guide.run_python)
        program = PYTHON.format(run_python=run_python, texts=python)
        script.append(f"cat >/tmp/page.py <<'END_OF_FILE'\n{program}END_OF_FILE\n")
        steps.append({"text": f"python  # {len(python)} blocks\n", "prints": None})
        script.append(step(len(steps) - 1, "python /tmp/page.py\n"))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "session.sh").write_text("".join(script), encoding="utf-8")
    (arguments.folder / "steps.json").write_text(json.dumps(steps), encoding="utf-8")


def step(number, text):
    """The block in braces: its commands change the session's folder and variables, and their output is kept."""
    return (f"date +%s.%N >/page/{number}.began\n{{\n{text}}} >/page/{number}.out 2>/page/{number}.err\n"
            f"date +%s.%N >/page/{number}.ended\n")


def report(arguments):
    total, faults = 0.0, 0
    for number, entry in enumerate(json.loads((arguments.folder / "steps.json").read_text(encoding="utf-8"))):
        files = [arguments.folder / f"{number}.{end}" for end in ("began", "ended", "out", "err")]
        first = entry["text"].splitlines()[0]
        if not files[1].exists():
            errors = "\n".join(file.read_text(encoding="utf-8") for file in files[2:] if file.exists())
            print(f"failed: {first}\n{errors[-3000:]}")
            return 1
        seconds = float(files[1].read_text()) - float(files[0].read_text())
        total += seconds
        print(f"{seconds:7.1f} s  {first}")
        try:
            if entry["prints"] is not None:
                check_guide.compare(entry["prints"], files[2].read_text(encoding="utf-8"))
        except check_guide.Fault as fault:
            print(fault)
            faults += 1
    print(f"{total:7.1f} s  together")
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "report"])
    parser.add_argument("folder", type=pathlib.Path, help="where the session is written, and leaves what it printed")
    parser.add_argument("--page", type=pathlib.Path, help="the page, docs/guide/NAME.md")
    parser.add_argument("--section", action="append", help="how headings of sections begin; several are allowed")
    arguments = parser.parse_args()
    if arguments.what == "write":
        write(arguments)
        return 0
    return report(arguments)


if __name__ == "__main__":
    sys.exit(main())
