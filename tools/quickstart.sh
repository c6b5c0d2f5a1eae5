#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 22.04+ machine to running kernels: installs what is missing, builds, runs.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/quickstart.sh [options]

Installs the packages that are missing (with root or sudo), gets NVRTC, builds Kiln and runs five row programs.
With a GPU the kernels run on it and are checked against the CPU reference. Without one the same kernels are
compiled for sm_90, and the results are computed by the CPU reference. Where neither a toolkit nor PyPI is in reach, Kiln
is built, and the rest left out with a word on what is missing.

  --nvrtc auto|wheel|toolkit  where NVRTC comes from: the installed CUDA toolkit, PyPI's wheel downloaded into the
                              build folder, or the wheel only where no toolkit is found (auto, the default)
  --build-dir DIR             where everything is built and downloaded (default: build)
  --jobs N                    compile with N processes (default: one for each processor)
  --help                      this text
TEXT
}

nvrtc=auto
dir=$root/build
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
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
case "$nvrtc" in auto | wheel | toolkit) ;; *) die "--nvrtc takes auto, wheel or toolkit, not '$nvrtc'" ;; esac
case "$jobs" in '' | *[!0-9]* | 0) die "--jobs takes a number from 1 up, not '$jobs'" ;; esac

need_build_packages
want_packages pkg-config=pkg-config make=make || true # of the README's line that compiles an example, and of CMake's default
# Only kernels need NVRTC: without a network Kiln is built all the same, unless the wheel was asked for.
found=yes
provide_nvrtc "$nvrtc" "$dir/nvrtc" || found=
[ -n "$found" ] || [ "$nvrtc" = auto ] || exit 1

say "Building in $dir"
build "$dir" "$jobs" -DCMAKE_BUILD_TYPE=Release -DKILN_BUILD_TESTS=OFF

if [ -z "$found" ]; then
    say "Built; NVRTC is missing"
    cat <<TEXT
There is no CUDA toolkit, and PyPI could not be reached. Kernels cannot be compiled; what needs none runs:
  $dir/kiln explain 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90
With a network, get NVRTC and run the five programs:
  pip install --target ~/.local/share/kiln nvidia-cuda-nvrtc
  $dir/kiln_quickstart
TEXT
    exit 0
fi
say "Running"
export KILN_CACHE_DIR=${KILN_CACHE_DIR:-$dir/kernel_cache}
"$dir/kiln_quickstart"
cat <<TEXT

The tool is $dir/kiln; try:
  export KILN_NVRTC=$KILN_NVRTC
  $dir/kiln explain 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90
TEXT
