# SPDX-License-Identifier: Apache-2.0
"""Functions of the language as PyTorch writes them: what check_torch.py compares with."""
import math

import torch
import torch.nn.functional as F

# What an input is drawn as: numbers around 0; above 0; between 0 and 1; -1 or 1; a column's number for each row; one
# number for each column; probabilities of each row; whether an element counts, of some rows none does.
ANY, POSITIVE, UNIT, SIGN, LABEL, COLUMNS, PROBABILITIES, KEPT = (
    "any", "positive", "unit", "sign", "label", "columns", "probabilities", "kept")


class Function:
    """text: of the program, whose output is y. of: what PyTorch computes from the inputs, in their order. rows: it is
    about rows; elements: each for itself. smooth: its gradient is compared. special: so are zeros, infinities and NaN.
    bound: how many roundings, of the type that it is computed in, of the largest number at hand,
        a result may be off by,
    besides 2 units in its last place."""

    def __init__(self, text, of, rows=False, smooth=True, special=True, bound=8, empty=True, **inputs):
        self.text, self.of, self.rows, self.smooth, self.special = text, of, rows, smooth, special
        self.bound, self.empty, self.inputs = bound, empty, inputs or {"x": ANY}

    @property
    def name(self):
        return self.text.split("=", 1)[1].strip()


def element(text, of, **more):
    return Function(f"y = {text}", of, **more)


def row(text, of, **more):
    more.setdefault("bound", 64)
    return Function(f"y = {text}", of, rows=True, **more)


def kept(function):
    """A reduction of the last axis, which stays."""
    return lambda *inputs: function(*inputs).unsqueeze(-1)


def by_row(loss):
    return kept(lambda *inputs: loss(*inputs, reduction="none").mean(-1))


def labelled(loss):
    return lambda x, label, *more: loss(x, label.squeeze(-1).long(), *more).unsqueeze(-1)


def masked(x, keep):
    rows = F.softmax(x.masked_fill(~keep, -torch.inf), -1)
    return torch.where(keep.any(-1, keepdim=True), rows, torch.zeros_like(rows))


def seen(x, past=0):
    """Which keys, the columns, a query sees, each row being one."""
    return torch.ones(x.shape, dtype=torch.bool).tril(past)


def norm_of(x, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps)


def elu(x, alpha, scale=1.0):
    """PyTorch's own subtracts 1 from e^x, which is less exact."""
    return torch.where(x > 0, x, alpha * torch.expm1(x / scale))


def hardsigmoid(x):
    """The gradient of PyTorch's own has 1/6 as an f32."""
    return torch.clamp(x + 3, 0, 6) / 6


