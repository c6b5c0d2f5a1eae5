# SPDX-License-Identifier: Apache-2.0
"""Row programs that people write, by family: what programs.py measures and, but for those held out, what
tools/tune/problems.py draws problems from.

A program's tensors are words NAME[:TYPE][=AXES][#FILL], inputs in the order of the text, then outputs:

  x           of the case's type, with every axis of the space
  w:f32=c     of f32 in any case, with axis c alone (the others are 1)
  t:i32=r#label   filled with labels; the other fills: tensors.py

A `%` (x%) marks a tensor whose second axis is innermost in memory, as in NHWC.
"""
import dataclasses
import re
import typing


@dataclasses.dataclass(frozen=True)
class Domain:
    """A kind of iteration space: its axes by letter, the reduced ones, and how drawn.py draws their extents."""
    space: str
    reduced: str
    drawn_as: str


DOMAINS = {
    "rows": Domain("rc", "c", "rows"), "columns": Domain("rc", "r", "columns"), "middle": Domain("brc", "r", "middle"),
    "points": Domain("rc", "", "points"), "flat": Domain("n", "", "flat"), "batches": Domain("brc", "c", "batches"),
    "attention": Domain("bhqk", "k", "attention"), "scores": Domain("bhqk", "", "attention"),
    "rotary": Domain("bshd", "", "rotary"), "sequence": Domain("bsd", "", "sequence"),
    "groups": Domain("ngcp", "cp", "groups"), "planes": Domain("ncp", "p", "planes"),
    "channels": Domain("ncp", "np", "planes"), "pixels": Domain("ncp", "", "planes"),
    "photos": Domain("nchw", "", "photos"), "outer": Domain("abcd", "bd", "outer"), "all": Domain("rc", "rc", "rows"),
}


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    type: str       # "" is the case's
    axes: str       # "" is a tensor with 1 along every axis
    fill: str = ""
    channels_last: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """form(m, *inputs) computes the outputs by the functions of forms.py: the reference in double precision, and what a
    PyTorch user writes."""
    family: str
    name: str
    text: str
    words: str
    form: typing.Callable
    domain: str = "rows"
    held_out: bool = False   # of tuning
    heavy: bool = False      # bound by arithmetic, not by memory
    types: str = "bf16 f16 f32"
    spread: float = 2.0      # inputs are uniform in -spread .. 1.5 spread
    scalars: tuple = ()      # (name, value)
    random: bool = False     # another library draws other random numbers

    @property
    def space(self):
        return DOMAINS[self.domain].space

    @property
    def reduced(self):
        return DOMAINS[self.domain].reduced

    @property
    def assigned(self):
        return [statement.split("=")[0].strip() for statement in self.text.split(";")]

    def tensors(self):
        return [parse_tensor(word, self.space) for word in self.words.split()]

    def inputs(self):
        return [t for t in self.tensors() if t.name not in self.assigned]

    def outputs(self):
        return [t for t in self.tensors() if t.name in self.assigned]


def parse_tensor(word, space):
    match = re.fullmatch(r"(\w+)(?::(\w+))?(?:=(\w+))?(%?)(?:#(\w+))?", word)
    name, kind, axes, last, fill = match.groups()
    axes = space if axes is None else axes.replace("one", "")
    return Tensor(name, kind or "", axes, fill or "", last == "%")


def softcapped(m, x, mask):
    return m.softmax(30 * m.tanh(x / 30) + mask)


def with_sink(m, x, sink):
    most = m.maximum(m.max(x * 0.125), sink)
    e = m.exp(x * 0.125 - most)
    return e / (m.sum(e) + m.exp(sink - most))


def rms_scale(m, x, eps=1e-6):
    return m.rsqrt(m.mean(x * x) + eps)


def rms_grad(m, x, w, g):
    r = rms_scale(m, x)
    return r * (g * w - x * r * r * m.mean(g * w * x))


def layer_grad(m, x, w, g):
    d = x - m.mean(x)
    r = m.rsqrt(m.mean(d * d) + 1e-5)
    return r * (g * w - m.mean(g * w) - d * r * m.mean(g * w * d * r))


