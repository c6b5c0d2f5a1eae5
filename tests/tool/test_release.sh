#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A release has sources that are the commit's, a list of parts that is JSON and names them all, and right checksums; made
# twice it is the same. Usage: tests/tool/test_release.sh. 77 outside of a git checkout.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
git -C "$root" rev-parse --verify --quiet HEAD >/dev/null 2>&1 || { echo "skipped: no git checkout"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_release.sh: $*" >&2; exit 1; }

# A commit whose changelog has a section of its version, whatever HEAD's is.
git clone --quiet --shared "$root" "$work/source"
cd "$work/source"
git config user.name tester
git config user.email tester@example.org
version=$(sed -n 's/^#define KILN_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' include/kiln/kiln.h | paste -sd .)
sed -i "/^## \[$version\]/d" CHANGELOG.md
git commit --quiet --allow-empty --all -m "no section"
if tools/release.sh --out "$work/none" >"$work/log" 2>&1; then fail "a release without a section was made"; fi
grep -q "no section \[$version\]" "$work/log" || fail "$(cat "$work/log")"
printf '\n## [%s] - 2000-01-01\n' "$version" >>CHANGELOG.md
git commit --quiet --all -m "a section"

for out in one two; do tools/release.sh --out "$work/$out" >/dev/null || fail "release.sh failed"; done
diff -r "$work/one" "$work/two" || fail "two releases of one commit differ"
(cd "$work/one" && sha256sum --check --quiet SHA256SUMS) || fail "a checksum is wrong"
mkdir "$work/unpacked"
tar -xzf "$work/one/kiln-$version.tar.gz" -C "$work/unpacked"
diff -r --exclude .git . "$work/unpacked/kiln-$version" || fail "the archive is not the commit"
list=$work/one/kiln-$version.spdx.json
if command -v python3 >/dev/null; then python3 -m json.tool "$list" >/dev/null || fail "$list is no JSON"; fi
for part in kiln xxhash jansson; do grep -q "\"name\": \"$part\"" "$list" || fail "$part is not in $list"; done
if grep -q '"versionInfo": ""' "$list"; then fail "a part of $list has no version"; fi
