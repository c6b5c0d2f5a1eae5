# SPDX-License-Identifier: Apache-2.0
"""The programs of check_programs.py: each a generator of launches, with random tensors and what NumPy makes of them.

A reference gives values in double precision, before they are rounded to the output's type, and how far a kernel's may be
from them, which computes in f32 unless an input is f64. Quantised numbers are compared with the scales that were stored.
"""
import math
import re
import warnings

import numpy as np
import program_types as types
from program_draw import Work, as_tiles, unit

erf = np.vectorize(math.erf, otypes=[np.float64])


def by_block(x, block):
    """[M, blocks, block] with 0 where the last block is short."""
    short = -x.shape[-1] % block
    return np.pad(x, ((0, 0), (0, short))).reshape(x.shape[0], -1, block)


def spread(s, block, columns):
    return np.repeat(s, block, -1)[:, :columns]


def absmax(x, block):
    with np.errstate(invalid="ignore"):
        return np.abs(by_block(x, block)).max(-1)


def quotient(x, s):
    with np.errstate(all="ignore"):
        return np.where(s == 0, 0, x / s)


# ---- quantisers: of y, with an error of its own, whose text is there -----------------------------------------------


class Scheme:
    """text: of s and q; block: columns of a scale, None: the row; scale(absmax): before it is rounded, exact where that
    is a power of two."""

    def __init__(self, text, block, scale_type, number_type, scale, exact=False):
        self.text, self.block, self.scale, self.exact = text, block, scale, exact
        self.scale_type, self.number_type = scale_type, number_type


def floor_scale(exponent):
    def scale(largest):
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.ldexp(1.0, np.frexp(np.where(np.isfinite(largest), largest, 1))[1] - 1 - exponent)
        power = np.where(largest == 0, 2.0 ** -127, np.where(np.isinf(largest), 2.0 ** (127 - exponent), power))
        return np.where(np.isnan(largest), np.nan, power)
    return scale


def of_range(kind, block):
    call = "" if block is None else f", block = {block}"
    return Scheme(f"s = scale_{kind}(y{call})\nq = quantize_{kind}(y{call})", block, "f32", kind,
                  lambda largest: largest / types.LARGEST[kind])


def of_mx(kind, up):
    name = f"mx_{kind}{'_up' if up else ''}"
    exponent = {"e4m3": 8, "e5m2": 15, "e2m1": 2}[kind]
    scale = (lambda largest: largest / types.LARGEST[kind]) if up else floor_scale(exponent)
    return Scheme(f"s = scale_{name}(y)\nq = quantize_{name}(y)", 32, "e8m0", kind, scale, not up)


def of_nvfp4(t):
    return Scheme("s = scale_nvfp4(y, t)\nq = quantize_nvfp4(y, t)", 16, "e4m3", "e2m1",
                  lambda largest: quotient(largest / 6, t))


