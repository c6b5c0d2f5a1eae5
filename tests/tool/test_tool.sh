#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The kiln tool as a user meets it: each transcript of commands is compared with its golden file in tests/golden/.
#   KILN_TOOL=build/kiln tests/tool/test_tool.sh [--update] [TRANSCRIPT...]      --update writes the golden files anew
# KILN_FAKE_DRIVER and KILN_FAKE_NVRTC name the stand-ins that the build made; without them one transcript is left out.
# In a transcript, '! ' stands before lines of standard error, '= N' tells an exit code other than 0.
set -u
export LC_ALL=C TZ=UTC
golden=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/golden
tool=$(realpath "${KILN_TOOL:?must name the kiln binary}") || exit 1
update=no
[ "${1:-}" = --update ] && { update=yes; shift; }
wanted=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset KILN_DRIVER KILN_NVRTC XDG_CACHE_HOME FAKE_DRIVER_ARCH FAKE_DRIVER_INIT FAKE_NVRTC_ARCH
export KILN_CACHE_DIR="$work/cache" HOME="$work/home" ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
failures=0 current=
# Libraries that are not there, so that no machine's own driver or NVRTC plays a part.
alone=(--driver none/libcuda.so --nvrtc none/libnvrtc.so)

. "$(dirname "$golden")/tool/transcripts.sh"

# ---- the tests --------------------------------------------------------------------------------------------

npy x.npy '<f4' '(2, 4)' $(f32 1 2 3 4 -8 0 8 0.5)
npy w.npy '<f4' '(4,)' $(f32 1 2 0.5 -1)
npy v.npy '<f4' '(3,)' $(f32 1 2 3)
npy k.npy '<i4' '(2, 2)' 01000000 02000000 fdffffff 05000000
npy h.npy '<f2' '(1, 4)' 003c 0040 0042 0044
npy b.npy '<u2' '(4,)' 803f 0040 4040 80bf
npy unknown.npy '|V2' '(4,)' 803f 0040 4040 80bf
npy e.npy '<f4' '(0, 4)'
fortran=True npy f.npy '<f4' '(2, 2)' $(f32 1 3 2 4)

if transcript help; then
    try --help
    try --version
    for name in run compile precompile explain bench tune grad functions info cache 'cache ls' 'cache stat' 'cache verify' 'cache prune' 'cache clear' \
        'cache export' 'cache import'; do
        # shellcheck disable=SC2086
        try $name --help
    done
    check
fi

if transcript functions; then
    try functions softmax
    try functions 'half to even'
    try functions var --json
    try functions sotfmax
    try functions 'products of matrices'
    try functions softmax gelu
    check
fi

if transcript grad; then
    matrix=(--tensor 'x=bf16[*,1024]')
    try grad 'y = softmax(x * scale)' --wrt x
    try grad 'y = softmax(x)' --saved y
    try grad 'y = log_softmax(x)'
    try grad 'y = layer_norm(x, w, b)' "${matrix[@]}" --tensor 'w=bf16[1024],b=bf16[1024]'
    try grad 'y = rms_norm(x + r, w)' "${matrix[@]}" --tensor 'r=bf16[*,1024],w=f32[1024]'
    try grad 'loss = cross_entropy(x, t)' --wrt x
    try grad 'loss = logsumexp(x) - take(x, label)' --tensor 'x=f32[*,50257],label=i64[*,1]'
    try grad 'y = silu(u) * v'
    try grad 'y = gelu(x) + gelu_tanh(x)'
    try grad 'y = elu(x) * c' --tensor 'x=f32[*,64],c=f32[]'
    try grad 'e = exp(x - max(x)); y = e / sum(e)'
    try grad 'y = x * dropout(s, 0.1, seed)' --scalar seed=i64 --tensor 'x=f32[*,64],s=f32[*,1]'
    try grad 'y = x * k + b' --scalar k=f64 --wrt k,b
    try grad 'y = x * exp(k) * c' --scalar k=f64 --scalar c=f64 --wrt k
    try grad 'dy = x * 2; y = dy * x; s = sum(y)'
    try grad 'y = x / absmax(x, block = 128)'
    try grad 's = sum(x); m = max(x)'
    try grad 'y = sum(x * w)' --tensor 'x=f32[8,4,64],w=f32[4,1]' --axes all
    try grad 'y = tanh(x) * w' --tensor 'x=f32[*,64],w=f32[64]' --wrt w --json
    try grad 'y = x * w' --wrt v
    try grad 'y = x * w' --tensor 'x=f32[*,64],w=i32[64]' --wrt w
    try grad 'y = argmax(x)'
    try grad 'y = gather(x, i)' --wrt x
    try grad 'y = reduce((a, b) -> a * b, x, 1)'
    try grad 'y = mean(x, axes = all)'
    try grad 'y = x' --saved z
    try grad
    check
