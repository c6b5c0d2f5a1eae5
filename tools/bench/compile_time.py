#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the kernels of programs that people write take to compile, cold, beside an empty kernel in the same process.

    tools/bench/compile_time.py --program build/tests/bench_cold --count 200 --seed 7

Problems are those of tools/tune/problems.py. Ratios are of CPU time, which other work on the machine does not lengthen
much, to the median of the empty kernels; those of wall time stand beside them. Needs NVRTC and no GPU.

exit codes: 0 within --limit; 1 beyond it, or a compile failed; 2 the command line is wrong; 77 no NVRTC.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tune"))
import problems  # noqa: E402  (needs the path above)


def draw(count, seed):
    r = random.Random(seed)
    return [problems.draw(r) for _ in range(count)]


def family_of(problem):
    """The program's; "columns" where a leading or middle axis is reduced."""
    rank = problem["tensors"][0].count(",") + 1
    return "columns" if problem["axes"] not in ([], [rank - 1]) else problem["family"]


def measure(program, drawn, arch, runs, keep):
    """The lines of bench_cold, or its exit code where that is not 0."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as manifest:
        for problem in drawn:
            entry = {field: value for field, value in problem.items() if field != "family"}
            manifest.write(json.dumps(entry) + "\n")
        manifest.flush()
        command = [program, manifest.name, "--arch", arch.removeprefix("sm_"), "--runs", str(runs)]
        done = subprocess.run(command + (["--keep", keep] if keep else []), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.stdout.write(done.stdout if done.returncode == 77 else "")
        return done.returncode
    return [json.loads(line) for line in done.stdout.splitlines()]


def summary(ratios):
    """Median, ninth tenth, worst."""
    ordered = sorted(ratios)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)], ordered[-1]


def add_ratios(lines, drawn):
    """The kernels' lines, with their problems and ratios; the empty kernel's milliseconds of CPU and wall time."""
    empty = [line for line in lines if "empty" in line]
    cpu, wall = (statistics.median(line[key] for line in empty) for key in ("cpu_ms", "wall_ms"))
    kernels = [line for line in lines if "number" in line]
    for line in kernels:
        line["problem"] = drawn[line["number"]]
        line["family"] = family_of(line["problem"])
        line["ratio"], line["wall_ratio"] = line["cpu_ms"] / cpu, line["wall_ms"] / wall
    return kernels, cpu, wall


def print_table(kernels, cpu, wall, told):
    print(f"NVRTC {told['nvrtc']}, sm_{told['arch']}, {len(kernels)} kernels; an empty kernel takes {cpu:.1f} ms of CPU time, "
          f"{wall:.1f} ms")
    print(f"{'family':10} {'count':>5} {'median':>7} {'9th 10th':>8} {'worst':>6}   {'wall':>6} {'':>6} {'':>6}")
    for family in ["all"] + sorted({line["family"] for line in kernels}):
        own = [line for line in kernels if family in ("all", line["family"])]
        a, b = summary([line["ratio"] for line in own]), summary([line["wall_ratio"] for line in own])
        print(f"{family:10} {len(own):5} {a[0]:7.2f} {a[1]:8.2f} {a[2]:6.2f}   {b[0]:6.2f} {b[1]:6.2f} {b[2]:6.2f}")
    print("\nthe slowest: ratio, compiles, KB of source and of cubin, registers, bytes spilled")
    for line in sorted(kernels, key=lambda line: -line["ratio"])[:10]:
        print(f"{line['ratio']:6.2f} {line['compiles']} {line['source_bytes'] / 1024:5.1f} {line['image_bytes'] / 1024:6.1f} "
              f"{line['registers']:4} {line['spill_bytes']:4}  #{line['number']} {line['problem']['program']}; "
              f"{' '.join(line['problem']['tensors'])}; {line['schedule']}")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tests/bench_cold", help="the benchmark's path (%(default)s)")
    parser.add_argument("--count", type=int, default=200, help="kernels (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (%(default)s)")
    parser.add_argument("--arch", default="sm_90", help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=1, help="compiles of each kernel, the least counts (%(default)s)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep sources and cubins there")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--limit", type=float, nargs=3, metavar=("MEDIAN", "TENTH", "WORST"),
                        help="fail beyond these ratios")
    return parser.parse_args()


def main():
    given = read_arguments()
    drawn = draw(given.count, given.seed)
    if given.keep:
        os.makedirs(given.keep, exist_ok=True)
    lines = measure(given.program, drawn, given.arch, given.runs, given.keep)
    if isinstance(lines, int):
        return lines
    kernels, cpu, wall = add_ratios(lines, drawn)
    print_table(kernels, cpu, wall, lines[0])
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({**lines[0], "seed": given.seed, "empty_cpu_ms": cpu, "empty_wall_ms": wall, "kernels": kernels}, file)
    over = given.limit and any(a > b for a, b in zip(summary([line["ratio"] for line in kernels]), given.limit))
    if over:
        print(f"beyond the limit of {given.limit}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
