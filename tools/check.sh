#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Kiln with warnings as errors and passes all tests; also under sanitizers and with clang where asked.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/check.sh [options]

Installs the packages that are missing (with root or sudo), builds with gcc and warnings as errors, runs the tests.
The GPU suite is skipped on a machine without a GPU. Each step says about how long it takes with two processors.

  --quick          only the fast tests: what to run while working on something
  --all            also the tests that sweep or draw for half a minute or more each, as CI does
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

quick=
all=
clang=
release=
sanitize=
nvrtc=auto
dir=$root/build
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --quick) quick=yes; shift ;;
        --all) all=yes; shift ;;
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

# step <minutes> <what>: the times are those of two processors, without a compiler cache.
step() { say "$2: about $1 min with two processors"; }

began=$SECONDS
need_build_packages
need_packages gcc=gcc g++=g++ cmocka.h=libcmocka-dev pkg-config=pkg-config clang-format=clang-format \
    python3=python3 python:ensurepip=python3-venv python3-config=python3-dev
[ -z "$clang" ] || need_clang
if [ -n "$all" ]; then # what some tests are left out without
    need_packages dpkg-shlibdeps=dpkg-dev file=file mandoc=mandoc aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu \
        /usr/aarch64-linux-gnu/include/stdio.h=libc6-dev-arm64-cross qemu-aarch64=qemu-user musl-gcc=musl-tools \
        xz=xz-utils
    provide_part_sources "$dir/part_sources"
fi
provide_nvrtc "$nvrtc" "$dir/nvrtc"
provide_lizard "$dir/lizard"
provide_python "$dir/python_venv"
provide_wheels KILN_ONNX onnx "$dir/onnx"
provide_wheels KILN_MPMATH mpmath "$dir/mpmath"
export KILN_CACHE_DIR=$dir/kernel_cache CTEST_PARALLEL_LEVEL=$jobs

if [ -n "$clang" ]; then
    step 1 "Building with clang"
    build "$dir/clang" "$jobs" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DKILN_WERROR=ON "$python_package"
    step 2 "Fuzzing"
    "$root/tools/fuzz.sh" --seconds 20 --jobs "$jobs" --build-dir "$dir/fuzz"
fi
# An optimiser that sees more warns of more; the tests are compiled once with each compiler above and below.
for compiler in ${release:+gcc ${clang:+clang}}; do
    step 1 "Building as Release with $compiler"
    build "$dir/release_$compiler" "$jobs" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DKILN_WERROR=ON \
        -DKILN_BUILD_TESTS=OFF
done
if [ -n "$sanitize" ]; then
    step 8 "Building and testing under sanitizers"
    build "$dir/sanitize" "$jobs" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKILN_WERROR=ON \
        -DKILN_SANITIZE=address,undefined
    # The long ones run below; the software GPU is not sanitized itself.
    ctest --test-dir "$dir/sanitize" --output-on-failure -LE "long|software_gpu|torture"
    step 5 "Building and testing what has threads under ThreadSanitizer"
    build "$dir/threads" "$jobs" --target threaded_tests -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DKILN_WERROR=ON -DKILN_SANITIZE=thread
    ctest --test-dir "$dir/threads" --output-on-failure -L threads
fi
tests=(-LE exhaustive)
title="Building, and the tests"
minutes=8
if [ -n "$all" ]; then
    tests=()
    minutes=22
elif [ -n "$quick" ]; then
    tests=(-LE "long|software_gpu|torture|gpu|slow" -E "^(soak.*|test_fit)$")
    title="Building, and the fast tests"
    minutes=2
fi
step $minutes "$title"
build "$dir/check" "$jobs" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKILN_WERROR=ON "$python_package"
ctest --test-dir "$dir/check" --output-on-failure "${tests[@]}"
say "Done in $(((SECONDS - began + 59) / 60)) min"