def l2_grad(m, x, g):
    norm = m.sqrt(m.sum(x * x))
    y = x / norm
    return (g - y * m.sum(g * y)) / norm


def quantised(m, y, most, rounded=False):
    s = m.max(m.abs(y)) / most
    return s, m.round(y / s) if rounded else y / s


def smooth_loss(m, x, t):
    return m.logsumexp(x) - 0.9 * m.take(x, t) - 0.1 * m.mean(x)


def z_loss(m, x, t):
    z = m.logsumexp(x)
    return z - m.take(x, t) + 1e-4 * z * z, z


def z_loss_grad(m, x, t, g):
    return g * (m.softmax(x) * (1 + 2e-4 * m.logsumexp(x)) - m.one_hot(x, t))


def huber(m, a, b):
    d = m.abs(a - b)
    return m.mean(m.where(d < 1, 0.5 * d * d, d - 0.5))


def focal(m, x, t):
    p = m.log_softmax(x)
    p = m.take(p, t)
    return -(1 - m.exp(p)) ** 2 * p


def jensen_shannon(m, p, q):
    middle = m.log(0.5 * (p + q))
    return 0.5 * m.sum(p * (m.log(p) - middle) + q * (m.log(q) - middle))


def gelu_slope(m, x):
    return m.normcdf(x) + x * m.exp(-0.5 * x * x) * 0.3989422804014327


def silu_slope(m, x):
    s = m.sigmoid(x)
    return s * (1 + x * (1 - s))


def gelu_tanh_slope(m, x):
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    t = m.tanh(u)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x)


def clamped_swiglu(m, a, b):
    gate = m.minimum(a, 7.0)
    return gate * m.sigmoid(1.702 * gate) * (m.clamp(b, -7.0, 7.0) + 1)


def adamw(m, p, g, mm, v):
    m1, v1 = 0.9 * mm + 0.1 * g, 0.999 * v + 0.001 * g * g
    return m1, v1, p * 0.9999 - 0.001 * m1 / (m.sqrt(v1) + 1e-8)


def lion(m, p, g, mm, lr):
    return p * (1 - 0.1 * lr) - lr * m.sign(0.9 * mm + 0.1 * g), 0.99 * mm + 0.01 * g


def rmsprop(m, p, g, v):
    v1 = 0.99 * v + 0.01 * g * g
    return v1, p - 0.001 * g / (m.sqrt(v1) + 1e-8)


def momentum(m, p, g, mm, lr):
    m1 = 0.9 * mm + g
    return m1, p - lr * m1


def group_norm(m, x, w, b):
    d = x - m.mean(x)
    return d * m.rsqrt(m.mean(d * d) + 1e-5) * w + b


def angle(m):
    """Of a rotary embedding: positions along axis 1, half as many frequencies as elements along axis 3."""
    return m.index(1) * m.exp(m.index(3) * (-9.210340371976184 / m.size(3)))


def kept(m, x, seed):
    return m.where(m.uniform(seed) >= 0.1, x / 0.9, 0)


def quick(m, x):
    return x * m.sigmoid(1.702 * x)


ALL = []


def family(name, **common):
    """Two functions that add a program of this family, of which tuning may use those of the first alone."""
    def adder(held_out):
        def add(*fields, **more):
            ALL.append(Program(name, *fields, held_out=held_out, **{**common, **more}))
        return add
    return adder(False), adder(True)


ATTENTION = {"domain": "attention", "spread": 4.0}
POINTS = {"domain": "points"}
LEARNING_RATE = (("lr", 1e-3),)
LABEL = "x t:i32=r#label"
E4M3, E5M2, I8 = "s:f32=r q:e4m3", "s:f32=r q:e5m2", "s:f32=r q:i8"

tuned, held = family("softmax")
tuned("softmax", "y = softmax(x)", "x y", lambda m, x: m.softmax(x), spread=4.0)
tuned("log_softmax", "y = log_softmax(x)", "x y", lambda m, x: m.log_softmax(x))
tuned("softmax_bias", "y = softmax(x * 0.125 + b)", "x b=c y", lambda m, x, b: m.softmax(x * 0.125 + b))
tuned("softmax_mask", "y = softmax(x * 0.125 + a)", "x a=bqk y", lambda m, x, a: m.softmax(x * 0.125 + a),
    **ATTENTION)
