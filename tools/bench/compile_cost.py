#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kernels cost to compile, with no GPU.

weights: the machine instructions of each function for an element, by type, as src/schedule/weights.c weighs them.
worst:   random programs of a seed, and those that took the longest of what was accepted: CPU seconds, memory, schedule.

    tools/bench/compile_cost.py weights f32 --kiln build/kiln
    tools/bench/compile_cost.py worst --seed 7 --seconds 600 --kiln build/kiln
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

FUNCTIONS = ("exp exp2 expm1 log log2 log1p log10 sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
             "atanh erf erfc erfinv lgamma sigmoid normcdf normpdf floor round abs sign silu gelu mish").split()
EXPRESSIONS = ["x ** x", "atan2(x, x + 1)", "fmod(x, x + 1)", "x % (x + 1)", "div_floor(x, x + 1)", "x / (x + 1)",
               "fma(x, x, x)", "maximum(x, x + 1)", "where(x > 0, x + 1, x * x)", "x * x + 1", "f16(x + 1)",
               "round_to(f16, x, 0.3)", "round_to(bf16, x + 1, 0.3)", "round_to(e4m3, x, 0.3)"]
VECTOR = {"f16": 8, "bf16": 8, "f32": 4, "f64": 2, "i32": 4, "i64": 2}


class Compiler:
    def __init__(self, kiln, arch, limit):
        self.kiln, self.arch, self.limit = kiln, arch, limit
        self.folder = tempfile.mkdtemp(prefix="kiln-cost-")

    def compile(self, program, tensors, extra=()):
        """CPU seconds, MiB, the kernel as --json has it (None: refused or ended), and what was said."""
        text, cubin, said = (os.path.join(self.folder, name) for name in ("program", "cubin", "said"))
        with open(text, "w", encoding="ascii") as file:
            file.write(program)
        command = [self.kiln, "compile", "--program", text, "--arch", self.arch, "--cache-dir", "", "--json", "-o", cubin]
        for tensor in tensors:
            command += ["--tensor", tensor]
        with open(said, "w", encoding="utf-8") as out:
            child = subprocess.Popen(["prlimit", f"--cpu={self.limit}", *command, *extra], stdout=out, stderr=out)
            _, status, usage = os.wait4(child.pid, 0)
        with open(said, encoding="utf-8", errors="replace") as file:
            words = file.read()
        kernel = json.loads(words)["kernel"] if status == 0 else None
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, kernel, words.strip()


def chain(expression, times=10):
    lines, value = [], "x"
    for i in range(times):
        lines.append(f"t{i} = " + re.sub(r"\bx\b", value, expression))
        value = f"t{i}"
    return "\n".join(lines + [f"y = {value}"])


def weights(compiler, type_):
    os.environ["KILN_SCHEDULE"] = f"steps 1, vector {VECTOR[type_]}"  # so many elements of a thread are counted
    base = compiler.compile("y = x + 1", [f"x={type_}[*,1024]"])[2]["image_bytes"]
    for expression in [f"{name}(x)" for name in FUNCTIONS] + EXPRESSIONS:
        seconds, _, kernel, said = compiler.compile(chain(expression), [f"x={type_}[*,1024]"])
        if kernel is None:
            print(f"{expression:24} {said.splitlines()[0][:80]}")
            continue
        count = (kernel["image_bytes"] - base) / 16 / (10 * VECTOR[type_])
        print(f"{expression:24} {count:7.1f} instructions, {seconds:.2f} s, {kernel['schedule']}", flush=True)