fi

if transcript usage_errors; then
    try
    try fry
    try rnu
    try cache lst
    try cache
    try cache prune
    try info now
    try run
    try run 'y = x' --frobnicate
    try run 'y = x' --axis 0
    try explain 'y = x' --tensors 'x=f16[4]'
    try run 'y = x' --keepdim
    try run 'y = x' --dr
    try run 'y = x' --d
    try run 'y = x' --color=blue
    try run 'y = x' -z
    try run 'y = x' --in
    try run 'y = x' --quiet=yes --in x=x.npy
    try run 'y = x' 'z = x'
    try run 'y = x' --program p.kiln
    try run 'y = x' --in x
    try run 'y = x' --in =x.npy
    try run 'y = x' --in x=x.npy --in x=w.npy --out y=y.npy
    try run 'y = x' --in x=x.npy --out y=y.npy --device tpu
    try run 'y = x' --in x=x.npy:f31 --out y=y.npy
    try run 'y = x' --in x=x.npy --out y=y.npy:int
    try run 'y = x' --in x=x.npy --out y=y.npy --axes 1,
    try run 'y = x' --in x=x.npy --out y=y.npy --axes last
    try run 'y = x' --in x=x.npy --out y=y.npy --keep-dims --drop-dims
    try run 'y = x; z = x' --in x=x.npy --out y=y.npy,z=y.npy
    try run 'y = x * a' --in x=x.npy --scalar a=two --out y=y.npy
    try run 'y = x * a' --in x=x.npy --scalar a=1.5:i64 --out y=y.npy
    try run 'y = x * a' --in x=x.npy --scalar a=9e9999999:i32 --out y=y.npy
    try run 'y = x * a' --in x=x.npy --scalar a=3000000000:i32 --out y=y.npy
    try run 'y = x * a' --in x=x.npy --scalar a=99999999999999999999 --out y=y.npy
    try explain 'y = x' --tensor x=f16
    try explain 'y = x' --tensor 'x=f17[4]'
    try explain 'y = x' --tensor 'x=f16[4'
    try grad 'y = x' --tensor 'x=f16[4,*]'
    try explain 'y = x' --tensor 'x=f16[-4]'
    try explain 'y = x' --tensor 'x=f16[1,1,1,1,1,1,1,1,1]'
    try explain 'y = x' --tensor 'x=f16[9223372036854775807,3]'
    try explain 'y = x' --tensor 'x=f16[4]' --out-type y=half
    try explain 'y = x' --tensor 'x=f16[4]' --arch ampere
    try explain 'y = x' --tensor 'x=f16[4]' --arch sm_80,sm_90
    try compile 'y = x' --tensor 'x=f16[4]' "${alone[@]}"
    check
fi

# Messages with colour and without, here where standard error is no terminal.
if transcript colours; then
    try run 'y = x' --color always
    try run 'y = sofmax(x)' --in x=x.npy --out y=y.npy --color=always
    try run 'y = x + 1' --in x=w.npy --out y=coloured.npy "${alone[@]}" --color always
    NO_COLOR=1 try run 'y = x' --color always
    try run 'y = x' --color never
    TERM=xterm try run 'y = x' --color auto
    sed -i 's/\x1b/\\e/g' transcript
    check
fi

# On a terminal: colour, unless NO_COLOR is set or the terminal is dumb.
if command -v script > /dev/null && transcript colours_on_a_terminal; then
    for setting in TERM=xterm 'TERM=xterm NO_COLOR=' 'TERM=xterm NO_COLOR=1' TERM=dumb; do
        printf '$ kiln fry with %s\n' "$setting" >> transcript
        # shellcheck disable=SC2086
        env -u NO_COLOR $setting script -qec "'$tool' fry" /dev/null < /dev/null | tr -d '\r' >> transcript
    done
    sed -i 's/\x1b/\\e/g' transcript
    check
fi

