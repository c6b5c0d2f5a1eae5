#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/quickstart.sh on a machine that lacks something, with stand-ins for apt-get, Python and CMake: what it asks for,
# and where it goes on. Usage: tests/tool/test_quickstart.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_quickstart.sh: $*" >&2; cat "$work/log" >&2; exit 1; }

# A copy that finds no toolkit, whatever this machine has, and no commands but those that are put there.
mkdir "$work/tools" "$work/bin"
cp "$root"/tools/{quickstart.sh,common.sh,nvrtc_wheels.txt} "$work/tools"
echo 'find_toolkit_nvrtc() { return 1; }' >>"$work/tools/common.sh"
for command in bash sh dirname nproc mkdir cat rm find sort tail head grep sed awk env id ldconfig; do
    ! path=$(command -v $command) || ln -s "$path" "$work/bin/$command"
done
stand_in() { # stand_in NAME LINE...: a command of these lines
    printf '#!/bin/sh\n' >"$work/bin/$1"
    printf '%s\n' "${@:2}" >>"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
stand_in cc 'cat >/dev/null' # every header is there
stand_in ninja ''
stand_in cmake "echo cmake \"\$@\" >>'$work/asked'"
stand_in sudo '"$@"'
stand_in apt-get "echo apt-get \"\$@\" >>'$work/asked'" 'exit 1'
stand_in python3 'case "$*" in *download*) exit 1 ;; esac'
unset KILN_NVRTC CUDA_HOME CUDA_PATH
export PATH=$work/bin

quickstart() { # quickstart [options]: its exit code in $code
    : >"$work/asked"
    code=0
    bash "$work/tools/quickstart.sh" "$@" >"$work/log" 2>&1 || code=$?
}
said() { grep -q -- "$1" "$work/log" || fail "did not say '$1'"; }
asked() { grep -q -- "$1" "$work/asked" || fail "did not run '$1'"; }

quickstart # neither index can be reached
[ $code -eq 0 ] || fail "without a network it failed with $code"
asked 'apt-get install .*pkg-config'
asked 'cmake --build'
said 'The package index cannot be reached'
said 'could not install pkg-config'
said 'NVRTC is missing'
said 'pip install --target ~/.local/share/kiln nvidia-cuda-nvrtc'
said 'kiln_quickstart'

quickstart --nvrtc wheel # that was asked for
[ $code -eq 1 ] || fail "without the wheel that was asked for it ended with $code"
said 'could not be downloaded from PyPI'

rm "$work/bin/cmake" # not to be done without
quickstart
[ $code -eq 1 ] || fail "without CMake it ended with $code"
said 'could not install cmake'
echo "passed"
