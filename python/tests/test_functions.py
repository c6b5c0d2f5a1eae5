# SPDX-License-Identifier: Apache-2.0
"""Every function of kernel_sources/library.kiln against its formula in NumPy, in double precision: on ordinary numbers, on
zeros, infinities and NaN, and on rows without elements. One that has no formula here is a fault."""
import pathlib
import re
import warnings

import numpy as np
import pytest

import kiln

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "kernel_sources" / "library.kiln"
ROWS, COLUMNS = 5, 8
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5])


def keep(function):
    """Of reductions: the row's axis stays."""
    return lambda *args, **kwargs: function(*args, axis=-1, keepdims=True, **kwargs)


total, mean, largest, least = keep(np.sum), keep(np.mean), keep(np.max), keep(np.min)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def relu(x):
    return np.maximum(x, 0)


def normcdf(x):
    from math import erfc
    return np.vectorize(lambda v: erfc(-v / 2 ** 0.5) / 2)(x)


def silu(x):
    return x * sigmoid(x)


def gelu_tanh(x):
    return x * sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))


def log_softmax(x):
    return x - largest(x) - np.log(total(np.exp(x - largest(x))))


def softmax(x):
    return np.exp(x - largest(x)) / total(np.exp(x - largest(x)))


def safe_softmax(x):
    return np.where(largest(x) == -np.inf, 0, softmax(x))


def logsumexp(x):
    m = np.where(np.isfinite(largest(x)), largest(x), 0)
    return np.log(total(np.exp(x - m))) + m


def norm2(x):
    return np.sqrt(total(x * x))


def rms_norm(x, w=1.0, eps=1e-6):
    return x / np.sqrt(mean(x * x) + eps) * w


def layer_norm(x, w=1.0, b=0.0, eps=1e-5):
    return (x - mean(x)) / np.sqrt(mean((x - mean(x)) ** 2) + eps) * w + b


def var(x, ddof=1):
    n = x.shape[-1]
    return total((x - mean(x)) ** 2) / (n - ddof) if n > ddof else np.full((x.shape[0], 1), np.nan)


def std(x, ddof=1):
    return np.sqrt(var(x, ddof))


def xlogy(x, y):
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))


def kl_div(x, t):
    return total(np.where(t == 0, 0, t * (np.log(t) - x)))


def at_label(x, label):
    inside = (label >= 0) & (label < x.shape[-1])
    return np.where(inside, np.take_along_axis(x, np.where(inside, label, 0), -1), np.nan)


def ignoring(label, value):
    return np.where(label == -100, 0, value)


def correlation(x, y):
    d, e = x - mean(x), y - mean(y)
    return total(d * e) / (norm2(d) * norm2(e))


def cosine(a, b):
    return total(a * b) / (np.maximum(norm2(a), 1e-8) * np.maximum(norm2(b), 1e-8))


def huber(x, t, delta):
    d = np.abs(x - t)
    return np.where(d < delta, d * d / 2, delta * (d - delta / 2))


def bce_with_logits(x, t, w=1.0):
    return (1 - t) * x + (1 + (w - 1) * t) * (np.log1p(np.exp(-np.abs(x))) + relu(-x))


def focal(x, t, alpha, gamma):
    p = sigmoid(x)
    return (bce_with_logits(x, t) * (1 - (p * t + (1 - p) * (1 - t))) ** gamma) * (alpha * t + (1 - alpha) * (1 - t))


def distance(past=0):
    return np.arange(ROWS)[:, None] + past - np.arange(COLUMNS)


def sink_softmax(x, sink):
    m = np.maximum(largest(x), sink)
    m = np.where(np.isfinite(m), m, 0)
    return np.exp(x - m) / (total(np.exp(x - m)) + np.exp(sink - m))


def nanvar(x, ddof=1):
    kept = ~np.isnan(x)
    n = total(kept)
    d = np.where(kept, x - total(np.where(kept, x, 0)) / n, 0)
    return np.where(n > ddof, total(d * d) / np.where(n > ddof, n - ddof, 1), np.nan)


def quantize_u8(x):
    low, high = np.minimum(least(x), 0), np.maximum(largest(x), 0)
    s = (high - low) / 255
    z = np.rint(np.where(s == 0, 0, -low / s))
    return np.clip(np.rint(np.where(s == 0, 0, x / s)) + z, 0, 255)