if transcript bench_errors; then
    try bench 'y = x' --tensor 'x=f16[{128,]'
    try bench 'y = x' --tensor 'x=f16[{128,}]'
    try bench 'y = x' --tensor 'x=f16[{128'
    try bench 'y = x' --tensor 'x=f16[{17..3}]'
    try bench 'y = x' --tensor 'x=f16[{2^3..3^5}]'
    try bench 'y = x' --tensor 'x=f16[{2^63}]'
    try bench 'y = x' --tensor 'x=f16[{1..9223372036854775807}]'
    try bench 'y = x' --tensor 'x=f16[{1..20000}]'
    try bench 'y = x' --tensor 'x=f16[{1..200},{1..300}]'
    try bench 'y = x' --tensor 'x=f16[{12a}]'
    try bench 'y = x' --tensor 'x={f16,f17}[4]'
    try bench 'y = x * w' --tensor 'x=f16[4],w=f16[{4,5}]'
    try bench 'y = x' --tensor 'x=f16[4,0]'
    try bench 'y = x * a' --tensor 'x=f16[4]' --scalar a=f32
    try bench 'y = x' --tensor 'x=f16[4]' --out-type y=half
    try bench 'y = x' --tensor 'x=f16[4,{2,3}]{8,1}'
    try bench 'y = x' --tensor 'x=f16[4]@2'
    try bench 'y = x' --tensor 'x=f16[4]' --traffic 256X
    try bench 'y = x' --tensor 'x=f16[4]' --runs 0
    try bench 'y = x' --tensor 'x=f16[4]' --device -1
    try bench 'y = x' --tensor 'x=f16[4]' --at-least fast
    try bench 'y = x' --tensor 'x=f16[4]' --json --csv
    try bench 'y = x' --tensor 'x=f16[4]' "${alone[@]}"
    check
fi

if transcript binding_errors; then
    try run 'y = x * w' --in x=x.npy --out y=y.npy
    try run 'y = x' --in x=x.npy --in w=w.npy --out y=y.npy
    try run 'y = x' --in x=x.npy --in y=w.npy --out y=y.npy
    try run 'y = x' --in x=x.npy
    try run 'y = x' --in x=x.npy --out z=y.npy
    try run 'y = x' --in x=x.npy --out x=y.npy
    try run 'y = x' --in x=x.npy --out y=y.npy --scalar eps=1e-5
    try run 'y = x * a' --in x=x.npy,a=w.npy --out y=y.npy --scalar a=2
    try run 't = x; y = x' --in w=w.npy --out y=y.npy
    try run 'y = sin(pi * x)' --in x=x.npy --out y=y.npy
    check
fi

# An output of which some rows are written has its tensor among the inputs.
if transcript put; then
    npy slot.npy '<i4' '(2, 1)' 02000000 00000000
    npy cache.npy '<f4' '(3, 4)' $(f32 1 1 1 1 2 2 2 2 3 3 3 3)
    try explain 'put(cache, slot) = x' --tensor 'x=f16[*,64]' --tensor 'slot=i64[*,1]' --tensor 'cache=f16[10,64]' --arch 90
    try run 'put(cache, slot) = x' --in x=x.npy,slot=slot.npy,cache=cache.npy --out cache=new.npy --device cpu --quiet
    od -A n -t f4 -j 128 -w16 new.npy >> transcript
    try explain 'put(cache, slot) = x' --tensor 'x=f16[4,64]' --tensor 'slot=i64[4,1]'
    try run 'put(cache, slot) = x' --in x=x.npy,slot=slot.npy --out cache=new.npy
    try run 'put(cache, slot) = x' --in x=x.npy,slot=slot.npy,cache=cache.npy --out cache=new.npy:f16
    check
fi

if transcript program_errors; then
    try run 'y = softmax(x' --in x=x.npy --out y=y.npy
    try run 'y = sofmax(x)' --in x=x.npy --out y=y.npy
    try run 'y = x; y = x + 1' --in x=x.npy --out y=y.npy
    try run 'y = x @ x' --in x=x.npy --out y=y.npy
    try run 'y = softmax(x, axis = 0)' --in x=x.npy --out y=y.npy
    try run 'y = max(x, 0)' --in x=x.npy --out y=y.npy
    try run '' --in x=x.npy --out y=y.npy
    try run 'y = x & 1' --in x=x.npy --out y=y.npy --device cpu
    printf 'm = max(x)\ny = exp(x - m' > p.kiln
    try run --program p.kiln --in x=x.npy --out y=y.npy
    try run --program none.kiln --in x=x.npy --out y=y.npy
    printf 'y = x\0' > p.kiln
    try run --program p.kiln --in x=x.npy --out y=y.npy
    check
fi

