#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is a rule of the schedules worth? Builds gather with each rule of variants.txt changed, one at a time, times what
each build chooses, and tells which problems miss the rule.

    tools/tune/variants.py build FOLDER [NAME ...]             here: FOLDER/gather-NAME, and FOLDER/gather as it is
    tools/tune/variants.py time FOLDER PROBLEMS --seconds 500  on a machine with the GPU: FOLDER/NAME.jsonl
    tools/tune/variants.py report FOLDER
    tools/tune/variants.py check                               each text is once in its file

Variants are built in a copy of the source, so that nothing here changes. `time` compiles on all cores, and times each
build's own choices; the build without a change at the begin, in the middle and at the end: what these three differ by is noise.
Where time is short, it goes on with the first variant that has no times yet.

exit codes: 0 done; 1 a build or a run failed, or a text of variants.txt is not, or more than once, in its file; 2 the
command line is wrong.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = pathlib.Path(__file__).with_name("variants.txt")
PLAIN = "gather"
WORSE = 1.05
COPIED = ("CMakeLists.txt", "cmake", "include", "kernel_sources", "licenses", "packaging", "src", "tests", "tools",
          "examples", "LICENSE", "README.md", "pyproject.toml", "python", "docs")


def rules():
    """{name: (file, text, replacement)}. A bar within a text is written \\|."""
    out = {}
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, file, text, replacement = (part.strip().replace("\\|", "|") for part in re.split(r" (?<!\\)\| ", line))
            out[name] = file, text, replacement
    return out


def changed(name, rule):
    file, text, replacement = rule
    path = ROOT / "src" / "schedule" / file
    source = path.read_text(encoding="utf-8")
    if source.count(text) != 1:
        sys.exit(f"variants.py: {name}: '{text}' is in {file} {source.count(text)} times, expected once")
    return source.replace(text, replacement)


def check(_given):
    for name, rule in rules().items():
        changed(name, rule)


def build(given):
    chosen = {name: rule for name, rule in rules().items() if not given.names or name in given.names}
    sources = {name: changed(name, rule) for name, rule in chosen.items()}
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kiln-variants-") as temporary:
        copy, made = pathlib.Path(temporary) / "source", pathlib.Path(temporary) / "build"
        copy.mkdir()
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, copy / name)
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, copy / name)
        subprocess.run(["cmake", "-G", "Ninja", "-S", copy, "-B", made, "-DCMAKE_BUILD_TYPE=Release"], check=True,
                       stdout=subprocess.DEVNULL)
        for name in [None, *chosen]:
            path = copy / "src" / "schedule" / chosen[name][0] if name else None
            before = path.read_text(encoding="utf-8") if name else None
            if name:
                path.write_text(sources[name], encoding="utf-8")
            subprocess.run(["ninja", "-C", made, "kiln_gather"], check=True, stdout=subprocess.DEVNULL)
            out = given.folder / (f"{PLAIN}-{name}" if name else PLAIN)
            subprocess.run(["strip", "-o", out, made / "tune" / "gather"], check=True)
            if name:
                path.write_text(before, encoding="utf-8")
            print(out, flush=True)


def run_gather(given, program, out, left):
    """One build's own choices, compiled into a cache that all builds share, then timed."""
    command = [program, given.problems, "--cache-dir", given.folder / "cache", "--candidates", "1"]
    subprocess.run([*command, "--compile", str(os.cpu_count()), "--seconds", str(max(int(left), 1))], check=True,
                   stderr=subprocess.DEVNULL)
    with open(f"{out}.part", "w", encoding="utf-8") as file:
        subprocess.run(command, check=True, stdout=file, stderr=subprocess.DEVNULL)
    os.replace(f"{out}.part", out)


def measure(given):
    end = time.monotonic() + given.seconds
    names = sorted(path.name.removeprefix(f"{PLAIN}-") for path in given.folder.glob(f"{PLAIN}-*"))
    middle = len(names) // 2
    runs = ["plain-1", *names[:middle], "plain-2", *names[middle:], "plain-3"]
    longest = 0.0
    for name in runs:
        out = given.folder / f"{name}.jsonl"
        left = end - time.monotonic()
        if out.exists() or left < 1.2 * longest:
            continue
        begun = time.monotonic()
        run_gather(given, given.folder / (PLAIN if name.startswith("plain-") else f"{PLAIN}-{name}"), out, left)
        longest = max(longest, time.monotonic() - begun)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)


def read_times(path):
    """{problem: (us, schedule, text)} of the choices in a file, the faster of two measurements."""
    out = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        if "us" in point:
            out[point["problem"]] = (min(point["us"], point.get("us_again", math.inf)), point["schedule"],
                                     f"{point['program']} {point.get('shape', '')}")
    return out


def noise_of(plain, problem):
    times = [run[problem][0] for run in plain if problem in run]
    return max(times) / min(times)


def compare(plain, variant):
    """[(ratio, problem)] of the problems that are there, beside the median of the runs without a change, and how many are
    WORSE and better beyond the noise of these."""
    ratios, worse, better = [], [], []
    for problem, (us, _, _) in variant.items():
        times = sorted(run[problem][0] for run in plain if problem in run)
        if not times:
            continue
        ratio, noise = us / times[len(times) // 2], noise_of(plain, problem)
        ratios.append((ratio, problem))
        worse += [problem] if ratio > WORSE * noise else []
        better += [problem] if ratio < 1 / (WORSE * noise) else []
    return ratios, worse, better


def report(given):
    files = {path.stem: read_times(path) for path in sorted(given.folder.glob("*.jsonl"))}
    plain = [times for name, times in files.items() if name.startswith("plain-")]
    if not plain:
        sys.exit("variants.py: there are no times of the build without a change")
    print("| variant | other choices | mean | over 5 % slower | faster | the worst |\n|---|---|---|---|---|---|")
    for name in rules():
        if name not in files:
            continue
        ratios, worse, better = compare(plain, files[name])
        other = sum(files[name][problem][1] != plain[0][problem][1] for _, problem in ratios if problem in plain[0])
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        ratio, problem = max(ratios)
        print(f"| {name} | {other} | {mean:.4f} | {len(worse)} | {len(better)} | {ratio:.2f}: {files[name][problem][2]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, action in ("build", build), ("time", measure), ("report", report), ("check", check):
        command = commands.add_parser(name)
        command.set_defaults(action=action)
        if name != "check":
            command.add_argument("folder", type=pathlib.Path)
        if name == "build":
            command.add_argument("names", nargs="*", metavar="NAME")
        if name == "time":
            command.add_argument("problems", type=pathlib.Path)
            command.add_argument("--seconds", type=float, default=500, metavar="N")
    given = parser.parse_args()
    try:
        given.action(given)
    except subprocess.CalledProcessError as error:
        sys.exit(f"variants.py: {error}")


if __name__ == "__main__":
    main()
