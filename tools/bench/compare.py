#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kiln next to PyTorch (eager and compiled), CuPy and CUB: the same work on the same tensors of this machine's GPU.

  compare.py [--sets peers,sweep] [--cases REGEX] --json a.json     measures (needs PyTorch with CUDA)
  compare.py --dry-run [--sets ...] [--cases REGEX]                 lists the cases; needs no GPU
  compare.py --manifest FILE [--sets ...] [--cases REGEX]           writes their manifest for kiln precompile; no GPU
  compare.py merge a.json b.json [--json all.json] [--markdown report.md] [--plots DIR]
                                                                    puts parts together and reports; needs no GPU

For each case Kiln, the peers present and a device-to-device copy of the same bytes (half read, half written) take turns
on the default stream: 30 rounds, four times as many of less than 32 MB, the L2 flushed before each call, events around
it, the median counts. The roof ratio is the copy's time over the kernel's. Outputs are poisoned first and compared with PyTorch's in double precision.

exit codes: 0 measured, whatever the figures say; 1 a result was wrong or a case failed; 2 the command line is wrong;
3 no PyTorch, no GPU or no library.
"""
import argparse
import datetime
import os
import platform
import sys
import time

import cases
import report
from kiln_ctypes import write_manifest


def find_library():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for folder in ("build-gpu", "build", os.path.join("build", "release")):
        path = os.path.normpath(os.path.join(root, folder, "libkiln.so"))
        if os.path.exists(path):
            return path
    return None


def parse_part(text):
    try:
        index, count = (int(word) for word in text.split("/"))
    except ValueError:
        index, count = 0, 0
    if not 1 <= index <= count:
        raise argparse.ArgumentTypeError(f"'{text}' is no part; 1/4 was expected")
    return index, count


def parse_sets(text):
    names = list(cases.SETS) if text == "all" else text.split(",")
    for name in names:
        if name not in cases.SETS:
            raise argparse.ArgumentTypeError(f"there is no set '{name}'; the sets are {', '.join(cases.SETS)}")
    return names


def parser_of(merging):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    if merging:
        parser.add_argument("files", nargs="+", help="what --json wrote; the last one's case counts")
    else:
        parser.add_argument("--library", help="libkiln.so (default: of build-gpu/ or build/)")
        parser.add_argument("--sets", type=parse_sets, default=list(cases.SETS), help="of " + ", ".join(cases.SETS))
        parser.add_argument("--cases", metavar="REGEX", help="those whose name it is found in: '^softmax f16'")
        parser.add_argument("--part", type=parse_part, metavar="I/N", help="every N-th case, beginning with the I-th")
        parser.add_argument("--peers", default="eager,compiled,cupy,cub", help="those to compare with; '' for none")
        parser.add_argument("--no-compiled", action="store_true", help="no torch.compile, which takes seconds a shape")
        parser.add_argument("--quick", action="store_true", help="fewer columns in sweeps, 11 rounds")
        parser.add_argument("--runs", type=int, help="rounds (default 30); four times as many of less than 32 MB")
        parser.add_argument("--seconds", type=float, help="begin no case after so many; --resume goes on later")
        parser.add_argument("--resume", action="store_true", help="keep what the --json file has and measure the rest")
        parser.add_argument("--schedule", help="pins parts of every schedule, as KILN_SCHEDULE does")
        parser.add_argument("--dry-run", action="store_true", help="list the cases, their bytes and bars")
        parser.add_argument("--manifest", metavar="FILE", help="write what kiln precompile makes the kernels from")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--markdown", metavar="FILE", help="write a report")
    parser.add_argument("--plots", metavar="DIR", help="write an SVG for each program and type: bandwidth over columns")
    return parser


def dry_run(chosen):
    for case in chosen:
        bar, why = case.bar()
        print(f"{case.set:12} {case.name:44} {case.bytes / 1e6:10.2f} MB  "
              f"{'no bar' if bar is None else f'{bar:.2f}'} {why}")
    print(f"{len(chosen)} cases")


def describe_run(torch, bench, arguments):
    driver = ""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            driver = next((word for word in file.read().split() if word[:1].isdigit() and "." in word), "")
    except OSError:
        pass
    return {"date": str(datetime.date.today()), "device": torch.cuda.get_device_name(), "driver": driver,
            "cuda": torch.version.cuda, "kiln": bench.kiln.version, "python": platform.python_version(),
            "peers": {name: peer.version for name, peer in bench.peers.items()}, "absent": bench.absent,
            "command": " ".join(["tools/bench/compare.py"] + sys.argv[1:]), "runs": bench.clock.runs,
            "schedule": arguments.schedule}


def tell(number, count, case, result, bar):
    kiln = result["kiln"]
    fastest = report.best_peer(result)
    peer = f"{fastest[0]} {fastest[1]:.1f} us ({fastest[1] / kiln['us']:.2f}x)" if fastest else "no peer"
    verdict = "WRONG" if not kiln["right"] else "no bar" if bar is None else "met" if kiln["ratio"] >= bar else "MISSED"
    print(f"[{number}/{count}] {case.name:44} {kiln['us']:9.1f} us {kiln['gbps']:6.0f} GB/s  roof {kiln['ratio']:.3f} "
          f"{verdict:6}  {peer}  error {kiln['error']:.0e}  {kiln['plan']['schedule']}", flush=True)


def usable(torch):
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True


def record_of(case, result):
    bar, why = case.bar()
    return {"name": case.name, "set": case.set, "program": case.program, "type": case.type, "shape": list(case.shape),
            "axes": list(case.axes), "cols": case.cols, "bytes": case.bytes, "bar": bar, "bar_kind": why, **result}


def measure(arguments, chosen, data):
    try:
        import torch
        from kiln_ctypes import Kiln
        from measure import Bench
        if not torch.cuda.is_available():
            raise ImportError("PyTorch finds no GPU")
        library = arguments.library or find_library()
        if library is None:
            raise ImportError("libkiln.so is in neither build-gpu/ nor build/; --library names it")
        torch.zeros(1, device="cuda")  # the primary context is there and current
        kiln = Kiln(library, arguments.schedule)
    except (ImportError, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 3
    names = [name for name in arguments.peers.split(",") if name and not (arguments.no_compiled and name == "compiled")]
    bench = Bench(torch, kiln, names, arguments.runs or (11 if arguments.quick else 30))
    for name, reason in bench.absent.items():
        print(f"{name} is left out: {reason}")
    data["runs"].append(describe_run(torch, bench, arguments))
    done = {record["name"] for record in data["cases"]} if arguments.resume else set()
    todo = [case for case in chosen if case.name not in done]
    begun, saved, code = time.monotonic(), time.monotonic(), 0
    for number, case in enumerate(todo, 1):
        if arguments.seconds and time.monotonic() - begun > arguments.seconds:
            print(f"{len(todo) - number + 1} cases are left for --resume")
            break
        try:
            result = bench.run(case)
        except Exception as error:
            print(f"[{number}/{len(todo)}] {case.name}: FAILED: {type(error).__name__}: {error}", flush=True)
            result, code = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}, 1
            if not usable(torch):
                report.put(data, record_of(case, result))
                print("the GPU answers no more; the rest is left")
                break
        else:
            tell(number, len(todo), case, result, case.bar()[0])
            code = code if result["kiln"]["right"] else 1
        report.put(data, record_of(case, result))
        if torch.cuda.memory_reserved() > 24 << 30:
            torch.cuda.empty_cache()
        if arguments.json and time.monotonic() - saved > 20:
            report.save(data, arguments.json)
            saved = time.monotonic()
    return code


def main():
    merging = sys.argv[1:2] == ["merge"]
    arguments = parser_of(merging).parse_args(sys.argv[2:] if merging else sys.argv[1:])
    data, code = {"runs": [], "cases": []}, 0
    if merging:
        for path in arguments.files:
            report.merge(data, report.load(path))
    else:
        chosen = cases.choose(arguments.sets, arguments.cases, arguments.quick, arguments.part)
        if arguments.manifest:
            write_manifest(arguments.manifest, (
                (case.definition.text, [(*tensor, None) for tensor in case.tensors()], case.reduced) for case in chosen))
            return 0
        if arguments.dry_run:
            dry_run(chosen)
            return 0
        if arguments.resume and arguments.json and os.path.exists(arguments.json):
            data = report.load(arguments.json)
        code = measure(arguments, chosen, data)
        if code == 3:
            return code
    if arguments.json:
        report.save(data, arguments.json)
    if arguments.plots:
        report.write_plots(data, arguments.plots)
    if arguments.markdown:
        report.write_markdown(data, arguments.markdown, arguments.plots)
    print(report.summary(data))
    return code


if __name__ == "__main__":
    sys.exit(main())