held("softmax_where", "y = safe_softmax(where(k, x * s, -inf))", "k:bool=bqk x y",
    lambda m, k, x, s: m.safe_softmax(m.where(k, x * s, -m.inf)), **ATTENTION, scalars=(("s", 0.088),))
tuned("softmax_causal", "y = softmax(where(index(3) <= index(2), x * 0.125, -inf))", "x y",
    lambda m, x: m.softmax(m.where(m.index(3) <= m.index(2), x * 0.125, -m.inf)), **ATTENTION)
tuned("softmax_softcap", "y = softmax(30 * tanh(x / 30) + a)", "x a=bqk y", softcapped, **ATTENTION, heavy=True)
held("softmax_sink", "m = maximum(max(x * 0.125), k); e = exp(x * 0.125 - m); y = e / (sum(e) + exp(k - m))",
    "x k:f32=h y", with_sink, **ATTENTION)
held("softmax_temperature", "y = softmax(x / t)", "x t:f32=r#positive y", lambda m, x, t: m.softmax(x / t))
tuned("softmax_grad", "dx = softmax_grad(y, g)", "y#share g dx", lambda m, y, g: y * (g - m.sum(g * y)))
held("softmax_grad_scaled", "dx = softmax_grad(y, g) * s", "y#share g dx",
    lambda m, y, g, s: y * (g - m.sum(g * y)) * s, **ATTENTION, scalars=(("s", 0.125),))
held("log_softmax_grad", "dx = log_softmax_grad(y, g)", "y#log g dx", lambda m, y, g: g - m.exp(y) * m.sum(g))

tuned, held = family("norm")
tuned("layer_norm", "y = layer_norm(x, w, b)", "x w=c b=c y", lambda m, x, w, b: m.layer_norm(x, w, b))
tuned("layer_norm_f32_weights", "y = layer_norm(x, w, b)", "x w:f32=c b:f32=c y",
    lambda m, x, w, b: m.layer_norm(x, w, b), types="bf16 f16")
tuned("layer_norm_plain", "y = (x - mean(x)) * rsqrt(var(x, 0) + 1e-5)", "x y", lambda m, x: m.layer_norm(x))
held("layer_norm_saved", "mu = mean(x); r = rsqrt(var(x, 0) + 1e-5); y = (x - mu) * r * w + b",
    "x w=c b=c mu:f32=r r:f32=r y",
    lambda m, x, w, b: (m.mean(x), m.rsqrt(m.var(x, 0) + 1e-5), m.layer_norm(x, w, b)))
tuned("rms_norm", "y = rms_norm(x, w)", "x w=c y", lambda m, x, w: m.rms_norm(x, w))
tuned("rms_norm_plain", "y = rms_norm(x)", "x y", lambda m, x: m.rms_norm(x))
held("rms_norm_one_plus", "y = rms_norm(x, 1 + w)", "x w:f32=c y", lambda m, x, w: m.rms_norm(x, 1 + w))
tuned("add_rms_norm", "h = x + r; y = rms_norm(h, w)", "x r w=c h y",
    lambda m, x, r, w: (x + r, m.rms_norm(x + r, w)))
held("add_layer_norm", "h = x + r; y = layer_norm(h, w, b)", "x r w=c b=c h y",
    lambda m, x, r, w, b: (x + r, m.layer_norm(x + r, w, b)))
held("rms_norm_gated", "y = rms_norm(x, w) * silu(z)", "x w=c z y", lambda m, x, w, z: m.rms_norm(x, w) * m.silu(z))
tuned("post_norm", "y = r + rms_norm(x, w)", "r x w=c y", lambda m, r, x, w: r + m.rms_norm(x, w))
held("adaptive_layer_norm", "y = layer_norm(x) * (1 + s) + t", "x s=bc t=bc y",
    lambda m, x, s, t: m.layer_norm(x) * (1 + s) + t, domain="batches")
