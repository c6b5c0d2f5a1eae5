#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds the line that names the licence to source files that lack it, or with --check lists them.
# Usage: tools/spdx.sh [--check] [FILE...]. Without files: all that git knows. Exit code 1 where --check finds some.
set -euo pipefail
cd "$(dirname "$0")/.."

line="SPDX-License-Identifier: Apache-2.0"
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
[ "${1:-}" != --help ] || { sed -n '3,4s/^# //p' "$0"; exit 0; }

# comment FILE: the line as a comment of the file's language, nothing for what is no source file. docs/example.c is
# shown whole in the README, to be copied; golden files are what Kiln writes.
comment() {
    case "$1" in
        docs/example.c | tests/golden/*) ;;
        *.c | *.h) echo "/* $line */" ;;
        *.cpp | *.hpp | *.cu | *.cuh) echo "// $line" ;;
        *.sh | *.cmake | *.py | *.kiln | CMakeLists.txt | */CMakeLists.txt | .ci/run) echo "# $line" ;;
    esac
}

files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(git ls-files)
failed=0
for file in "${files[@]}"; do
    text=$(comment "$file")
    [ -n "$text" ] && [ -f "$file" ] || continue
    ! head -n 3 "$file" | grep -qF "$line" || continue
    if [ -n "$check" ]; then
        echo "$file: has no line '$text' at its head; tools/spdx.sh adds it"
        failed=1
    elif head -n 1 "$file" | grep -q '^#!'; then
        sed -i "1a $text" "$file"
    else
        sed -i "1i $text" "$file"
    fi
done
exit "$failed"
