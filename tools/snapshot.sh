#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether a change leaves every kernel as it is: schedules and hashes of sources, of the cases of tools/bench/compare.py,
# of listed and of random problems, for six architectures, from this working tree and from another commit.
set -euo pipefail
. "$(dirname "$0")/common.sh"

usage() {
    cat <<'TEXT'
usage: tools/snapshot.sh compare REVISION [plan_snapshot's options]
       tools/snapshot.sh write FILE [plan_snapshot's options]

compare prints the first differences from the revision, and fails where there are any. Options: --cases N, --seed S, and
--machine, which compares machine code (some minutes).
TEXT
}

[ $# -ge 2 ] || { usage >&2; exit 2; }
command=$1 target=$2
shift 2
need_build_packages
need_packages gcc=gcc g++=g++ cmocka.h=libcmocka-dev pkg-config=pkg-config python3=python3
folder=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$folder/other" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 "$root/tools/bench/compare.py" --manifest "$folder/cases.jsonl" >/dev/null

# take <tree> <file> [options]: the snapshot of a tree.
take() {
    local tree=$1 file=$2
    shift 2
    cmake -S "$tree" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
    cmake --build "$folder/build" --target plan_snapshot >/dev/null
    local parts i
    parts=$(nproc)
    for ((i = 0; i < parts; i++)); do
        "$folder/build/tests/plan_snapshot" --part "$i/$parts" "$@" "$folder/cases.jsonl" >"$file.$i" &
    done
    wait
    for ((i = 0; i < parts; i++)); do cat "$file.$i"; done >"$file"
    rm -rf "$folder/build"
}

case "$command" in
    write) take "$root" "$target" "$@" ;;
    compare)
        git -C "$root" worktree add --quiet --detach "$folder/other" "$target"
        [ -n "$(find "$folder/other/tests" -name plan_snapshot.c)" ] || die "$target has no plan_snapshot.c in tests/"
        take "$folder/other" "$folder/before" "$@"
        take "$root" "$folder/now" "$@"
        wc -l <"$folder/now" | awk '{ print $1 " schedules" }'
        if ! diff "$folder/before" "$folder/now" >"$folder/differences"; then
            head -n 40 "$folder/differences"
            die "$(grep -c '^>' "$folder/differences") lines differ from $target"
        fi
        say "Nothing differs from $target" ;;
    *) usage >&2; exit 2 ;;
esac
