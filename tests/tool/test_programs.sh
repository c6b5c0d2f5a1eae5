#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/bench/programs.py without a GPU: what it draws, that all of it can be planned, its references beside Kiln's CPU
# reference, a run with made-up times and its report.
#   KILN_LIBRARY=build/libkiln.so KILN_FAKE_NVRTC=... tests/tool/test_programs.sh
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=$root/tools/bench
library=${KILN_LIBRARY:+$(realpath "$KILN_LIBRARY")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_SCHEDULE KILN_RECORD KILN_PACKS
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

expect() { # expect CODE ARGS...: runs programs.py, output in out
    local wanted=$1 code
    shift
    python3 "$bench/programs.py" "$@" > out 2>&1
    code=$?
    [ $code -eq "$wanted" ] || { fail "exit code $code instead of $wanted: $*"; head -n 8 out; }
}

says() { grep -qE -- "$1" out || { fail "no line of: $1"; head -n 8 out; }; }

# The list: enough programs and families, a third of them held out, the same cases for the same seed alone.
for seed in 1 2 20251127; do
    expect 0 --list --seed $seed --cases 300
    read -r cases programs families held large < <(tail -n 1 out | sed 's/[^0-9]\+/ /g; s/^ //' | cut -d' ' -f1-5)
    [ "$cases" -eq 300 ] || fail "$cases cases instead of 300"
    [ "$programs" -ge 60 ] || fail "$programs programs"
    [ "$families" -ge 12 ] || fail "$families families"
    [ $((held * 3)) -ge "$programs" ] || fail "$held of $programs programs are held out"
    [ "$large" -gt 150 ] || fail "$large of 300 cases move 32 MB and more"
    [ "$large" -lt 300 ] || fail "no case moves less than 32 MB"
    mv out "list$seed"
done
expect 0 --list --seed 2 --cases 300
cmp -s out list2 || fail "the same seed draws other cases"
cmp -s list1 list2 && fail "another seed draws the same cases"
expect 0 --list --cases 1
says '^--seed [0-9]+$'
for part in 1 2 3; do
    expect 0 --list --seed 2 --cases 300 --part $part/3
    grep -v ' cases of ' out >> parts
done
grep -v ' cases of ' list2 | sort | cmp -s - <(sort parts) || fail "the parts are not the whole"
expect 0 --list --seed 1 --held-out --programs '^softmax: '
grep -v ' cases of ' out | grep -qv 'softmax .* held out' && fail "--held-out and --programs list others"

expect 2 --list --dry-run
expect 2 --peers nobody
says "^programs.py: error: --peers 'nobody': "
expect 1 --list --programs nothing
says "^programs.py: no program is named as --programs 'nothing'$"
expect 1 --report none.jsonl
says "^programs.py: none.jsonl cannot be read: "

# Problems to tune with are those that are not held out; the others are the rest.
expect 0 --problems --seed 2 --cases 300
mv out problems
expect 0 --problems --held-out --seed 2 --cases 300
(( $(wc -l < problems) + $(wc -l < out) >= 300 && $(wc -l < out) > 50 )) || fail "--problems leaves some out"
grep -q '"program": "k = x > 0.5"' problems && fail "--problems has a program that is held out"

# The tuning draws none of the programs that are held out of it.
python3 "$root/tools/tune/problems.py" --count 600 --seed 5 > problems.jsonl || fail "problems.py"
python3 - "$bench" <<'PYTHON' || fail "the tuning draws a program that is held out"
import json
import sys
sys.path.insert(0, sys.argv[1])
import row_programs
held = {program.text for program in row_programs.ALL if program.held_out}
drawn = {json.loads(line)["program"] for line in open("problems.jsonl")}
tuned = {program.text for program in row_programs.ALL if not program.held_out}
assert not held & (drawn | tuned), held & (drawn | tuned)
assert len(drawn & tuned) > 30, len(drawn & tuned)
PYTHON

if [ -z "$library" ]; then
    echo "nothing was planned: the library is sanitized"
elif ! python3 -c 'import numpy' 2> /dev/null; then
    echo "nothing was planned: there is no NumPy"
else
    # Every program and case has a plan, and every reference is that of the CPU reference.
    for seed in 1 2 20251127; do
        expect 0 --check --seed $seed --cases 400 --library "$library"
        says "^seed $seed: [0-9]+ programs .* 0 faults$"
    done
    # A reference that is wrong is found.
    python3 - "$bench" "$library" <<'PYTHON' || fail "a wrong reference is not found"
import dataclasses
import sys
sys.path.insert(0, sys.argv[1])
import drawn
import programs
import row_programs
from kiln_ctypes import Kiln
wrong = dataclasses.replace(row_programs.by_name()["softmax"], form=lambda m, x: 1.05 * m.softmax(x))
kiln = Kiln(sys.argv[2], cache_dir="")
case = drawn.draw(1, 1, [wrong], "tiny")[0]
assert programs.faults_of_reference(kiln, case, 1)
kiln.close()
PYTHON

    # A run with made-up times: lines, what is left by the time limit, and what --resume measures of it.
    expect 0 --dry-run --seed 3 --cases 150 --peers '' --library "$library" --out a.jsonl --seconds 0.000001
    says '^--seed 3 --cases 150, on no device \(made-up times\)$'
    says '^Peers: none\.$'
    says '^150 cases are left; --seed 3 --resume goes on$'
    expect 0 --dry-run --seed 3 --cases 150 --peers '' --library "$library" --out a.jsonl --resume
    says '^\[150/150\] '
    printf '{"name": "cut o' >> a.jsonl
    expect 0 --dry-run --seed 3 --cases 150 --peers '' --library "$library" --out a.jsonl --resume
    grep -q '^\[' out && fail "--resume measures again"
    [ "$(grep -c '"name"' a.jsonl)" -eq 151 ] || fail "other than 150 cases and the one cut off"

    # A report of figures: a slow case, one with a faster peer, a wrong one, one that failed, a peer that is wrong.
    python3 - > b.jsonl <<'PYTHON'
import json
records = [json.loads(line) for line in open("a.jsonl") if line.startswith('{"name"') and line.endswith("}\n")]
for number, record in enumerate(records):
    record.update(traffic="large", device="a device", lenient=False)
    kiln = record["kiln"]
    kiln["us"] = record["copy_us"] / (0.5 if number == 0 else 0.98)
    kiln["ratio"] = record["copy_us"] / kiln["us"]
    peer = {"us": kiln["us"] * (0.8 if number == 1 else 1.5), "right": number != 4, "error": 1e-4}
    record["peers"] = {"eager": peer, "cupy": {"failed": "ValueError: of some | kind"}}
    if number == 2:
        kiln.update(right=False, error=0.25)
    if number == 3:
        del record["kiln"], record["peers"]
        record["failed"] = "RuntimeError: no"
    print(json.dumps(record))
PYTHON
    expect 0 --report a.jsonl b.jsonl --markdown report.md
    grep -qE '^\| bound by memory, .* median roof ratio \| [0-9]+ \| 0.980 \| 0.97 \| met \|$' report.md || fail "no median"
    grep -qE '^\| best peer / Kiln, lowest \| 148 \| 0.800 \| 0.90 \| \*\*missed\*\* \|$' report.md || fail "no slower peer"
    grep -qE '^\| softmax \| [0-9]+ \| [0-9]+ \| 0.[0-9]+ ' report.md || fail "no family"
    grep -qE '\| 0.500 \| (eager 1.50)? \| [a-z]+ [0-9]+, ' report.md || fail "no schedule of the slowest case"
    grep -qE '\| wrong by 2.5e-01 \|$' report.md || fail "no wrong result"
    grep -qE '\| RuntimeError: no \|$' report.md || fail "no failed case"
    grep -qE '^\| eager \| [a-z0-9_]+ \| 1 \| .* \| wrong by 1.0e-04 \|$' report.md || fail "no wrong peer"
    grep -qF 'ValueError: of some \| kind' report.md || fail "no failed peer"
    grep -q '^!\[Roof ratios by family\](families-a-device.svg)$' report.md || fail "no picture"
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("families-a-device.svg")' || fail "the picture is no XML"

    # The manifest is one that kiln precompile takes.
    if [ -n "${KILN_FAKE_NVRTC:-}" ] && [ -x "$(dirname "$library")/kiln" ]; then
        FAKE_NVRTC_ARCH=90 KILN_NVRTC=$(realpath "$KILN_FAKE_NVRTC") expect 0 --precompile cache --seed 4 --cases 140 --library "$library"
        says '^[0-9]+ kernels for 140 requests: [0-9]+ compiled, 0 cached, 0 failed, '
        says '^measure with --seed 4 --cases 140 --cache-dir cache$'
    fi
fi

[ $failures -eq 0 ] && echo passed
