#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles kernels of every kind with older NVRTCs, which do not know all instructions.
# Usage: tools/nvrtc_versions.sh [kiln] [folder for downloads]. Needs no GPU; exit code 1 where one is refused.
set -euo pipefail
. "$(dirname "$0")/common.sh"
kiln=$(realpath "${1:-$root/build/kiln}")
folder=${2:-$root/build/nvrtc}
[ -x "$kiln" ] || die "no kiln at $kiln: build it first"
failed=0

# compile PROGRAM AXES TENSOR...
compile() {
    local program=$1 axes=$2 tensors=() tensor
    shift 2
    for tensor in "$@"; do tensors+=(--tensor "$tensor"); done
    "$kiln" compile "$program" "${tensors[@]}" --axes "$axes" --arch "$arch" --nvrtc "$library" --cache-dir '' \
        --quiet -o /dev/null || { echo "refused: $program, $*, $arch, $version"; failed=1; }
}

for version in cu11==11.7.99 cu11==11.8.89 cu12==12.0.76 cu12==12.1.105; do
    library=$(wheel_nvrtc "$folder" "nvidia-cuda-nvrtc-$version")
    for arch in sm_80 sm_90; do
        [ "$arch$version" = sm_90cu11==11.7.99 ] && continue # does not know it
        compile 'y = softmax(x)' -1 'x=f16[*,1024]'
        compile 'y = softmax(x)' -1 'x=f16[*,33]'
        compile 'y = softmax(x)' -1 'x=f16[*,63]'         # pairs
        compile 'y = layer_norm(x, w, b)' -1 'x=bf16[*,127]' 'w=bf16[127]' 'b=bf16[127]' # weights in registers
        compile 'y = softmax(x)' -1 'x=f16[*,50257]'
        compile 'y = softmax(x)' -1 'x=f16[*,65536]'      # sm_90: clusters, two phases in one exchange
        compile 'y = x / sum(abs(x) / max(abs(x)))' -1 'x=f16[*,65536]' # values waited for where they arrive
        compile 'y = softmax(x)' -1 'x=bf16[*,1048576]'   # persistent
        compile 'y = softmax(x)' -1 'x=f16[*,16777216]'   # the whole grid
        compile 'y = softmax(x)' 0 'x=f16[4096,32768]'    # clusters over a leading axis
        compile 'y = rms_norm(x, w)' -1 'x=bf16[*,65536]' 'w=bf16[65536]' # clusters, a barrier of all
        compile 's = sum(x)' -1 'x=f32[*,1024]'           # what is read once leaves the L2 first
        compile 's = sum(x)' -1 'x=f16[*,262144]'         # two launches
        compile 's = argmax(x)' 0 'x=u8[65536,1000]'
        compile 'y = x * 2' -1 'x=e4m3[*,1024]'
        compile 'y = x + m; n = m * 2' -1 'x=f16[*,1024]' 'm=f16[*,1]' # no reduction, a value of the row
        compile 'y = a + b' -1 'a=f16[512,501]' 'b=f16[512,501]{1,512}' # transpose tiles
        compile 'y = a + b' -1 'a=f16[501,512]' 'b=f16[501,512]{1,501}' # shifted, and overhanging
    done
    arch=sm_89 # has 8-bit floats, which not all versions know of
    [ "$version" = cu11==11.7.99 ] || compile 'y = softmax(x)' -1 'x=e4m3[*,1024]'
    echo "NVRTC ${version#*==}: done"
done
exit "$failed"