tuned("l2_normalize", "y = l2_normalize(x)", "x y", lambda m, x: x / m.sqrt(m.sum(x * x)))

tuned, held = family("norm gradient")
tuned("rms_norm_grad", "dx = rms_norm_grad(x, w, g)", "x w=c g dx", rms_grad)
tuned("layer_norm_grad", "dx = layer_norm_grad(x, w, g)", "x w=c g dx", layer_grad)
held("rms_norm_grad_saved", "dx = r * (g * w - x * r * r * mean(g * w * x))", "r:f32=r#positive g w=c x dx",
    lambda m, r, g, w, x: r * (g * w - x * r * r * m.mean(g * w * x)))
tuned("l2_normalize_grad", "dx = l2_normalize_grad(x, g)", "x g dx", l2_grad)

tuned, held = family("loss")
tuned("cross_entropy_label", "l = cross_entropy_label(x, t)", "x t:i64=r#label l:f32=r",
    lambda m, x, t: m.cross_entropy(x, t))
tuned("cross_entropy_z", "z = logsumexp(x); l = z - sum(where(index(-1) == t, x, 0)) + 1e-4 * z * z",
    LABEL + " l:f32=r z:f32=r", lambda m, x, t: z_loss(m, x, t))
held("cross_entropy_smooth", "l = logsumexp(x) - 0.9 * sum(where(index(-1) == t, x, 0)) - 0.1 * mean(x)",
    LABEL + " l:f32=r", smooth_loss)
tuned("cross_entropy_soft", "l = cross_entropy(x, p)", "x p#positive l:f32=r",
    lambda m, x, p: -m.sum(p * m.log_softmax(x)))
held("focal", "n = cross_entropy_label(x, t); l = (1 - exp(-n)) ** 2 * n", LABEL + " l:f32=r", focal)
tuned("kl", "l = sum(p * (log(p) - q))", "p#positive q#log l:f32=r", lambda m, p, q: m.sum(p * (m.log(p) - q)))
held("jensen_shannon", "k = log(0.5 * (p + q)); l = 0.5 * sum(p * (log(p) - k) + q * (log(q) - k))",
    "p#positive q#positive l:f32=r", jensen_shannon)
tuned("mse", "l = mean((a - b) ** 2)", "a b l:f32=r", lambda m, a, b: m.mean((a - b) * (a - b)))
held("huber", "d = abs(a - b); l = mean(where(d < 1, 0.5 * d * d, d - 0.5))", "a b l:f32=r", huber)
held("bce_logits", "l = mean(softplus(x) - x * t)", "x t#positive l:f32=r",
    lambda m, x, t: m.mean(m.softplus(x) - x * t))

tuned, held = family("loss gradient")
tuned("cross_entropy_label_grad", "dx = cross_entropy_label_grad(x, t, g)", LABEL + " g:f32=r dx",
    lambda m, x, t, g: g * (m.softmax(x) - m.one_hot(x, t)))
held("cross_entropy_z_grad", "dx = g * (softmax(x) * (1 + 2e-4 * logsumexp(x)) - where(index(-1) == t, 1, 0))",
    "g:f32=r x t:i32=r#label dx", lambda m, g, x, t: z_loss_grad(m, x, t, g))
held("cross_entropy_smooth_grad", "dx = softmax(x) - 0.9 * where(index(-1) == t, 1, 0) - 0.1 / size(-1)",
    LABEL + " dx", lambda m, x, t: m.softmax(x) - 0.9 * m.one_hot(x, t) - 0.1 / m.size(-1))
tuned("cross_entropy_soft_grad", "dx = cross_entropy_grad(x, p)", "x p#positive dx",
    lambda m, x, p: m.softmax(x) * m.sum(p) - p)
tuned("mse_grad", "dx = 2 * g * (a - b) / size(-1)", "g:f32=r a b dx",
    lambda m, g, a, b: 2 * g * (a - b) / m.size(-1), spread=8.0)
tuned("huber_grad", "dx = clamp(a - b, -1, 1) * g", "a b g:f32=r dx",
    lambda m, a, b, g: m.clamp(a - b, -1.0, 1.0) * g)
