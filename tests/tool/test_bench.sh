#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kiln bench on the software GPU: verdicts, candidates and exit codes; its times mean nothing.
#   KILN_TOOL=build/kiln KILN_SOFTWARE_DRIVER=... KILN_SOFTWARE_NVRTC=... tests/tool/test_bench.sh
set -u
export LC_ALL=C
tool=$(realpath "${KILN_TOOL:?must name the kiln binary}") || exit 1
[ -n "${KILN_SOFTWARE_DRIVER:-}" ] || { echo "skipped: the software GPU was not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_SCHEDULE
export KILN_DRIVER=$KILN_SOFTWARE_DRIVER KILN_NVRTC=$KILN_SOFTWARE_NVRTC KILN_CACHE_DIR=$work/cache
failures=0

fail() {
    echo "FAILED: $*"
    cat out err
    failures=$((failures + 1))
}

# expect CODE ARGS...: runs kiln bench, output in out and err
expect() {
    local wanted=$1 code
    shift
    "$tool" bench --runs 1 "$@" > out 2> err
    code=$?
    [ $code -eq "$wanted" ] || fail "exit code $code instead of $wanted: $*"
}

# says REGEX COUNT: so many lines of the output match
says() {
    [ "$(grep -cE -- "$1" out)" -eq "$2" ] || fail "not $2 lines of: $1"
}

# Rows that fill the traffic, lists that vary together and alone, several types.
expect 0 'y = softmax(x * w)' --tensor 'x={f16,f32}[*,{64,100}]' --tensor 'w=f32[{64,100}]' --traffic 32K
says '^x=(f16|f32)\[[0-9]+,(64|100)\] w=f32\[(64|100)\] .* ok ' 4
says '^x=f16\[.*,64\] w=f32\[64\]' 1
says "^x=f16\[85,64\] " 1   # (32768 - 4 * 64) / (64 * (2 + 4)) = 84.7: y is f32, as w is

# A leading axis, a middle one, a scalar, outputs of another type, values that depend on their place.
expect 0 's = sum(x)' --tensor 'x=f32[64,96]' --axes 0
says ' ok ' 1
expect 0 'y = x - max(x) * a' --tensor 'x=f16[3,40,8]' --axes 1 --scalar a=0.5 --out-type y=f32
says ' ok ' 1
expect 0 'y = where(index(-1) > 3, x, 0)' --tensor 'x=i32[5,9]'
says ' ok ' 1

# Rows that are put where an index says: each in a place of its own, others as they were; lists and open sizes of the
# tensor that they go into.
expect 0 'put(cache, slot) = softmax(x)' --tensor 'x=f32[40,64]' --tensor 'slot={i32,i64}[40,1]' \
    --tensor 'cache={f16,f32,e4m3}[{40,90},64]'
says ' x=f32\[40,64\] cache=(f16|f32|e4m3)\[(40|90),64\] .* ok ' 12
expect 0 'put(cache, slot) = x; m = max(x)' --tensor 'x=i32[*,64]' --tensor 'slot=i64[*,1]' --tensor 'cache=i32[*,64]' \
    --traffic 64K --json
grep -q '"verdict": *"ok"' out || fail "no verdict"
expect 0 'put(s, index(-2)) = sum(x)' --tensor 'x=f32[7,5]' --tensor 's=f32[9]'
says ' ok ' 1
expect 1 'put(cache, slot) = x' --tensor 'x=f32[40,64]' --tensor 'slot=i64[40,1]' --tensor 'cache=f32[39,64]'
says "'slot' puts 40 rows into 39: expected a row of its own for each" 1
expect 2 'put(cache, slot) = x' --tensor 'x=f32[40,64]' --tensor 'slot=i64[40,1]'
grep -q 'put(cache, i) writes rows of a tensor that is there before: --tensor cache=... was expected' err || fail "no tensor"

# Places that are read.
expect 0 'y = logsumexp(x) - take(x, label)' --tensor 'x=f32[40,64]' --tensor 'label=i64[40,1]'
says ' ok ' 1
expect 0 's = sum(rows(table, id))' --tensor 'table=f32[60,64]' --tensor 'id=i32[40,1]'
says ' ok ' 1

# Scalars that must be integers, beside one that is a float.
expect 0 'y = dropout(x, p, seed)' --tensor 'x=f32[4,8]' --scalar seed=5:i64,p=0.5
says ' ok ' 1
expect 0 'y = (k << s) & 12' --tensor 'k=i32[4,8]' --scalar s=2
says ' ok ' 1

# One row whose sums cancel is as right as any other: what is left of them is rounding.
expect 0 's = sum(x * 3) - 3 * sum(x)' --tensor 'x={f16,f32,f64}[1,5000]'
says ' ok ' 3
expect 0 's = sum(x - mean(x)); y = x - mean(x)' --tensor 'x=f32[5000,1]' --axes 0
says ' ok ' 1

# More rows than are checked: some of them are, and tell of a schedule that is wrong just as well.
expect 0 'y = x * 2' --tensor 'x=i8[5000,1000]' --json
says '"checked": 4194000,' 1
says '"elements": 5000000,' 1

# Slower than was asked for.
expect 1 'y = x * 2' --tensor 'x=f32[64,32]' --at-least 1e8
says ' slow ' 1

# Candidates: the chosen one is among them, one is the fastest, each schedule is there once and right.
expect 0 'y = x * 2' --tensor 'x=f32[64,32]' --candidates
says '^  chosen ' 1
says '<- fastest$' 1
says ' ok .*flat' "$(awk '/ ok /' out | wc -l)"
says '^  of [0-9]+ schedules ' 1
expect 0 'y = x * 2' --tensor 'x=f32[64,32]' --candidates --csv
says '^"x=f32\[64,32\]","threads 512",' 1
[ "$(tail -n +2 out | sed 's/.*,"//' | sort | uniq -d | wc -l)" -eq 0 ] || fail "a schedule was timed twice"

# Given schedules are timed beside the chosen one; one that is none for the case is left out, one that nobody knows told.
expect 0 'y = x * 2' --tensor 'x=f32[64,{32,64}]' --schedule 'threads 512' --schedule 'threads 32, steps 4' --schedule tile
says '^  threads 512 ' 2
says '^  threads 32, steps 4 ' 2
says '^  of 3 schedules ' 2
expect 1 'y = x * 2' --tensor 'x=f32[64,32]' --schedule 'thread 64'
says "'thread 64' pins nothing" 1

# Pinned schedules are the chosen ones.
KILN_SCHEDULE='threads 512' expect 0 'y = x * 2' --tensor 'x=f32[64,32]'
says ' threads 512, ' 1

# A seed makes the inputs; another one makes others.
expect 0 'y = exp(x)' --tensor 'x=f32[64,32]' --seed 5 --json
says '"seed": 5,' 1

[ $failures -eq 0 ] && echo passed
