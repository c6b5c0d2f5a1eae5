#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/bench/compare.py and layouts.py without a GPU: their cases, the report, and the binding on the software GPU.
#   KILN_LIBRARY=build/libkiln.so KILN_SOFTWARE_DRIVER=... KILN_SOFTWARE_NVRTC=... tests/tool/test_compare.sh
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tools/bench" && pwd)
library=${KILN_LIBRARY:+$(realpath "$KILN_LIBRARY")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_SCHEDULE
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

expect() { # expect CODE ARGS...: runs compare.py, output in out
    local wanted=$1 code
    shift
    python3 "$bench/compare.py" "$@" > out 2>&1
    code=$?
    [ $code -eq "$wanted" ] || { fail "exit code $code instead of $wanted: $*"; cat out; }
}

says() { grep -qE -- "$1" out || { fail "no line of: $1"; cat out; }; }

# The other layouts' cases are listed without a GPU, too.
python3 "$bench/layouts.py" --dry-run --cases 'f16 .*x1000x1001 axes 1$' > out 2>&1 || fail "layouts.py --dry-run"
says '^ +92 MB  softmax f16 23x1000x1001 axes 1: y = softmax'
python3 "$bench/layouts.py" --dry-run --cases '(' > out 2>&1
[ $? -eq 2 ] || fail "layouts.py takes a wrong regular expression"
says "no regular expression: "

# Every case that the table of peers has, by shape; a bar for each; parts that make up the whole.
expect 0 --dry-run --sets peers
says '^peers +softmax f16 49152x32768 +6442.45 MB +0.97 aligned rows$'
says '^peers +sum f32 65536x1024 axes 0 +268.44 MB +0.95 leading axes$'
says '^63 cases$'
expect 0 --dry-run --cases '^softmax bf16 64x1048576$'
says '0.80 huge rows on the chip$'
expect 0 --dry-run --cases '^mul f16 16384$'
says '0.87 under 16 MB$'
for part in 1 2 3; do
    expect 0 --dry-run --part $part/3
    grep -v 'cases$' out >> parts
done
expect 0 --dry-run
grep -v 'cases$' out | sort > whole
[ "$(sort parts)" = "$(cat whole)" ] || fail "the parts are not the whole"
[ "$(cut -c 14-57 whole | sort | uniq -d)" = "" ] || fail "a case is there twice"
expect 2 --sets nothing
expect 2 --part 4/3

# A report of figures: a bar that is met, one that is missed, a peer that is faster, a result that is wrong.
python3 - "$bench" > figures.py <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import json
import cases
import compare

def figures(case, ratio, eager, right=True):
    copy = case.bytes / 2.8e6
    kiln, peer = copy / ratio, copy / eager
    plan = {"schedule": "block 128, registers", "spill_bytes": 0, "registers": 32}
    return compare.record_of(case, {
        "copy_us": copy, "copy_gbps": 2800.0,
        "kiln": {"us": kiln, "gbps": case.bytes / kiln / 1e3, "ratio": ratio, "error": 1e-4, "right": right, "plan": plan},
        "peers": {"eager": {"us": peer, "gbps": case.bytes / peer / 1e3, "ratio": eager, "error": 1e-4, "right": True},
                  "cub": {"absent": "only sums"}}})

def save(path, chosen):
    run = {"date": "2026-11-21", "device": "a device", "driver": "580", "cuda": "13.0", "kiln": "0.1.0", "runs": 30,
           "peers": {"eager": "PyTorch 2"}, "absent": {}, "command": "compare.py --json " + path, "schedule": None}
    with open(path, "w") as file:
        json.dump({"runs": [run], "cases": chosen}, file)

sweep = [case for case in cases.sweep_cases() if case.program == "softmax" and case.type == "f16"][:8]
save("a.json", [figures(case, 0.98, 0.6) for case in sweep])
save("b.json", [figures(sweep[1], 0.5, 0.8), figures(sweep[2], 0.98, 0.985), figures(sweep[3], 0.98, 0.6, right=False)])
PYTHON
expect 0 merge a.json b.json --json all.json --markdown report.md --plots plots
says '^8 cases: 1 wrong, 0 failed; 7 of 8 bars met; slower than the best peer in 2 of 8, of these 1 by less than 1 %$'
grep -q '0.500 | 0.95 missed | 0.62 .* | \*\*bar missed\*\*, \*\*slower than the peer\*\* |$' report.md || fail "no missed bar"
grep -q '^| aligned rows | 0.97 | [0-9] | [0-9] | 0.980 | softmax f16 ' report.md || fail "no bars"
grep -q ' | level with the peer |$' report.md || fail "no level peer"
grep -q ' | \*\*result is wrong\*\* |$' report.md || fail "no wrong result"
grep -q '^!\[softmax, f16, a device\](plots/softmax-f16.svg)$' report.md || fail "no picture"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("plots/softmax-f16.svg")' || fail "the picture is no XML"
expect 1 merge none.json
says "^compare.py: none.json cannot be read: "
expect 1 merge report.md
says "^compare.py: report.md is no file that --json wrote"

# The binding: structs laid out as the library's, a plan that is right, errors with the library's sentence.
if [ -n "$library" ] && [ -n "${KILN_SOFTWARE_DRIVER:-}" ]; then
    KILN_DRIVER=$KILN_SOFTWARE_DRIVER KILN_NVRTC=$KILN_SOFTWARE_NVRTC python3 - "$bench" "$library" "$work/cache" <<'PYTHON' ||
import ctypes
import os
import sys
sys.path.insert(0, sys.argv[1])
from kiln_ctypes import Kiln, Plan, view

driver = ctypes.CDLL(os.environ["KILN_DRIVER"])
context = ctypes.c_void_p()
assert not driver.cuInit(0) and not driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not driver.cuCtxSetCurrent(context)

def allocate(bytes_count):
    address = ctypes.c_uint64()
    assert not driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(bytes_count))
    return address.value

rows, cols = 6, 40
x, s = allocate(rows * cols * 4), allocate(rows * 4)
values = (ctypes.c_float * (rows * cols))(*[i % 7 for i in range(rows * cols)])
assert not driver.cuMemcpyHtoD_v2(ctypes.c_uint64(x), values, ctypes.c_size_t(ctypes.sizeof(values)))
kiln = Kiln(sys.argv[2], schedule="lanes 4", cache_dir=sys.argv[3])
plan = Plan(kiln, "s = sum(x)", [view(x, "f32", (rows, cols)), view(s, "f32", (rows, 1))], [1])
plan.launch()
got = (ctypes.c_float * rows)()
assert not driver.cuMemcpyDtoH_v2(got, ctypes.c_uint64(s), ctypes.c_size_t(ctypes.sizeof(got)))
assert list(got) == [sum(values[r * cols:(r + 1) * cols]) for r in range(rows)], list(got)
info = plan.info()
assert info["schedule"].startswith("lanes 4, "), info
assert (info["arch"], info["registers"], info["rows"], info["cols"], info["launches"]) == (90, 32, rows, cols, 1), info
plan.close()
try:
    Plan(kiln, "s = sum(x)", [view(x, "f32", (rows, cols)), view(s, "f32", (rows, 2))], [1])
except RuntimeError as error:
    assert "'s'" in str(error), error
else:
    raise AssertionError("a wrong shape was taken")
kiln.close()
PYTHON
        fail "the binding"
else
    echo "the binding was not tried: there is no software GPU, or the library is sanitized"
fi

[ $failures -eq 0 ] && echo passed
