#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Kiln with line counters, runs the tests, and prints which share of src/ and of kernel_sources/ they execute.
# Fails where either share is under its limit.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/coverage.sh [options]

Prints the line coverage of the library and of the kernels' files, as gcc's gcov counts it. Kernels run on the software
GPU, which needs g++ and no GPU.

  --build-dir DIR  where everything is built (default: build/coverage)
  --jobs N         processes to compile and test with (default: one for each processor)
  --limit N        the least share in percent (default: 90)
  --help           this text
TEXT
}

dir=$root/build/coverage
jobs=$(nproc)
limit=90
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --build-dir | --jobs | --limit)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --build-dir) dir=$2 ;;
                --jobs) jobs=$2 ;;
                --limit) limit=$2 ;;
            esac
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
case "$jobs$limit" in '' | *[!0-9]*) die "--jobs and --limit take numbers" ;; esac
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

need_build_packages
need_packages gcc=gcc g++=g++ gcov=gcc cmocka.h=libcmocka-dev
say "Building with line counters"
build "$dir/build" "$jobs" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage
find "$dir/build" -name '*.gcda' -delete
rm -rf "$dir/kernels" && mkdir -p "$dir/kernels"

say "Running the tests"
export KILN_CACHE_DIR=$dir/kernel_cache
# The library's lines by all tests of programs, less what the counters themselves disturb: limits on files and symbols.
# The kernels' lines by the tests that run many of them. A worker process exits without writing its counts: with one job
# there is none.
others='readme|sizes|layers.*|headers|exported_symbols|test_tool|gpu_suite|software_gpu_suite'
ctest --test-dir "$dir/build" --parallel "$jobs" --output-on-failure --exclude-regex "^($others)\$" >&2
(
    export KILN_SOFTWARE_GPU_COVERAGE=$dir/kernels KILN_SOFTWARE_GPU_SOURCES=$root/kernel_sources
    "$dir/build/tests/test_software_operators" >&2
    stand_ins="--driver $dir/build/tests/software_gpu/libkiln_software_driver.so
        --nvrtc $dir/build/tests/software_gpu/libkiln_software_nvrtc.so"
    # shellcheck disable=SC2086
    "$dir/build/tests/gpu_suite" $stand_ins --sample=6 --jobs 1 --seed 1 >&2
    # shellcheck disable=SC2086
    "$dir/build/tests/gpu_fuzz" $stand_ins --cases 200 --jobs 1 --seed 1 >&2
)

# counts <folder of gcov's files>: gcov's annotated sources, one after another. Each goes by way of a file of its own.
counts() {
    find "$1" -name '*.gcda' -print0 | xargs -0 -r -n 1 -P "$jobs" sh -c \
        'cd "$(dirname "$1")" && gcov -t "$(basename "$1")" >"$1.txt" 2>/dev/null' sh
    find "$1" -name '*.gcda.txt' -exec cat {} +
}

# table <title> <folder of sources>: reads annotated sources. A line counts as executed if any compile of it was.
table() {
    awk -v title="$1" -v folder="$2/" -v limit="$limit" -F: '
        $2 + 0 == 0 && $3 == "Source" { file = substr($0, index($0, "Source:") + 7); inside = index(file, folder) == 1; next }
        !inside || $2 !~ /^ *[1-9][0-9]*$/ || $1 ~ /^ *-$/ { next }
        {
            line = file ":" $2 + 0
            if (!(line in known)) { known[line] = 1; lines[file]++ }
            if ($1 ~ /[0-9]/ && !(line in executed)) { executed[line] = 1; done[file]++ }
        }
        END {
            printf "\n%-44s %6s %9s %7s\n", title, "lines", "executed", "share"
            sort = "sort"
            for (f in lines) {
                printf "%-44s %6d %9d %6.1f%%\n", substr(f, length(folder) + 1), lines[f], done[f], 100 * done[f] / lines[f] | sort
                all += lines[f]; hit += done[f]
            }
            close(sort)
            share = all ? 100 * hit / all : 0
            printf "%-44s %6d %9d %6.1f%%\n", "all", all, hit, share
            exit share < limit
        }'
}

failed=
counts "$dir/build/CMakeFiles/kiln_objects.dir/src" | table "src/" "$root/src" || failed=yes
counts "$dir/kernels" | table "kernel_sources/" "$root/kernel_sources" || failed=yes
[ -z "$failed" ] || die "under $limit percent of the lines are executed"