if transcript data_errors; then
    try run 'y = x * v' --in x=x.npy,v=v.npy --out y=y.npy --device cpu
    try run 's = sum(x)' --in x=x.npy --out s=s.npy --axes 2 --device cpu
    try run 's = sum(x)' --in x=x.npy --out s=s.npy --axes 1,-1 --device cpu
    try run 's = max(x)' --in x=e.npy --out s=s.npy --axes all --device cpu
    try run 'y = x' --in x=none.npy --out y=y.npy --device cpu
    try run 'y = x' --in x=. --out y=y.npy --device cpu
    try run 'y = x' --in x=unknown.npy --out y=y.npy --device cpu
    try run 'y = x' --in x=x.npy:bf16 --out y=y.npy --device cpu
    head -c 50 x.npy > cut.npy
    try run 'y = x' --in x=cut.npy --out y=y.npy --device cpu
    head -c 140 x.npy > cut.npy
    try run 'y = x' --in x=cut.npy --out y=y.npy --device cpu
    npy absurd.npy '<f4' '(123456789, 1000)' $(f32 1)
    try run 'y = x' --in x=absurd.npy --out y=y.npy --device cpu
    npy absurd.npy '<f4' '(12345678901, 12345678901)' $(f32 1)
    try run 'y = x' --in x=absurd.npy --out y=y.npy --device cpu
    npy absurd.npy '<f4' '(-1, 4)' $(f32 1)
    try run 'y = x' --in x=absurd.npy --out y=y.npy --device cpu
    check
fi

