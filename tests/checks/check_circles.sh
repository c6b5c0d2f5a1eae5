#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails where files of a folder call each other in a circle: who reads one would have to read all of them.
#   check_circles.sh <nm> <folder> <object>...
set -euo pipefail
nm=$1 folder=$2
shift 2
command -v tsort >/dev/null || { echo 'skipped: no tsort'; exit 77; }

calls=$(for object; do
    case $object in
        */"$folder"/*) "$nm" -P "$object" | awk -v file="$folder/${object##*/"$folder"/}" '{ print file, $1, $2 }' ;;
    esac
done | awk '$3 == "T" { at[$2] = $1 }
            $3 == "U" { calls[$1 " " $2] = 1 }
            END { for (call in calls) { split(call, part, " "); if (part[2] in at) print part[1], at[part[2]] } }' | sort -u)
[ -n "$calls" ] || { echo "no object of $folder calls another" >&2; exit 1; }
if ! circles=$(tsort <<<"$calls" 2>&1 >/dev/null); then
    echo "files of $folder call each other in a circle:" >&2
    sed -n 's/^tsort: \(.*\)\.c\.o$/  \1.c/p' <<<"$circles" >&2
    exit 1
fi