held("bce_logits_grad", "dx = (sigmoid(x) - t) * g", "x t#positive g:f32=r dx",
    lambda m, x, t, g: (m.sigmoid(x) - t) * g)

tuned, held = family("activation", **POINTS)
tuned("gelu", "y = gelu(x)", "x y", lambda m, x: m.gelu(x), heavy=True)
tuned("swiglu", "y = silu(a) * b", "a b y", lambda m, a, b: m.silu(a) * b)
tuned("geglu", "y = gelu_tanh(a) * b", "a b y", lambda m, a, b: m.gelu_tanh(a) * b)
tuned("bias_gelu", "y = gelu_tanh(x + b)", "x b=c y", lambda m, x, b: m.gelu_tanh(x + b))
held("relu_squared", "y = relu(x) ** 2", "x y", lambda m, x: m.maximum(x, 0.0) * m.maximum(x, 0.0))
held("swiglu_clamped", "u = minimum(a, 7); y = u * sigmoid(1.702 * u) * (clamp(b, -7, 7) + 1)", "a b y",
    clamped_swiglu, spread=10.0)
held("bias_quick_gelu_add", "h = x + b; y = h * sigmoid(1.702 * h) + r", "x b=c r y",
    lambda m, x, b, r: quick(m, x + b) + r)
tuned("mish", "y = mish(x)", "x y", lambda m, x: x * m.tanh(m.softplus(x)), heavy=True)

tuned, held = family("activation gradient", **POINTS)
tuned("swiglu_grad", "da = g * b * silu_grad(a, 1); db = g * silu(a)", "g b a da db",
    lambda m, g, b, a: (g * b * silu_slope(m, a), g * m.silu(a)))
held("gelu_grad", "dx = gelu_grad(x, g)", "x g dx", lambda m, x, g: g * gelu_slope(m, x), heavy=True)
tuned("geglu_grad", "da = g * b * gelu_tanh_grad(a, 1); db = g * gelu_tanh(a)", "g b a da db",
    lambda m, g, b, a: (g * b * gelu_tanh_slope(m, a), g * m.gelu_tanh(a)))
held("bias_gelu_grad", "dx = gelu_tanh_grad(x + b, g)", "x b=c g dx",
    lambda m, x, b, g: g * gelu_tanh_slope(m, x + b))
tuned("relu_squared_grad", "dx = 2 * relu(x) * g", "x g dx", lambda m, x, g: 2 * m.maximum(x, 0.0) * g)

tuned, held = family("quantiser", types="bf16 bf16 f16 f32")
tuned("quantise_e4m3", "s = absmax(x) / 448; q = x / s", "x " + E4M3, lambda m, x: quantised(m, x, 448))
held("quantise_e5m2", "s = scale_e5m2(x); q = quantize_e5m2(x)", "x " + E5M2, lambda m, x: quantised(m, x, 57344))
tuned("quantise_i8", "s = absmax(x) / 127; q = round(x / s)", "x " + I8, lambda m, x: quantised(m, x, 127, True))
tuned("rms_norm_e4m3", "y = rms_norm(x, w); s = absmax(y) / 448; q = y / s", "x w=c " + E4M3,
    lambda m, x, w: quantised(m, m.rms_norm(x, w), 448))
held("add_rms_norm_e4m3", "h = x + r; y = rms_norm(h, w); s = absmax(y) / 448; q = y / s", "x r w=c h " + E4M3,
    lambda m, x, r, w: (x + r, *quantised(m, m.rms_norm(x + r, w), 448)))
held("layer_norm_i8", "y = layer_norm(x, w, b); s = absmax(y) / 127; q = round(y / s)", "x w=c b=c " + I8,
    lambda m, x, w, b: quantised(m, m.layer_norm(x, w, b), 127, True))
tuned("swiglu_e4m3", "y = silu(a) * b; s = absmax(y) / 448; q = y / s", "a b " + E4M3,
    lambda m, a, b: quantised(m, m.silu(a) * b, 448))
held("gelu_e4m3", "y = gelu_tanh(x + b); s = absmax(y) / 448; q = y / s", "x b=c " + E4M3,
    lambda m, x, b: quantised(m, m.gelu_tanh(x + b), 448))
