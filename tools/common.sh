# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2015,SC2016
# Shared by the scripts here and sourced by them: messages, packages, NVRTC. Expects `set -euo pipefail`, and says
# `|| die` itself where it matters: -e does not hold inside of $(...).

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "needs root or sudo for: $*"
    fi
}

has_command() { command -v "$1" >/dev/null 2>&1; }
has_header() { printf '#include <%s>\n' "$1" | cc -E -x c - >/dev/null 2>&1; }

# need_packages <test>=<package>...: installs each package whose test fails. A test is a command's name, a
# header's name, a file's path, or python:<module>.
need_packages() {
    local pair test missing=()
    for pair in "$@"; do
        test=${pair%%=*}
        case "$test" in
            /*) [ -e "$test" ] ;;
            *.h) has_header "$test" ;;
            python:*) python3 -m "${test#python:}" --version >/dev/null 2>&1 ;;
            *) has_command "$test" ;;
        esac || missing+=("${pair#*=}")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    has_command apt-get || die "no apt-get to install what is missing: ${missing[*]} (Debian's package names)"
    say "Installing ${missing[*]}"
    # Packages that were downloaded before need no index.
    as_root apt-get update -qq >/dev/null || say "The package index cannot be reached"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        die "apt-get could not install ${missing[*]}"
}

# want_packages <test>=<package>...: the same, for what is not necessary: fails with a message where it cannot be installed.
want_packages() { (need_packages "$@"); }

# The compiler comes first: whether a header is there is asked of it.
need_build_packages() {
    need_packages cc=gcc
    need_packages cmake=cmake ninja=ninja-build stdlib.h=libc6-dev xxhash.h=libxxhash-dev jansson.h=libjansson-dev
}

# need_clang: with the runtime of its sanitizers and fuzzers, which distributions have in a package of its own. Of a file
# that is not there clang prints the name alone.
need_clang() {
    need_packages clang=clang
    need_packages "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")=libclang-rt-$(clang -dumpversion |
        sed 's/[.].*//')-dev"
}

# find_toolkit_nvrtc: prints the path of an NVRTC that the system has; fails where there is none.
find_toolkit_nvrtc() {
    local folder file
    for folder in "${CUDA_HOME:-/nonexistent}" "${CUDA_PATH:-/nonexistent}" /usr/local/cuda /usr/local/cuda-*; do
        for file in "$folder"/lib64/libnvrtc.so.[0-9]*; do
            [ ! -r "$file" ] || { echo "$file"; return 0; }
        done
    done
    # No early exit in awk: ldconfig must not die of a closed pipe.
    file=$( (ldconfig -p 2>/dev/null || /sbin/ldconfig -p) |
        awk '/libnvrtc\.so\.[0-9]/ { path = $NF } END { print path }')
    [ -n "$file" ] && [ -r "$file" ] && echo "$file"
}

# unpack_wheels <folder> <name> <lines>: downloads wheels from PyPI, which have to have the hashes of pip's lines, and
# unpacks them into the folder, if it is not there.
unpack_wheels() {
    local folder=$1 name=$2 lines=$3 wheel
    [ ! -d "$folder" ] || return 0
    need_packages python3=python3 python:pip=python3-pip
    say "Downloading $name from PyPI"
    # The folder appears when it is whole: a download that breaks off leaves nothing that looks like one.
    rm -rf "$folder.part" && mkdir -p "$folder.part" && printf '%s\n' "$lines" >"$folder.part/wheels.txt" &&
        python3 -m pip download --quiet --no-cache-dir --disable-pip-version-check --no-deps --only-binary=:all: \
            --require-hashes -r "$folder.part/wheels.txt" -d "$folder.part" >&2 ||
        die "$name could not be downloaded from PyPI"
    for wheel in "$folder.part"/*.whl; do
        python3 -m zipfile -e "$wheel" "$folder.part" && rm "$wheel" || die "$wheel could not be unpacked"
    done
    mv "$folder.part" "$folder" || die "$folder could not be made"
}

# wheel_nvrtc <folder> [package]: prints the path of the NVRTC from PyPI's wheel, downloaded into the folder if it is not
# there. package: one of nvrtc_wheels.txt; without it the newest that suits the driver.
wheel_nvrtc() {
    local folder=$1 package=${2:-nvidia-cuda-nvrtc==13.0.88} wheel file
    # A cubin must not come from a newer major version than the driver's.
    if [ $# -eq 1 ] && has_command nvidia-smi && nvidia-smi 2>/dev/null | grep -q 'CUDA Version: 12\.'; then
        package=nvidia-cuda-nvrtc-cu12==12.9.86
    fi
    wheel=$(grep "^$package " "$root/tools/nvrtc_wheels.txt") || die "$package is not in tools/nvrtc_wheels.txt"
    folder=$folder/$package
    unpack_wheels "$folder" "$package" "$wheel"
    file=$(find "$folder" -name 'libnvrtc.so.*' | sort | tail -n 1)
    [ -n "$file" ] || die "no libnvrtc.so in $folder; remove that folder and try again"
    echo "$file"
}

# provide_lizard <folder>: exports KILN_LIZARD, a folder with the package that counts decisions.
provide_lizard() {
    local wheels=$root/tools/lizard_wheels.txt version
    version=$(sed -n 's/^lizard==\([^ ]*\) .*/\1/p' "$wheels")
    export KILN_LIZARD=$1/lizard==$version
    unpack_wheels "$KILN_LIZARD" "lizard==$version" "$(cat "$wheels")"
}