def scaled(x, s):
    return np.where(s == 0, 0, x / s)


def moved(beta, old, new):
    return beta * old + (1 - beta) * new


def adam(m, v, t):
    return m / (1 - 0.9 ** t) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)


def gray(r, g, b):
    return 0.299 * r + 0.587 * g + 0.114 * b


def hsv(r, g, b):
    import colorsys
    values = [colorsys.rgb_to_hsv(*one) for one in zip(r.ravel(), g.ravel(), b.ravel())]
    return np.array(values).reshape(*r.shape, 3)


def argmax(x):
    return np.argmax(x, -1)[:, None]


# A call; the formula of what it names; and what is given, by names of DATA. Rows of other numbers than ordinary ones are
# tried where the last is True.
ANY, ORDINARY = True, False
CASES = [
    ("reciprocal(x)", lambda x: 1 / x, ANY),
    ("square(x)", lambda x: x * x, ANY),
    ("clip(x, -1, 0.5)", lambda x: np.clip(x, -1, 0.5), ANY),
    ("logit(p)", lambda p: np.log(p / (1 - p)), ANY),
    ("logaddexp(x, y)", np.logaddexp, ANY),
    ("xlogy(x, y)", xlogy, ANY),
    ("softcap(x, 1.5)", lambda x: 1.5 * np.tanh(x / 1.5), ANY),
    ("hardshrink(x)", lambda x: np.where(np.abs(x) <= 0.5, 0, x), ANY),
    ("softshrink(x)", lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, x * 0)), ANY),
    ("shrink(x, 0.25, 1)", lambda x: np.where(x < -1, x + 0.25, np.where(x > 1, x - 0.25, 0)), ANY),
    ("tanhshrink(x)", lambda x: x - np.tanh(x), ANY),
    ("thresholded_relu(x)", lambda x: np.where(x <= 1, 0, x), ANY),
    ("prelu(x, y)", lambda x, y: np.where(x > 0, x, y * x), ANY),
    ("rrelu(x, 7, 0, 0.25, 0.25)", lambda x: np.where(x > 0, x, 0.25 * x), ANY),
    ("relu2(x)", lambda x: relu(x) ** 2, ANY),
    ("quick_gelu(x)", lambda x: x * sigmoid(1.702 * x), ANY),
    ("swish(x, 0.5)", lambda x: x * sigmoid(0.5 * x), ANY),
    ("hard_sigmoid(x)", lambda x: np.clip(0.2 * x + 0.5, 0, 1), ANY),
    ("hard_swish(x)", lambda x: x * np.clip(x + 3, 0, 6) / 6, ANY),
    ("snake(x, 2)", lambda x: x + np.sin(2 * x) ** 2 / 2, ANY),
    ("dynamic_tanh(x, 0.5, w, y)", lambda x, w, y: w * np.tanh(0.5 * x) + y, ANY),
    ("glu(x, y)", lambda x, y: x * sigmoid(y), ANY),
    ("swiglu(x, y)", lambda x, y: silu(x) * y, ANY),
    ("geglu(x, y)", lambda x, y: x * normcdf(x) * y, ANY),
    ("geglu_tanh(x, y)", lambda x, y: gelu_tanh(x) * y, ORDINARY),
    ("reglu(x, y)", lambda x, y: relu(x) * y, ANY),
    ("swiglu_clamped(x, y, 1)", lambda x, y: silu(np.minimum(x, 1)) * np.clip(y, -1, 1), ANY),
    ("swiglu_oai(x, y, limit = 1)",
     lambda x, y: np.minimum(x, 1) * sigmoid(1.702 * np.minimum(x, 1)) * (np.clip(y, -1, 1) + 1), ANY),
    ("dot(x, y)", lambda x, y: total(x * y), ANY),
    ("norm_p(x, 3)", lambda x: total(np.abs(x) ** 3) ** (1 / 3), ANY),
    ("euclidean_distance(x, y)", lambda x, y: norm2(x - y), ANY),
    ("manhattan_distance(x, y)", lambda x, y: total(np.abs(x - y)), ANY),
    ("chebyshev_distance(x, y)", lambda x, y: largest(np.abs(x - y)), ANY),
    ("hamming_distance(x, y)", lambda x, y: total(x != y), ANY),
    ("rms(x)", lambda x: np.sqrt(mean(x * x)), ANY),
    ("ptp(x)", lambda x: largest(x) - least(x), ANY),
    ("geometric_mean(p)", lambda p: np.exp(mean(np.log(p))), ANY),
    ("harmonic_mean(p)", lambda p: 1 / mean(1 / p), ANY),
    ("weighted_mean(x, p)", lambda x, p: total(x * p) / total(p), ANY),
    ("weighted_var(x, p)", lambda x, p: total(p * (x - total(x * p) / total(p)) ** 2) / total(p), ANY),
    ("mean_absolute_deviation(x)", lambda x: mean(np.abs(x - mean(x))), ANY),
    ("sem(x)", lambda x: std(x) / np.sqrt(x.shape[-1]), ANY),
    ("moment(x, 4)", lambda x: mean((x - mean(x)) ** 4), ANY),
    ("moment(x, 3)", lambda x: mean((x - mean(x)) ** 3), ANY),
    ("skewness(x)", lambda x: mean((x - mean(x)) ** 3) / mean((x - mean(x)) ** 2) ** 1.5, ANY),
    ("kurtosis(x)", lambda x: mean((x - mean(x)) ** 4) / mean((x - mean(x)) ** 2) ** 2 - 3, ANY),
    ("z_score(x)", lambda x: (x - mean(x)) / std(x, 0), ANY),
    ("min_max_scale(x)", lambda x: (x - least(x)) / (largest(x) - least(x)), ANY),
    ("covariance(x, y)", lambda x, y: total((x - mean(x)) * (y - mean(y))) / np.maximum(x.shape[-1] - 1, 0), ANY),
    ("correlation(x, y)", correlation, ANY),
    ("nanvar(x)", nanvar, ANY),
    ("nanstd(x)", lambda x: np.sqrt(nanvar(x)), ANY),
    ("entropy(q)", lambda q: -total(xlogy(q, q)), ANY),
    ("entropy_of_logits(x)", lambda x: -total(softmax(x) * log_softmax(x)), ORDINARY),
    ("masked_softmax(x, k)", lambda x, k: safe_softmax(np.where(k, x, -np.inf)), ANY),
    ("biased_softmax(x, m)", lambda x, m: safe_softmax(x + m), ANY),
    ("causal_softmax(x)", lambda x: safe_softmax(np.where(distance() >= 0, x, -np.inf)), ANY),
    ("causal_softmax(x, 2)", lambda x: safe_softmax(np.where(distance(2) >= 0, x, -np.inf)), ANY),
    ("window_softmax(x, 2, 1)",
     lambda x: safe_softmax(np.where((distance(1) >= 0) & (distance(1) < 2), x, -np.inf)), ANY),
    ("alibi(x, 0.25)", lambda x: x - 0.25 * distance(), ANY),
    ("sink_softmax(x, r)", sink_softmax, ANY),
    ("softmax_one(x)", lambda x: sink_softmax(x, 0.0), ANY),
    ("hardmax(x)", lambda x: np.arange(x.shape[-1]) == argmax(x), ANY),
    ("mse_loss(x, y)", lambda x, y: mean((x - y) ** 2), ANY),
    ("l1_loss(x, y)", lambda x, y: mean(np.abs(x - y)), ANY),
    ("huber_loss(x, y, 0.5)", lambda x, y: mean(huber(x, y, 0.5)), ANY),
    ("smooth_l1_loss(x, y, 0.5)", lambda x, y: mean(huber(x, y, 0.5) / 0.5), ANY),
    ("log_cosh_loss(x, y)", lambda x, y: mean(np.log(np.cosh(x - y))), ORDINARY),
    ("quantile_loss(x, y, 0.9)", lambda x, y: mean(np.maximum(0.9 * (y - x), -0.1 * (y - x))), ANY),
    ("hinge_loss(x, s)", lambda x, s: mean(relu(1 - s * x)), ANY),
    ("squared_hinge_loss(x, s)", lambda x, s: mean(relu(1 - s * x) ** 2), ANY),
    ("hinge_embedding_loss(x, s)", lambda x, s: mean(np.where(s > 0, x, relu(1 - x))), ANY),
    ("soft_margin_loss(x, s)", lambda x, s: mean(np.log1p(np.exp(-s * x))), ANY),
    ("margin_ranking_loss(x, y, s, 0.5)", lambda x, y, s: mean(relu(0.5 - s * (x - y))), ANY),
    ("multi_margin_loss(x, label)",
     lambda x, label: mean(np.where(np.arange(x.shape[-1]) == label, 0, relu(1 - at_label(x, label) + x))), ORDINARY),
    ("bce_loss(p, t)",
     lambda p, t: -mean(t * np.maximum(np.log(p), -100) + (1 - t) * np.maximum(np.log1p(-p), -100)), ANY),
    ("bce_with_logits_loss(x, t)", lambda x, t: mean(bce_with_logits(x, t)), ANY),
    ("bce_with_logits_loss(x, t, 3)", lambda x, t: mean(bce_with_logits(x, t, 3.0)), ANY),
    ("focal_loss(x, t)", lambda x, t: mean(focal(x, t, 0.25, 2)), ORDINARY),
    ("poisson_nll_loss(x, t)", lambda x, t: mean(np.exp(x) - t * x), ANY),
    ("gaussian_nll_loss(x, y, p)",
     lambda x, y, p: mean((np.log(np.maximum(p, 1e-6)) + (x - y) ** 2 / np.maximum(p, 1e-6)) / 2), ANY),
    ("kl_div(x, q)", kl_div, ANY),
    ("kl_divergence(p, q)", lambda p, q: kl_div(np.log(q), p), ANY),
    ("js_divergence(p, q)",
     lambda p, q: (kl_div(np.log((p + q) / 2), p) + kl_div(np.log((p + q) / 2), q)) / 2, ANY),
    ("cosine_similarity(x, y)", cosine, ANY),
    ("cosine_embedding_loss(x, y, 1)", lambda x, y: 1 - cosine(x, y), ANY),
    ("cosine_embedding_loss(x, y, -1, 0.1)", lambda x, y: relu(cosine(x, y) - 0.1), ANY),
    ("triplet_margin_loss(x, y, w)", lambda x, y, w: relu(norm2(x - y + 1e-6) - norm2(x - w + 1e-6) + 1), ANY),
    ("nll_loss(x, label)", lambda x, label: ignoring(label, -at_label(x, label)), ANY),
    ("cross_entropy_loss(x, label)", lambda x, label: ignoring(label, -at_label(log_softmax(x), label)), ORDINARY),
    ("cross_entropy_weighted(x, label, w)",
     lambda x, label, w: ignoring(label, -at_label(w, label) * at_label(log_softmax(x), label)), ORDINARY),
    ("cross_entropy_smoothed(x, label, 0.1)",
     lambda x, label: ignoring(label, -0.9 * at_label(log_softmax(x), label) - 0.1 * mean(log_softmax(x))), ORDINARY),
    ("z_loss(x)", lambda x: 1e-4 * logsumexp(x) ** 2, ANY),
    ("l1_normalize(x)", lambda x: x / np.maximum(total(np.abs(x)), 1e-12), ANY),
    ("rms_norm_residual(x, y, w)", lambda x, y, w: rms_norm(x + y, w), ANY),
    ("layer_norm_residual(x, y, w, p)", lambda x, y, w, p: layer_norm(x + y, w, p), ANY),
    ("rms_norm_1p(x, w)", lambda x, w: rms_norm(x, 1 + w), ANY),
    ("layer_norm_1p(x, w, y)", lambda x, w, y: layer_norm(x, 1 + w, y), ANY),
    ("rms_norm_gated(x, y, w)", lambda x, y, w: rms_norm(x, w) * silu(y), ANY),
    ("rms_norm_of_gated(x, y, w)", lambda x, y, w: rms_norm(x * silu(y), w), ANY),
    ("layer_norm_modulated(x, y, w)", lambda x, y, w: layer_norm(x, 1 + w, y, 1e-6), ANY),
    ("instance_norm(x, w, y)", layer_norm, ANY),
    ("group_norm(x, w, y)", layer_norm, ANY),
    ("batch_norm(x, y, p, w, r)", lambda x, y, p, w, r: (x - y) / np.sqrt(p + 1e-5) * w + r, ANY),
    ("weight_norm(x, r)", lambda x, r: r * x / norm2(x), ANY),
    ("quantize_linear(x, 0.25, 3)", lambda x: np.rint(x / 0.25) + 3, ANY),
    ("dequantize_linear(x, y, 3)", lambda x, y: (x - 3) * y, ANY),
    ("dequantize(x, y)", lambda x, y: x * y, ANY),
    ("fake_quantize(x, 0.25, 1, -2, 3)", lambda x: (np.clip(np.rint(x / 0.25) + 1, -2, 3) - 1) * 0.25, ANY),
    ("scale_i4(x)", lambda x: largest(np.abs(x)) / 7, ANY),
    ("quantize_i4(x)", lambda x: np.rint(scaled(x, largest(np.abs(x)) / 7)), ORDINARY),
    ("scale_u8(x)", lambda x: (np.maximum(largest(x), 0) - np.minimum(least(x), 0)) / 255, ANY),
    ("zero_u8(x)", lambda x: np.rint(scaled(-np.minimum(least(x), 0) * 255, relu(largest(x)) - np.minimum(least(x), 0))),
     ORDINARY),
    ("quantize_u8(x)", quantize_u8, ORDINARY),
    ("rotary_angle(r, x, 64)", lambda r, x: r * 10000.0 ** (-2 * x / 64), ANY),
    ("rotary_first(x, y, w, p)", lambda x, y, w, p: x * w - y * p, ANY),
    ("rotary_second(x, y, w, p)", lambda x, y, w, p: y * w + x * p, ANY),
    ("sgd_step(x, y, 0.5, 0.125)", lambda x, y: x - 0.5 * (y + 0.125 * x), ANY),
    ("sgd_velocity(x, y, 0.75, 0.5)", lambda x, y: 0.75 * x + 0.5 * y, ANY),
    ("nesterov(x, y)", lambda x, y: y + 0.9 * x, ANY),
    ("ema(x, y)", lambda x, y: moved(0.999, x, y), ANY),
    ("adam_m(x, y)", lambda x, y: moved(0.9, x, y), ANY),
    ("adam_v(p, y)", lambda p, y: moved(0.999, p, y * y), ANY),
    ("adam(x, p, 3)", lambda x, p: adam(x, p, 3), ANY),
    ("adam_step(w, x, p, 3, 0.5)", lambda w, x, p: w - 0.5 * adam(x, p, 3), ANY),
    ("adamw_step(w, x, p, 3, 0.5)", lambda w, x, p: (1 - 0.5 * 0.01) * w - 0.5 * adam(x, p, 3), ANY),
    ("lion_step(w, x, y, 0.5, 0.25)", lambda w, x, y: w - 0.5 * (np.sign(moved(0.9, x, y)) + 0.25 * w), ANY),
    ("lion_m(x, y)", lambda x, y: moved(0.99, x, y), ANY),
    ("adagrad_step(w, p, y, 0.5)", lambda w, p, y: w - 0.5 * y / (np.sqrt(p) + 1e-10), ANY),
    ("adafactor(y, r, c, 0.5)", lambda y, r, c: y / np.sqrt(r * c / 0.5), ANY),
    ("clip_by_norm(x, r, 1)", lambda x, r: x * np.minimum(1 / (r + 1e-6), 1), ANY),
    ("clip_norm(x, 1)", lambda x: x * np.minimum(1 / (norm2(x) + 1e-6), 1), ANY),
    ("image_normalize(x, r, w)", lambda x, r, w: (x / 255 - r) / w, ANY),
    ("unit_to_u8(p)", lambda p: np.rint(255 * np.clip(p, 0, 1)), ORDINARY),
    ("rgb_to_gray(x, y, w)", gray, ANY),
    ("luminance(x, y, w)", lambda x, y, w: 0.2126 * x + 0.7152 * y + 0.0722 * w, ANY),
    ("rgb_to_cb(x, y, w)", lambda x, y, w: 0.5 - 0.299 / 1.772 * x - 0.587 / 1.772 * y + 0.5 * w, ORDINARY),
    ("rgb_to_cr(x, y, w)", lambda x, y, w: 0.5 + 0.5 * x - 0.587 / 1.402 * y - 0.114 / 1.402 * w, ORDINARY),
    ("ycbcr_to_r(rgb_to_gray(x, y, w), rgb_to_cr(x, y, w))", lambda x, y, w: x, ORDINARY),
    ("ycbcr_to_g(rgb_to_gray(x, y, w), rgb_to_cb(x, y, w), rgb_to_cr(x, y, w))", lambda x, y, w: y, ORDINARY),
    ("ycbcr_to_b(rgb_to_gray(x, y, w), rgb_to_cb(x, y, w))", lambda x, y, w: w, ORDINARY),
    ("srgb_to_linear(p)", lambda p: np.where(p <= 0.04045, p / 12.92, ((p + 0.055) / 1.055) ** 2.4), ANY),
    ("linear_to_srgb(p)", lambda p: np.where(p <= 0.0031308, 12.92 * p, 1.055 * p ** (1 / 2.4) - 0.055), ANY),
    ("rgb_to_value(p, q, t)", lambda p, q, t: np.maximum(np.maximum(p, q), t), ANY),
    ("rgb_to_saturation(p, q, t)", lambda p, q, t: hsv(p, q, t)[..., 1], ORDINARY),
    ("rgb_to_hue(p, q, t)", lambda p, q, t: hsv(p, q, t)[..., 0], ORDINARY),
    ("arg_max(x)", argmax, ANY),
    ("arg_min(x)", lambda x: np.argmin(x, -1)[:, None], ANY),
    ("is_inf(x)", np.isinf, ANY),
    ("is_nan(x)", np.isnan, ANY),
    ("reduce_l1(x)", lambda x: total(np.abs(x)), ANY),
    ("reduce_l2(x)", norm2, ANY),
    ("reduce_log_sum(p)", lambda p: np.log(total(p)), ANY),
    ("reduce_log_sum_exp(x)", logsumexp, ANY),
    ("reduce_max(x)", largest, ANY),
    ("reduce_mean(x)", mean, ANY),
    ("reduce_min(x)", least, ANY),
    ("reduce_prod(x)", keep(np.prod), ANY),
    ("reduce_sum(x)", total, ANY),
    ("reduce_sum_square(x)", lambda x: total(x * x), ANY),
    ("mean_variance_normalization(x)", lambda x: (x - mean(x)) / (std(x, 0) + 1e-9), ANY),
    ("rms_normalization(x, w)", lambda x, w: rms_norm(x, w, 1e-5), ANY),
    ("layer_normalization(x, w, y)", layer_norm, ANY),
]
RANDOM = ("rrelu", "gumbel_softmax", "randn", "gumbel", "exponential", "bernoulli", "categorical", "dropout_residual",
          "alpha_dropout")


