#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what a release consists of: the source archive, a list of what its binaries are made of, and checksums.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/release.sh [--out DIR] [--commit COMMIT]

Writes kiln-VERSION.tar.gz (the commit's files, from git), kiln-VERSION.spdx.json (SPDX 2.3: Kiln and the packages that
are compiled or linked in, with the versions of this machine) and SHA256SUMS. The same commit gives the same bytes on the
same machine. Fails where CHANGELOG.md has no section for the version.

  --out DIR        a new folder to write into (default: build/release)
  --commit COMMIT  what to release (default: HEAD)
  --help           this text
TEXT
}

out=$root/build/release
commit=HEAD
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage; exit 0 ;;
        --out | --commit)
            [ $# -ge 2 ] || die "$1 needs a value; see --help"
            case "$1" in
                --out) out=$2 ;;
                --commit) commit=$2 ;;
            esac
            shift 2 ;;
        *) die "unknown argument '$1'; see --help" ;;
    esac
done
[ ! -e "$out" ] || die "$out is there already"
commit=$(git -C "$root" rev-parse --verify --quiet "$commit^{commit}") || die "no such commit"
numbers=$(git -C "$root" show "$commit:include/kiln/kiln.h" |
    sed -n 's/^#define KILN_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p')
version=$(echo "$numbers" | paste -sd .)
git -C "$root" show "$commit:CHANGELOG.md" | grep -q "^## \[$version\]" ||
    die "CHANGELOG.md has no section [$version]"
need_build_packages

# Everything is made in a temporary folder and moved at the end: the folder appears when it is complete.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/release"
name=kiln-$version
git -C "$root" archive --format=tar --prefix="$name/" "$commit" | gzip -9n >"$work/release/$name.tar.gz"
tar -xzf "$work/release/$name.tar.gz" -C "$work"
SOURCE_DATE_EPOCH=$(git -C "$root" show -s --format=%ct "$commit")
export SOURCE_DATE_EPOCH
cmake -S "$work/$name" -B "$work/build" -G Ninja -DKILN_BUILD_TESTS=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cp "$work/build/kiln.spdx.json" "$work/release/$name.spdx.json"
(cd "$work/release" && sha256sum "$name.tar.gz" "$name.spdx.json" >SHA256SUMS)
mkdir -p "$(dirname "$out")"
mv "$work/release" "$out"
cat "$out/SHA256SUMS"
