#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of kiln_run for a shape seen before, without those inside the driver's cuLaunchKernel.
# Usage: tools/bench/dispatch.sh [build folder]. Fails where a call takes more than 1,500; 77 without valgrind or NVRTC.
set -eu
limit=1500
build=${1:-$(dirname "$0")/../../build}
bench=$build/tests/bench_dispatch
for tool in valgrind callgrind_annotate; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -x "$bench" ] || { echo "dispatch.sh: $bench is not there; build with KILN_BUILD_TESTS=ON first" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The first run compiles the kernels into a cache of its own; under valgrind they are only loaded.
mkdir -m 700 "$work/cache"
"$bench" "$work/cache" >"$work/log" 2>&1 || { status=$?; cat "$work/log"; exit "$status"; }
programs=$(grep -c ' calls$' "$work/log")

# inclusive <function>: its instructions with all that it called
inclusive() {
    awk -v name="$1" 'index($0, ":" name " ") || $0 ~ ":" name "$" { gsub(",", "", $1); print $1; exit }' "$work/table"
}

failed=0
program=0
while [ "$program" -lt "$programs" ]; do
    if ! valgrind --tool=callgrind --collect-atstart=no --toggle-collect=bench_steady_calls \
            --callgrind-out-file="$work/profile" "$bench" "$work/cache" "$program" >"$work/log" 2>&1; then
        cat "$work/log"
        exit 1
    fi
    text=$(sed -n 's/: [0-9]* calls$//p' "$work/log")
    calls=$(sed -n 's/.*: \([0-9]*\) calls$/\1/p' "$work/log")
    callgrind_annotate --inclusive=yes --threshold=100 "$work/profile" >"$work/table"
    run=$(inclusive kiln_run)
    launch=$(inclusive cuLaunchKernel)
    if [ -z "$run" ] || [ -z "$launch" ] || [ -z "$calls" ]; then
        echo "dispatch.sh: kiln_run or cuLaunchKernel is not in the profile:" >&2
        head -40 "$work/table" >&2
        exit 1
    fi
    each=$(((run - launch) / calls))
    echo "$text: $each instructions of kiln_run above cuLaunchKernel (limit $limit, $calls calls)"
    [ "$each" -le "$limit" ] || failed=1
    program=$((program + 1))
done
exit "$failed"
