#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats every C, C++ and CUDA file by .clang-format, or with --check tells which differ from it.
# Usage: tools/format.sh [--check]. Exit code 1 where --check finds some, 77 where there is no clang-format 14: other
# versions format differently.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=
for candidate in clang-format-14 clang-format; do
    case "$("$candidate" --version 2>/dev/null || true)" in *"version 14."*) formatter=$candidate; break ;; esac
done
how=(-i)
case "${1:-}" in
    --check) how=(--dry-run -Werror) ;;
    --help) sed -n '3,5s/^# //p' "$0"; exit 0 ;;
    '') ;;
    *) echo "format.sh: unknown argument '$1'; see --help" >&2; exit 2 ;;
esac
[ -n "$formatter" ] || { echo "skipped: there is no clang-format 14"; exit 77; }

# Golden files are what Kiln writes.
find src include kernel_sources tools tests docs python examples -path tests/golden -prune -o \
    -name '*.[ch]' -print0 -o -name '*.[ch]pp' -print0 -o -name '*.cu' -print0 -o -name '*.cuh' -print0 |
    xargs -0 "$formatter" "${how[@]}" || { echo "tools/format.sh formats them"; exit 1; }
