#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/onnx.md, the row program of each operator of ONNX, from python/kiln/onnx_operators.json. With --check it
compares the page instead, which the test onnx_page does. Needs nothing but Python.
"""
import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """# Operators of ONNX

What an operator of [ONNX](https://onnx.ai/onnx/operators/) is as a row program: every elementwise operator, reduction,
normalisation, softmax, loss, quantiser and optimiser, but for [those](#without-a-program) that no row program is.
[onnx_operators.json](../python/kiln/onnx_operators.json) has it for programs, `tools/onnx_page.py` writes this page from it,
and the test `onnx_nodes` runs ONNX's own tests of operators against it. In Python `kiln.onnx.Operator` calls them:

```python
import numpy as np, kiln.onnx
norm = kiln.onnx.Operator("LayerNormalization", axis=-1, outputs=2)
x = np.random.rand(8, 64).astype(np.float32)
y, mean = norm(x, np.ones(64, np.float32))
text = norm.translate(x, np.ones(64, np.float32)).text
```

- Tensors are called as in the program, in ONNX's order; those with `?` may be missing, and of those with `*` there may be
  any number: `{x}` is what two of them are, and the next one, and so on. Names in braces are attributes, or inputs that are read when
  the program is made: axes, the ratio of Dropout, the k of Trilu.
- Rows are the axes that the reductions run over: `2..` are all from axis 2 on, `axis..` from the attribute on.
- `{wrap:...}` wraps around in the output's type, as integers of ONNX do: of i8 and u8 that is a mask, which floats, i32
  and i64 need not.
- Vectors that lie along another axis than the last, as scales of channels, are views with axes of one element behind;
  groups of channels are an axis of their own. Labels of losses get an axis of one element where the classes are.
- Integers divide towards zero, and `Cast` between integers keeps the low bits. Random numbers are Kiln's, of the seed
  rounded towards 0; without a seed it is 0. Types are those that Kiln has: ONNX's integers of 2 and 4 bits, its fp8 without
  negative zero, complex numbers and strings are refused.
- Computation is in f32 or f64 whatever `stash_type` says; a quotient is rounded to the scale's type before it is quantised.
- Of optimisers there is one launch for each tensor.
"""
KINDS = {"elementwise": "Elementwise", "reduction": "Reductions", "normalisation": "Normalisation", "softmax": "Softmax",
         "loss": "Losses", "quantisation": "Quantisers", "optimiser": "Optimisers, of the domain ai.onnx.preview.training"}


def cell(text):
    return text.replace("|", "\\|")


def condition(case):
    words = []
    for name, value in case.get("when", {}).items():
        if value is True:
            words.append(f"{name}" if name != "empty" else "nothing to reduce")
        else:
            words.append(f"{name} = {value}")
    return ", ".join(words)


def rows_of(entry):
    for at, case in enumerate(entry.get("cases", ({},))):
        whole = {**entry, **case}
        name = f"`{entry['op']}`" if at == 0 else ""
        program = whole.get("refused") or f"`{cell(whole['text'])}`"
        if "fold" in entry:
            program += f", x of two tensors being `{entry['fold']}`"
        since = f"{entry['since']}" if at == 0 else ""
        inputs = f"`{entry['inputs']}`" if at == 0 else ""
        axes = f"`{whole['axes']}`" if "axes" in whole else ""
        yield f"| {name} | {since} | {inputs} | {cell(condition(case))} | {axes} | {program} |"


def page(data):
    text = [HEAD]
    for kind, title in KINDS.items():
        entries = [entry for entry in data["operators"] if entry["kind"] == kind]
        text += [f"## {title}\n", "| operator | from opset | tensors | with | rows | program |", "|---|---|---|---|---|---|"]
        text += [row for entry in entries for row in rows_of(entry)]
        text.append("")
    text += ["## Without a program\n", "| operator | why |", "|---|---|"]
    text += [f"| `{entry['op']}` | {cell(entry['reason'])} |" for entry in data["inexpressible"]]
    text += ["", "All other operators are of another kind:\n", "| | |", "|---|---|"]
    for groups in data["outside"].values():
        text += [f"| {reason} | {', '.join(ops.split())} |" for reason, ops in groups.items()]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "onnx.md")
    arguments = parser.parse_args()
    text = page(json.loads((ROOT / "python" / "kiln" / "onnx_operators.json").read_text(encoding="utf-8")))
    if not arguments.check:
        arguments.page.write_text(text, encoding="utf-8")
    elif not arguments.page.exists() or arguments.page.read_text(encoding="utf-8") != text:
        sys.exit(f"{arguments.page.name} is not what tools/onnx_page.py writes: run it")
    print(f"{text.count(chr(10) + '| `')} operators")


if __name__ == "__main__":
    main()