def data(special):
    """x y w: any numbers; p q: probabilities; t: 0 and 1; s: -1 and 1; k: bool; m: 0 and -inf; r, c: one of each row, of each column."""
    draw = np.random.default_rng(7)
    values = {name: draw.standard_normal((ROWS, COLUMNS)) * 2 for name in "xyw"}
    values |= {name: softmax(draw.standard_normal((ROWS, COLUMNS))) for name in "pq"}
    values["q"][:, 1] = 0
    values["t"] = (draw.random((ROWS, COLUMNS)) < 0.5).astype(np.float64)
    values["s"] = 2 * values["t"] - 1
    values["k"] = draw.random((ROWS, COLUMNS)) < 0.6
    values["k"][2] = False
    values["m"] = np.where(values["k"], 0, -np.inf)
    values["r"] = np.abs(draw.standard_normal((ROWS, 1)))
    values["c"] = np.abs(draw.standard_normal((1, COLUMNS)))
    values["label"] = np.array([[3], [-100], [0], [COLUMNS - 1], [5]])
    if special:
        for at, name in enumerate("xywp"):
            rolled = np.roll(SPECIAL, at * 3)
            values[name][0] = rolled                  # a row of all of them,
            values[name][1, :2] = rolled[:2]          # rows with two of them,
            values[name][3, 4:6] = rolled[4:6]
            values[name][4] = rolled[at]              # and one of a single number
    return values


