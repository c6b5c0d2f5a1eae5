#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Kiln with warnings as errors and passes all tests; also under sanitizers and with clang where asked.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/check.sh [options]

Installs the packages that are missing (with root or sudo), builds with gcc and warnings as errors, runs all tests.
The GPU suite is skipped on a machine without a GPU.

  --clang          also build with clang, warnings as errors, and fuzz what is read, 20 seconds each
  --release        also build as Release, warnings as errors, with gcc and, where --clang is given, clang
  --sanitize       also build and test with AddressSanitizer and UndefinedBehaviorSanitizer, and what has threads with
                   ThreadSanitizer
  --nvrtc WHICH    auto, wheel or toolkit, as for tools/quickstart.sh
  --build-dir DIR  where everything is built (default: build)
  --jobs N         processes to compile and test with (default: one for each processor)
  --help           this text
TEXT
}

clang=
release=
sanitize=
nvrtc=auto
dir=$root/build
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --clang) clang=yes; shift ;;
        --release) release=yes; shift ;;
        --sanitize) sanitize=yes; shift ;;
        --nvrtc | --build-dir | --jobs)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --nvrtc) nvrtc=$2 ;;
                --build-dir) mkdir -p "$2"; dir=$(cd "$2" && pwd) ;;
                --jobs) jobs=$2 ;;
            esac
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
case "$jobs" in '' | *[!0-9]* | 0) die "--jobs takes a number from 1 up, not '$jobs'" ;; esac

need_build_packages
need_packages gcc=gcc g++=g++ cmocka.h=libcmocka-dev pkg-config=pkg-config clang-format=clang-format \
    python3=python3 python:ensurepip=python3-venv python3-config=python3-dev ${clang:+clang=clang}
provide_nvrtc "$nvrtc" "$dir/nvrtc"
provide_lizard "$dir/lizard"
export KILN_CACHE_DIR=$dir/kernel_cache CTEST_PARALLEL_LEVEL=$jobs

if [ -n "$clang" ]; then
    say "Building with clang"
    build "$dir/clang" "$jobs" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DKILN_WERROR=ON
    "$root/tools/fuzz.sh" --seconds 20 --jobs "$jobs" --build-dir "$dir/fuzz"
fi
# An optimiser that sees more warns of more; the tests are compiled once with each compiler above and below.
for compiler in ${release:+gcc ${clang:+clang}}; do
    say "Building as Release with $compiler"
    build "$dir/release_$compiler" "$jobs" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DKILN_WERROR=ON \
        -DKILN_BUILD_TESTS=OFF
done
if [ -n "$sanitize" ]; then
    say "Building and testing under sanitizers"
    build "$dir/sanitize" "$jobs" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKILN_WERROR=ON \
        -DKILN_SANITIZE=address,undefined
    # The long ones run below; the software GPU is not sanitized itself.
    ctest --test-dir "$dir/sanitize" --output-on-failure -LE "long|software_gpu|torture"
    say "Building and testing what has threads under ThreadSanitizer"
    build "$dir/threads" "$jobs" --target threaded_tests -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DKILN_WERROR=ON -DKILN_SANITIZE=thread
    ctest --test-dir "$dir/threads" --output-on-failure -L threads
fi
say "Building and testing"
build "$dir/check" "$jobs" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKILN_WERROR=ON
ctest --test-dir "$dir/check" --output-on-failure
