#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks Kiln on this machine's GPU: every case of the GPU suite, every function along every axis, how fast a second
# process gets its kernel, and a sample of each schedule and random cases under compute-sanitizer's memcheck, racecheck
# and synccheck.
# Usage: tools/gpu_suite.sh [build folder]. 77 without a GPU.
set -eu
build=${1:-$(dirname "$0")/../build}
suite=$build/tests/gpu_suite
[ -x "$suite" ] || { echo "gpu_suite.sh: $suite is not there; build with KILN_BUILD_TESTS=ON first" >&2; exit 2; }

failed=0
status=0
echo "== every case"
"$suite" || status=$?
[ "$status" -ne 77 ] || exit 77
[ "$status" -eq 0 ] || failed=1

echo "== every axis"
"$build/tests/gpu_axes" || failed=1

echo "== conversions from and to 8-bit floats"
"$build/tests/gpu_fp8" || failed=1

echo "== NaN, empty rows and ties"
"$build/tests/gpu_rules" || failed=1

echo "== blocks, order, scans and places"
"$build/tests/gpu_blocks" || failed=1
"$build/tests/gpu_topk" || failed=1

echo "== more than 2^31 elements"
"$build/tests/gpu_large" || failed=1

echo "== a second process"
"$build/tests/bench_warm" || failed=1

sanitizer=$(command -v compute-sanitizer || true)
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    [ -z "$sanitizer" ] && [ -n "$folder" ] && [ -x "$folder/bin/compute-sanitizer" ] &&
        sanitizer=$folder/bin/compute-sanitizer
done
if [ -z "$sanitizer" ]; then
    echo "== compute-sanitizer is not installed: memcheck, racecheck and synccheck are skipped"
    exit "$failed"
fi
for tool in memcheck racecheck synccheck; do
    echo "== $tool on a sample of each schedule"
    status=0
    "$sanitizer" --tool "$tool" --error-exitcode 99 --target-processes all "$suite" --sample --jobs 1 || status=$?
    # Random cases draw the schedules that only huge rows have: clusters, grids, persistent groups.
    "$sanitizer" --tool "$tool" --error-exitcode 99 --target-processes all "$build/tests/gpu_fuzz" --seed 9 --cases 120 \
        --jobs 1 || status=$?
    "$sanitizer" --tool "$tool" --error-exitcode 99 "$build/tests/gpu_topk" --seed 9 --cases 60 || status=$?
    "$sanitizer" --tool "$tool" --error-exitcode 99 "$build/tests/gpu_blocks" --seed 9 --cases 60 || status=$?
    if [ "$status" -ne 0 ]; then
        echo "$tool: failed with status $status"
        failed=1
    fi
done
exit "$failed"
