#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws problems to tune the model of schedules on: programs that people write, shapes and types by a seed.

    tools/tune/problems.py --count 400 --seed 7 > problems.jsonl

A line for each, as `kiln precompile` reads them but with the program's family beside, of some --megabytes. The same
seed draws the same problems.
"""
import argparse
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import row_programs
from drawn import draw_size
from kiln_ctypes import tensor_text, type_size

# What the benchmark's list (tools/bench/row_programs.py) lacks, which says which programs are held out of tuning.
# family, program, tensors: x like the whole space, v one value per column, r one value per row; ":" a type of its own.
OWN_ROWS = [
    ("softmax", "y = softmax(x * 0.125 + m)", "x m=v y"), ("softmax", "y = softmax(30 * tanh(x / 30))", "x y"),
    ("softmax", "y = softmax(x * 0.125 + m)", "x m y"), ("softmax", "y = where(index(-1) <= index(0) % size(-1), x, -inf); z = softmax(y)", "x z"),
    ("norm", "n = rsqrt(mean(x * x) + 1e-6); dx = n * (dy * w - x * n * n * mean(dy * w * x))", "x dy w=v dx"),
    ("loss", "l = sum(p * (log(p + 1e-9) - log(q + 1e-9)))", "p q l=r:f32"), ("reduction", "s = sum(gelu(x) * w)", "x w=v s=r:f32"),
    ("misc", "y = x / (1 + sum(abs(x)))", "x y"), ("misc", "y = tan(x) * erfinv(x) + sum(x)", "x y"),
    ("misc", "y = x > mean(x) ? x : 0", "x y"), ("misc", "g = sigmoid(sum(x * w)); y = x * g", "x w=v y"),
    ("misc", "y = exp(-abs(x - max(x)) / (var(x) + 1))", "x y"),
]
OWN_POINTS = [("pointwise", "y = silu(a) * b / s", "a b s=r:f32 y:e4m3"), ("pointwise", "y = x * 0.01", "x:u8 y"),
              ("pointwise", "y = sin(x) * cos(x)", "x y")]


def spec_of(program):
    """Its tensors in the words above."""
    words = []
    for tensor in program.tensors():
        missing = set(program.space) - set(tensor.axes)
        like = "" if not missing else "=r" if missing == set(program.reduced or "c") else "=v"
        words.append(tensor.name + like + (":" + tensor.type if tensor.type else ""))
    return " ".join(words)


def shared(*domains):
    """Of the benchmark's programs those over rows and columns, without scalars."""
    return [(p.family, p.text, spec_of(p)) for p in row_programs.ALL
            if p.domain in domains and not p.held_out and not p.scalars]


ROWS = shared("rows") + OWN_ROWS
POINTS = shared("points", "flat") + OWN_POINTS
TURNED = [row for row in OWN_ROWS + shared("rows") if row[2] == "x y" and row[0] in ("softmax", "norm")]
COLUMNS = shared("columns", "middle") + [
    row for row in ROWS if row[0] in ("softmax", "norm", "statistics", "reduction") and "index" not in row[1]]


