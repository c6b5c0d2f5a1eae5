#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes Debian packages of the library, its development files and the tool.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/package.sh [options]

Builds Kiln for /usr and writes .deb files for the distribution that it runs on: the library, named by its soname
(libkiln0.2), libkiln-dev, kiln and libkiln-software-gpu.

  --out DIR        where the packages are written (default: build/packages)
  --contact WHO    'Name <address>' of who makes them, for the packages' Maintainer field (default: DEBFULLNAME and
                   DEBEMAIL, as for Debian's tools)
  --build-dir DIR  where everything is built (default: build/package_build)
  --jobs N         processes to compile with (default: one for each processor)
  --help           this text
TEXT
}

out=$root/build/packages
dir=$root/build/package_build
contact=${DEBEMAIL:+${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>}
jobs=$(nproc)
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --out | --contact | --build-dir | --jobs)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --out) out=$2 ;;
                --contact) contact=$2 ;;
                --build-dir) dir=$2 ;;
                --jobs) jobs=$2 ;;
            esac
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done

need_build_packages
need_packages g++=g++ dpkg-shlibdeps=dpkg-dev file=file
mkdir -p "$out"
build "$dir" "$jobs" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DKILN_BUILD_TESTS=OFF \
    -DKILN_INSTALL_SOFTWARE_GPU=ON ${contact:+"-DKILN_PACKAGE_CONTACT=$contact"}
(cd "$dir" && cpack -G DEB -B "$dir/packages" >"$dir/cpack.log" 2>&1) || { cat "$dir/cpack.log" >&2; die "cpack failed"; }
for package in "$dir"/packages/*.deb; do
    mv "$package" "$out"
    echo "$out/${package##*/}"
done