tuned("static_e4m3", "q = clamp(x / s, -448, 448)", "x s:f32=one#positive q:e4m3",
    lambda m, x, s: m.clamp(x / s, -448.0, 448.0), **POINTS)

tuned, held = family("dequantiser", domain="points", types="bf16 f16")
tuned("dequantise_e4m3", "y = q * s", "q:e4m3 s:f32=r y", lambda m, q, s: q * s)
tuned("dequantise_i8", "y = q * s", "q:i8#codes s:f32=r y", lambda m, q, s: q * s)
held("dequantise_i8_affine", "y = (q - z) * s", "q:i8#codes z:f32=r s:f32=r y", lambda m, q, z, s: (q - z) * s)
held("dequantise_columns_add", "y = q * s + r", "q:e5m2 s:f32=c r y", lambda m, q, s, r: q * s + r)
tuned("dequantise_rows_columns", "y = f32(a) * s * w + b", "a:i32#codes s:f32=r w:f32=c b=c y",
    lambda m, a, s, w, b: a * s * w + b)

tuned, held = family("optimiser", domain="flat", types="bf16 f32")
tuned("momentum", "v = 0.9 * u + g; w = p - lr * v", "u:f32 g p:f32 v:f32 w:f32",
    lambda m, u, g, p, lr: momentum(m, p, g, u, lr), scalars=LEARNING_RATE)
tuned("adamw",
    "mm = 0.9 * m + 0.1 * g; vv = 0.999 * v + 0.001 * g * g; pp = p * 0.9999 - 0.001 * mm / (sqrt(vv) + 1e-8)",
    "m:f32 g v:f32#positive p:f32 mm:f32 vv:f32 pp:f32", lambda m, mm, g, v, p: adamw(m, p, g, mm, v))
held("lion", "q = p * (1 - 0.1 * lr) - lr * sign(0.9 * m + 0.1 * g); n = 0.99 * m + 0.01 * g",
    "p:f32 m:f32 g q:f32 n:f32", lambda m, p, mm, g, lr: lion(m, p, g, mm, lr), scalars=LEARNING_RATE)
held("rmsprop", "vv = 0.99 * v + 0.01 * g * g; pp = p - 0.001 * g / (sqrt(vv) + 1e-8)",
    "v:f32#positive g p:f32 vv:f32 pp:f32", lambda m, v, g, p: rmsprop(m, p, g, v))
tuned("weights_average", "e = lerp(a, p, 0.001)", "a:f32 p e:f32", lambda m, a, p: a + 0.001 * (p - a))

tuned, held = family("statistics")
tuned("mean_var", "a = mean(x); v = var(x)", "x a:f32=r v:f32=r", lambda m, x: (m.mean(x), m.var(x, 1)))
tuned("standardise", "y = (x - mean(x)) / std(x)", "x y", lambda m, x: (x - m.mean(x)) / m.sqrt(m.var(x, 1)))
held("scale_to_range", "y = (x - min(x)) / (max(x) - min(x))", "x y",
    lambda m, x: (x - m.min(x)) / (m.max(x) - m.min(x)))
tuned("norm2", "s = norm2(x)", "x s:f32=r", lambda m, x: m.sqrt(m.sum(x * x)))
held("norms", "a = norm1(x); b = norm2(x); c = norm_inf(x)", "x a:f32=r b:f32=r c:f32=r",
    lambda m, x: (m.sum(m.abs(x)), m.sqrt(m.sum(x * x)), m.max(m.abs(x))))
held("cosine", "c = sum(a * b) / (norm2(a) * norm2(b))", "a b c:f32=r",
    lambda m, a, b: m.sum(a * b) / (m.sqrt(m.sum(a * a)) * m.sqrt(m.sum(b * b))), spread=1.0)
tuned("argmax", "i = argmax(x)", "x i:i64=r", lambda m, x: m.argmax(x))
held("any_all", "a = any(x > 1.9); b = all(x > -1.9)", "x a:bool=r b:bool=r",
    lambda m, x: (m.max(x) > 1.9, m.min(x) > -1.9))
