#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws problems to tune the model of schedules on: programs that people write, shapes and types by a seed.

    tools/tune/problems.py --count 400 --seed 7 > problems.jsonl

A line for each, as `kiln precompile` reads them, of some 200 MB. The same seed draws the same problems.
"""
import argparse
import json
import math
import random

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1,
         "bool": 1}

# family, program, tensors: x like the whole space, v one value per column, r one value per row; ":" a type of its own.
ROWS = [
    ("softmax", "y = softmax(x)", "x y"), ("softmax", "y = log_softmax(x)", "x y"),
    ("softmax", "y = softmax(x * 0.125 + m)", "x m=v y"), ("softmax", "y = softmax(30 * tanh(x / 30))", "x y"),
    ("softmax", "y = softmax(x * 0.125 + m)", "x m y"), ("softmax", "y = where(index(-1) <= index(0) % size(-1), x, -inf); z = softmax(y)", "x z"),
    ("softmax", "dx = softmax_grad(dy, y)", "dy y dx"), ("softmax", "dx = y * (dy - sum(dy * y))", "y dy dx"),
    ("norm", "y = layer_norm(x, w, b)", "x w=v b=v y"), ("norm", "y = rms_norm(x, w)", "x w=v y"),
    ("norm", "y = layer_norm(x, w, b)", "x w=v:f32 b=v:f32 y"), ("norm", "h = x + r; y = rms_norm(h, w)", "x r w=v h y"),
    ("norm", "y = (x - mean(x)) * rsqrt(var(x) + 1e-5)", "x y"), ("norm", "y = l2_normalize(x)", "x y"),
    ("norm", "n = rsqrt(mean(x * x) + 1e-6); dx = n * (dy * w - x * n * n * mean(dy * w * x))", "x dy w=v dx"),
    ("loss", "l = logsumexp(x) - sum(where(index(-1) == t, x, 0))", "x t=r:i32 l=r:f32"), ("loss", "l = logsumexp(x)", "x l=r:f32"),
    ("loss", "l = sum((a - b) * (a - b))", "a b l=r:f32"), ("loss", "l = sum(p * (log(p + 1e-9) - log(q + 1e-9)))", "p q l=r:f32"),
    ("reduce", "s = sum(x)", "x s=r:f32"), ("reduce", "s = max(x)", "x s=r"), ("reduce", "s = argmax(x)", "x s=r:i64"),
    ("reduce", "s = sum(a * b)", "a b s=r:f32"), ("reduce", "v = var(x)", "x v=r:f32"), ("reduce", "s = norm2(x)", "x s=r:f32"),
    ("reduce", "m = mean(x); v = var(x)", "x m=r:f32 v=r:f32"), ("reduce", "s = sum(gelu(x) * w)", "x w=v s=r:f32"),
    ("quant", "s = absmax(x) / 448; q = x / s", "x s=r:f32 q:e4m3"), ("quant", "s = absmax(x) / 127; q = round(x / s)", "x s=r:f32 q:i8"),
    ("quant", "y = rms_norm(x, w); s = absmax(y) / 448; q = y / s", "x w=v s=r:f32 q:e4m3"),
    ("quant", "y = silu(a) * b; s = absmax(y) / 448; q = y / s", "a b s=r:f32 q:e4m3"),
    ("quant", "y = x * s", "x:e4m3 s=r:f32 y"), ("misc", "y = x / (1 + sum(abs(x)))", "x y"),
    ("misc", "y = tan(x) * erfinv(x) + sum(x)", "x y"), ("misc", "y = x > mean(x) ? x : 0", "x y"),
    ("misc", "g = sigmoid(sum(x * w)); y = x * g", "x w=v y"), ("misc", "y = exp(-abs(x - max(x)) / (var(x) + 1))", "x y"),
]
POINTS = [
    ("pointwise", "y = gelu(x)", "x y"), ("pointwise", "y = silu(a) * b", "a b y"), ("pointwise", "y = a + b", "a b y"),
    ("pointwise", "y = x * w + b", "x w=v b=v y"), ("pointwise", "y = x * s", "x s=r y"), ("pointwise", "y = x", "x y:f32"),
    ("pointwise", "y = x", "x:f32 y"), ("pointwise", "y = x * 0.01", "x:u8 y"), ("pointwise", "y = x", "x y:e4m3"),
    ("pointwise", "y = silu(a) * b / s", "a b s=r:f32 y:e4m3"), ("pointwise", "y = where(m, x, 0) * 1.1", "x m:bool y"),
    ("pointwise", "da = dy * b * silu_grad(a, 1); db = dy * silu(a)", "a b dy da db"),
    ("pointwise", "mm = 0.9 * m + 0.1 * g; vv = 0.999 * v + 0.001 * g * g; pp = p * 0.9999 - 0.001 * mm / (sqrt(vv) + 1e-8)",
     "p:f32 g m:f32 v:f32 mm:f32 vv:f32 pp:f32"),
    ("pointwise", "y = lgamma(x)", "x y"), ("pointwise", "y = sin(x) * cos(x)", "x y"),
]
COLUMNS = [row for row in ROWS if row[0] in ("reduce", "norm", "softmax") and "index" not in row[1]]


def draw_size(r, low, high):
    size = int(2 ** r.uniform(math.log2(low), math.log2(high)))
    kind = r.random()
    if kind < 0.2:
        return 1 << round(math.log2(size))
    if kind < 0.7:
        step = r.choice([8, 16, 64, 128])
        return max(low, size // step * step or size)
    return max(low, size)


def tensors_of(spec, kind, shape, reduced):
    """["x=bf16[64,1000]", ...]"""
    out = []
    for word in spec.split():
        word, _, own = word.partition(":")
        name, _, like = word.partition("=")
        sizes = list(shape)
        if like == "r":
            sizes = [1 if i in reduced else n for i, n in enumerate(shape)]
        elif like == "v":
            sizes = [n if i in reduced else 1 for i, n in enumerate(shape)]
        out.append((name, own or kind, sizes))
    return out


def draw(r):
    where = r.choices(["row", "column", "point", "transpose"], [60, 24, 12, 4])[0]
    family, program, spec = r.choice({"row": ROWS, "column": COLUMNS}.get(where, POINTS))
    kind = r.choices(["bf16", "f16", "f32", "f64"], [45, 22, 30, 3])[0]
    each = sum(BYTES[k] * (sizes[0] > 1) for _, k, sizes in tensors_of(spec, kind, [2], [] if "=r" not in spec else []))
    elements = int(2e8 / max(1, each))
    if where == "row":
        cols = draw_size(r, 24, 200000)
        shape, reduced = [max(1, elements // cols), cols], [1]
        if r.random() < 0.15 and shape[0] > 64:
            shape = [8, shape[0] // 8, cols]
            reduced = [2]
    elif where == "column":
        cols = draw_size(r, 3, 20000)
        rows = max(1, elements // cols)
        inner = min(rows, draw_size(r, 3, 100000))
        shape, reduced = ([cols, rows], [0]) if r.random() < 0.3 else ([max(1, rows // inner), cols, inner], [1])
    else:
        inner = draw_size(r, 24, 100000)
        shape, reduced = [max(1, elements // inner), inner], [1]
    tensors = tensors_of(spec, kind, shape, reduced)
    texts = [f"{name}={k}[{','.join(map(str, sizes))}]" for name, k, sizes in tensors]
    if where == "transpose":
        channels, pixels = r.choice([3, 4, 8, 16, 32, 64]), draw_size(r, 1000, 300000)
        images = max(1, elements // (channels * pixels))
        program, texts = "y = x * 0.5", [f"x={kind}[{images},{channels},{pixels}]{{{channels * pixels},1,{channels}}}",
                                         f"y={r.choice([kind, 'f16'])}[{images},{channels},{pixels}]"]
        family, reduced = "transpose", []
    axes = [] if where in ("point", "transpose") and "sum" not in program else reduced
    written = [line.split("=")[0].strip() for line in program.split(";")]
    outputs = [name for name, _, _ in tensors if name in written] if where != "transpose" else ["y"]
    return {"program": program, "outputs": outputs, "tensors": texts, "axes": axes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    r = random.Random(given.seed)
    for _ in range(given.count):
        print(json.dumps(draw(r)))


if __name__ == "__main__":
    main()