ACTIVATIONS = [
    element("relu(x)", F.relu), element("relu6(x)", F.relu6),
    element("leaky_relu(x, 0.1)", lambda x: F.leaky_relu(x, 0.1)), element("elu(x, 0.7)", lambda x: elu(x, 0.7)),
    element("selu(x)", lambda x: 1.0507009873554804934 * elu(x, 1.6732632423543772848)),
    element("celu(x, 0.7)", lambda x: elu(x, 0.7, 0.7)),
    element("silu(x)", F.silu, special=False),  # PyTorch's is NaN of -inf
    element("logsigmoid(x)", F.logsigmoid), element("hardsigmoid(x)", hardsigmoid),
    element("hardswish(x)", lambda x: x * hardsigmoid(x), special=False), element("hardtanh(x)", F.hardtanh),
    element("softplus(x)", lambda x: torch.logaddexp(x, torch.zeros_like(x))), element("softsign(x)", F.softsign),
    element("mish(x)", F.mish, special=False),
    element("gelu(x)", F.gelu, special=False, bound=16),
    element("gelu_tanh(x)", lambda x: F.gelu(x, approximate="tanh"), special=False, bound=16),
    element("sigmoid(x)", torch.sigmoid), element("tanh(x)", torch.tanh), element("hardshrink(x)", F.hardshrink),
    element("softshrink(x)", F.softshrink, special=False),  # whose NaN becomes 0
    element("tanhshrink(x)", F.tanhshrink),
    element("thresholded_relu(x, 0.3)", lambda x: F.threshold(x, 0.3, 0.0)),
    element("prelu(x, w)", lambda x, w: torch.where(x > 0, x, w * x), x=ANY, w=COLUMNS),
    element("relu2(x)", lambda x: F.relu(x) ** 2),
    element("quick_gelu(x)", lambda x: x * torch.sigmoid(1.702 * x), special=False),
    element("glu(a, b)", lambda a, b: a * torch.sigmoid(b), a=ANY, b=ANY),
    element("swiglu(a, b)", lambda a, b: F.silu(a) * b, special=False, a=ANY, b=ANY),
    element("geglu(a, b)", lambda a, b: F.gelu(a) * b, special=False, bound=16, a=ANY, b=ANY),
    element("reglu(a, b)", lambda a, b: F.relu(a) * b, a=ANY, b=ANY),
    element("softcap(x, 3)", lambda x: 3 * torch.tanh(x / 3)),
]
NUMBERS = [
    element("exp(x)", torch.exp), element("expm1(x)", torch.expm1), element("log(x)", torch.log, x=POSITIVE),
    element("log1p(x)", torch.log1p, x=POSITIVE), element("sqrt(x)", torch.sqrt, x=POSITIVE),
    element("rsqrt(x)", torch.rsqrt, x=POSITIVE), element("reciprocal(x)", torch.reciprocal, x=POSITIVE),
    element("square(x)", torch.square), element("sin(x)", torch.sin), element("cos(x)", torch.cos),
    element("erf(x)", torch.erf), element("abs(x)", torch.abs),
    element("sign(x)", torch.sign, special=False, smooth=False),
    element("floor(x)", torch.floor, smooth=False), element("ceil(x)", torch.ceil, smooth=False),
    element("round(x)", torch.round, smooth=False), element("logit(x)", torch.logit, special=False, bound=32, x=UNIT),
    element("clip(x, -0.5, 0.8)", lambda x: torch.clamp(x, -0.5, 0.8)),
    element("lerp(a, b, 0.3)", lambda a, b: torch.lerp(a, b, 0.3), a=ANY, b=ANY),
    element("logaddexp(a, b)", torch.logaddexp, a=ANY, b=ANY),
    element("xlogy(a, b)", torch.xlogy, special=False, a=ANY, b=POSITIVE),
    element("maximum(a, b)", torch.maximum, a=ANY, b=ANY), element("minimum(a, b)", torch.minimum, a=ANY, b=ANY),
    element("a * b + c", lambda a, b, c: a * b + c, a=ANY, b=COLUMNS, c=ANY),
    element("a / b", torch.div, a=ANY, b=POSITIVE), element("a ** 3", lambda a: a ** 3, a=ANY),
    element("where(x > 0.2, x, y0)", lambda x, y0: torch.where(x > 0.2, x, y0), x=ANY, y0=ANY),
]
REDUCTIONS = [
    row("sum(x)", kept(lambda x: x.sum(-1))), row("mean(x)", kept(lambda x: x.mean(-1))),
    row("prod(x)", kept(lambda x: x.prod(-1)), special=False, x=UNIT),
    row("max(x)", kept(lambda x: x.amax(-1)), empty=False), row("min(x)", kept(lambda x: x.amin(-1)), empty=False),
    row("var(x)", kept(lambda x: x.var(-1)), special=False),
    row("std(x, 0)", kept(lambda x: x.std(-1, correction=0)), special=False),
    row("norm1(x)", kept(lambda x: x.norm(1, -1))), row("norm2(x)", kept(lambda x: x.norm(2, -1)), special=False),
    row("norm_inf(x)", kept(lambda x: x.norm(float("inf"), -1)), smooth=False, empty=False),
    row("logsumexp(x)", kept(lambda x: x.logsumexp(-1)), empty=False),
    row("dot(a, b)", kept(lambda a, b: (a * b).sum(-1)), a=ANY, b=ANY),
    row("median(x)", kept(lambda x: x.quantile(0.5, -1)), smooth=False, special=False, empty=False),
    row("quantile(x, 0.3)", kept(lambda x: x.quantile(0.3, -1)), smooth=False, special=False, empty=False),
    row("take(x, label)", lambda x, label: x.gather(-1, label), empty=False, x=ANY, label=LABEL),
    row("nansum(x)", kept(lambda x: x.nansum(-1))),
]
ROWS = [
    row("softmax(x)", lambda x: F.softmax(x, -1), empty=False),
    row("log_softmax(x)", lambda x: F.log_softmax(x, -1), empty=False),
    row("safe_softmax(x)", lambda x: torch.nan_to_num(F.softmax(x, -1)), special=False, empty=False),
    row("masked_softmax(x, keep)", masked, special=False, empty=False, x=ANY, keep=KEPT),
    row("causal_softmax(x)", lambda x: masked(x, seen(x)), special=False, empty=False),
    row("window_softmax(x, 5)", lambda x: masked(x, seen(x) & ~seen(x, -5)), special=False, empty=False),
    row("sink_softmax(x, 0.5)", lambda x: x.exp() / (math.exp(0.5) + x.exp().sum(-1, keepdim=True)), special=False,
        empty=False),
    row("softmax_one(x)", lambda x: x.exp() / (1 + x.exp().sum(-1, keepdim=True)), special=False, empty=False),
    row("layer_norm(x, w, b)", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), empty=False, x=ANY, w=COLUMNS,
        b=COLUMNS),
    row("rms_norm(x, w)", lambda x, w: norm_of(x, 1e-6) * w, empty=False, x=ANY, w=COLUMNS),
    row("rms_norm_1p(x, w)", lambda x, w: norm_of(x, 1e-6) * (1 + w), empty=False, x=ANY, w=COLUMNS),
    row("rms_norm_residual(x, r, w)", lambda x, r, w: norm_of(x + r, 1e-6) * w, empty=False, x=ANY, r=ANY, w=COLUMNS),
    row("l2_normalize(x)", lambda x: F.normalize(x, dim=-1), special=False, empty=False),
    row("z_score(x)", lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True), special=False,
        smooth=False,
        empty=False),
    row("cumsum(x)", lambda x: x.cumsum(-1)),
    row("cumprod(x)", lambda x: x.cumprod(-1), special=False, smooth=False, x=UNIT),
    row("cummax(x)", lambda x: x.cummax(-1)[0], smooth=False, special=False),
    row("sort(x)", lambda x: x.sort(-1)[0]), row("sort(x, true)", lambda x: x.sort(-1, descending=True)[0]),
]
LOSSES = [
    row("mse_loss(x, t)", by_row(F.mse_loss), x=ANY, t=ANY), row("l1_loss(x, t)", by_row(F.l1_loss), x=ANY, t=ANY),
    row("huber_loss(x, t)", by_row(F.huber_loss), x=ANY, t=ANY),
    row("smooth_l1_loss(x, t, 0.5)", kept(lambda x, t: F.smooth_l1_loss(x, t, beta=0.5, reduction="none").mean(-1)),
        x=ANY, t=ANY),
    row("soft_margin_loss(x, t)", by_row(F.soft_margin_loss), special=False, x=ANY, t=SIGN),
    row("hinge_embedding_loss(x, t)", by_row(F.hinge_embedding_loss), special=False, x=ANY, t=SIGN),
    row("bce_with_logits_loss(x, t)", by_row(F.binary_cross_entropy_with_logits), special=False, x=ANY, t=UNIT),
    row("bce_loss(p, t)", by_row(F.binary_cross_entropy), special=False, p=UNIT, t=UNIT),
    row("poisson_nll_loss(x, t)", by_row(F.poisson_nll_loss), special=False, x=ANY, t=POSITIVE),
    row("gaussian_nll_loss(x, t, v)", kept(lambda x, t, v: F.gaussian_nll_loss(x, t, v, reduction="none").mean(-1)),
        special=False, x=ANY, t=ANY, v=POSITIVE),
    row("kl_div(x, t)", kept(lambda x, t: F.kl_div(x, t, reduction="none").sum(-1)), special=False, x=ANY,
        t=PROBABILITIES),
    row("cosine_similarity(a, b)", kept(F.cosine_similarity), special=False, empty=False, a=ANY, b=ANY),
    row("triplet_margin_loss(a, p, n)", kept(lambda a, p, n: F.triplet_margin_loss(a, p, n, reduction="none")),
        special=False,
        empty=False, a=ANY, p=ANY, n=ANY),
    row("cross_entropy(x, t)", kept(lambda x, t: F.cross_entropy(x, t, reduction="none")), special=False, empty=False,
        x=ANY,
        t=PROBABILITIES),
    row("cross_entropy_loss(x, label)", labelled(lambda x, label: F.cross_entropy(x, label, reduction="none")),
        special=False,
        empty=False, x=ANY, label=LABEL),
    row("cross_entropy_smoothed(x, label, 0.1)",
        labelled(lambda x, label: F.cross_entropy(x, label, reduction="none", label_smoothing=0.1)), special=False,
            empty=False,
        x=ANY, label=LABEL),
    row("nll_loss(x, label)", labelled(lambda x, label: F.nll_loss(x, label, reduction="none")), empty=False,
        special=False, x=ANY,
        label=LABEL),
    row("multi_margin_loss(x, label)", labelled(lambda x, label: F.multi_margin_loss(x, label, reduction="none")),
        special=False,
        empty=False, x=ANY, label=LABEL),
]
FUNCTIONS = {function.name: function for function in ACTIVATIONS + NUMBERS + REDUCTIONS + ROWS + LOSSES}