tuned("dot", "s = sum(a * b)", "a b s:f32=r", lambda m, a, b: m.sum(a * b))
tuned("logsumexp", "l = logsumexp(x)", "x l:f32=r", lambda m, x: m.logsumexp(x))

tuned, held = family("image", types="f16 bf16 f32")
held("normalise_photos", "y = (x - a) * s", "x:u8%#codes a:f32=c s:f32=c#positive y:f16",
    lambda m, x, a, s: (x - a) * s, domain="photos")
tuned("bytes_to_floats", "y = x * 0.00392156862745098", "x:u8%#codes y", lambda m, x: x * 0.00392156862745098,
    domain="photos")
held("group_norm_silu", "y = silu(layer_norm(x, w, b))", "x w=gc b=gc y",
    lambda m, x, w, b: m.silu(group_norm(m, x, w, b)), domain="groups")
held("instance_norm", "y = layer_norm(x)", "x y", lambda m, x: m.layer_norm(x), domain="planes")
tuned("channel_sums", "a = sum(x); b = sumsq(x)", "x a:f32=c b:f32=c", lambda m, x: (m.sum(x), m.sum(x * x)),
    domain="channels")
tuned("channel_bias_relu", "y = relu(x + b)", "x b=c y", lambda m, x, b: m.maximum(x + b, 0.0), domain="pixels")
held("batch_norm", "y = (x - a) * rsqrt(v + 1e-5) * w + b", "x a:f32=c v:f32=c#positive w:f32=c b:f32=c y",
    lambda m, x, a, v, w, b: (x - a) * m.rsqrt(v + 1e-5) * w + b, domain="pixels")
tuned("global_pool", "y = mean(x)", "x y=nc", lambda m, x: m.mean(x), domain="planes")
held("channel_gate", "y = x * sigmoid(z) + r", "x z=nc r y", lambda m, x, z, r: x * m.sigmoid(z) + r,
    domain="pixels")

tuned, held = family("columns", domain="columns", types="f32 f32 f16 f64")
tuned("column_means", "a = mean(x)", "x a:f32=c", lambda m, x: m.mean(x))
held("fill_missing", "y = where(isnan(x), nanmean(x), x)", "x#holes y",
    lambda m, x: m.where(m.isnan(x), m.nanmean(x), x))
tuned("column_z_score", "y = (x - mean(x)) / std(x)", "x y", lambda m, x: (x - m.mean(x)) / m.sqrt(m.var(x, 1)))
held("column_range", "y = (x - min(x)) / (max(x) - min(x))", "x y",
    lambda m, x: (x - m.min(x)) / (m.max(x) - m.min(x)))
held("column_missing", "n = count_nonzero(isnan(x)); a = nanmean(x)", "x#holes n:i64=c a:f32=c",
    lambda m, x: (m.sum(m.where(m.isnan(x), 1.0, 0.0)), m.nanmean(x)))
tuned("column_var", "v = var(x)", "x v:f32=c", lambda m, x: m.var(x, 1))
tuned("column_extremes", "a = min(x); b = max(x)", "x a=c b=c", lambda m, x: (m.min(x), m.max(x)))

tuned, held = family("reduction")
tuned("sum_rows", "s = sum(x)", "x s:f32=r", lambda m, x: m.sum(x))
tuned("sum_leading", "s = sum(x)", "x s:f32=c", lambda m, x: m.sum(x), domain="columns")
tuned("max_middle", "s = max(x)", "x s=bc", lambda m, x: m.max(x), domain="middle")
held("std_middle", "v = std(x, 0)", "x v:f32=bc", lambda m, x: m.sqrt(m.var(x, 0)), domain="middle")
tuned("softmax_middle", "y = softmax(x)", "x y", lambda m, x: m.softmax(x), domain="middle")
held("scale_middle", "y = x / (absmax(x) + 1e-6)", "x y", lambda m, x: x / (m.max(m.abs(x)) + 1e-6),
    domain="middle")
