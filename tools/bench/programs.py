#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kiln on programs that people write, their shapes, types and alignments drawn anew in each run, next to PyTorch (eager
and compiled), quack, Liger and CuPy, as far as they are installed.

  programs.py --out a.jsonl --seconds 540          measures (needs PyTorch with CUDA); prints the seed it drew
  programs.py --out a.jsonl --seed 7 --resume      the cases of that seed which the file lacks
  programs.py --any-shape --peers "" --out a.jsonl Kiln's kernels that serve any shape beside those of a shape
  programs.py --report a.jsonl b.jsonl [--markdown report.md]      a report of what was measured; no GPU
  programs.py --list [--seed 7]                    the cases; no GPU
  programs.py --problems --seed 7 > problems.jsonl to tune with (tools/tune); no GPU
  programs.py --check [--seed 7]                   plans them, compares the references with Kiln's; no GPU
  programs.py --precompile DIR --seed 7            compiles their kernels into a cache folder on all cores; no GPU
  programs.py --dry-run                            all but the GPU: tiny cases on the CPU, made-up times

For each case Kiln, the peers and a device-to-device copy of the same bytes (half read, half written) take turns on the
default stream, the L2 flushed before each call, events around it; the median counts. The roof ratio is the copy's time
over the kernel's. Inputs are random, outputs poisoned first, results compared with double precision in the same run.