def draw_lines(r, names):
    """Statements over what was made last, each unread value kept for the end."""
    functions, operators = r.sample(FUNCTIONS, r.choice([1, 2, 5, len(FUNCTIONS)])), r.sample("+-*/", r.choice([1, 2, 4]))
    operators += ["**"] if r.random() < 0.2 else []
    window, reducing, calling = r.choice([2, 6, 30, 200]), r.choice([0, 0, 0.01, 0.03, 0.1]), r.choice([0, 0.3, 0.9])
    combine = r.random() < 0.15
    lines, unread, size, reductions = [], [], 0, 0
    for i in range(int(2 ** r.uniform(1, r.choice([6, 9, 11.9])))):
        a = r.choice(names[-window:])
        read = [a]
        if r.random() < reducing and reductions < 90:
            reductions += 1
            function = r.choice(["sum", "max", "argmax", "var", "mean", "norm2"])
            value = f"{function}({a})"
            if combine:
                by = r.choice(["1", "sin(a)", "lgamma(b)", "tan(a) * erfinv(b) + cos(b)"])
                value = f"reduce((a, b) -> a + b * {by}, {a}, 0)"
        elif r.random() < calling:
            value = f"{r.choice(functions)}({a})"
        else:
            read.append(r.choice(names[-window:]))
            value = f"{a} {r.choice(operators)} {read[1]}"
        size += len(value) + 8
        if size > 52000:
            break
        lines.append(f"t{i} = {value}")
        names.append(f"t{i}")
        unread = [name for name in unread if name not in read] + [f"t{i}"]
    return lines, unread


def draw(r):
    types = ["f16", "bf16", "f32", "f64", "e4m3", "i32", "i64", "u8"]
    main = r.choice(types[:5])
    inputs = [(f"x{i}", r.choice(types) if r.random() < 0.3 else main) for i in range(r.choice([1, 1, 2, 3, 8, 20]))]
    names = [name for name, _ in inputs]
    lines, level = draw_lines(r, names)
    count = 0
    while len(level) > 1: # a sum of all that nobody reads
        sums = []
        for i in range(0, len(level), 8):
            lines.append(f"q{count} = " + " + ".join(level[i:i + 8]))
            sums.append(f"q{count}")
            count += 1
        level = sums
    last = level[0] if level else names[-1]
    whole = r.choice(["{0}", "{0}", "{0} / sum({0})", "softmax({0})", "x0 + {0}", "sum({0})", "layer_norm({0})"])
    program = "; ".join(lines + ["y = " + whole.format(last)])
    columns = r.choice([1, 7, 64, 1000, 1024, 4096, 8192, 50257, 131072, 1 << 20])
    axes, first, others = r.choice([
        ([], f"[*,{columns}]", [f"[*,{columns}]", f"[{columns}]"]),
        (["--axes", "0"], f"[{min(columns, 65536)},1024]", [f"[{min(columns, 65536)},1024]", f"[{min(columns, 65536)},1]"]),
        (["--axes", "all"], f"[64,{columns}]", [f"[64,{columns}]"]),
        (["--axes", "1"], f"[16,{min(columns, 65536)},333]", [f"[16,{min(columns, 65536)},333]"]),
    ])
    tensors = [f"{name}={type_}{first if name == 'x0' else r.choice(others)}"
               for name, type_ in inputs if re.search(rf"\b{name}\b", program)]
    return program, tensors, axes


def worst(compiler, seed, seconds):
    end, found, refused, number = time.time() + seconds, [], 0, seed
    while time.time() < end:
        program, tensors, axes = draw(random.Random(number))
        used, memory, kernel, said = compiler.compile(program, tensors, axes)
        refused += kernel is None and used < compiler.limit
        found.append((used, memory, number, kernel["schedule"] if kernel else said.splitlines()[0][:90] if said else "ended"))
        number += 1
    print(f"{len(found)} programs from seed {seed} on, {refused} refused; at most {max(row[1] for row in found)} MiB")
    for used, memory, number, what in sorted(found, reverse=True)[:12]:
        print(f"{used:6.2f} s {memory:4} MiB, seed {number}: {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["weights", "worst"])
    parser.add_argument("type", nargs="?", default="f32", choices=sorted(VECTOR))
    parser.add_argument("--kiln", default="build/kiln")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds of one compile")
    given = parser.parse_args()
    compiler = Compiler(given.kiln, given.arch, given.limit)
    if given.command == "weights":
        weights(compiler, given.type)
    else:
        worst(compiler, given.seed, given.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
