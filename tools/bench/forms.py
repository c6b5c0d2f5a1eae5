# SPDX-License-Identifier: Apache-2.0
"""The functions that the forms of row_programs.py are written with: by NumPy in double precision, where they are the
reference, and by PyTorch, where they are what its users write. Reductions keep their axes as 1.

A reference may be computed of some rows alone: `picks` has the indices that were picked along each axis.
"""
import math

import numpy


class Math:
    """What both have, in terms of what each has of its own."""
    inf = math.inf

    def sigmoid(self, x):
        return 1 / (1 + self.exp(-x))

    def silu(self, x):
        return x * self.sigmoid(x)

    def softplus(self, x):
        return self.maximum(x, 0.0) + self.log1p(self.exp(-self.abs(x)))

    def normcdf(self, x):
        return 0.5 * (1 + self.erf(x * 0.7071067811865476))

    def gelu(self, x):
        return x * self.normcdf(x)

    def gelu_tanh(self, x):
        return 0.5 * x * (1 + self.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def clamp(self, x, low, high):
        return self.minimum(self.maximum(x, low), high)

    def rsqrt(self, x):
        return 1 / self.sqrt(x)

    def logsumexp(self, x):
        most = self.max(x)
        return self.log(self.sum(self.exp(x - most))) + most

    def softmax(self, x):
        e = self.exp(x - self.max(x))
        return e / self.sum(e)

    def log_softmax(self, x):
        return x - self.logsumexp(x)

    def safe_softmax(self, x):
        """0 for a row of -infinity."""
        most = self.max(x)
        e = self.exp(x - self.where(most == -math.inf, 0.0, most))
        total = self.sum(e)
        return e / self.where(total == 0, 1.0, total)

    def layer_norm(self, x, w=1.0, b=0.0):
        d = x - self.mean(x)
        return d * self.rsqrt(self.mean(d * d) + 1e-5) * w + b

    def rms_norm(self, x, w=1.0):
        return x * self.rsqrt(self.mean(x * x) + 1e-6) * w

    def one_hot(self, x, label):
        return self.where(self.index(-1) == label, 1.0, 0.0)

    def take(self, x, label):
        return self.sum(self.where(self.index(-1) == label, x, 0.0))

    def cross_entropy(self, x, label):
        return self.logsumexp(x) - self.take(x, label)

    def nanmean(self, x):
        missing = self.isnan(x)
        return self.sum(self.where(missing, 0.0, x)) / self.sum(self.where(missing, 0.0, 1.0))


class NumpyMath(Math):
    """shape: of the whole iteration space; picks: {axis: indices} of those axes that are not whole; module: one that
    has NumPy's functions."""

    def __init__(self, shape, axes, picks=None, module=numpy):
        self.np, self.shape, self.axes, self.picks = module, shape, tuple(axes), picks or {}
        for name in ("exp", "log", "log1p", "tanh", "sqrt", "abs", "sin", "cos", "sign", "where", "maximum", "minimum",
                     "isnan"):
            setattr(self, name, getattr(module, name))
        self.atan2 = module.arctan2
        self.erf, self.lgamma = (numpy.vectorize(function, otypes=[float]) for function in (math.erf, math.lgamma))

    def sum(self, x):
        return self.np.sum(x, axis=self.axes, keepdims=True)

    def mean(self, x):
        return self.np.mean(x, axis=self.axes, keepdims=True)

    def max(self, x):
        return self.np.max(x, axis=self.axes, keepdims=True)

    def min(self, x):
        return self.np.min(x, axis=self.axes, keepdims=True)

    def var(self, x, ddof):
        return self.np.var(x, axis=self.axes, ddof=ddof, keepdims=True)

    def argmax(self, x):
        return self.np.argmax(x, axis=self.axes[0], keepdims=True)

    def round(self, x):
        """Left as it is: of two integers as near, a rounding error decides. The comparison allows for half a step."""
        return x

    def index(self, axis):
        axis %= len(self.shape)
        places = self.picks.get(axis, self.np.arange(self.shape[axis]))
        return self.np.asarray(places).reshape([-1 if i == axis else 1 for i in range(len(self.shape))]).astype(float)

    def size(self, axis):
        return self.shape[axis]

    def uniform(self, seed):
        """Philox 4x32-10 (Salmon et al., 2011) of a quarter of the element's linear index, which of its four words the
        rest says: the upper 24 bits."""
        np, step, linear = self.np, 1, 0
        for axis in reversed(range(len(self.shape))):
            linear = linear + self.index(axis).astype(np.uint64) * np.uint64(step)
            step *= self.shape[axis]
        low, word = np.uint64(0xffffffff), np.uint64(32)
        block = linear >> np.uint64(2)
        counter = [block & low, block >> word, np.zeros_like(linear), np.zeros_like(linear)]
        key = [int(seed) & 0xffffffff, int(seed) >> 32 & 0xffffffff]
        for _ in range(10):
            first, second = np.uint64(0xd2511f53) * counter[0], np.uint64(0xcd9e8d57) * counter[2]
            counter = [second >> word ^ counter[1] ^ np.uint64(key[0]), second & low,
                       first >> word ^ counter[3] ^ np.uint64(key[1]), first & low]
            key = [(key[0] + 0x9e3779b9) & 0xffffffff, (key[1] + 0xbb67ae85) & 0xffffffff]
        chosen = np.choose((linear & np.uint64(3)).astype(int), counter)
        return (chosen >> np.uint64(8)).astype(float) * 2.0 ** -24


class TorchMath(Math):
    """PyTorch has kernels of its own for some of these, over one axis, or over the last."""

    def __init__(self, torch, shape, axes, device):
        self.torch, self.shape, self.axes, self.device = torch, shape, tuple(axes), device
        self.last = len(axes) == 1 and axes[0] == len(shape) - 1
        functional = torch.nn.functional
        for name in ("exp", "log", "log1p", "tanh", "sqrt", "rsqrt", "abs", "sin", "cos", "sign", "isnan", "erf",
                     "lgamma", "sigmoid", "where", "atan2", "round"):
            setattr(self, name, getattr(torch, name))
        self.silu, self.gelu, self.softplus = functional.silu, functional.gelu, functional.softplus

    def gelu_tanh(self, x):
        return self.torch.nn.functional.gelu(x, approximate="tanh")

    def maximum(self, x, y):
        return self.torch.maximum(x, y) if self.torch.is_tensor(y) else x.clamp(min=y)

    def minimum(self, x, y):
        return self.torch.minimum(x, y) if self.torch.is_tensor(y) else x.clamp(max=y)

    def clamp(self, x, low, high):
        return x.clamp(low, high)

    def sum(self, x):
        return x.sum(self.axes, keepdim=True)

    def mean(self, x):
        return x.mean(self.axes, keepdim=True)

    def max(self, x):
        return x.amax(self.axes, keepdim=True)

    def min(self, x):
        return x.amin(self.axes, keepdim=True)

    def var(self, x, ddof):
        return x.var(self.axes, correction=ddof, keepdim=True)

    def argmax(self, x):
        return x.argmax(self.axes[0], keepdim=True)

    def logsumexp(self, x):
        return self.torch.logsumexp(x, self.axes, keepdim=True)

    def softmax(self, x):
        return self.torch.softmax(x, self.axes[0]) if len(self.axes) == 1 else super().softmax(x)

    def log_softmax(self, x):
        return self.torch.log_softmax(x, self.axes[0]) if len(self.axes) == 1 else super().log_softmax(x)

    def flat(self, w):
        """Of a weight along the last axis alone: without its other axes, as PyTorch's norms take it. None for none."""
        return w.reshape(-1) if self.torch.is_tensor(w) else None

    def has_norm(self, *weights):
        whole = [w for w in weights if self.torch.is_tensor(w)]
        return self.last and all(w.numel() == self.shape[-1] for w in whole)

    def layer_norm(self, x, w=1.0, b=0.0):
        if not self.has_norm(w, b):
            return super().layer_norm(x, w, b)
        w, b = ((None if t is None else t.to(x.dtype)) for t in (self.flat(w), self.flat(b)))
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, 1e-5)

    def rms_norm(self, x, w=1.0):
        if not self.has_norm(w):
            return super().rms_norm(x, w)
        w = self.flat(w)
        return self.torch.nn.functional.rms_norm(x, x.shape[-1:], None if w is None else w.to(x.dtype), 1e-6)

    def cross_entropy(self, x, label):
        loss = self.torch.nn.functional.cross_entropy(x, label.reshape(-1).long(), reduction="none")
        return loss.reshape(label.shape)

    def take(self, x, label):
        return x.gather(-1, label.long())

    def nanmean(self, x):
        return x.nanmean(self.axes, keepdim=True)

    def index(self, axis):
        axis %= len(self.shape)
        places = self.torch.arange(self.shape[axis], device=self.device)
        return places.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])

    def size(self, axis):
        return self.shape[axis]

    def uniform(self, seed):
        """Other random numbers than Kiln's, of as many elements."""
        return self.torch.rand(self.shape, device=self.device)