exit codes: 0 done, whatever the figures say; 1 a result of Kiln was wrong or a case failed; 2 the command line is
wrong; 3 no PyTorch, no GPU or no library.
"""
import argparse
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import time

import drawn
import program_report
import row_programs
from compare import find_library, parse_part, usable
from kiln_ctypes import Kiln, Program, scalar_type, tensor_text, type_size, view

DEFAULT_CASES = 400
ANY_SHAPE = 3  # KILN_POLICY_ANY_SHAPE
PEERS = "eager,compiled,quack,liger,cupy"


def parser_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the cases")
    what.add_argument("--problems", action="store_true", help="the cases of programs that tuning may see, or with --held-out "
                      "of the others, as gather of tools/tune reads them")
    what.add_argument("--check", action="store_true", help="plan the cases and check the references (needs NumPy)")
    what.add_argument("--precompile", metavar="DIR", help="compile the cases' kernels; measure with --cache-dir DIR")
    what.add_argument("--dry-run", action="store_true", help="try everything but the GPU on tiny cases")
    what.add_argument("--report", nargs="+", metavar="FILE", help="files of --out; of two results the later counts")
    draw = parser.add_argument_group("what is drawn")
    draw.add_argument("--seed", type=int, help="of what is drawn (default: from the clock, and printed)")
    draw.add_argument("--cases", type=int, default=DEFAULT_CASES, metavar="N", help="how many (default %(default)s)")
    draw.add_argument("--programs", metavar="REGEX", help="of programs whose 'family: name' it is found in")
    draw.add_argument("--held-out", action="store_true", help="of programs alone that the tuning never saw")
    draw.add_argument("--traffic", choices=list(drawn.TRAFFIC), help="of so many bytes (default: three of four large)")
    draw.add_argument("--part", type=parse_part, metavar="I/N", help="every N-th case, beginning with the I-th")
    run = parser.add_argument_group("measuring")
    run.add_argument("--out", metavar="FILE", help="append a line of JSON for each case")
    run.add_argument("--resume", action="store_true", help="leave out the cases that --out has")
    run.add_argument("--seconds", type=float, help="begin no case after so many")
    run.add_argument("--runs", type=int, default=15, help="rounds (default %(default)s), four times that under 32 MB")
    run.add_argument("--peers", default=PEERS, help="those to compare with (default %(default)s); '' for none")
    run.add_argument("--any-shape", action="store_true", help="measure Kiln's kernel that serves any shape besides")
    run.add_argument("--schedule", help="pins parts of every schedule, as KILN_SCHEDULE does")
    run.add_argument("--library", help="libkiln.so (default: of build-gpu/ or build/)")
    run.add_argument("--cache-dir", metavar="DIR", help="of Kiln's kernels (default: as the library chooses)")
    run.add_argument("--arch", default="sm_90", help="what --precompile and --check plan for (default %(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="write the report there, with a picture next to it")
    return parser


def drawn_cases(given):
    programs = [p for p in row_programs.ALL if p.held_out or not given.held_out]
    programs = [p for p in programs if re.search(given.programs or "", f"{p.family}: {p.name}")]
    if not programs:
        raise SystemExit(f"programs.py: no program is named as --programs '{given.programs}'")
    cases = drawn.draw(given.seed, given.cases, programs, "tiny" if given.dry_run else given.traffic)
    return cases[given.part[0] - 1::given.part[1]] if given.part else cases


def fail(message):
    print(f"programs.py: {message}", file=sys.stderr)
    return 3


def list_cases(cases):
    for case in cases:
        mark = "held out" if case.program.held_out else ""
        print(f"{case.bytes / 1e6:8.2f} MB  {case.program.family:20} {case.name:60} {mark}")
    families = {case.program.family for case in cases}
    programs = {case.program.name for case in cases}
    held = {case.program.name for case in cases if case.program.held_out}
    large = sum(case.traffic == "large" for case in cases)
    print(f"{len(cases)} cases of {len(programs)} programs in {len(families)} families, {len(held)} programs held out "
          f"of tuning; {large} cases of 32 MB and more")


def views_by_alignment(case):
    """Tensors without memory: of their addresses the alignment alone counts."""
    return [view(4096 + operand.offset * type_size(operand.type), operand.type, operand.shape, operand.strides)
            for operand in case.operands()]


def program_of(kiln, case):
    outputs = [tensor.name for tensor in case.program.outputs()]
    return Program(kiln, case.program.text, case.axes, outputs, case.program.scalars)


def faults_of_plan(kiln, case, arch):
    program = None
    try:
        program = program_of(kiln, case)
        named = [tensor.name for tensor in case.program.inputs()]
        if program.input_names() != named:
            return [f"the inputs are {program.input_names()}, listed as {named}"]
        program.explain(views_by_alignment(case), arch)
    except RuntimeError as error:
        return [str(error)]
    finally:
        if program:
            program.close()
    return []


def faults_of_reference(kiln, case, seed):
    from checked import Expected
    from tensors import HostTensors, choose_picks
    tensors = HostTensors(case, seed)
    expected = Expected(case, tensors, choose_picks(case, 500))
    tensors.poison()
    program = program_of(kiln, case)
    program.run_cpu(tensors.views())
    program.close()
    error, right = expected.check(tensors)
    return [] if right else [f"the reference and kiln_run_cpu differ by {error:.1e} of the largest"]


def check(given, cases, kiln):
    """Plans the drawn cases; compares references on as many tiny ones of the same programs."""
    try:
        import numpy  # noqa: F401: what follows needs it
    except ImportError:
        return fail("NumPy is not installed")
    arch = int(given.arch.split("_")[-1])
    programs = sorted({case.program for case in cases}, key=lambda program: program.name)
    tiny = drawn.draw(given.seed, max(len(programs), len(cases) // 2), programs, "tiny")
    faults = [(case, fault) for case in cases + tiny for fault in faults_of_plan(kiln, case, arch)]
    faults += [(case, fault) for case in tiny for fault in faults_of_reference(kiln, case, given.seed)]
    for case, fault in faults:
        print(f"{case.name}: {case.program.text}: {fault}")
    families = {program.family for program in programs}
    held = sum(program.held_out for program in programs)
    print(f"seed {given.seed}: {len(programs)} programs ({held} held out) in {len(families)} families, "
          f"{len(cases) + len(tiny)} cases planned, {len(tiny)} references compared, {len(faults)} faults")
    return 1 if faults else 0


def manifest_line(case):
    specs = []
    for operand in case.operands():
        strides = None if operand.contiguous else operand.strides
        specs.append(tensor_text(operand.name, operand.type, operand.shape, strides, operand.offset))
    return json.dumps({"program": case.program.text, "outputs": [tensor.name for tensor in case.program.outputs()],
                       "scalars": [f"{name}={scalar_type(value)}" for name, value in case.program.scalars],
                       "tensors": specs, "axes": case.axes})


def print_problems(given, cases):
    for case in cases:
        if case.program.held_out == given.held_out:
            print(json.dumps({"family": case.program.family, **json.loads(manifest_line(case))}))


def precompile(given, cases, library):
    tool = os.path.join(os.path.dirname(os.path.abspath(library)), "kiln")
    if not os.path.exists(tool):
        return fail(f"{tool} is not there; it compiles the kernels")
    os.makedirs(given.precompile, exist_ok=True)
    manifest = os.path.join(given.precompile, f"programs-{given.seed}.jsonl")
    with open(manifest, "w", encoding="utf-8") as file:
        file.writelines(manifest_line(case) + "\n" for case in cases)
    done = subprocess.run([tool, "precompile", manifest, "--arch", given.arch, "--cache-dir", given.precompile,
                           "--keep-going"], check=False)
    print(f"measure with --seed {given.seed} --cases {given.cases} --cache-dir {given.precompile}")
    return done.returncode


def record_of(given, case, device, result):
    return {"name": case.name, "device": device, "seed": given.seed, "family": case.program.family,
            "program": case.program.name, "text": case.program.text, "held_out": case.program.held_out,
            "heavy": case.program.heavy, "lenient": case.lenient, "type": case.type, "shape": list(case.shape),
            "axes": case.axes, "offset": case.offset, "pad": case.pad, "cols": case.cols, "bytes": case.bytes,
            "sector_bytes": round(case.sector_bytes), "traffic": case.traffic, **result}


def tell(number, count, case, result):
    kiln, fastest = result["kiln"], program_report.best_peer(result)
    peer = f"{fastest[0]} {fastest[1]:.1f} us ({fastest[1] / kiln['us']:.2f}x)" if fastest else "no peer"
    faulty = [name for name, record in result["peers"].items() if "failed" in record or record.get("right") is False]
    words = ["" if kiln["right"] else "WRONG", "faulty: " + ", ".join(faulty) if faulty else ""]
    if "any_shape" in result:
        other = result["any_shape"]
        words.append("any shape " + (other.get("failed") or f"{other['us']:.1f} us ({kiln['us'] / other['us']:.2f})"
                                     + ("" if other["right"] else " WRONG")))
    print(f"[{number}/{count}] {case.name:56} {kiln['us']:9.1f} us  roof {kiln['ratio']:.3f}  {peer}  "
          f"error {kiln['error']:.0e}  {kiln['plan']['schedule']}  {' '.join(words)}".rstrip(), flush=True)


def written_names(path):
    """Of cases that --out has already; a last line that a kill cut off is left out."""
    return {record["name"] for record in program_report.read_lines([path])} if os.path.exists(path) else set()


def describe_run(given, bench, kiln, torch):
    """What the report says about where the figures are from."""
    return {"date": str(datetime.date.today()), "device": bench.machine.name, "kiln": kiln.version, "seed": given.seed,
            "cuda": torch.version.cuda if torch else None, "runs": given.runs, "schedule": given.schedule,
            "peers": {name: peer.version for name, peer in bench.peers.items()}, "absent": bench.absent}


def tell_peers(bench):
    there = ", ".join(peer.version for peer in bench.peers.values()) or "none"
    missing = "; ".join(f"{name} ({reason})" for name, reason in bench.absent.items())
    print(f"Peers: {there}" + (f"; left out: {missing}." if missing else "."))


def measure_all(given, cases, bench, out):
    """Returns how many cases were wrong or failed; stops where the time or the GPU is at its end."""
    begun, bad, torch = time.monotonic(), 0, bench.machine.torch
    for number, case in enumerate(cases, 1):
        if given.seconds and time.monotonic() - begun > given.seconds:
            print(f"{len(cases) - number + 1} cases are left; --seed {given.seed} --resume goes on")
            break
        try:
            result = bench.run(case)
        except Exception as error:  # the other cases are measured
            result = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
            print(f"[{number}/{len(cases)}] {case.name}: FAILED: {result['failed']}", flush=True)
        else:
            tell(number, len(cases), case, result)
        bad += "failed" in result or not result["kiln"]["right"]
        if out:
            out.write(json.dumps(record_of(given, case, bench.machine.name, result)) + "\n")
            out.flush()
        if "failed" in result and not given.dry_run and not usable(torch):
            print("the GPU answers no more; the rest is left")
            break
        if not given.dry_run and torch.cuda.memory_reserved() > 24 << 30:
            torch.cuda.empty_cache()
    return bad


def open_machine(given, library):
    """Raises ImportError or OSError where something is not there."""
    from program_bench import DryMachine, GpuMachine
    try:
        import torch
    except ImportError:
        if not given.dry_run:
            raise
        torch = None
    if given.dry_run:
        return DryMachine(torch, Kiln(library, given.schedule, given.cache_dir))
    if not torch.cuda.is_available():
        raise ImportError("PyTorch finds no GPU")
    torch.zeros(1, device="cuda")  # the primary context is there and current
    return GpuMachine(torch, Kiln(library, given.schedule, given.cache_dir), given.runs)


def measure(given, cases, library):
    from program_bench import Bench
    try:
        machine = open_machine(given, library)
    except (ImportError, OSError) as error:
        return fail(error)
    names = [name for name in given.peers.split(",") if name] if machine.torch else []
    bench = Bench(machine, names, Kiln(library, None, given.cache_dir, ANY_SHAPE) if given.any_shape else None)
    print(f"--seed {given.seed} --cases {given.cases}, on {machine.name}")
    tell_peers(bench)
    done = written_names(given.out) if given.resume and given.out else set()
    todo = [case for case in cases if case.name not in done]
    out = open(given.out, "a", encoding="utf-8") if given.out else None
    try:
        if out:  # behind what a killed run may have left of a line
            out.write("\n" + json.dumps({"run": describe_run(given, bench, machine.kiln, machine.torch)}) + "\n")
        bad = measure_all(given, todo, bench, out)
    finally:
        if out:
            out.close()
    return 1 if bad else 0


def report(given):
    text, pictures = program_report.write(given.report)
    if given.markdown:
        folder = os.path.dirname(os.path.abspath(given.markdown))
        for name, picture in pictures.items():
            program_report.write_text(os.path.join(folder, name), picture)
        program_report.write_text(given.markdown, text)
    else:
        print(text)
    return 0


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = parser_of()
    given = parser.parse_args()
    if given.report:
        return report(given)
    for name in given.peers.split(",") if given.peers else []:
        if name not in PEERS.split(","):
            parser.error(f"--peers '{name}': one of {PEERS} was expected")
    if given.seed is None:
        given.seed = int(time.time())
        print(f"--seed {given.seed}", file=sys.stderr if given.problems else sys.stdout)
    cases = drawn_cases(given)
    if given.list:
        list_cases(cases)
        return 0
    if given.problems:
        print_problems(given, cases)
        return 0
    library = given.library or find_library()
    if library is None:
        return fail("libkiln.so is in neither build-gpu/ nor build/; --library names it")
    if given.check:
        return check(given, cases, Kiln(library, given.schedule, cache_dir=""))
    if given.precompile:
        return precompile(given, cases, library)
    return measure(given, cases, library)


if __name__ == "__main__":
    sys.exit(main())
