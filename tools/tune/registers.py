#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many registers does a kernel take? Fits the linear rule of src/schedule/work.c (registers_of) to what the compiler
took, by least squares, and tells how far both are off.

    tools/tune/registers.py POINTS ...      what gather prints of compiled candidates, or gather --again of these

A third of the programs is held out of the fit. Kernels that spilled or were limited to fewer registers are left out: they
would take more.
"""
import argparse
import json
import statistics
import zlib

import numpy

TERMS = ("of any kernel", "beside it, where rows are not flat", "of columns", "input_bytes", "invariant_bytes", "outputs",
         "carried", "tile", "masked", "heavy", "rows_in_flight")
STAGING_REGISTERS, STAGING_NONE, STAGING_TILE = 0, 2, 3
MASKED, PARTIAL = 1, 2


def terms(point):
    r = point["resources"]
    column = point["strategy"] in ("column", "column_tile")
    flat = point["strategy"] in ("pointwise", "transpose")
    once = r["batch"] if r["staging"] in (STAGING_REGISTERS, STAGING_NONE) else min(r["unroll"], 2)
    width = r["vector_width"]
    return (1, not flat, column, once * width * r["input_bytes"],
            (r["steps"] if r["prefetch"] else 1) * width * r["invariant_bytes"], width * r["outputs"],
            r["carried"] * (width if column else 1), r["staging"] == STAGING_TILE, r["edges"] in (MASKED, PARTIAL),
            r["reduce_weight"] + r["output_weight"] > 60, r["rows_in_flight"])


def counts(point):
    resources = point["resources"]
    allowed = min(65536 // (resources["threads"] * max(resources["min_blocks"], 1)) // 8 * 8, 255)
    return point.get("registers", 0) > 0 and not point["spill_bytes"] and point["registers"] + 8 < allowed


def told(name, wrong):
    off = sorted(map(abs, wrong))
    print(f"{name}: off by {statistics.median(off):.1f} in the median, {off[len(off) * 9 // 10]:.1f} in nine of ten; "
          f"{statistics.mean(wrong):+.1f} in the mean")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="+")
    points = [json.loads(line) for path in parser.parse_args().points for line in open(path, encoding="utf-8")]
    points = [point for point in points if counts(point)]
    matrix = numpy.array([terms(point) for point in points], dtype=float)
    taken = numpy.array([point["registers"] for point in points], dtype=float)
    held_out = numpy.array([zlib.crc32(point["program"].encode()) % 3 == 0 for point in points])
    fitted = numpy.linalg.lstsq(matrix[~held_out], taken[~held_out], rcond=None)[0]
    print(f"{len(points)} kernels, {held_out.sum()} of programs that are held out")
    for name, fit in zip(TERMS, fitted):
        print(f"  {name}: {fit:.3g}")
    told("the rule", (numpy.array([point["estimated_registers"] for point in points]) - taken)[held_out])
    told("fitted", (matrix @ fitted - taken)[held_out])


if __name__ == "__main__":
    main()
