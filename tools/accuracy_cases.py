# SPDX-License-Identifier: Apache-2.0
"""The functions whose accuracy is measured: as Kiln's language and as mpmath have them, and where."""
import mpmath

m = mpmath.mp
m.prec = 140


def sigmoid(x):
    return 1 / (1 + m.exp(-x))


def normcdf(x):
    return m.erfc(-x / m.sqrt(2)) / 2


def normpdf(x):
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


def relu6(x):
    return min(max(x, m.mpf(0)), m.mpf(6))


def gelu_tanh_sigmoid(x):
    return sigmoid(2 * m.sqrt(2 / m.pi) * (x + m.mpf("0.044715") * x ** 3))


def gelu_tanh_grad(x):
    s, slope = gelu_tanh_sigmoid(x), 2 * m.sqrt(2 / m.pi) * (1 + 3 * m.mpf("0.044715") * x ** 2)
    return s + x * s * (1 - s) * slope


def elu(x, alpha=1):
    return x if x > 0 else alpha * m.expm1(x)


EVERYWHERE = (-1.8e308, 1.8e308)
SMALL = (-1e4, 1e4)
POSITIVE = (5e-324, 1e308)
# Expression, formula, and from where to where. A * behind an expression: results near 0 do not count.
ONE = [
    ("exp(x)", m.exp, SMALL), ("exp2(x)", lambda x: m.mpf(2) ** x, SMALL), ("expm1(x)", m.expm1, SMALL),
    ("log(x)", m.log, POSITIVE), ("log2(x)", lambda x: m.log(x) / m.log(2), POSITIVE), ("log10(x)", m.log10, POSITIVE),
    ("log1p(x)", m.log1p, (-1 + 2 ** -30, 1e308)),
    ("rsqrt(x)", lambda x: 1 / m.sqrt(x), POSITIVE), ("cbrt(x)", lambda x: m.sign(x) * m.cbrt(abs(x)), EVERYWHERE),
    ("sin(x)", m.sin, SMALL), ("cos(x)", m.cos, SMALL), ("tan(x)", m.tan, SMALL),
    ("asin(x)", m.asin, (-1, 1)), ("acos(x)", m.acos, (-1, 1)), ("atan(x)", m.atan, EVERYWHERE),
    ("sinh(x)", m.sinh, SMALL), ("cosh(x)", m.cosh, SMALL), ("tanh(x)", m.tanh, SMALL),
    ("asinh(x)", m.asinh, EVERYWHERE), ("acosh(x)", m.acosh, (1, 1e308)),
    ("atanh(x)", m.atanh, (-1 + 2 ** -24, 1 - 2 ** -24)),
    ("erf(x)", m.erf, (-100, 100)), ("erfc(x)", m.erfc, (-30, 30)),
    ("erfinv(x)", m.erfinv, (-1 + 2 ** -24, 1 - 2 ** -24)),
    ("lgamma(x)*", lambda x: m.log(abs(m.gamma(x))), (1e-30, 170)),
    ("normcdf(x)", normcdf, (-40, 40)), ("normpdf(x)", normpdf, (-40, 40)), ("sigmoid(x)", sigmoid, SMALL),
    ("silu(x)", lambda x: x * sigmoid(x), SMALL), ("logsigmoid(x)", lambda x: -m.log1p(m.exp(-x)), (-1e3, 1e3)),
    ("softplus(x)", lambda x: m.log1p(m.exp(x)), (-1e3, 1e3)), ("softsign(x)", lambda x: x / (1 + abs(x)), EVERYWHERE),
    ("elu(x)", elu, SMALL), ("celu(x, 2)", lambda x: x if x > 0 else 2 * m.expm1(x / 2), SMALL),
    ("selu(x)", lambda x: m.mpf("1.0507009873554804934") * elu(x, m.mpf("1.6732632423543772848")), SMALL),
    ("leaky_relu(x)", lambda x: x if x > 0 else x * m.mpf(0.01), EVERYWHERE),
    ("hardsigmoid(x)", lambda x: relu6(x + 3) / 6, EVERYWHERE), ("hardswish(x)", lambda x: x * relu6(x + 3) / 6, EVERYWHERE),
    ("mish(x)", lambda x: x * m.tanh(m.log1p(m.exp(x))), (-1e3, 1e3)),
    ("gelu(x)", lambda x: x * normcdf(x), (-40, 1e4)),
    ("gelu_tanh(x)", lambda x: x * gelu_tanh_sigmoid(x), (-20, 1e4)),
    ("quick_gelu(x)", lambda x: x * sigmoid(m.mpf(1.702) * x), (-400, 1e4)),
    ("tanhshrink(x)*", lambda x: x - m.tanh(x), SMALL), ("logit(x)*", lambda x: m.log(x / (1 - x)), (1e-30, 1 - 2 ** -24)),
    ("softcap(x, 30)", lambda x: 30 * m.tanh(x / 30), SMALL),
    ("srgb_to_linear(x)", lambda x: ((x + m.mpf("0.055")) / m.mpf("1.055")) ** m.mpf("2.4"), (0.05, 1)),
    ("linear_to_srgb(x)", lambda x: m.mpf("1.055") * x ** (1 / m.mpf("2.4")) - m.mpf("0.055"), (0.004, 1)),
    ("silu_grad(x, 1)*", lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), (-1e3, 1e3)),
    ("gelu_grad(x, 1)*", lambda x: normcdf(x) + x * normpdf(x), (-35, 1e3)),
    ("gelu_tanh_grad(x, 1)*", gelu_tanh_grad, (-20, 20)),
    ("softplus_grad(x, 1)", sigmoid, SMALL),
]
# Of functions of two numbers, whether it has a value there.
TWO = [
    ("pow(a, b)", lambda a, b: abs(a) ** b, lambda a, b: a > 0), ("atan2(a, b)", m.atan2, lambda a, b: True),
    ("fmod(a, b)", lambda a, b: m.sign(a) * (abs(a) % abs(b)), lambda a, b: b != 0),
    ("fma(a, b, a)*", lambda a, b: a * b + a, lambda a, b: True),
    ("lerp(a, b, 0.25)*", lambda a, b: a + (b - a) / 4, lambda a, b: True),
    ("logaddexp(a, b)*", lambda a, b: m.log(m.exp(a) + m.exp(b)), lambda a, b: True),
    ("xlogy(a, b)*", lambda a, b: a * m.log(b), lambda a, b: b > 0),
    ("swiglu(a, b)", lambda a, b: a * sigmoid(a) * b, lambda a, b: True),
    ("geglu(a, b)", lambda a, b: a * normcdf(a) * b, lambda a, b: a > -10),
    ("glu(a, b)", lambda a, b: a * sigmoid(b), lambda a, b: True),
]

LEAST_OF_FAST = 1e-36


def text_of(expression):
    return expression.rstrip("*")


def least_counted(expression, kind):
    """What is nearer to 0 does not count."""
    if expression.endswith("*"):
        return 0.0625
    return {"f16": LEAST_OF_FAST, "bf16": LEAST_OF_FAST, "f64": 2.0 ** -1022, "cpu": 2.0 ** -1022}.get(kind, 0)
