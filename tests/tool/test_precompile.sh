#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kiln precompile and packs from end to end, with a stand-in for NVRTC that crashes, hangs and takes its time on demand.
#   KILN_TOOL=build/kiln KILN_FAKE_NVRTC=... KILN_FAKE_DRIVER=... tests/tool/test_precompile.sh
set -u
export LC_ALL=C TZ=UTC
tool=$(realpath "${KILN_TOOL:?must name the kiln binary}") || exit 1
docs=$(realpath "$(dirname "$0")/../../docs") || exit 1
for fake in "${KILN_FAKE_NVRTC:-}" "${KILN_FAKE_DRIVER:-}"; do
    [ -r "$fake" ] || { echo "skipped: the stand-ins were not built"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_PACKS KILN_RECORD KILN_DRIVER XDG_CACHE_HOME FAKE_NVRTC_MS
export KILN_CACHE_DIR="$work/cache" HOME="$work/home" KILN_NVRTC=$KILN_FAKE_NVRTC FAKE_NVRTC_ARCH=90
export FAKE_NVRTC_CRASH=this_crashes FAKE_NVRTC_HANG=this_hangs FAKE_DRIVER_ARCH=90
failures=0

fail() { echo "FAILED: $*"; cat out err 2> /dev/null; failures=$((failures + 1)); }
# expect CODE ARGS...: runs kiln, whose output is in out and err
expect() {
    local code=$1
    shift
    "$tool" "$@" > out 2> err < /dev/null
    local got=$?
    [ $got -eq "$code" ] || fail "kiln $*: exit code $got, expected $code"
}
# says FILE TEXT: the text is in the file
says() { grep -qF -- "$2" "$1" || fail "no '$2' in $1"; }
fresh() { rm -rf cache; }

line() { printf '{"program":"%s","tensors":["x=%s","%s=%s"]}\n' "$1" "$2" "${3:-y}" "$2"; }
for columns in 32 64 96 128 160 192 224 256; do line 'y = softmax(x)' "f16[*,$columns]"; done > eight.jsonl

# Several architectures, duplicates, shapes that share a kernel.
{ cat eight.jsonl eight.jsonl; line 'y = softmax(x)' 'f16[700,64]'; } > double.jsonl
expect 0 precompile --exact double.jsonl --arch sm_80,sm_90 --jobs 2 --pack a.kpack
says out '16 kernels for 34 requests: 16 compiled, 0 cached, 0 failed'
says out 'pack: a.kpack, 16 kernels'

# What is in the cache is not compiled again; the same kernels give the same bytes, from fresh caches, too.
expect 0 precompile --exact eight.jsonl --arch sm_90,sm_80 --pack b.kpack
says out '16 kernels for 16 requests: 0 compiled, 16 cached, 0 failed'
cmp a.kpack b.kpack || fail 'the same kernels gave other bytes'
fresh
tac eight.jsonl > reversed.jsonl
expect 0 precompile --exact reversed.jsonl --arch sm_80 --arch sm_90 --jobs 3 --pack b.kpack --quiet
[ -s out ] || [ -s err ] && fail '--quiet was not'
cmp a.kpack b.kpack || fail 'another order gave other bytes'

# The cache exports the same pack, and takes it back.
expect 0 cache export c.kpack
cmp a.kpack c.kpack || fail 'the export of the cache has other bytes'
fresh
expect 0 cache import a.kpack
says out 'imported 16 kernels'
expect 0 cache verify --recompile
says out '16 entries, 0 damaged; 16 compiled again, 0 of them different, 0 left out'
expect 0 cache export c.kpack
cmp a.kpack c.kpack || fail 'import and export changed the pack'
expect 0 precompile --exact eight.jsonl --arch sm_80,sm_90
says out '0 compiled, 16 cached'

# A line without --arch has its own; the two kinds of image are two kernels.
sed 's/}$/,"arch":"compute_80"}/' eight.jsonl > own.jsonl
fresh
expect 0 precompile --exact own.jsonl --json
says out '"kernels": 8,'
expect 1 precompile --exact eight.jsonl
says err 'eight.jsonl:1: the line names no architecture from sm_80 on, and there is no --arch'

# Shares: each kernel is in exactly one.
total=0
for i in 1 2 3; do
    fresh
    expect 0 precompile --exact eight.jsonl --arch sm_90 --shard $i/3 --pack share$i.kpack
    total=$((total + $(sed -n 's/ kernels for.*//p' out)))
done
[ $total -eq 8 ] || fail "the shares have $total kernels in all, expected 8"

# A crash, a hang: each costs its kernel alone.
{
    line 'this_crashes = softmax(x)' 'f16[*,32]' this_crashes
    cat eight.jsonl
    line 'this_hangs = softmax(x)' 'f16[*,32]' this_hangs
} > bad.jsonl
fresh
expect 1 precompile --exact bad.jsonl --arch sm_90 --jobs 2 --keep-going --timeout 2 --pack part.kpack
says out '10 kernels for 10 requests: 8 compiled, 0 cached, 2 failed'
says out 'pack: part.kpack, 8 kernels'
says err 'bad.jsonl:1: sm_90: the compiler was killed by signal 6 (Aborted)'
says err 'bad.jsonl:10: sm_90: the compiler took longer than 2 seconds and was stopped'
rm -f part.kpack
fresh
expect 1 precompile --exact bad.jsonl --arch sm_90 --jobs 1 --pack part.kpack
says out '10 kernels for 10 requests: 0 compiled, 0 cached, 1 failed, 9 not tried'
[ -e part.kpack ] && fail 'a pack that is not whole was written'
expect 1 precompile --exact bad.jsonl --arch sm_90 --keep-going --timeout 2 --json
says out '"failed": 2,'
says out '"error": "the compiler was killed by signal 6 (Aborted)"'

# A run that is killed goes on where it was.
fresh
FAKE_NVRTC_MS=400 "$tool" precompile --exact eight.jsonl --arch sm_90 --jobs 1 > out 2> err &
pid=$!
for _ in $(seq 100); do
    [ "$(find cache -name '*.k1' 2> /dev/null | wc -l)" -ge 3 ] && break
    sleep 0.05
done
disown $pid
kill -9 $pid
sleep 0.3
there=$(find cache -name '*.k1' | wc -l)
[ "$there" -ge 3 ] && [ "$there" -lt 8 ] || fail "$there of 8 kernels were there after the kill"
expect 0 precompile --exact eight.jsonl --arch sm_90
says out "8 kernels for 8 requests: $((8 - there)) compiled, $there cached, 0 failed"

# Record, precompile, run from the pack without NVRTC and without a cache.
fresh
KILN_RECORD=record.jsonl expect 0 compile 'y = softmax(x * a)' --tensor 'x=f16[*,48]' --scalar a=f64 --arch sm_90
KILN_RECORD=record.jsonl expect 0 compile 'y = softmax(x * a)' --tensor 'x=f16[*,48]' --scalar a=f64 --arch sm_90
[ "$(wc -l < record.jsonl)" -eq 1 ] || fail 'a kernel from the cache was recorded'
fresh
expect 0 precompile --exact record.jsonl --pack record.kpack
KILN_PACKS=record.kpack expect 0 compile 'y = softmax(x * a)' --tensor 'x=f16[*,48]' --scalar a=f64 --arch sm_90 \
    --cache-dir '' --nvrtc none/libnvrtc.so --json
says out '"origin": "pack"'
KILN_PACKS=record.kpack expect 3 compile 'y = softmax(x)' --tensor 'x=f16[*,48]' --arch sm_90 --cache-dir '' \
    --nvrtc none/libnvrtc.so

# An open number of rows is served whatever it is: a single one has its own kernel where the rows lie in a run, or where
# what is broadcast over them no longer is.
fresh
line 'y = softmax(x + m)' 'f16[*,16,128]' | sed 's/"y=/"m=f16[16,128]","y=/' > open.jsonl
line 'y = softmax(x)' 'f32[*,600,30]' | sed 's/}$/,"axes":[1]}/' >> open.jsonl
line 'y = x + w' 'f16[*,1024,1024]' | sed 's/"y=/"w=f16[1024,1024]","y=/' >> open.jsonl
expect 0 precompile --exact open.jsonl --arch sm_90 --pack open.kpack
says out '6 kernels for 3 requests: 6 compiled'
for rows in 1 2 7 64; do
    KILN_PACKS=open.kpack expect 0 compile 'y = softmax(x + m)' --tensor "x=f16[$rows,16,128]" --tensor 'm=f16[16,128]' \
        --arch sm_90 --cache-dir '' --nvrtc none/libnvrtc.so
    KILN_PACKS=open.kpack expect 0 compile 'y = softmax(x)' --tensor "x=f32[$rows,600,30]" --axes 1 --arch sm_90 \
        --cache-dir '' --nvrtc none/libnvrtc.so
    KILN_PACKS=open.kpack expect 0 compile 'y = x + w' --tensor "x=f16[$rows,1024,1024]" --tensor 'w=f16[1024,1024]' \
        --arch sm_90 --cache-dir '' --nvrtc none/libnvrtc.so
done
# A pinned schedule that is none for a single row is no fault.
line 'y = softmax(x)' 'f16[*,600,1]' | sed 's/}$/,"axes":[1]}/' > pinned.jsonl
KILN_SCHEDULE='block 256, shared' expect 0 precompile --exact pinned.jsonl --arch sm_90 --pack pinned.kpack

# With the kernels of lines goes one for any shape, once for a program and its types, which serves others without NVRTC.
fresh
expect 0 precompile double.jsonl --arch sm_80,sm_90 --pack any.kpack
says out '18 kernels for 34 requests: 18 compiled, 0 cached, 0 failed'
for shape in 3,77 5,6,7 4096; do
    KILN_PACKS=any.kpack expect 0 compile 'y = softmax(x)' --tensor "x=f16[$shape]" --arch sm_90 --cache-dir '' \
        --nvrtc none/libnvrtc.so --json
    says out '"origin": "pack"'
    says out '"schedule": "any shape, '
done
KILN_PACKS=any.kpack expect 3 compile 'y = softmax(x)' --tensor 'x=f32[3,77]' --arch sm_90 --cache-dir '' \
    --nvrtc none/libnvrtc.so
line 'y = softmax(x)' 'f16[*,*]' > all_open.jsonl
line 'y = softmax(x)' 'f16[*,*,*]' >> all_open.jsonl
line 'm = max(x)' 'bf16[*,*]' m | sed 's/"m=bf16\[\*,\*\]/"m=f32[*]/' >> all_open.jsonl
fresh
expect 0 precompile all_open.jsonl --arch sm_90 --pack all_open.kpack
says out '2 kernels for 3 requests: 2 compiled, 0 cached, 0 failed'
KILN_PACKS=all_open.kpack expect 0 compile 'm = max(x)' --tensor 'x=bf16[9,100]' --out-type m=f32 --arch sm_90 --cache-dir '' \
    --nvrtc none/libnvrtc.so --json
says out '"schedule": "any shape, '
line 'y = cumsum(x) - max(x, block = 2)' 'f16[*,*]' > none_open.jsonl
expect 1 precompile none_open.jsonl --arch sm_90
says err 'no kernel serves any shape'
line 'y = cumsum(x) - max(x, block = 2)' 'f16[9,64]' > without.jsonl
expect 0 precompile without.jsonl --arch sm_90
says out '1 kernels for 1 requests: 1 compiled'

# Kernels for ranges of columns, and one for any shape beside them, serve all of these columns without NVRTC.
line 'y = softmax(x)' 'f16[*,1..8192]' > ranges.jsonl
fresh
expect 0 precompile ranges.jsonl --arch sm_90 --pack ranges.kpack
says out '13 kernels for 12 requests: 13 compiled, 0 cached, 0 failed'
for columns in 2 64 65 777 5001 8192; do
    KILN_PACKS=ranges.kpack expect 0 compile 'y = softmax(x)' --tensor "x=f16[3,$columns]" --arch sm_90 --cache-dir '' \
        --nvrtc none/libnvrtc.so --json
    says out '"origin": "pack"'
    ! grep -qF 'any shape, ' out || fail "$columns columns run by the kernel for any shape"
done
KILN_PACKS=ranges.kpack expect 0 compile 'y = softmax(x)' --tensor 'x=f16[3,9000]' --arch sm_90 --cache-dir '' \
    --nvrtc none/libnvrtc.so --json
says out '"schedule": "any shape, '
line 'y = softmax(x)' 'f16[*,600..700]' > one_range.jsonl
fresh
expect 0 precompile --exact one_range.jsonl --arch sm_90
says out '1 kernels for 1 requests: 1 compiled, 0 cached, 0 failed'
line 'y = cumsum(x)' 'f32[*,1..100]' > no_range.jsonl
expect 1 precompile no_range.jsonl --arch sm_90
says err "no kernel serves a range of columns of 'y = cumsum(x)'"
line 'y = x + z' 'f32[*,1..100]' | sed 's/"y=/"z=f32[*,1..200]","y=/' > two_ranges.jsonl
expect 1 precompile two_ranges.jsonl --arch sm_90
says err 'tensors have 1..100 and 1..200 columns; one range was expected'
line 'y = softmax(x)' 'f16[1..64,100]' > rows_range.jsonl
expect 1 precompile rows_range.jsonl --arch sm_90
says err "a range is along an axis that 'y = softmax(x)' does not reduce; its columns were expected"
line 'y = softmax(x)' 'f16[*,1..64]{70,1}' > pitched_range.jsonl
expect 1 precompile pitched_range.jsonl --arch sm_90
says err "'f16[*,1..64]{70,1}' has strides beside a range of sizes; none were expected"
line 'y = softmax(x)' 'f16[*,*,1..64]' > open_range.jsonl
expect 1 precompile open_range.jsonl --arch sm_90
says err "a range of columns stands beside '*' for another size than the first"

# The manifest that the documentation shows.
sed -n '/^```json$/,/^```$/p' "$docs/packs.md" | grep -v '^```' > documented.jsonl
expect 0 precompile documented.jsonl --arch sm_90
says out '6 kernels for 3 requests'

# Errors.
{ echo 'no JSON'; line 'y = sofmax(x)' 'f16[*,32]'; echo; line 'y = softmax(x)' 'f16[*,32]'; } > faults.jsonl
fresh
expect 1 precompile --exact faults.jsonl --arch sm_80,sm_90
says err 'faults.jsonl:1: no JSON: '
says err "faults.jsonl:2: 1:5: unknown function 'sofmax'"
[ -e cache ] && fail 'something was compiled after a fault'
expect 1 precompile --exact faults.jsonl --arch sm_80,sm_90 --keep-going
says out '2 kernels for 3 requests: 2 compiled'
fresh
expect 3 precompile --exact eight.jsonl --arch sm_90 --nvrtc none/libnvrtc.so --keep-going --jobs 1
says out '1 failed, 7 not tried'
expect 1 precompile --exact eight.jsonl --arch sm_95 --jobs 1
says err 'sm_95 is not supported by NVRTC 11.1'
expect 1 precompile --exact none.jsonl --arch sm_90
expect 1 precompile --exact eight.jsonl --arch sm_90 --pack none/out.kpack
expect 2 precompile
expect 2 precompile eight.jsonl --arch sm_70
expect 2 precompile eight.jsonl --arch sm_90,
expect 2 precompile eight.jsonl --arch sm_90 --jobs 0
expect 2 precompile eight.jsonl --arch sm_90 --jobs 1.5
expect 2 precompile eight.jsonl --arch sm_90 --shard 4/3
expect 2 precompile eight.jsonl --arch sm_90 --timeout -1
expect 2 precompile eight.jsonl --arch sm_90 --cache-dir ''
says err 'there is no disk cache to keep the kernels in'
expect 0 precompile --exact /dev/null --arch sm_90 --pack empty.kpack
says out '0 kernels for 0 requests'

[ $failures -eq 0 ] && echo "all passed"
[ $failures -eq 0 ]