if transcript output_errors; then
    cp w.npy old.npy
    mkdir -p folder
    try run 'y = x' --in x=x.npy --out y=none/y.npy --device cpu
    try run 'y = x' --in x=x.npy --out y=folder --device cpu
    try run 'y = x; z = x' --in x=x.npy --out y=old.npy,z=none/y.npy --device cpu
    [ -w /dev/full ] && try run 'y = x' --in x=x.npy --out y=/dev/full --device cpu
    # A limit on the size of files stands for a full disk.
    npy big.npy '<f4' '(1024,)' "$(printf '0000803f%.0s' $(seq 1024))"
    trap '' XFSZ
    (ulimit -f 1 && "$tool" run 'y = x' --in x=big.npy --out y=old.npy --device cpu 2> limit.err; echo "= $?" >> limit.err)
    trap - XFSZ
    { echo '$ kiln run with a full disk'; cat limit.err; } >> transcript
    show old.npy f4
    ls -d old.npy* y.npy* none folder/* 2> /dev/null >> transcript
    check
fi

if transcript no_gpu; then
    try run 'y = x + 1' --in x=w.npy --out y=y.npy "${alone[@]}"
    try run 'y = x + 1' --in x=w.npy --out y=y.npy "${alone[@]}" --quiet
    try run 'y = x + 1' --in x=w.npy --out y=y.npy "${alone[@]}" --device cuda
    try compile 'y = softmax(x)' --tensor 'x=f16[*,1024]' --arch sm_90 "${alone[@]}"
    try info "${alone[@]}"
    try info --json "${alone[@]}"
    check
fi

if transcript run_cpu; then
    cpu=(--device cpu)
    try run 'y = softmax(x)' --in x=x.npy --out y=y.npy "${cpu[@]}"
    show y.npy f4
    try run 's = sum(x); m = max(x)' --in x=x.npy --out s=s.npy --out m=m.npy --keep-dims "${cpu[@]}"
    show s.npy f4
    show m.npy f4
    try run 's = sum(x)' --in x=x.npy --out s=s.npy "${cpu[@]}"
    show s.npy f4
    try run 's = sum(x)' --in x=x.npy --out s=s.npy --axes 0 "${cpu[@]}"
    show s.npy f4
    try run 's = sum(x)' --in x=x.npy --out s=s.npy:f64 --axes all "${cpu[@]}"
    show s.npy f8
    try run 's = absmax(x); y = x / s' --in x=x.npy --out y=y.npy:e4m3,s=s.npy "${cpu[@]}"
    show y.npy x1
    show s.npy f4
    try run 'y = a * x + w' --in x=x.npy,w=w.npy --scalar a=0.5 --out y=y.npy "${cpu[@]}"
    show y.npy f4
    try run 'y = layer_norm(x, w, b, eps)' --in x=x.npy,w=w.npy,b=w.npy --scalar eps=1e-5 --out y=y.npy "${cpu[@]}"
    show y.npy f4
    try run 'y = x * k' --in x=k.npy --scalar k=3 --out y=y.npy "${cpu[@]}"
    show y.npy d4
    try run 's = sum(x); m = mean(x); p = x > 0' --in x=k.npy --out s=s.npy,m=m.npy,p=p.npy "${cpu[@]}"
    show s.npy d8
    show m.npy f4
    show p.npy d1
    try run 'y = x + x' --in x=b.npy:bf16 --out y=y.npy "${cpu[@]}"
    show y.npy x2
    try run 'y = x * x' --in x=h.npy --out y=y.npy "${cpu[@]}"
    show y.npy x2
    try run 'y = x' --in x=f.npy --out y=y.npy "${cpu[@]}"
    show y.npy f4
    try run 'y = x + 1' --in x=e.npy --out y=y.npy "${cpu[@]}"
    show y.npy f4
    try run 's = sum(x)' --in x=e.npy --out s=s.npy --axes 0 "${cpu[@]}"
    show s.npy f4
    cp x.npy same.npy
    try run 'y = x * 1e38 * 0.5' --in x=x.npy --out y=y.npy "${cpu[@]}" --precision double
    show y.npy f4
    try run 'y = x * 1e38 * 0.5' --in x=x.npy --out y=y.npy "${cpu[@]}" --precision program
    show y.npy f4
    try run 'y = x' --in x=x.npy --out y=y.npy "${cpu[@]}" --precision f32
    try run 'x2 = x * 2' --in x=same.npy --out x2=same.npy --quiet "${cpu[@]}"
    show same.npy f4
    printf 'm = max(x)   # the row'"'"'s largest\ny = x - m\n' > p.kiln
    try run --program p.kiln --in x=x.npy --out y=y.npy "${cpu[@]}"
    show y.npy f4
    stdin=p.kiln try run - --in x=x.npy --out y=y.npy "${cpu[@]}"
    try run 'y = x + w' --in x=x.npy,w=w.npy --out y=y.npy --json "${cpu[@]}"
    check
fi

# Numbers from 1 to 12, so that each sum tells which of them are in it.
if transcript run_axes; then
    npy t.npy '|i1' '(2, 3, 2)' 0102 0304 0506 0708 090a 0b0c
    for axes in 0 1 2 -1 0,2 1,2 -1,-2 0,1,2 all; do
        try run 's = sum(x)' --in x=t.npy --out s=s.npy --axes "$axes" --device cpu
        show s.npy d8
    done
    try run 's = sum(x); y = x * 100 / s' --in x=t.npy --out s=s.npy,y=y.npy --axes 1,2 --keep-dims --device cpu
    show s.npy d8
    show y.npy f4
    try run 's = argmax(x)' --in x=t.npy --out s=s.npy --axes all --keep-dims --device cpu
    show s.npy d8
    check
fi

# An output has the axes that the program's text gives it, whatever their extents.
if transcript run_shapes; then
    npy c.npy '<f4' '(3, 1)' $(f32 1 2 4)
    for dims in --drop-dims --keep-dims; do
        try run 'y = softmax(c)' --in c=c.npy --out y=y.npy $dims --device cpu
        try run 's = sum(c); y = c / s' --in c=c.npy --out s=s.npy,y=y.npy $dims --device cpu
        try run 'y = c * sum(v)' --in c=c.npy,v=v.npy --out y=y.npy $dims --device cpu
    done
    show y.npy f4
    try explain 'y = softmax(x)' --tensor 'x=f32[2,3]{1,0}' --arch sm_90
    check
fi

# Scalars have the types that they are given, from the first look at the program on.
if transcript scalar_types; then
    try run 'y = k << s' --in k=k.npy --scalar s=2 --out y=y.npy --device cpu
    show y.npy d4
    try run 'y = k & s' --in k=k.npy --scalar s=3:i64 --out y=y.npy --device cpu
    show y.npy d8
    try run 'y = k + s' --in k=k.npy --scalar s=3:i32 --out y=y.npy --device cpu
    show y.npy d4
    try run 'y = dropout(x, p, seed)' --in x=x.npy --scalar seed=5:i64,p=0.5 --out y=y.npy --device cpu
    show y.npy f4
    try explain 'y = dropout(x, 0.5, seed)' --tensor 'x=f32[2,4]' --scalar seed=i64 --arch sm_90
    try explain 'y = k >> s' --tensor 'k=i32[2,2]' --scalar s=i32 --arch sm_90
    try run 'y = k << s' --in k=k.npy --scalar s=2.0 --out y=y.npy --device cpu
    try run 'y = k << s' --in k=k.npy --scalar s=2.0 --out y=y.npy:i32 --device cpu
    try explain 'y = dropout(x, 0.5, seed)' --tensor 'x=f32[2,4]' --scalar seed=f64 --out-type y=f16 --arch sm_90
    check
fi

# The schedules that the model ranks: one that the library takes, one that is pinned, and no schedule for a flag's value.
# Sizes that are left open along any axis: the kernel that serves them all; or between two numbers: one of several.
if transcript explain_any_shape; then
    try explain 'y = softmax(x + m)' --tensor 'x=f16[*,*]' --tensor 'm=f16[*]' --arch sm_90
    try explain 'm = max(x)' --tensor 'x=bf16[*,*,64]' --axes 0,1 --arch sm_80
    try explain 'y = cumsum(x) - max(x, block = 2)' --tensor 'x=f16[*,*]' --arch sm_90
    try explain 'y = sort(x); d = max(x)' --tensor 'x=f16[*,*]' --arch sm_90
    try explain 'y = softmax(x)' --tensor 'x=f16[127,8191,*]' --arch sm_90
    try explain 'y = softmax(x)' --tensor 'x=f16[*,*]' --arch sm_90 --candidates 3
    try explain 'y = softmax(x)' --tensor 'x=f16[*,1..700]' --arch sm_90
    try explain 'y = x + z' --tensor 'x=f16[*,1..700]' --tensor 'z=f16[*,1..800]' --arch sm_90
    try explain 'y = cumsum(x)' --tensor 'x=f16[*,1..700]' --arch sm_90
    try compile 'y = softmax(x)' --tensor 'x=f16[*,1..700]' --arch sm_90
    try compile 'y = softmax(x)' --tensor 'x=f16[*,9..7]' --arch sm_90
    check
fi

if transcript explain_candidates; then
    try explain 'y = softmax(x)' --tensor 'x=f16[*,64]' --arch sm_90 --candidates 2
    KILN_SCHEDULE='lanes 4, phased' try explain 'y = softmax(x)' --tensor 'x=f16[*,64]' --arch sm_90 --candidates 1 --json
    try explain 'y = x + 1' --tensor 'x=f32[1000]' --arch sm_80 --candidates 1
    try explain 's = sum(x)' --tensor 'x=f32[1000,512]' --axes 0 --arch sm_90 --candidates 1
    try explain 'y = x' --tensor 'x=f16[4]' --candidates 0
    try explain 'y = x' --tensor 'x=f16[4]' --candidates
    check
fi

if transcript cache_empty; then
    try cache ls
    try cache ls --json
    try cache stat
    try cache stat --json
    try cache clear
    try cache clear --json
    try cache stat --cache-dir ''
    check
fi

# With stand-ins for the driver and NVRTC whose kernels do nothing: everything but the numbers.
if [ -n "${KILN_FAKE_DRIVER:-}" ] && [ -n "${KILN_FAKE_NVRTC:-}" ] && transcript stand_ins; then
    export FAKE_DRIVER_ARCH=90
    fakes=(--driver "$KILN_FAKE_DRIVER" --nvrtc "$KILN_FAKE_NVRTC")
    try info "${fakes[@]}"
    try info --json "${fakes[@]}"
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --arch sm_90 "${fakes[@]}" # too new for the NVRTC
    export FAKE_NVRTC_ARCH=90
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --arch sm_90 "${fakes[@]}"
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --arch sm_90 -o k.cubin "${alone[@]}"
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --arch sm_90 -o none/k.cubin "${fakes[@]}"
    FAKE_DRIVER_ARCH=70 try run 'y = x + 1' --in x=x.npy --out y=y.npy "${fakes[@]}"
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --json "${fakes[@]}"
    try cache ls
    try cache stat
    try cache ls --json
    try compile 'y = softmax(x)' --tensor 'x=f32[*,4]' --arch compute_90 -o k.ptx "${fakes[@]}"
    tail -c 1 k.ptx | od -An -c >> transcript
    try run 'y = x + 1' --in x=x.npy --out y=y.npy --driver "$KILN_FAKE_DRIVER" --nvrtc none/libnvrtc.so
    try run 'y = x + 1' --in x=x.npy --out y=y.npy "${fakes[@]}"
    try run 'y = x + 1' --in x=x.npy --out y=y.npy --driver "$KILN_FAKE_DRIVER" --nvrtc none/libnvrtc.so --json
    try run 'y = x + 1' --in x=e.npy --out y=y.npy "${fakes[@]}"
    try run 's = sum(x)' --in x=x.npy --out s=s.npy --axes 0 "${fakes[@]}"
    export FAKE_DRIVER_INIT=100
    try run 'y = x + 1' --in x=x.npy --out y=y.npy "${fakes[@]}"
    try run 'y = x + 1' --in x=x.npy --out y=y.npy --device cuda "${fakes[@]}"
    unset FAKE_DRIVER_INIT FAKE_DRIVER_ARCH FAKE_NVRTC_ARCH
    try cache clear
    try cache ls
    check
fi

# Kernels that do nothing write no outputs: everything is told as it would be, with a verdict of wrong.
if [ -n "${KILN_FAKE_DRIVER:-}" ] && [ -n "${KILN_FAKE_NVRTC:-}" ] && transcript bench; then
    fakes=(--driver "$KILN_FAKE_DRIVER" --nvrtc "$KILN_FAKE_NVRTC" --seed 7 --runs 3)
    export FAKE_DRIVER_ARCH=80 FAKE_NVRTC_ARCH=80
    try bench 'y = x + w' --tensor 'x={f16,f32}[*,{2^3..2^5}]' --tensor 'w=f32[{2^3..2^5}]' --traffic 1K "${fakes[@]}"
    try bench 'y = x + 1' --tensor 'x=f16[8]' --csv "${fakes[@]}"
    try bench 'y = x + 1' --tensor 'x=i32[8]' --json "${fakes[@]}"
    try bench 'y = x + 1' --tensor 'x=f16[8]' --device 1 "${fakes[@]}"
    try bench 'y = x + 1' --tensor 'x=f16[8]' --driver "$KILN_FAKE_DRIVER" --nvrtc none/libnvrtc.so --cache-dir '' --seed 7
    unset FAKE_DRIVER_ARCH FAKE_NVRTC_ARCH
    check
fi

# Kernels that do nothing are as fast as the stand-in's clock says: those of 512 threads in a block.
if [ -n "${KILN_FAKE_DRIVER:-}" ] && [ -n "${KILN_FAKE_NVRTC:-}" ] && transcript tune; then
    fakes=(--driver "$KILN_FAKE_DRIVER" --nvrtc "$KILN_FAKE_NVRTC")
    export FAKE_DRIVER_ARCH=90 FAKE_NVRTC_ARCH=90
    "$tool" cache clear --quiet
    try tune 'y = softmax(x)' --tensor 'x=f16[64,1024]' --candidates 4 "${fakes[@]}"
    export FAKE_DRIVER_FAST_BLOCK=512
    try tune 's = var(x)' --tensor 'x=f16[10000,512]' --axes 0 --candidates 24 --pack tuned.kpack "${fakes[@]}"
    try explain 's = var(x)' --tensor 'x=f16[10000,77]' --axes 0 --arch sm_90 "${alone[@]}"
    KILN_SCHEDULE='cluster 4' try explain 's = var(x)' --tensor 'x=f16[10000,512]' --axes 0 --arch sm_90 "${alone[@]}"
    try explain 's = var(x)' --tensor 'x=f16[10001,512]' --axes 0 --arch sm_90 "${alone[@]}"
    try cache stat
    try cache verify
    try cache export all.kpack
    {
        echo '{"program": "s = var(x)", "tensors": ["x=f16[10000,512]", "s=f16[512]"], "axes": [0], "arch": "sm_90"}'
        echo '{"program": "y = x * a", "scalars": ["a=f64"], "tensors": ["x=f32[4,3,8]{100,9,1}@4", "y=f32[4,3,8]"]}'
        echo '{"program": "s = var(x)", "tensors": ["x=f16[10000,77]", "s=f16[77]"], "axes": [0]}'
        echo '{"program": "y = softmax(x", "tensors": ["x=f16[*,64]", "y=f16[*,64]"]}'
    } > tune.jsonl
    # The record goes along into packs, and from them.
    head -n 1 tune.jsonl > one.jsonl
    try precompile one.jsonl --pack one.kpack --jobs 1 --quiet --nvrtc "$KILN_FAKE_NVRTC"
    "$tool" cache clear --quiet
    KILN_PACKS=one.kpack try explain 's = var(x)' --tensor 'x=f16[10000,5]' --axes 0 --arch sm_90 "${alone[@]}"
    try cache import all.kpack
    try explain 's = var(x)' --tensor 'x=f16[10000,5]' --axes 0 --arch sm_90 --json "${alone[@]}"
    # Where nothing is faster any more, the record goes.
    unset FAKE_DRIVER_FAST_BLOCK
    try tune --manifest tune.jsonl --candidates 2 "${fakes[@]}"
    try cache stat
    try tune --manifest one.jsonl --candidates 1 --json "${fakes[@]}"
    try tune --manifest one.jsonl 'y = x' "${fakes[@]}"
    try tune --manifest none.jsonl "${fakes[@]}"
    try tune 'y = x' --tensor 'x=f16[8]' --candidates 0 "${fakes[@]}"
    try tune 'y = x' --tensor 'x=f16[8]' --seconds now "${fakes[@]}"
    try tune 'y = x' --tensor 'x=f16[8]' --cache-dir '' "${fakes[@]}"
    try tune 'y = x' --tensor 'x=f16[8]' "${alone[@]}"
    unset FAKE_DRIVER_ARCH FAKE_NVRTC_ARCH
    try cache clear
    check
fi

# The cache's own commands, on kernels of the stand-in for NVRTC.
if [ -n "${KILN_FAKE_NVRTC:-}" ] && transcript cache_commands; then
    export FAKE_NVRTC_ARCH=90
    fakes=(--nvrtc "$KILN_FAKE_NVRTC")
    "$tool" cache clear --quiet
    for columns in 4 8; do
        "$tool" compile 'y = softmax(x)' --tensor "x=f32[*,$columns]" --arch sm_90 "${fakes[@]}" --quiet
    done
    try cache verify
    try cache verify --json
    try cache verify --recompile "${fakes[@]}"
    try cache verify --recompile --nvrtc none/libnvrtc.so
    try cache export all.kpack
    try cache export all.kpack --json
    try cache export none/all.kpack
    try cache export
    touch -d '3 days ago' cache/*/*.k1
    try cache prune --older-than 4d
    try cache prune --older-than 2d --json
    try cache import all.kpack
    try cache verify --recompile --json "${fakes[@]}"
    try compile 'y = softmax(x)' --tensor 'x=f32[*,8]' --arch sm_90 --json "${fakes[@]}" # from the cache
    try cache prune --max-size 1T
    try cache prune --max-size 0 --quiet
    try cache import all.kpack --json
    try cache import all.kpack --quiet
    # One entry says something else than what was compiled, and one has a damaged byte.
    FAKE_NVRTC_CHANGE=1 try cache verify --recompile --json "${fakes[@]}" # in any order
    entry=$(find cache -name '*.k1' | sort | head -n 1)
    printf '\377' | dd of="$entry" bs=1 seek=200 conv=notrunc status=none
    try cache verify
    try cache verify --json
    try cache export all.kpack
    head -c 1000 all.kpack > cut.kpack
    try cache import cut.kpack
    try cache import none.kpack
    try cache import
    try cache prune
    try cache prune --max-size 1X
    try cache prune --older-than 1
    try cache prune --max-size 99999999999T
    try cache nothing
    unset FAKE_NVRTC_ARCH
    try cache clear
    check
