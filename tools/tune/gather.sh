#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles candidates on all cores, then times them on all GPUs of this machine; goes on where a run before has ended.
#
#   tools/tune/gather.sh GATHER PROBLEMS FOLDER [OPTIONS]
#
# GATHER is the program that `ninja kiln_gather` makes. In FOLDER are the cache and points.jsonl, which grows.
#   --compile-seconds N  of compiling (240); --seconds N  of timing (270); 0: none
#   -- what follows goes to gather: --candidates 24 --seed 1
# A kernel that fails takes its process along: the next one begins behind its problem.
set -euo pipefail

[ $# -ge 3 ] || { sed -n '3,11s/^# \?//p' "$0" >&2; exit 2; }
gather=$1 problems=$2 folder=$3 compile=240 seconds=270
shift 3
while [ $# -gt 0 ]; do
    case $1 in
    --compile-seconds) compile=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "gather.sh: there is no option '$1'" >&2; exit 2 ;;
    esac
done
mkdir -p "$folder"
touch "$folder/points.jsonl"
total=$(wc -l < "$problems")

[ "$compile" = 0 ] || "$gather" "$problems" --cache-dir "$folder/cache" --compile "$(nproc)" --seconds "$compile" "$@" \
    2> "$folder/compile.log" || true

# The number of the last problem of a part that has points, or -1.
last_of() {
    awk -v part="$1" -v parts="$2" 'match($0, /"problem":[0-9]+/) {
        n = substr($0, RSTART + 10, RLENGTH - 10) + 0
        if (n % parts == part && n > last) last = n
    } BEGIN { last = -1 } END { print last }' "$folder"/points.jsonl
}

# One GPU's share of the problems, until time is over.
time_part() {
    local part=$1 parts=$2 end=$((SECONDS + seconds)) skip
    skip=$(($(last_of "$part" "$parts") + 1))
    while [ "$skip" -lt "$total" ] && [ "$SECONDS" -lt "$end" ]; do
        status=0
        CUDA_VISIBLE_DEVICES=$part timeout --kill-after 5 $((end - SECONDS + 20)) "$gather" "$problems" \
            --cache-dir "$folder/cache" --part "$part/$parts" --skip "$skip" --seconds $((end - SECONDS)) "${rest[@]}" \
            >> "$folder/points.$part" 2> "$folder/time.$part.log" || status=$?
        cat "$folder/time.$part.log" >> "$folder/time.log"
        [ "$status" != 0 ] || return 0
        skip=$(sed -n 's/^problem \([0-9]*\):.*/\1/p' "$folder/time.$part.log" | tail -n 1)
        [ -n "$skip" ] || return 0 # it ended without a word
        skip=$((skip + 1))
    done
}

rest=("$@")
if [ "$seconds" != 0 ]; then
    parts=$(nvidia-smi -L | wc -l)
    rm -f "$folder"/points.[0-9]*
    for part in $(seq 0 $((parts - 1))); do time_part "$part" "$parts" & done
    wait
    for part in "$folder"/points.[0-9]*; do
        sed -n '/}$/p' "$part" >> "$folder/points.jsonl" # not what a killed one began
    done
    rm -f "$folder"/points.[0-9]*
fi
printf '%s points of %s problems\n' "$(wc -l < "$folder/points.jsonl")" "$total"
