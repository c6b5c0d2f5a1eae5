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

split='joined;dependent;joined, dependent'

# The launch that combines what blocks of a split row have found.
bench "$split" 's = sum(x)' --tensor 'x=f32[{1,64},1048576]'
bench "$split" 's = sum(x)' --tensor 'x=f32[1,3000000]'
bench "$split;splits 2, joined;splits 4, joined" 's = sum(x)' --tensor 'x=f32[523,128256]'
bench "$split" 's = max(x)' --tensor 'x=f16[{4,64},{2^20,2^24}]'
bench "$split;splits 64, joined;splits 16, joined" 's = sum(x)' --tensor 'x={f16,f32}[65536,1024]' --axes 0
bench "$split;splits 128, joined" 's = sum(x)' --tensor 'x={f16,f32}[1048576,64]' --axes 0
bench "$split;splits 98, joined" 's = sum(x)' --tensor 'x={f16,f32}[100000,1000]' --axes 0
bench "$split" 's = sum(x)' --tensor 'x=f32[64,56,56,256]' --axes 0,1,2
bench "$split" 's = sum(x)' --tensor 'x=f32[16,65536,64]' --axes 1

# Short and long rows that are read alone.
bench 'tile;lanes 1, tile;lanes 1, registers;lanes 1, tile, rows 1024;lanes 1, tile, rows 512' 's = sum(x)' \
    --tensor 'x=f32[*,{4,8,16}]'
streams='block 512, stream;block 256, stream;block 256, stream, batch 4;block 256, stream, batch 8'
bench "$streams;block 512, stream, batch 4;tile" \
    's = sum(x)' --tensor 'x=f32[*,{1023,4096,50257,128256}]'

# What all rows share, loaded with the row.
ahead='ahead;persistent;persistent, ahead'
clusters='cluster 8, persistent, ahead;cluster 16, persistent, ahead;cluster 16, block 512, persistent, ahead'
bench "block 128, registers, ahead;block 256, registers, ahead;block 512, registers, ahead" \
    'y = rms_norm(x, w, 1e-5)' --tensor 'x=bf16[{1,128,32768},4096]' --tensor 'w=bf16[4096]'
bench "block 128, registers, ahead;block 256, registers, ahead;block 512, registers, ahead" \
    'y = layer_norm(x, w, b, 1e-5)' --tensor 'x=bf16[{1,128,32768},4096]' --tensor 'w=bf16[4096]' \
    --tensor 'b=bf16[4096]'
for columns in 50257 65536 128256 262144; do
    bench "$ahead;$clusters" 'y = rms_norm(x, w, 1e-5)' --tensor "x=bf16[*,$columns]" --tensor "w=bf16[$columns]"
    bench "$ahead;$clusters" 'y = layer_norm(x, w, b, 1e-5)' --tensor "x=bf16[*,$columns]" --tensor "w=bf16[$columns]" \
        --tensor "b=bf16[$columns]"
done

# Clusters where neighbouring rows lie side by side.
columns='cluster 2;cluster 4;cluster 8;cluster 4, shared;cluster 8, shared'
columns+=';cluster 4, rows 64, shared;cluster 8, rows 64, shared;cluster 8, rows 128;cluster 16, rows 128'
bench "$columns" 'y = softmax(x)' --tensor 'x={f16,f32}[4096,32768]' --axes 0
bench "$columns" 'y = softmax(x)' --tensor 'x={f16,f32}[64,1000,1000]' --axes 1
