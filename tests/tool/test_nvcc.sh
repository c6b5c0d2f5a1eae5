#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What 'kiln explain --source' prints is CUDA C++ for nvcc, too: a source of each kind compiles.
#   KILN_TOOL=build/kiln tests/tool/test_nvcc.sh     skipped (77) where there is no nvcc, in the PATH or /usr/local/cuda
set -u
tool=$(realpath "${KILN_TOOL:?must name the kiln binary}") || exit 1
nvcc=$(PATH="$PATH:/usr/local/cuda/bin" command -v nvcc) || { echo 'skipped: no nvcc'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# compiles PROGRAM KIND ARGUMENT...: the source for ARGUMENTs has KIND in its schedule, and nvcc takes it.
compiles() {
    local program=$1 kind=$2 said
    shift 2
    "$tool" explain "$program" "$@" --arch sm_90 --source > "$work/kernel.cu" || return 1
    grep -q "^// schedule: .*$kind" "$work/kernel.cu" || { echo "its schedule is no $kind"; return 1; }
    said=$("$nvcc" -arch=sm_90 -std=c++17 -cubin -o "$work/kernel.cubin" "$work/kernel.cu" 2>&1) && return
    printf '%s\n' "$said" | head -5
    return 1
}
check() {
    compiles "$@" || { echo "FAILED: kiln explain '$1' ${*:3} --source"; failures=$((failures + 1)); }
}

check 'y = softmax(x)' registers --tensor 'x=f16[100,1023]'
check 'y = softmax(x)' tile --tensor 'x=f16[100,33]'
check 'y = softmax(x)' tile --tensor 'x=f16[100,1000,3]' --axes 1
check 'y = layer_norm(x, w, b)' cluster --tensor 'x=bf16[100,131073]' --tensor 'w=bf16[131073]' --tensor 'b=bf16[131073]'
check 's = var(x)' 'stream.*online' --tensor 'x=f32[20000,64]' --axes 0
check 'y = softmax(x)' grid --tensor 'x=f16[4,16777216]'
check 'y = gelu(a + b)' flat --tensor 'a=f16[64,96,56,64]' --tensor 'b=e4m3[64,96,56,1]'
[ "$failures" = 0 ] && echo 'all compile'
exit $((failures != 0))
