#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times cases of compare.py under pinned schedules, next to the schedule that the library chooses.

  pinned.py FILE [--runs N]                                measures (needs PyTorch with CUDA)
  pinned.py FILE --precompile KILN [--cache-dir DIR]       compiles all of it into the cache; needs no GPU

A line of FILE is a case, named as compare.py names it, and pins as KILN_SCHEDULE takes them, one schedule after each bar:

  softmax f16 2048x32768 | cluster 4, block 256 | cluster 8, block 256, shared
  sum f32 4096x65536 axes 0 | splits 4

Chosen and pinned schedules take turns with a copy of the same bytes on one stream, the L2 flushed before each. Roof
ratios, the chosen schedule first; a result that differs from it is told as WRONG, a schedule that cannot be as refused.

exit codes: 0 measured; 1 a result differs; 2 the command line or FILE is wrong; 3 no PyTorch, no GPU or no library.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import cases
from kiln_ctypes import Kiln, Plan, view, write_manifest


def case_of(text):
    words = text.split()
    if len(words) not in (3, 5) or words[0] not in cases.PROGRAMS:
        raise ValueError(f"'{text}' names no case; 'softmax f16 64x1000' was expected, maybe with 'axes 0'")
    axes = tuple(int(axis) for axis in words[4].split(",")) if len(words) == 5 else (-1,)
    return cases.Case("pinned", words[0], words[1], tuple(int(size) for size in words[2].split("x")), axes)


def read_lines(path):
    """[(case, its pins)]"""
    with open(path, encoding="utf-8") as file:
        parts = [[part.strip() for part in line.split("|")] for line in file if line.strip()]
    return [(case_of(case), pins) for case, *pins in parts]


def precompile(lines, kiln, cache_dir):
    """One manifest for each pin: kiln precompile takes the pin from its environment."""
    for pin in dict.fromkeys(["", *(pin for _, pins in lines for pin in pins)]):
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as manifest:
            write_manifest(manifest.name, [(case.definition.text, [(*tensor, None) for tensor in case.tensors()],
                                            case.reduced) for case, pins in lines if pin == "" or pin in pins])
            subprocess.run([kiln, "precompile", manifest.name, "--arch", "sm_90", "--keep-going", "--quiet",
                            *(["--cache-dir", cache_dir] if cache_dir else [])],
                           env={**os.environ, "KILN_SCHEDULE": pin}, stderr=subprocess.DEVNULL, check=False)


def measure_case(torch, bench, kilns, case, pins):
    """Prints the case's line; returns the number of results that differ."""
    tensors = bench.make_tensors(case)
    views = [view(t.data_ptr(), kind, t.shape, t.stride()) for t, (_, kind) in zip(tensors, case.tensors())]
    output, wanted, calls, told, wrong = tensors[-1], None, {}, [], 0
    for pin in ["", *pins]:
        try:
            plan = Plan(kilns[pin], case.definition.text, views, case.reduced)
        except RuntimeError:
            told.append(f"  refused  {pin}")
            continue
        bench.poison(output)
        plan.launch()
        result = output.double()
        wanted = result if wanted is None else wanted
        if not bool(((result - wanted).abs() <= 0.02 * wanted.abs().max()).all()):
            told.append(f"  WRONG    {pin}")
            wrong += 1
            continue
        calls[pin] = plan
    del wanted, result
    times = bench.clock.medians({**{pin: plan.launch for pin, plan in calls.items()}, " copy": bench.clock.copy(case.bytes)},
                                case.bytes)
    print(f"{case.name}: copy {times[' copy'][0]:.1f} us")
    for pin, plan in calls.items():
        info, us = plan.info(), times[pin][0]
        print(f"  {times[' copy'][0] / us:.3f} {us:9.1f} us  {pin or 'chosen'}  [{info['schedule']}; {info['registers']} "
              f"registers{', SPILLS' if info['spill_bytes'] else ''}]")
        plan.close()
    print("\n".join(told), end="\n" if told else "", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--library", help="libkiln.so (default: of build-gpu/ or build/)")
    parser.add_argument("--runs", type=int, default=11, help="rounds (default 11); four times as many of less than 32 MB")
    parser.add_argument("--precompile", metavar="KILN", help="the tool that compiles; nothing is measured")
    parser.add_argument("--cache-dir", help="of the kernels")
    options = parser.parse_args()
    try:
        lines = read_lines(options.file)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if options.precompile:
        precompile(lines, options.precompile, options.cache_dir)
        return 0
    from compare import find_library
    try:
        import torch
        from measure import Bench
        torch.zeros(1, device="cuda")
        library = options.library or find_library()
        kilns = {pin: Kiln(library, pin or None, options.cache_dir) for pin in ["", *(p for _, ps in lines for p in ps)]}
    except (ImportError, OSError, RuntimeError) as error:
        print(f"pinned.py: {error}", file=sys.stderr)
        return 3
    bench = Bench(torch, kilns[""], [], options.runs)
    wrong = 0
    for case, pins in lines:
        wrong += measure_case(torch, bench, kilns, case, pins)
        torch.cuda.empty_cache()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