def names_in(call):
    return list(dict.fromkeys(re.findall(r"\b(?:[a-z]|label)\b", call[call.index("("):])))


@pytest.mark.parametrize("call, formula, special", [pytest.param(*case, id=case[0]) for case in CASES])
def test_it_is_its_formula(call, formula, special):
    program = kiln.Program(f"result = {call}", keepdims=True)
    for kind in (False, True)[: 1 + special]:
        values = {name: data(kind)[name] for name in names_in(call)}
        with np.errstate(all="ignore"):
            expected = formula(*values.values())
        found = program(**values, dtype="f64")
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-9, atol=1e-12,
                                   err_msg=f"{call}, {'special' if kind else 'ordinary'} numbers")


@pytest.mark.parametrize("call, formula, special", [pytest.param(*case, id=case[0]) for case in CASES])
def test_it_takes_rows_without_elements(call, formula, special):
    program = kiln.Program(f"result = {call}", keepdims=True)
    values = {name: value if value.shape[-1] == 1 else value[:, :0] for name, value in data(False).items()}
    values = {name: values[name] for name in names_in(call)}
    try:
        found = program(**values, dtype="f64")
    except kiln.ArgumentError as error:  # there is no largest of nothing
        assert "over axis 1 of size 0 has no value" in str(error)
        return
    if found.size and "label" not in values:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(found, np.broadcast_to(formula(*values.values()), found.shape))


