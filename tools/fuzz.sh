#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes the readers of untrusted input, with clang's libFuzzer and sanitizers. Each file of tests/fuzzers is one fuzzer.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/fuzz.sh [options] [NAME...]

Builds the fuzzers of tests/fuzzers with clang and runs all of them, or those named. Ends with the first failure, whose
input stays in the build folder. Corpora are kept there, too, so that a later run goes on where this one ended.
Without clang it says so and does nothing.

  --seconds N      how long each fuzzer runs (default: 60)
  --jobs N         fuzzers at a time (default: one for each processor)
  --build-dir DIR  where everything is built (default: build/fuzz)
  --help           this text
TEXT
}

seconds=60
dir=$root/build/fuzz
jobs=$(nproc)
names=()
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --seconds | --jobs | --build-dir)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --seconds) seconds=$2 ;;
                --jobs) jobs=$2 ;;
                --build-dir) mkdir -p "$2"; dir=$(cd "$2" && pwd) ;;
            esac
            shift 2 ;;
        -*) die "unknown argument '$1'; see --help" ;;
        *) names+=("$1"); shift ;;
    esac
done
case "$seconds" in '' | *[!0-9]* | 0) die "--seconds takes a number from 1 up, not '$seconds'" ;; esac
case "$jobs" in '' | *[!0-9]* | 0) die "--jobs takes a number from 1 up, not '$jobs'" ;; esac
has_command clang || { say "Skipped: fuzzing needs clang"; exit 0; }
if [ "${#names[@]}" -eq 0 ]; then
    for file in "$root"/tests/fuzzers/*.c; do names+=("$(basename "$file" .c)"); done
fi

need_build_packages
say "Building the fuzzers"
build "$dir" "$jobs" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKILN_WERROR=ON -DKILN_FUZZERS=ON \
    -DKILN_BUILD_TESTS=OFF -DKILN_SANITIZE=fuzzer-no-link,address,undefined

# fuzz <name>: shows its log if it fails, otherwise the last line.
fuzz() {
    local name=$1 log=$dir/$1.log
    local words=$root/tests/fuzzers/$1.dict seeds=$root/tests/fuzzers/seeds/$1
    local given=()
    [ ! -r "$words" ] || given+=("-dict=$words")
    [ ! -d "$seeds" ] || given+=("$seeds")
    mkdir -p "$dir/corpus/$name" "$dir/findings"
    if "$dir/tests/fuzzers/fuzzer_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$dir/findings/$name-" "$dir/corpus/$name" "${given[@]}" >"$log" 2>&1; then
        printf '%-12s %s\n' "$name" "$(grep '^Done ' "$log" || tail -n 1 "$log")"
    else
        tail -n 60 "$log"
        echo "fuzzer $name failed: again with $dir/tests/fuzzers/fuzzer_$name $dir/findings/$name-..."
        return 1
    fi
}
export -f fuzz
export dir root seconds
say "Fuzzing for $seconds seconds each: ${names[*]}"
printf '%s\n' "${names[@]}" | xargs -P "$jobs" -I{} bash -euo pipefail -c 'fuzz "$1"' - {}
