#!/usr/bin/env bash
# Times the open experiments of docs/experiments.md: the chosen schedule of each case beside those that are tried.
# Usage: tools/bench/open.sh [build folder] [runs]. Needs a GPU; prints comma-separated values.
set -euo pipefail
build=$(realpath "${1:-$(dirname "$0")/../../build}")
runs=${2:-30}
[ -x "$build/kiln" ] || { echo "open.sh: no kiln in $build: build it first" >&2; exit 2; }

# bench SCHEDULES ARGS...: schedules are parted by semicolons
bench() {
    local schedules=() pins
    while IFS= read -r pins; do schedules+=(--schedule "$pins"); done < <(tr ';' '\n' <<< "$1")
    shift
    "$build/kiln" bench --csv --runs "$runs" --seed 1 "$@" "${schedules[@]}" || echo "failed: $*"
}

# Leading axes whose rows begin anywhere: clusters, chosen for elements of 2 bytes, beside one block.
pieces='shared, threads 64, rows 32;cluster 4, shared, rows 128, threads 16;cluster 4, shared, rows 64, threads 32'
bench "$pieces" 'y = softmax(x)' --tensor 'x={f16,f32}[64,1000,{1000,1001,1024}]' --axes 1