held("sum_two_axes", "s = sumsq(x)", "x s:f32=ac", lambda m, x: m.sum(x * x), domain="outer")
tuned("mean_all", "s = mean(x * x)", "x s:f32=one", lambda m, x: m.mean(x * x), domain="all")
held("argmin_leading", "i = argmin(x)", "x i:i64=c", lambda m, x: m.argmax(-x), domain="columns")

tuned, held = family("positions")
held("rotary",
    "t = index(1) * exp(index(3) * (-9.210340371976184 / size(3))); "
    "y = a * cos(t) - b * sin(t); z = b * cos(t) + a * sin(t)",
    "a b y z",
    lambda m, a, b: (a * m.cos(angle(m)) - b * m.sin(angle(m)), b * m.cos(angle(m)) + a * m.sin(angle(m))),
    domain="rotary", heavy=True, types="bf16 f16")
tuned("rotary_table", "y = a * c - b * s; z = b * c + a * s", "a c:f32=sd b s:f32=sd y z",
    lambda m, a, c, b, s: (a * c - b * s, b * c + a * s), domain="rotary")
held("dropout", "y = dropout(x, 0.1, seed)", "x y", kept, domain="points", scalars=(("seed", 20251),), random=True)
held("dropout_add", "y = dropout(x + b, 0.1, seed) + r", "x b=c r y",
    lambda m, x, b, r, seed: kept(m, x + b, seed) + r, domain="points", scalars=(("seed", 77),), random=True)
held("alibi", "y = softmax(where(index(3) <= index(2), x * 0.125 + k * (index(3) - index(2)), -inf))",
    "x k:f32=h#positive y",
    lambda m, x, k: m.softmax(m.where(m.index(3) <= m.index(2), x * 0.125 + k * (m.index(3) - m.index(2)), -m.inf)),
    **ATTENTION)
tuned("window", "y = softmax(where(abs(index(3) - index(2)) < 128, x * 0.125, -inf))", "x y",
    lambda m, x: m.softmax(m.where(m.abs(m.index(3) - m.index(2)) < 128, x * 0.125, -m.inf)), **ATTENTION)
tuned("padding", "y = softmax(where(index(-1) < n, x, -inf))", "n:i32=r#lengths x y",
    lambda m, n, x: m.softmax(m.where(m.index(-1) < n, x, -m.inf)))
held("sinusoid_add", "y = x + sin(index(1) * exp(index(2) * (-9.210340371976184 / size(2))))", "x y",
    lambda m, x: x + m.sin(m.index(1) * m.exp(m.index(2) * (-9.210340371976184 / m.size(2)))), domain="sequence",
    heavy=True, types="bf16 f16")

tuned, held = family("elementwise", **POINTS)
tuned("add", "y = a + b", "a b y", lambda m, a, b: a + b)
tuned("affine", "y = x * w + b", "x w=c b=c y", lambda m, x, w, b: x * w + b)
tuned("scale_rows", "y = x * s", "x s=r y", lambda m, x, s: x * s)
tuned("widen", "y = x", "x y:f32", lambda m, x: x * 1.0, types="bf16 f16")
tuned("narrow", "y = x", "x:f32 y", lambda m, x: x * 1.0, types="bf16 f16")
held("axpy", "z = a * x + y", "x y z", lambda m, x, y, a: a * x + y, scalars=(("a", 0.75),))
tuned("masked", "y = where(k, x, 0) * 1.1", "k:bool x y", lambda m, k, x: m.where(k, x, 0.0) * 1.1)
held("threshold", "k = x > 0.5", "x k:bool", lambda m, x: x > 0.5)
tuned("lgamma", "y = lgamma(x)", "x#positive y", lambda m, x: m.lgamma(x), heavy=True, types="f32 f16")
held("polynomial", "y = ((0.3 * x + 0.2) * x - 1.1) * x + 0.5", "x y",
    lambda m, x: ((0.3 * x + 0.2) * x - 1.1) * x + 0.5)
held("distance", "d = sqrt(x * x + y * y); t = atan2(y, x)", "x y d t",
    lambda m, x, y: (m.sqrt(x * x + y * y), m.atan2(y, x)), heavy=True, types="f32 f64")


def by_name():
    return {program.name: program for program in ALL}