def test_random_numbers_have_their_distributions():
    x = np.zeros((400, 250))
    run = {name: kiln.Program(f"y = expand_as({call}, x)")(x) for name, call in
           {"n": "randn(3)", "g": "gumbel(3)", "e": "exponential(3)", "b": "bernoulli(0.3, 3)"}.items()}
    assert all(np.isfinite(values).all() for values in run.values())
    for name, average, variance in (("n", 0, 1), ("g", 0.5772, np.pi ** 2 / 6), ("e", 1, 1), ("b", 0.3, 0.21)):
        assert abs(run[name].mean() - average) < 0.02 and abs(run[name].var() - variance) < 0.05, name
    assert run["e"].min() >= 0 and set(np.unique(run["b"])) == {0, 1}
    logits = np.broadcast_to(np.log([0.5, 0.3, 0.2]), (20000, 3)).copy()
    drawn = kiln.run("y = categorical(x, 5)", logits)
    np.testing.assert_allclose(np.bincount(drawn) / 20000, [0.5, 0.3, 0.2], atol=0.02)
    soft = kiln.run("y = gumbel_softmax(x, 0.5, 5)", logits)
    np.testing.assert_allclose(soft.sum(-1), 1)
    assert (soft.argmax(-1) == drawn).all()


def test_dropouts_keep_what_they_promise():
    x = np.random.default_rng(2).standard_normal((300, 300))
    y = kiln.run("y = alpha_dropout(x, 0.25, 9)", x)
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.05
    floor = 1.7580993408473766
    dropped = np.isclose(y, -0.75 * floor / np.sqrt(0.75 * (1 + 0.25 * floor ** 2)))
    assert abs(dropped.mean() - 0.25) < 0.02
    r = np.ones_like(x)
    kept = kiln.run("y = dropout_residual(x, r, 0.5, 9)", x, r) - 1
    assert set(np.unique(np.isclose(kept, 2 * x))) == {False, True}
    assert (np.isclose(kept, 2 * x) | (kept == 0)).all()
    slopes = kiln.run("y = rrelu(x, 9)", -np.ones((300, 300)))
    assert slopes.min() >= -1 / 3 and slopes.max() <= -1 / 8 and abs(slopes.mean() + 11 / 48) < 0.01


def test_every_function_of_the_library_has_a_formula():
    defined = re.findall(r"^fn ([a-z]\w*)\(", LIBRARY.read_text(encoding="utf-8"), re.MULTILINE)
    tested = {case[0][: case[0].index("(")] for case in CASES} | set(RANDOM)
    assert len(set(defined)) == len(defined) > 100
    assert set(defined) <= tested and tested <= set(defined)


def test_a_program_may_take_any_name():
    x = np.array([[1.0, 2.0]])
    entropy = kiln.Program("entropy = x * 2; y = entropy + clip; ema = y", outputs="entropy, ema")
    assert entropy.parameters == ["x", "clip"]
    assert entropy(x, np.ones((1, 2)))[1].tolist() == [[3.0, 5.0]]
    own = kiln.Program("fn swiglu(a, b) = a + b\ny = swiglu(x, x)")
    assert own(x).tolist() == [[2.0, 4.0]]