def add_quantiser(draw, work, scheme, y, error, unit_error, t=1.0):
    """The outputs s and q of the scheme."""
    rows, columns = y.shape
    block = scheme.block or columns

    def scales(results):
        largest = absmax(y, block)
        off = np.nan_to_num(by_block(error, block).max(-1), nan=0, posinf=0)
        with np.errstate(invalid="ignore"):
            low, high = scheme.scale(np.maximum(largest - off, 0)), scheme.scale(largest + off)
            return (low + high) / 2, (high - low) / 2 + (0 if scheme.exact else high * 2 * unit_error)

    def numbers(results):
        s = spread(results["s"], block, columns) * t
        with np.errstate(all="ignore"):
            value = y / s if scheme.scale_type == "e8m0" else quotient(y, s)
            stored = 2.0 ** -24 if scheme.scale_type == "f32" else 0  # a scale of f64 divides before it is stored
            return value, np.abs(value) * (4 * unit_error + stored) + error / s
    draw.output(work, "s", scheme.scale_type, (rows, -(-columns // block)), scales,
                "row" if scheme.block is None else "scales")
    draw.output(work, "q", scheme.number_type, (rows, columns), numbers)


def block_of(draw):
    return draw.one_of(16, 32, 64, 128)


def any_scheme(draw):
    kind = draw.one_of("e4m3", "e5m2", "e2m1")
    return draw.one_of(of_range("e4m3", 128), of_range("e4m3", None), of_range("i8", None), of_range("i8", block_of(draw)),
                       of_range("e5m2", block_of(draw)), of_mx(kind, False), of_mx(kind, True))


def shape_for(draw, scheme):
    """Any number of columns; an even one where two numbers lie in a byte."""
    return draw.quantised_shape(scheme.block, 2 if scheme.number_type == "e2m1" else 1)


def quantise_alone(draw, scheme):
    kind, (rows, columns, tiles) = draw.floats(), shape_for(draw, scheme)
    work = Work(scheme.text.replace("(y", "(x"))
    x = draw.input(work, "x", kind, draw.special(draw.scattered((rows, columns))))
    add_quantiser(draw, work, scheme, x, np.zeros_like(x), unit(kind))
    if tiles:
        as_tiles(work, rows, columns, scheme.block)
    yield work


def quantise_rows(draw):
    yield from quantise_alone(draw, of_range(draw.one_of("e4m3", "e5m2", "i8"), None))


def quantise_blocks(draw):
    yield from quantise_alone(draw, of_range(draw.one_of("e4m3", "e5m2", "i8"), block_of(draw)))


def quantise_mxfp8(draw):
    yield from quantise_alone(draw, of_mx(draw.one_of("e4m3", "e5m2"), draw.chance(50)))


def quantise_mxfp4(draw):
    yield from quantise_alone(draw, of_mx("e2m1", draw.chance(50)))


def rms_norm(x, w, eps=1e-6):
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x * r * w


def quantise_nvfp4(draw):
    """The scale of the tensor first; a norm is before both, or nothing."""
    kind, norm, (rows, columns, tiles) = draw.floats(), draw.chance(60), draw.quantised_shape(16, 2)
    y_text = "y = rms_norm(x, w)" if norm else "y = x * 1"
    first = Work(f"{y_text}\nt = scale_nvfp4_tensor(y)")
    x = draw.input(first, "x", kind, draw.scattered((rows, columns)))
    w = draw.input(first, "w", kind, draw.values(columns), "columns") if norm else 1
    y = rms_norm(x, w) if norm else x
    off = 16 * unit(kind)
    draw.output(first, "t", "f32", (), lambda results: (np.abs(y).max() / 2688, np.abs(y).max() / 2688 * off))
    results = yield first
    t = float(results["t"])
    work = Work(f"{y_text}\n{of_nvfp4(t).text}")
    work.inputs, work.roles = dict(first.inputs), dict(first.roles)
    draw.input(work, "t", "f32", np.float64(t), "one")
    add_quantiser(draw, work, of_nvfp4(t), y, np.abs(y) * off if norm else np.zeros_like(y), unit(kind), t)
    if tiles:
        as_tiles(work, rows, columns, 16)
    yield work


def dequantise(draw):
    number, scale, block = draw.one_of(("e4m3", "f32", 128), ("e4m3", "e8m0", 32), ("e5m2", "e8m0", 32), ("e2m1", "e8m0", 32),
                                       ("e2m1", "e4m3", 16), ("i8", "f32", 16), ("i8", "f16", 64))
    rows, columns, kind = draw.rows(), draw.columns(2), draw.floats()
    two_levels = scale == "e4m3"
    work = Work(f"y = q * repeat(s, {block})" + (" * t" if two_levels else ""))
    q = draw.input(work, "q", number, draw.values((rows, columns), types.LARGEST[number] / 3))
    s = draw.input(work, "s", scale, np.abs(draw.scattered((rows, -(-columns // block)))))
    t = draw.input(work, "t", "f32", np.float64(draw.one_of(1.0, 0.37, 1e-3)), "one") if two_levels else 1
    value = q * spread(s, block, columns) * t
    draw.output(work, "y", kind, (rows, columns), lambda results: (value, np.abs(value) * unit()))
    yield work


# ---- norms and activations, with quantisers ------------------------------------------------------------------------


def add_norm_quantise(draw):
    scheme = draw.one_of(of_range("e4m3", 128), any_scheme(draw))
    kind, (rows, columns, tiles) = draw.floats(), shape_for(draw, scheme)
    work = Work("r = x + h\ny = rms_norm(r, w)\n" + scheme.text)
    x = draw.input(work, "x", kind, draw.values((rows, columns)))
    h = draw.input(work, "h", kind, draw.values((rows, columns)))
    w = draw.input(work, "w", draw.one_of(kind, "f32"), draw.values(columns), "columns")
    off = unit(kind)
    r, size = x + h, np.abs(x) + np.abs(h)
    y = rms_norm(r, w)
    scale = np.abs(w) / np.sqrt((r * r).mean(-1, keepdims=True) + 1e-6)
    draw.output(work, "r", draw.one_of(kind, "f32"), r.shape, lambda results: (r, size * off))
    add_quantiser(draw, work, scheme, y, 16 * off * np.abs(y) + size * scale * off, off)
    if tiles:
        as_tiles(work, rows, columns, scheme.block)
    yield work


def silu_quantise(draw):
    """Gate and value are two halves of one matrix."""
    scheme = any_scheme(draw)
    kind, (rows, columns, tiles) = draw.floats(), shape_for(draw, scheme)
    work = Work("y = silu(gate) * value\n" + scheme.text)
    gate = draw.input(work, "gate", kind, draw.values((rows, columns), 2))
    value = draw.input(work, "value", kind, draw.values((rows, columns)))
    for name in ("gate", "value"):
        work.inputs[name].seen((rows, columns), (2 * columns, 1))
    y = gate / (1 + np.exp(-gate)) * value
    off = unit(kind)
    add_quantiser(draw, work, scheme, y, 16 * off * np.abs(y), off)
    if tiles:
        as_tiles(work, rows, columns, scheme.block)
    yield work


# ---- gradients with those of weights -------------------------------------------------------------------------------


def column_sum(draw, work, name, terms, off, mean=False, error=0):
    n = terms.shape[0] if mean else 1
    off = 4 * off + (3e-7 * math.sqrt(terms.shape[0]) if off > 1e-9 else 0)
    draw.output(work, name, draw.one_of("f32", "f32", "bf16"), terms.shape[1:],
                lambda results: (terms.sum(0) / n, (np.abs(terms).sum(0) * off + np.sum(error)) / n), "columns")


def norm_gradients(draw):
    layer = draw.chance(50)
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    name = "layer_norm" if layer else "rms_norm"
    work = Work(f"dx = {name}_grad(x, w, g)\ndw = sum(g * {name}(x), axes = 0)\ndb = sum(g, axes = 0)")
    x = draw.input(work, "x", kind, draw.values((rows, columns)))
    w = draw.input(work, "w", draw.one_of(kind, "f32"), draw.values(columns), "columns")
    g = draw.input(work, "g", kind, draw.values((rows, columns)))
    mean = x.mean(-1, keepdims=True) if layer else 0
    r = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + (1e-5 if layer else 1e-6))
    n, h = (x - mean) * r, g * w
    along = (h * n).mean(-1, keepdims=True)
    dx = r * (h - (h.mean(-1, keepdims=True) if layer else 0) - n * along)
    off = 16 * unit(kind)
    # near a mean that is nearly the element, as in rows of one column, what is left is rounding
    near = r * np.abs(x).max(-1, keepdims=True) * off if layer else 0
    size = r * (np.abs(h) + np.abs(h).mean(-1, keepdims=True) + np.abs(n) * np.abs(h * n).mean(-1, keepdims=True))
    size = size + r * near / off * (np.abs(along) + np.abs(h).mean(-1, keepdims=True) * np.abs(n)) if layer else size
    draw.output(work, "dx", draw.floats(), x.shape, lambda results: (dx, size * off))
    column_sum(draw, work, "dw", g * n, off, error=np.abs(g * near).sum(0).max())
    column_sum(draw, work, "db", g, off)
    yield work


def gelu_gradients(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    work = Work("dx = gelu_grad(x + b, g)\ndb = sum(dx, axes = 0)")
    x = draw.input(work, "x", kind, draw.values((rows, columns), 2))
    b = draw.input(work, "b", kind, draw.values(columns), "columns")
    g = draw.input(work, "g", kind, draw.values((rows, columns)))
    v = x + b
    dx = g * ((1 + erf(v / math.sqrt(2))) / 2 + v * np.exp(-v * v / 2) / math.sqrt(2 * math.pi))
    off = unit(kind)
    error = 8 * off * (np.abs(dx) + np.abs(g) * (1 + np.abs(x) + np.abs(b)))
    draw.output(work, "dx", draw.floats(), x.shape, lambda results: (dx, error))
    column_sum(draw, work, "db", dx, off, error=error.sum(0).max())
    yield work


# ---- losses --------------------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def label_of(draw, work, rows, columns):
    values = draw.rng.integers(0, columns, (rows, 1))
    return draw.input(work, "label", draw.one_of("i64", "i32"), values, "row").astype(np.int64)


def cross_entropy(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    work = Work("l = logsumexp(x) - take(x, label)\ndx = cross_entropy_label_grad(x, label, g)")
    x = draw.input(work, "x", kind, draw.values((rows, columns), 4))
    label = label_of(draw, work, rows, columns)
    g = draw.input(work, "g", "f32", draw.values((rows, 1)), "row")
    at = np.take_along_axis(x, label, -1)
    sums = np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)) + x.max(-1, keepdims=True)
    hot = np.arange(columns) == label
    off = 8 * unit(kind)
    draw.output(work, "l", draw.one_of("f32", kind), (rows, 1),
                lambda results: (sums - at, off * (1 + np.abs(sums) + np.abs(at) + np.abs(x).max(-1, keepdims=True))), "row")
    p = softmax(x)
    draw.output(work, "dx", draw.floats(), x.shape, lambda results: (
        g * (p - hot), off * np.abs(g) * (p * (16 + np.abs(x)) + hot) + 1e-37))
    yield work


def load_balance(draw):
    kind, tokens, experts = draw.floats(), draw.one_of(1, 7, 100, 300), draw.one_of(4, 8, 60, 64, 128)
    work = Work("share = mean(argmax(x) == index(-1), axes = 0)\nchance = mean(softmax(x), axes = 0)\n"
                "z = mean(logsumexp(x) ** 2, axes = 0)")
    x = draw.input(work, "x", kind, draw.values((tokens, experts), 2))
    off = 16 * unit(kind)
    column_sum(draw, work, "share", (np.arange(experts) == x.argmax(-1)[:, None]) * 1.0, off, True)
    column_sum(draw, work, "chance", softmax(x), off, True)
    squares = np.log(np.exp(x).sum(-1)) ** 2
    draw.output(work, "z", "f32", (), lambda results: (squares.mean(), off * (squares.mean() + 1)))
    yield work


def column_moments(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    work = Work("p = softmax(x)\nm = mean(p, axes = 0)\nv = mean(p * p, axes = 0) - m * m")
    x = draw.input(work, "x", kind, draw.values((rows, columns), 2))
    p, off = softmax(x), 16 * unit(kind)
    draw.output(work, "p", draw.floats(), p.shape, lambda results: (p, off * p * (1 + np.abs(x))))
    column_sum(draw, work, "m", p, off * 4, True)
    draw.output(work, "v", "f32", (columns,), lambda results: (p.var(0), 16 * off * ((p * p).mean(0) + p.mean(0) ** 2)),
                "columns")
    yield work


# ---- order in a row ------------------------------------------------------------------------------------------------


def top_k_mask(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    work = Work("t = kth_largest(x, k)\ny = x >= t ? x : 0\ns = kth(x, k)")
    x = draw.input(work, "x", kind, draw.scattered((rows, columns)))
    k = draw.input(work, "k", draw.one_of("i64", "i32"), draw.rng.integers(1, columns + 1, (rows, 1)), "row").astype(int)
    ordered = np.sort(x, -1)
    t, s = np.take_along_axis(ordered, columns - k, -1), np.take_along_axis(ordered, k - 1, -1)
    draw.output(work, "t", kind, (rows, 1), lambda results: (t, np.zeros_like(t)), "row")
    draw.output(work, "y", kind, x.shape, lambda results: (np.where(x >= t, x, 0), np.zeros_like(x)))
    draw.output(work, "s", kind, (rows, 1), lambda results: (s, np.zeros_like(s)), "row")
    yield work


def quantiles(draw):
    kind, rows, columns, q = draw.floats(), draw.rows(), draw.columns(), float(draw.one_of(0, 0.01, 0.3, 0.5, 0.9, 1))
    work = Work(f"m = median(x)\nq = quantile(x, {q!r})\nn = nanquantile(x, {q!r})\nd = nanmedian(x)")
    x = draw.values((rows, columns))
    if draw.chance(30):
        x[draw.rng.random(x.shape) < 0.1] = np.nan
    x = draw.input(work, "x", kind, x)
    off = 4 * unit(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows of nothing but NaN
        found = {"m": np.median(x, -1), "q": np.quantile(x, q, axis=-1), "n": np.nanquantile(x, q, axis=-1),
                 "d": np.nanmedian(x, -1)}
    size = np.nanmax(np.abs(np.where(np.isnan(x), 0, x)), -1)
    for name, value in found.items():
        draw.output(work, name, draw.one_of("f32", kind), (rows,), lambda results, value=value: (value, size * off))
    yield work


def router(draw):
    """The k largest of a row's probabilities, made to add up to 1, and whose they are."""
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    k = int(draw.rng.integers(1, min(columns, 40) + 1))
    work = Work(f"w, i = topk(x, {k})\np = softmax(topk(x, {k}))\nb = topk_by(b0, x, {k})")
    x = draw.input(work, "x", kind, draw.scattered((rows, columns)))
    b = draw.input(work, "b0", kind, draw.scattered((rows, columns)))
    i = np.argsort(-x, -1, kind="stable")[:, :k]
    w = np.take_along_axis(x, i, -1)
    p = np.exp(w - w.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    none = np.zeros(w.shape)
    draw.output(work, "w", kind, w.shape, lambda results: (w, none))
    draw.output(work, "i", draw.one_of("i64", "i32"), w.shape, lambda results: (i, none))
    draw.output(work, "p", "f32", w.shape, lambda results: (p, p * 1e-4 + 1e-7))
    draw.output(work, "b", kind, w.shape, lambda results: (np.take_along_axis(b, i, -1), none))
    yield work


def sorted_rows(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    axis = draw.one_of(-1, -1, 0)
    work = Work("y = sort(x)\ni = argsort(x)\nz = sort_by(w, x, descending = true)\nj = argsort(x, descending = true)",
                axes=(axis,))
    x = draw.scattered((rows, columns))
    if draw.chance(50):
        x = np.round(x * 4) / 4  # many are equal
    if draw.chance(30):
        x[draw.rng.random(x.shape) < 0.1] = np.nan
    x = draw.input(work, "x", kind, x)
    w = draw.input(work, "w", kind, draw.scattered((rows, columns)))
    up = np.argsort(x, axis, kind="stable")
    largest_first = np.where(np.isnan(x), -np.inf, -x)
    down = np.argsort(np.stack([~np.isnan(x), largest_first], -1).view([("a", "f8"), ("b", "f8")])[..., 0], axis,
                      kind="stable", order=("a", "b"))
    none = np.zeros(x.shape)
    draw.output(work, "y", kind, x.shape, lambda results: (np.take_along_axis(x, up, axis), none))
    draw.output(work, "i", draw.one_of("i64", "i32"), x.shape, lambda results: (up, none))
    draw.output(work, "z", kind, x.shape, lambda results: (np.take_along_axis(w, down, axis), none))
    draw.output(work, "j", "i32", x.shape, lambda results: (down, none))
    yield work


def scans(draw):
    kind, rows, columns = draw.floats(), draw.rows(), draw.columns()
    axis = draw.one_of(-1, -1, 0)
    work = Work("s = cumsum(x)\nm = cummax(x)\nn = cumsum(x > 0)\nt = max(cumsum(x))", axes=(axis,))
    x = draw.input(work, "x", kind, draw.scattered((rows, columns)))
    off = 1e-12 if kind == "f64" else 4e-7
    s, error = np.cumsum(x, axis), np.cumsum(np.abs(x), axis) * off * 16
    draw.output(work, "s", draw.one_of("f32", kind), x.shape, lambda results: (s, error))
    draw.output(work, "m", kind, x.shape, lambda results: (np.maximum.accumulate(x, axis), np.zeros_like(x)))
    draw.output(work, "n", "i32", x.shape, lambda results: (np.cumsum(x > 0, axis), np.zeros_like(x)))
    draw.output(work, "t", "f32", s.max(axis).shape, lambda results: (s.max(axis), error.max(axis)))
    yield work


# ---- places --------------------------------------------------------------------------------------------------------


def embedding(draw):
    kind, rows, columns, words = draw.floats(), draw.rows(), draw.columns(), draw.one_of(1, 9, 100)
    scale = float(draw.one_of(1.0, 22.627, 0.5))
    work = Work("e = rows(table, id) * scale", [("scale", scale)])
    table = draw.input(work, "table", kind, draw.values((words, columns)))
    index = draw.rng.integers(-1 if draw.chance(30) else 0, words + (1 if draw.chance(30) else 0), (rows, 1))
    at = draw.input(work, "id", draw.one_of("i64", "i32"), index, "row").astype(np.int64)
    inside = (at >= 0) & (at < words)
    value = np.where(inside, table[np.clip(at[:, 0], 0, words - 1)] * scale, np.nan)
    draw.output(work, "e", draw.floats(), (rows, columns), lambda results: (value, np.abs(value) * unit()))
    yield work


def cache_write(draw):
    kind, rows, columns, stored = draw.floats(), draw.rows(), draw.columns(), draw.one_of("e4m3", "i8", "bf16", "f32")
    places = rows + int(draw.rng.integers(0, 40))
    work = Work("put(cache, slot) = k / s")
    k = draw.input(work, "k", kind, draw.values((rows, columns)))
    slot = draw.rng.permutation(places)[:rows].reshape(rows, 1)
    dropped = (draw.rng.random((rows, 1)) < 0.1) & draw.chance(40)
    slot = draw.input(work, "slot", draw.one_of("i64", "i32"), np.where(dropped, places + 5, slot), "row").astype(np.int64)
    s = draw.input(work, "s", "f32", np.float64(draw.one_of(1.0, 0.03)), "one")
    value, kept = np.zeros((places, columns)), np.ones((places, columns), bool)
    for row, place in enumerate(slot[:, 0]):
        if place < places:
            value[place], kept[place] = k[row] / s, False
    draw.output(work, "cache", stored, (places, columns), lambda results: (value, np.abs(value) * 4 * unit())).kept = kept
    yield work


def scattered_strides(draw, tensor):
    """Its axes in another order, or farther apart."""
    order = [int(d) for d in draw.rng.permutation(len(tensor.shape))] if draw.chance(40) else range(len(tensor.shape))
    strides, step = [0] * len(tensor.shape), 1
    for d in reversed(order):
        strides[d] = step
        step = step * tensor.shape[d] + (int(draw.one_of(1, 2, 8)) if draw.chance(30) else 0)
    tensor.seen(tensor.shape, strides)


def mixed_places(draw):
    """Whole numbers, whose sums are exact, of rows with two axes: some of what takes its elements from elsewhere."""
    rows, shape = draw.one_of(1, 2, 7, 40), (draw.one_of(1, 3, 9), draw.one_of(1, 2, 50, 71))
    columns, full, one = shape[0] * shape[1], (rows, *shape), (rows, 1, 1)
    x, w, t, j, k, i = (draw.rng.integers(*given).astype(float) for given in (
        (-8, 9, full), (-8, 9, full), (-8, 9, (5, *shape)), (0, columns, full), (0, columns, one), (0, 5, one)))
    flat = x.reshape(rows, -1)
    terms = {
        "take(x, k)": np.take_along_axis(flat, k.reshape(rows, 1).astype(int), 1).reshape(one),
        "take(x, 0)": flat[:, :1].reshape(one),
        "gather(w, j)": np.take_along_axis(w.reshape(rows, -1), j.reshape(rows, -1).astype(int), 1).reshape(full),
        "rows(t, i)": t[i.reshape(-1).astype(int)],
        "cumsum(x)": np.cumsum(flat, 1).reshape(full),
        "median(x)": np.median(flat, 1).reshape(one),
        "sum(x)": flat.sum(1).reshape(one),
        "index(0) * 2 + index(2)": np.arange(rows).reshape(one) * 2 + np.arange(shape[1]),
    }
    chosen = [str(term) for term in draw.rng.choice(list(terms), int(draw.rng.integers(1, 4)), replace=False)]
    text = " + ".join(["x", *chosen])
    work = Work(f"y = {text}", axes=(1, 2))
    for name, kind, values in (("x", "f16", x), ("w", "f32", w), ("t", "bf16", t), ("j", "i32", j), ("k", "i64", k),
                               ("i", "i32", i)):
        if re.search(rf"\b{name}\b", text):
            draw.input(work, name, kind, values)
            scattered_strides(draw, work.inputs[name])
    y = x + sum(terms[term] for term in chosen)
    scattered_strides(draw, draw.output(work, "y", "f32", full, lambda results: (y, np.zeros(full))))
    yield work


def rows_with_lengths(draw):
    kind, rows, columns = draw.floats(), draw.rows(), max(2, draw.columns())
    work = Work("lengths(n)\np = softmax(x)\nt = sum(x * w)")
    length = draw.rng.integers(0, columns + 1, (rows, 1))
    n = draw.input(work, "n", draw.one_of("i32", "i64"), length, "row").astype(np.int64)
    x = draw.input(work, "x", kind, draw.values((rows, columns), 4))
    w = draw.input(work, "w", kind, draw.values(columns), "columns")
    inside = np.arange(columns) < n
    e = np.where(inside, np.exp(x - x.max(-1, keepdims=True)), 0)
    sums, off = e.sum(-1, keepdims=True), 16 * unit(kind)
    p = e / np.where(sums > 0, sums, 1)
    draw.output(work, "p", draw.floats(), x.shape, lambda results: (p, off * p * (1 + np.abs(x)) + 1e-37)).kept = ~inside
    terms = np.where(inside, x * w, 0)
    size = np.abs(terms).sum(-1, keepdims=True)
    draw.output(work, "t", draw.one_of("f32", kind), (rows, 1),
                lambda results: (terms.sum(-1, keepdims=True), columns ** 0.5 * off * size), "row")
    yield work


def packed_rows(draw):
    """A batch of sequences of any lengths, one behind the other, in several heads."""
    kind, rows, heads = draw.floats(), draw.rows(), draw.one_of(1, 1, 3)
    lengths = draw.rng.integers(0, draw.one_of(3, 40, 40, 700), rows) * (draw.rng.random(rows) < 0.8)
    first, behind = (int(n) for n in draw.rng.integers(0, 9, 2) * draw.chance(40))
    o = first + np.concatenate([[0], np.cumsum(lengths)])
    work = Work("offsets(o)\ny = softmax(x) * g\nl = logsumexp(x)\nk = argmax(x)\nm = mean(x)")
    columns = int(o[-1]) + behind + 1
    draw.input(work, "o", draw.one_of("i64", "i32"), o.astype(float))
    x = draw.input(work, "x", kind, draw.values((heads, columns), 2))
    g = draw.input(work, "g", "f32", draw.values((rows, 1)), "row")
    y, kept, off = np.zeros((heads, columns)), np.ones((heads, columns), bool), 16 * unit(kind)
    l, k, m = np.full((heads, rows), -np.inf), np.full((heads, rows), -1.0), np.full((heads, rows), np.nan)
    for row, (begin, end) in enumerate(zip(o[:-1], o[1:])):
        if end == begin:
            continue
        part = x[:, begin:end]
        y[:, begin:end], kept[:, begin:end] = softmax(part) * g[row], False
        top = part.max(-1)
        l[:, row], k[:, row] = top + np.log(np.exp(part - top[:, None]).sum(-1)), part.argmax(-1)
        m[:, row] = part.mean(-1)
    draw.output(work, "y", draw.floats(), y.shape, lambda results: (y, off * np.abs(y) * (1 + np.abs(x)))).kept = kept
    draw.output(work, "l", "f32", l.shape, lambda results: (l, off * (1 + np.abs(l))))
    draw.output(work, "k", "i64", k.shape, lambda results: (k, 0 * k))
    draw.output(work, "m", "f32", m.shape, lambda results: (m, off * 8))
    yield work


CASES = {case.__name__: case for case in (
    quantise_rows, quantise_blocks, quantise_mxfp8, quantise_mxfp4, quantise_nvfp4, dequantise, add_norm_quantise,
    silu_quantise, norm_gradients, gelu_gradients, cross_entropy, load_balance, column_moments, top_k_mask, quantiles,
    router, sorted_rows, scans, embedding, cache_write, mixed_places, rows_with_lengths, packed_rows)}