# Values of all rows beside rows (more of them in TOTALS: a list that grew would draw others by the same seed), and blocks
# of columns: b32 is one value for each 32 columns of a row.
ACROSS = [
    ("weight gradient", "dx = rms_norm_grad(x, w, g); dw = sum(g * rms_norm(x), axes = 0)", "x w=v g dx dw=v:f32"),
    ("weight gradient", "dx = layer_norm_grad(x, w, g); dw = sum(g * layer_norm(x), axes = 0); db = sum(g, axes = 0)",
     "x w=v g dx dw=v:f32 db=v:f32"),
    ("weight gradient", "dx = gelu_grad(x + b, g); db = sum(dx, axes = 0)", "x b=v g dx db=v:f32"),
    ("moments", "p = softmax(x); m = mean(p, axes = 0)", "x p m=v:f32"),
]
TOTALS = [
    ("moments", "a = mean(x, axes = 0); v = mean(x * x, axes = 0); y = x * sigmoid(x)", "x a=v:f32 v=v:f32 y"),
    ("moments", "y = rms_norm(x, w); m = absmax(y, axes = 0)", "x w=v y m=v:f32"),
    ("moments", "y = x - logsumexp(x); m = max(y, axes = 0)", "x y m=v:f32"),
    ("weight gradient", "dx = softmax_grad(y, g); db = sum(dx, axes = 0)", "y g dx db=v:f32"),
    ("weight gradient", "dx = g * w * (x > 0); dw = sum(g * relu(x), axes = 0)", "x w=v g dx dw=v:f32"),
    ("weight gradient", "da = silu_grad(a, g * b); db = g * silu(a); s = sum(da, axes = 0); t = sum(db, axes = 0)",
     "a b g da db s=v:f32 t=v:f32"),
    ("weight gradient", "n = l2_normalize(x); d = sum(n * g); dx = g - n * d; dw = sum(n * g, axes = 0)",
     "x g dx dw=v:f32 d=r:f32"),
    ("weight gradient", "dw = sum(g * rms_norm(x), axes = 0)", "x g dw=v:f32"),
]
BLOCKS = [
    ("block quantiser", "s = scale_e4m3(x, block = 128); q = quantize_e4m3(x, block = 128)", "x s=b128:f32 q:e4m3"),
    ("block quantiser", "s = scale_mx_e4m3(x); q = quantize_mx_e4m3(x)", "x s=b32:e8m0 q:e4m3"),
    ("block quantiser", "y = rms_norm(x, w); s = scale_e4m3(y, block = 128); q = quantize_e4m3(y, block = 128)",
     "x w=v s=b128:f32 q:e4m3"),
    ("block quantiser", "r = x + h; y = rms_norm(r, w); s = scale_e4m3(y, block = 128); q = quantize_e4m3(y, block = 128)",
     "x h w=v r s=b128:f32 q:e4m3"),
    ("block quantiser", "y = silu(a) * b; s = scale_mx_e4m3(y); q = quantize_mx_e4m3(y)", "a b s=b32:e8m0 q:e4m3"),
    ("block quantiser", "m = mean(x * x, block = 64); y = x * rsqrt(m + 1e-6)", "x y"),
]
# Rows whose columns are brought into order: k8 is the row's first 8.
ORDERS = [
    ("top", "v, i = topk(x, 8)", "x v=k8 i=k8:i64"), ("top", "v, i = topk(softmax(x), 2)", "x v=k2 i=k2:i64"),
    ("top", "v = topk(x, 40)", "x v=k40"), ("top", "v, i = topk(sigmoid(x) + b, 6); p = v / sum(v)", "x b=v v=k6 p=k6 i=k6:i64"),
    ("top", "v, i = topk(-x, 100)", "x v=k100 i=k100:i64"),
    ("sort", "y = sort(x)", "x y"), ("sort", "y = sort(x); i = argsort(x)", "x y i:i64"), ("sort", "i = argsort(abs(x))", "x i:i32"),
    ("sort", "p = softmax(x); y = sort(p, descending = true); c = cumsum(y)", "x y c"),
]
# One value of a row is its k-th: the row is gone over many times.
SELECTIONS = [
    ("selection", "m = median(x)", "x m=r"), ("selection", "y = x - median(x)", "x y"),
    ("selection", "m = kth(x, 5)", "x m=r"), ("selection", "y = x >= kth_largest(x, 8) ? x : -inf", "x y"),
    ("selection", "y = clamp(x, quantile(x, 0.01), quantile(x, 0.99))", "x y"), ("selection", "m = quantile(x, 0.5)", "x m=r"),
]