# provide_wheels <variable> <package> <folder>: exports the variable, a folder with a package of PyPI and what it needs, as
# tools/<package>_wheels.txt lists it. Where the wheels cannot be had, as for another Python, it says so, and the tests that
# need them are skipped.
provide_wheels() {
    local wheels=$root/tools/$2_wheels.txt version
    version=$(sed -n "s/^$2==\([^ ]*\) .*/\1/p" "$wheels")
    export "$1=$3/$2==$version"
    (unpack_wheels "$3/$2==$version" "$2==$version" "$(cat "$wheels")") ||
        { unset "$1"; say "Tests that need $2 are skipped"; }
}

# provide_python <folder>: a virtual environment with what building and testing the Python package takes. Sets
# python_package, the option for CMake that finds it.
provide_python() {
    local folder=$1
    python_package=-DPython_EXECUTABLE=$folder/bin/python
    [ ! -e "$folder/complete" ] || return 0
    say "Downloading nanobind, NumPy and pytest from PyPI"
    rm -rf "$folder" && python3 -m venv "$folder" >&2 &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check 'nanobind>=2.4' numpy pytest >&2 ||
        die "nanobind, NumPy and pytest could not be installed in $folder"
    touch "$folder/complete"
}

# provide_part_sources <folder>: exports KILN_PART_SOURCES, a folder with the sources of jansson and cmocka, which the tests
# `aarch64` and `musl` compile. From the distribution, by an apt of their own that leaves the system's lists alone.
provide_part_sources() {
    local folder=$1 codename=
    export KILN_PART_SOURCES=$folder
    [ ! -d "$folder" ] || return 0
    say "Downloading the sources of jansson and cmocka"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # Where the mirrors are is told by what they listed; images come without.
    [ -n "$(apt-get indextargets 'Created-By: Packages')" ] || as_root apt-get update -qq >/dev/null ||
        die "the package index cannot be reached"
    rm -rf "$folder.part" && mkdir -p "$folder.part"/{lists/partial,archives/partial} &&
        apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep " $codename \(main\|universe\)\$" | sort -u >"$folder.part/sources.list" &&
        touch "$folder.part/status" &&
        (cd "$folder.part" && printf 'Dir::%s;\n' "State::status \"$PWD/status\"" "State::lists \"$PWD/lists\"" \
            "Cache \"$PWD\"" "Etc::sourcelist \"$PWD/sources.list\"" 'Etc::sourceparts "-"' >apt.conf &&
            echo 'APT::Sandbox::User "root";' >>apt.conf && export APT_CONFIG=$PWD/apt.conf &&
            apt-get update -qq && apt-get source -qq --tar-only jansson cmocka >/dev/null &&
            for name in jansson cmocka; do
                mkdir $name && tar -xf "$name"_*.orig.tar.?z --strip-components=1 -C $name || exit 1
            done) >&2 && mv "$folder.part" "$folder" ||
        { unset KILN_PART_SOURCES; say "They are not to be had here: tests for ARM and musl compile the library alone"; }
}

# provide_nvrtc <auto|wheel|toolkit> <folder>: exports KILN_NVRTC, the library that Kiln then opens. Fails where the wheel
# cannot be downloaded.
provide_nvrtc() {
    case "$1" in
        auto)
            [ -n "${KILN_NVRTC:-}" ] || KILN_NVRTC=$(find_toolkit_nvrtc) ||
                KILN_NVRTC=$(wheel_nvrtc "$2") || return 1 ;;
        wheel) KILN_NVRTC=$(wheel_nvrtc "$2") || return 1 ;;
        toolkit) KILN_NVRTC=$(find_toolkit_nvrtc) || die "no CUDA toolkit with NVRTC found; --nvrtc wheel needs none" ;;
        *) die "--nvrtc takes auto, wheel or toolkit, not '$1'" ;;
    esac
    export KILN_NVRTC
}

# build <folder> <jobs> [--target <target>] <cmake options>... With ccache, where it is installed.
build() {
    local folder=$1 jobs=$2 target=()
    shift 2
    if [ "$1" = --target ]; then
        target=(--target "$2")
        shift 2
    fi
    ! has_command ccache || set -- -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
    cmake -S "$root" -B "$folder" -G Ninja "$@" >&2
    cmake --build "$folder" --parallel "$jobs" "${target[@]}" >&2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