fi

# What a terminal would obey is spelled; other characters are shown.
if [ -n "${KILN_FAKE_NVRTC:-}" ] && transcript control_characters; then
    printf 'y = x * 2 # \033]0;title\007 caf\303\251 \302\2331m\n# \033[2J' > hostile.kiln
    printf '"\033[31m"' > hostile.jsonl
    try explain --program hostile.kiln --tensor 'x=f32[8]' --arch sm_90
    try explain $'y = x\033' --tensor 'x=f32[8]' --arch sm_90
    try run 'y = x' --in $'x=no\033[2J.npy' --out y=y.npy
    try $'no\033[2J'
    try precompile $'no\033[2J.jsonl' --arch sm_90
    try precompile hostile.jsonl --arch sm_90
    try cache stat --cache-dir $'no\033[2J'
    export FAKE_NVRTC_ARCH=90
    try compile --program hostile.kiln --tensor 'x=f32[8]' --arch sm_90 --nvrtc "$KILN_FAKE_NVRTC" --cache-dir hostile
    try cache ls --cache-dir hostile
    unset FAKE_NVRTC_ARCH
    check
fi

for row in \
    "softmax_f16|y = softmax(x)|x=f16[*,1024]|" \
    "layer_norm_bf16|y = layer_norm(x, w, b, eps)|x=bf16[*,4096],w=bf16[4096],b=bf16[4096]|--scalar eps=f64" \
    "reduce_scale_f32|s = absmax(x); y = x / s|x=f32[*,128]|" \
    "gelu_f16|y = gelu(x)|x=f16[49152,1024]|"; do
    IFS='|' read -r name program tensors more <<< "$row"
    if transcript "explain_$name"; then
        # shellcheck disable=SC2086
        try explain "$program" --tensor "$tensors" $more --arch sm_90
        [ "$name" = softmax_f16 ] && try explain "$program" --tensor "$tensors" --arch sm_90 --json
        check
    fi
    if transcript "source_$name"; then
        # shellcheck disable=SC2086
        "$tool" explain "$program" --tensor "$tensors" $more --arch sm_90 --source > source || echo "= $?" >> source
        fold_sources < source > transcript
        check cu
    fi
done

[ $failures -eq 0 ]
