#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the problems that the points of points/ were measured on, each in the line of its number, for `gather --again`:
#
#   tools/tune/problems_of_points.sh > problems.jsonl
#
# Lines of numbers that none has are {}. Those from 4000 to 5999 are drawn by no command any more: `gather --again` leaves their
# points out. Those from 18000 on are kept, as programs.py draws others whenever a program is added.
set -euo pipefail
cd "$(dirname "$0")"
written=0

# Empty lines until the number is next.
begin() {
    for (( ; written < $1; written++)); do echo '{}'; done
}

# draw NUMBER OPTION...: problems from that number on.
draw() {
    local lines
    begin "$1"
    shift
    lines=$(python3 problems.py "$@")
    printf '%s\n' "$lines"
    written=$((written + $(wc -l <<<"$lines")))
}

draw 0 --count 2000 --seed 26112601
draw 2000 --count 1100 --seed 26112602
draw 3100 --count 600 --seed 26112603 --megabytes 12
begin 6000
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
python3 ../bench/compare.py --manifest "$cases" >&2
cat "$cases"
written=$((written + $(wc -l <"$cases")))
draw 7000 --count 700 --seed 26112699
draw 7700 --count 300 --seed 26112698 --megabytes 12
draw 8000 --count 240 --seed 26112705
draw 8240 --count 80 --seed 26112706 --megabytes 12
draw 9000 --layouts row --columns 150000 40000000 --count 110 --seed 26112701
draw 9110 --layouts row --columns 150000 4000000 --megabytes 12 --count 50 --seed 26112702
draw 9160 --layouts column --columns-of-neighbours 15000 4000000 --count 110 --seed 26112703
draw 9270 --layouts column --columns-of-neighbours 15000 1000000 --megabytes 12 --count 30 --seed 26112704
draw 10000 --layouts across --columns 64 16384 --count 70 --seed 26112710
draw 10070 --layouts block --columns 128 16384 --count 80 --seed 26112711
draw 12000 --count 240 --seed 26112801
draw 12240 --count 80 --seed 26112802 --megabytes 12
draw 13000 --count 240 --seed 27112721
draw 13240 --count 80 --seed 27112722 --megabytes 12
draw 15000 --layouts row --columns 300000 2000000 --count 90 --seed 27112751
draw 15090 --layouts column --count 300 --seed 27112752
draw 15390 --layouts across --columns 64 16384 --count 40 --seed 27112753
draw 15430 --layouts totals --columns 64 16384 --count 80 --seed 27112754
draw 15510 --layouts block --columns 128 16384 --count 60 --seed 27112755
draw 16000 --layouts odd --count 90 --seed 28112931
draw 16090 --layouts odd --megabytes 12 --count 30 --seed 28112932
draw 16120 --layouts column tall --count 50 --seed 28112933
draw 16170 --layouts column tall --megabytes 12 --count 14 --seed 28112934
draw 16200 --layouts row --anywhere 1 --count 130 --seed 28113111
draw 16330 --layouts row --count 90 --seed 28113112
draw 16420 --layouts column --count 40 --seed 28113113
draw 16460 --layouts column --count 110 --seed 28113114
draw 16570 --layouts column --anywhere 1 --count 30 --seed 28113115
draw 16600 --layouts row --anywhere 1 --megabytes 12 --count 40 --seed 28113116
draw 16640 --layouts column --count 110 --seed 28113117
draw 16750 --layouts column --anywhere 1 --count 60 --seed 28113118
draw 17000 --layouts row point column odd tall block --count 130 --seed 2911291441
begin 18000
xz -dc points/programs.jsonl.xz # as tools/bench/programs.py and problems.py drew them, each program's in one place