# Of batches, channels and pixels: c is a value of each channel, n of each batch and pixel. The axes that are reduced.
CHANNELS = [
    ("channels", "y = (x - mean(x)) * rsqrt(var(x, 0) + 1e-5) * w + b", "x w=c b=c y", [1, 2]),
    ("channels", "y = (x - mean(x)) * rsqrt(var(x, 0) + 1e-5) * w", "x w=c:f32 y", [1, 2]),
    ("channels", "a = mean(x); v = var(x)", "x a=r:f32 v=r:f32", [0, 2]), ("channels", "s = sum(x)", "x s=r:f32", [0, 2]),
    ("channels", "y = x * w + b", "x w=c b=c y", []), ("channels", "y = relu(x * w + b)", "x w=c:f32 b=c:f32 y", []),
    ("channels", "y = rms_norm(x) * (1 + s) + t", "x s=n t=n y", [2]), ("channels", "y = softmax(x + m)", "x m=n y", [2]),
]


# What is drawn where nothing else is said: of all tensors together, of rows, and of rows that lie side by side.
BYTES, COLUMNS_OF_ROWS, COLUMNS_OF_NEIGHBOURS = 200e6, (24, 200000), (3, 20000)
LAYOUTS = {"row": 60, "column": 24, "point": 12, "transpose": 4, "across": 0, "block": 0, "totals": 0, "tall": 0,
           "odd": 0, "order": 0, "selection": 0, "turned": 0, "channels": 0}  # of a hundred


