#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Precompiles 200 kernels with one worker process and with two, each into a fresh cache, and measures the pack.
# Usage: tools/bench/precompile.sh [build folder] [rounds]. Needs NVRTC, no GPU, and a machine with nothing else to do.
# Fails where two workers take more than 0.6 of the time of one, each in its best round, where the packs differ, or
# where bench_pack finds a limit passed.
set -euo pipefail
build=$(realpath "${1:-$(dirname "$0")/../../build}")
rounds=${2:-1}
[ -x "$build/kiln" ] && [ -x "$build/tests/bench_pack" ] ||
    { echo "precompile.sh: no kiln or tests/bench_pack in $build; build with KILN_BUILD_TESTS=ON first" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset KILN_PACKS KILN_RECORD

# 10 programs of 20 widths.
requests() {
    local columns type
    for columns in 32 64 100 128 192 256 320 384 500 512 640 768 1000 1024 1280 1536 2048 3072 4096 5000; do
        type=f16
        [ $((columns % 3)) -ne 0 ] || type=bf16
        echo "y = softmax(x)|x y||$type|$columns"
        echo "y = log_softmax(x)|x y||f32|$columns"
        echo "y = layer_norm(x, w, b, eps)|x y|w b|$type|$columns"
        echo "y = rms_norm(x, w, eps)|x y|w|$type|$columns"
        echo "s = absmax(x); y = x / s|x y||f32|$columns"
        echo "y = softmax(x * a + m)|x m y||$type|$columns"
        echo "dx = y * (g - sum(g * y))|y g dx||$type|$columns"
        echo "y = x - mean(x)|x y||f32|$columns"
        echo "y = (x - min(x)) / (max(x) - min(x))|x y||$type|$columns"
        echo "y = l2_normalize(x)|x y||$type|$columns"
    done
}
requests | while IFS='|' read -r program full one type columns; do
    tensors= scalars=
    for name in $full; do tensors+="${tensors:+,}\"$name=$type[4096,$columns]\""; done
    for name in $one; do tensors+=",\"$name=$type[$columns]\""; done
    case $program in *eps*) scalars='"eps=f64"' ;; *'* a '*) scalars='"a=f64"' ;; esac
    echo "{\"program\":\"$program\",\"tensors\":[$tensors]${scalars:+,\"scalars\":[$scalars]}}"
done >"$work/manifest.jsonl"

# Both on the same two processors, whatever the machine has.
pin=()
! command -v taskset >/dev/null || pin=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/-/,/' | cut -d, -f1,2)")
best=(1e9 1e9)
for round in $(seq "$rounds"); do
    for jobs in 1 2; do
        rm -rf "$work/cache"
        "${pin[@]}" "$build/kiln" precompile "$work/manifest.jsonl" --arch sm_90 --jobs "$jobs" \
            --cache-dir "$work/cache" --pack "$work/jobs$jobs.kpack" --json >"$work/result.json"
        seconds=$(sed -n 's/^  "seconds": \([0-9.]*\),$/\1/p' "$work/result.json")
        compiled=$(sed -n 's/^  "compiled": \([0-9]*\),$/\1/p' "$work/result.json")
        echo "round $round, --jobs $jobs: $compiled kernels in $seconds s"
        best[jobs - 1]=$(printf '%s\n' "${best[jobs - 1]}" "$seconds" | sort -g | head -n 1)
    done
done
cmp "$work/jobs1.kpack" "$work/jobs2.kpack"
"$build/tests/bench_pack" "$work/jobs1.kpack" "$work/manifest.jsonl"
awk -v one="${best[0]}" -v two="${best[1]}" 'BEGIN {
    printf "two workers take %.2f of the time of one (%.1f and %.1f s, the best rounds), limit 0.60\n", two / one, two, one
    exit two > 0.6 * one }'
