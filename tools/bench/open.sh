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

# One exchange for two phases: clusters, which are chosen so, beside two exchanges; blocks the other way round.
bench 'phased' 'y = softmax(x)' --tensor 'x={f16,bf16,f32}[*,{65536,128256,262144}]'
bench 'phased' 'y = layer_norm(x, w, b, 1e-5)' --tensor 'x=bf16[*,{65536,131072,262144}]' \
    --tensor 'w=bf16[{65536,131072,262144}]' --tensor 'b=bf16[{65536,131072,262144}]'
bench 'online' 'y = softmax(x)' --tensor 'x={f16,bf16,f32}[*,{4096,16384,32768,50257}]'

# With one exchange, more blocks for a row may cost nothing: rows of all sizes beside a handful of them.
for rows in '*' 32; do
    bench 'cluster 2, block 256, online;cluster 4, block 256, online;cluster 8, block 128, online' \
        'y = softmax(x)' --tensor "x=f16[$rows,{32768,50257}]"
    bench 'cluster 8, block 256, online;cluster 16, block 256, online;cluster 16, block 128, online' \
        'y = softmax(x)' --tensor "x=f16[$rows,{128256,262144}]"
done

# What does not stay on the chip: more of it under way.
bench 'batch 4;batch 8' 'y = softmax(x)' --tensor 'x={f16,f32}[4,16777216]'
bench 'batch 4;batch 8' 'y = softmax(x)' --tensor 'x=f16[1,268435456]'
bench 'batch 4' 'y = softmax(x)' --tensor 'x=bf16[64,1048576]'

# Short odd rows of norms: lanes that keep the weights.
bench 'tile, lanes 8;tile, lanes 32' 'y = layer_norm(x, w, b, 1e-5)' --tensor 'x=bf16[*,{65,127,257}]' \
    --tensor 'w=bf16[{65,127,257}]' --tensor 'b=bf16[{65,127,257}]'

# Sums over leading axes of halves: chunks and who shares them.
chunks=
for threads in 32 64 128; do
    for splits in 32 64 128 256; do chunks+="threads $threads, splits $splits;"; done
done
bench "${chunks%;}" 's = sum(x)' --tensor 'x=f16[65536,1024]' --axes 0
bench 'threads 64, splits 4;threads 64, splits 8;threads 32, splits 8;threads 64, splits 16' \
    's = sum(x)' --tensor 'x={f16,f32}[64,3136,256]' --axes 1

# Leading axes whose rows begin anywhere: clusters, chosen for elements of 2 bytes, beside one block.
pieces='shared, threads 64, rows 32;cluster 4, shared, rows 128, threads 16;cluster 4, shared, rows 64, threads 32'
bench "$pieces" 'y = softmax(x)' --tensor 'x={f16,f32}[64,1000,{1000,1001,1024}]' --axes 1