def tensors_of(spec, kind, shape, reduced):
    """["x=bf16[64,1000]", ...]"""
    out = []
    for word in spec.split():
        word, _, own = word.partition(":")
        name, _, like = word.partition("=")
        sizes = list(shape)
        if like == "r":
            sizes = [1 if i in reduced else n for i, n in enumerate(shape)]
        elif like.startswith("b"):
            sizes = [*shape[:-1], -(-shape[-1] // int(like[1:]))]
        elif like.startswith("k"):
            sizes = [*shape[:-1], min(shape[-1], int(like[1:]))]
        elif like == "v":
            sizes = [n if i in reduced else 1 for i, n in enumerate(shape)]
        elif like in ("c", "n"):
            sizes = [n if (i == 1) == (like == "c") else 1 for i, n in enumerate(shape)]
        out.append((name, own or kind, sizes))
    return out


def shape_of(r, where, elements, columns, of_neighbours):
    """Of the space, and which of its axes are reduced."""
    if where in ("row", "across", "block", "totals", "order") or (where == "selection" and r.random() < 0.8):
        cols = draw_size(r, *columns)
        rows = max(1, elements // cols)
        if where == "row" and r.random() < 0.15 and rows > 64:
            return [8, rows // 8, cols], [2]
        return [rows, cols], [1]
    if where in ("column", "selection"):
        cols = draw_size(r, *of_neighbours)
        rows = max(1, elements // cols)
        inner = min(rows, draw_size(r, 3, 100000))
        return ([cols, rows], [0]) if r.random() < 0.3 else ([max(1, rows // inner), cols, inner], [1])
    if where == "turned":
        cols = draw_size(r, 8, 4096)
        return [cols, max(8, elements // cols)], [0]
    if where in ("tall", "odd"):
        kept = draw_size(r, 2, 400) | (where == "odd")
        return [max(1, elements // kept), kept], [0]
    inner = draw_size(r, 24, 100000)
    return [max(1, elements // inner), inner], [1]


def begun_anywhere(r, tensors):
    """Their texts: of all with columns the rows at a pitch, or the first element behind where an access begins."""
    offset, pad = r.choice([(1, 0), (3, 0), (5, 0), (0, 1), (0, 8), (0, 24)])
    texts = []
    for name, kind, sizes in tensors:
        pitch = sizes[-1] + (pad if sizes[-1] > 1 else 0)
        strides = [math.prod([*sizes[axis + 1:-1], pitch]) for axis in range(len(sizes) - 1)] + [1]
        texts.append(tensor_text(name, kind, sizes, strides if pad else None, offset))
    return texts


def written_by(program, tensors):
    names = [name.strip() for line in program.split(";") for name in line.split("=")[0].split(",")]
    return [name for name, _, _ in tensors if name in names]


def draw_channels(r, size, anywhere):
    family, program, spec, reduced = r.choice(CHANNELS)
    kind = r.choices(["bf16", "f16", "f32"], [40, 30, 30])[0]
    channels, pixels = draw_size(r, 2, 600), draw_size(r, 16, 60000)
    if "=n" in spec:
        channels, pixels = draw_size(r, 64, 20000), draw_size(r, 16, 8192)
    each = type_size(kind) * sum("=" not in word for word in spec.split()) * channels * pixels
    tensors = tensors_of(spec, kind, [max(1, int(size / each)), channels, pixels], reduced)
    texts = [tensor_text(name, k, sizes) for name, k, sizes in tensors]
    if anywhere and r.random() < anywhere:
        texts = begun_anywhere(r, tensors)
    return {"family": family, "program": program, "outputs": written_by(program, tensors), "tensors": texts, "axes": reduced}


def draw(r, size=BYTES, columns=COLUMNS_OF_ROWS, of_neighbours=COLUMNS_OF_NEIGHBOURS, layouts=tuple(LAYOUTS),
         anywhere=0):
    weights = [LAYOUTS[name] for name in layouts]
    where = r.choices(layouts, weights if any(weights) else None)[0]
    if where == "channels":
        return draw_channels(r, size, anywhere)
    family, program, spec = r.choice(
        {"row": ROWS, "column": COLUMNS, "tall": COLUMNS, "odd": COLUMNS, "across": ACROSS, "block": BLOCKS, "totals": TOTALS,
         "order": ORDERS, "selection": SELECTIONS, "turned": TURNED}.get(where, POINTS))
    kind = r.choices(["bf16", "f16", "f32", "f64"], [45, 22, 30, 3])[0]
    each = sum(type_size(k) * (sizes[0] > 1) for _, k, sizes in tensors_of(spec, kind, [2], [] if "=r" not in spec else []))
    elements = int(size / max(1, each))
    shape, reduced = shape_of(r, where, elements, columns, of_neighbours)
    tensors = tensors_of(spec, kind, shape, reduced)
    texts = [tensor_text(name, k, sizes) for name, k, sizes in tensors]
    if anywhere and r.random() < anywhere:
        texts = begun_anywhere(r, tensors)
    if where == "transpose":
        channels, pixels = r.choice([3, 4, 8, 16, 32, 64]), draw_size(r, 1000, 300000)
        images = max(1, elements // (channels * pixels))
        program, texts = "y = x * 0.5", [f"x={kind}[{images},{channels},{pixels}]{{{channels * pixels},1,{channels}}}",
                                         f"y={r.choice([kind, 'f16'])}[{images},{channels},{pixels}]"]
        family, reduced = "transpose", []
    if where == "turned":  # the row's columns lie side by side in what is written
        texts[-1] = tensor_text(*tensors[-1], [1, shape[0]])
    axes = [] if where in ("point", "transpose") and "sum" not in program else reduced
    outputs = written_by(program, tensors) if where != "transpose" else ["y"]
    return {"family": family, "program": program, "outputs": outputs, "tensors": texts, "axes": axes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=BYTES / 1e6)
    parser.add_argument("--columns", type=int, nargs=2, default=COLUMNS_OF_ROWS, metavar=("LEAST", "MOST"), help="of rows")
    parser.add_argument("--columns-of-neighbours", type=int, nargs=2, default=COLUMNS_OF_NEIGHBOURS,
                        metavar=("LEAST", "MOST"), help="of rows that lie side by side")
    parser.add_argument("--anywhere", type=float, default=0,
                        help="share of problems whose tensors begin between accesses, or have rows at a pitch")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    given = parser.parse_args()
    r = random.Random(given.seed)
    for _ in range(given.count):
        print(json.dumps(draw(r, given.megabytes * 1e6, given.columns, given.columns_of_neighbours, given.layouts,
                              given.anywhere)))


if __name__ == "__main__":
    main()
