#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is a rule of the schedules worth? Builds gather with each rule of variants.txt changed, one at a time, times what
each build chooses, and tells which problems miss the rule.

    tools/tune/variants.py build FOLDER [NAME ...]             here: FOLDER/gather-NAME, and FOLDER/gather as it is
    tools/tune/variants.py time FOLDER PROBLEMS --seconds 500  [--any-shape], on a machine with the GPU: FOLDER/NAME.jsonl
    tools/tune/variants.py report FOLDER
    tools/tune/variants.py check                               each text is once in its file

Variants are built in a copy of the source, so that nothing here changes. `time` asks each build for its choices, and times
those that are other schedules or other kernels than without a change, on all GPUs, a problem always on the same; the build
without a change at the begin, in the middle and at the end: what these three differ by is noise. Where time is short, it goes
on with the first variant that has no times yet.

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
OWN_CHOICE = ("--candidates", "1")
MEMBERS = ("problem", "program", "shape", "schedule", "us", "us_again")
WORSE = 1.05
COPIED = ("CMakeLists.txt", "cmake", "include", "kernel_sources", "licenses", "packaging", "src", "tests", "tools",
          "examples", "LICENSE", "README.md", "pyproject.toml", "python", "docs")


def unescaped(text):
    return text.replace("\\|", "|").replace("\\n", "\n")


def path_of(file):
    """A file without a folder is a builder's."""
    return pathlib.Path(file) if "/" in file else pathlib.Path("src", "schedule", file)


def rules():
    """{name: (file, text, replacement)}. A bar within a text is written \\|, the end of a line \\n."""
    out = {}
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, file, text, replacement = (unescaped(part.strip()) for part in re.split(r" (?<!\\)\| ", line))
            if name in out:
                sys.exit(f"variants.py: {name} is in {RULES.name} twice, expected once")
            out[name] = file, text, replacement
    return out


def changed(name, rule):
    file, text, replacement = rule
    source = (ROOT / path_of(file)).read_text(encoding="utf-8")
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
            path = copy / path_of(chosen[name][0]) if name else None
            before = path.read_text(encoding="utf-8") if name else None
            if name:
                path.write_text(sources[name], encoding="utf-8")
            subprocess.run(["ninja", "-C", made, "kiln_gather"], check=True, stdout=subprocess.DEVNULL)
            out = given.folder / (f"{PLAIN}-{name}" if name else PLAIN)
            subprocess.run(["strip", "-o", out, made / "tune" / "gather"], check=True)
            if name:
                path.write_text(before, encoding="utf-8")
            print(out, flush=True)


def gpus():
    listed = subprocess.run(["nvidia-smi", "-L"], check=True, capture_output=True, text=True).stdout
    return len(listed.splitlines())


def run_parts(command, parts, variable=None):
    """What gather prints of each part of the problems; a variable of the environment has the part's number."""
    outs = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(parts)]
    runs = []
    for part, out in enumerate(outs):
        environment = {**os.environ, variable: str(part)} if variable else None
        runs.append(subprocess.Popen([*command, "--part", f"{part}/{parts}"], stdout=out, stderr=subprocess.DEVNULL,
                                     env=environment))
    points = []
    for run, out in zip(runs, outs):
        if run.wait():
            raise subprocess.CalledProcessError(run.returncode, run.args)
        out.seek(0)
        points += map(json.loads, out)
        out.close()
    return points


def what(given):
    return ("--any-shape",) if given.any_shape else OWN_CHOICE


def choices(given, program):
    """{problem: (schedule, checksum of the source, of any shape how a launch divides it)}"""
    points = run_parts([program, given.problems, *what(given), "--cache-dir", given.folder / "none", "--untimed"], os.cpu_count())
    return {point["problem"]: (point["schedule"], point["source"], point.get("launch")) for point in points}


def time_choices(given, program, numbers, out):
    """A build's own choices for some of the problems, compiled into a cache that all builds share, then timed."""
    lines = given.problems.read_text(encoding="utf-8").splitlines()
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as some:
        some.writelines(f"{line if number in numbers else '{}'}\n" for number, line in enumerate(lines))
        some.flush()
        command = [program, some.name, *what(given), "--cache-dir", given.folder / "cache"]
        if not given.any_shape:
            subprocess.run([*command, "--compile", str(os.cpu_count())], check=True, stderr=subprocess.DEVNULL)
        points = run_parts(command, gpus(), "CUDA_VISIBLE_DEVICES")
    part = pathlib.Path(f"{out}.part")
    part.write_text("".join(f"{json.dumps({name: point[name] for name in MEMBERS if name in point})}\n" for point in points),
                    encoding="utf-8")
    part.replace(out)


def measure(given):
    end = time.monotonic() + given.seconds
    names = sorted(path.name.removeprefix(f"{PLAIN}-") for path in given.folder.glob(f"{PLAIN}-*"))
    plain = choices(given, given.folder / PLAIN)
    others = {}
    for name in names:
        own = choices(given, given.folder / f"{PLAIN}-{name}")
        others[name] = {number for number, choice in own.items() if choice != plain.get(number)}
    print(f"{sum(map(len, others.values()))} other choices of {len(names)} builds for {len(plain)} problems", flush=True)
    middle = len(names) // 2
    missed = set().union(*others.values())
    for name in ["plain-1", *names[:middle], "plain-2", *names[middle:], "plain-3"]:
        out = given.folder / f"{name}.jsonl"
        if not out.exists() and time.monotonic() < end:
            time_choices(given, given.folder / (PLAIN if name.startswith("plain-") else f"{PLAIN}-{name}"),
                         others.get(name, missed), out)


def read_times(path):
    """{problem: (us, text)} of the choices in a file, the faster of two measurements."""
    out = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        point = json.loads(line)
        if "us" in point:
            out[point["problem"]] = (min(point["us"], point.get("us_again", math.inf)),
                                     f"{point['program']} {point.get('shape', '')}")
    return out


def noise_of(plain, problem):
    times = [run[problem][0] for run in plain if problem in run]
    return max(times) / min(times)


def compare(plain, variant):
    """[(ratio, problem)] of the problems that are there, beside the median of the runs without a change, and how many are
    WORSE and better beyond the noise of these."""
    ratios, worse, better = [], [], []
    for problem, (us, _) in variant.items():
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
    print("| variant | other kernels | their mean | over 5 % slower | faster | the worst |\n|---|---|---|---|---|---|")
    for name in (name for name in files if not name.startswith("plain-")):
        ratios, worse, better = compare(plain, files[name])
        if not ratios:
            print(f"| {name} | 0 | | | | |")
            continue
        mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
        ratio, problem = max(ratios)
        print(f"| {name} | {len(ratios)} | {mean:.3f} | {len(worse)} | {len(better)} | {ratio:.2f}: {files[name][problem][1]} |")


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
            command.add_argument("--any-shape", action="store_true", help="time the kernels that serve any shape")
    given = parser.parse_args()
    try:
        given.action(given)
    except subprocess.CalledProcessError as error:
        sys.exit(f"variants.py: {error}")


if __name__ == "__main__":
    main()
