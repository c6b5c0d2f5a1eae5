# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX as row programs: elementwise operators, reductions, normalisations, softmax, losses, quantisers and
optimisers, as docs/onnx.md lists them. The package onnx is not needed.

>>> import numpy as np, kiln.onnx
>>> norm = kiln.onnx.Operator("LayerNormalization", axis=1, epsilon=1e-5, outputs=2)
>>> x, weight = np.array([[1.0, 3.0]], np.float32), np.ones(2, np.float32)
>>> norm(x, weight)
(array([[-0.999995,  0.999995]], dtype=float32), array([[2.]], dtype=float32))
>>> print(norm.translate(x, weight).text)
average = mean(x); d = x - average; rstd = rsqrt(mean(d * d) + 1e-05); y = d * rstd * w + 0

What an operator of an opset becomes stands in onnx_operators.json, beside this file:

    inputs      names in the program, in ONNX's order; "b?" may be missing, "x*" stands for any number
    host        inputs behind them whose values are read when the program is made, and their defaults
    attributes  defaults; null where there is none
    outputs     names, "y" where it is not said; types: theirs, a type's name, or an input or attribute that has it
    cases       the first whose `when` holds: attributes, whether inputs are given, or kinds of types
    text        the program, with attributes and defaults of missing inputs in braces; {wrap:...} wraps around in the
                output's type, as integers of ONNX do
    axes        what its reductions run over; views: how tensors are reshaped before and after
"""
import json
import math
import pathlib
import re
from typing import NamedTuple

from ._arrays import describe, is_number
from ._errors import argument_error, error_of
from ._onnx_views import axes_of, restore, view
from ._program import Program
from ._types import NAMES

__all__ = ["Operator", "Translation", "operators"]

# onnx.TensorProto.DataType
TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
         13: "u64", 16: "bf16", 17: "e4m3", 19: "e5m2", 23: "e2m1", 24: "e8m0"}
BITS = {"u8": 8, "i8": 8, "u16": 16, "i16": 16, "u32": 32, "i32": 32, "u64": 64, "i64": 64}
SUMS = re.compile(r"\b(sum|prod|sumsq|norm1|cumsum|cumprod)\(")


class Translation(NamedTuple):
    """What an operator becomes for some inputs: the arguments of kiln.Program and of its call."""
    text: str
    axes: tuple | None
    outputs: list
    keepdims: bool
    dtype: dict
    arguments: dict
    views: dict


def table():
    """onnx_operators.json, read once."""
    if not hasattr(table, "data"):
        path = pathlib.Path(__file__).with_name("onnx_operators.json")
        table.data = json.loads(path.read_text(encoding="utf-8"))
    return table.data


def operators(domain=""):
    """Names of the operators that there are programs for."""
    return sorted({entry["op"] for entry in table()["operators"] if entry.get("domain", "") == domain})


def entry_of(op, domain, opset):
    """The newest entry that the opset has; an opset of None has all."""
    entries = [entry for entry in table()["operators"] if entry["op"] == op and entry.get("domain", "") == domain]
    known = [entry for entry in entries if opset is None or entry["since"] <= opset]
    if known:
        return max(known, key=lambda entry: entry["since"])
    if entries:
        raise refusal(f"{op} of opset {opset} is no row program, those from opset "
                      f"{min(entry['since'] for entry in entries)} on are")
    for other in table()["inexpressible"]:
        if other["op"] == op and not domain:
            raise refusal(f"{op} is no row program: {other['reason']}")
    raise refusal(f"{op} of the domain '{domain}' is no row program; docs/onnx.md lists those that are")


def refusal(sentence):
    return error_of(12, "KILN_E_UNSUPPORTED", sentence)


def literal(value):
    """A number of an attribute in the language."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    else:
        text = repr(value)
    return f"({text})" if text.startswith("-") else text


def host_value(value):
    """An input that is read when the program is made."""
    return value.tolist() if hasattr(value, "tolist") else value


def wrapped(expression, computed, stored):
    """The expression, of integers computed in one type, in the bits of another."""
    if computed not in BITS or stored not in BITS or computed == stored:
        return expression
    bits = BITS[stored]
    if stored[0] == "u" and bits < 64:
        return f"({expression}) & {2 ** bits - 1}"
    if bits < 64:
        low = "i32" if bits < 32 else "i64"
        return f"({low}(({expression}) & {2 ** bits - 1}) ^ {2 ** (bits - 1)}) - {2 ** (bits - 1)}"
    if computed[0] != "u" and stored == "u64":
        rest = f"(i64({expression}) & {2 ** 63 - 1})"
        return f"u64({rest}) + where(({expression}) < 0, {2 ** 63}, u64(0))"
    if computed == "u64":
        return f"i64(({expression}) & {2 ** 63 - 1}) + i64(({expression}) >> 63) * (-{2 ** 63 - 1} - 1)"
    return expression


class Operator:
    """An operator of ONNX with its attributes, called with arrays as kiln.Program is; None stands for an input that is
    not given. A call returns an array, or a tuple where `outputs` is more than 1.

    op, domain: ONNX's names; "" is the default domain. opset: the version of the domain, None for the newest.
    outputs: how many results there are, from the first on; of optimisers always all. context: a kiln.Context.
    attributes: by ONNX's names; types are numbers of onnx.TensorProto.DataType.

    Inputs such as the axes of ReduceSum or the ratio of Dropout are read on the host. Random numbers are Kiln's.
    """

    def __init__(self, op, *, opset=None, domain="", outputs=1, context=None, **attributes):
        self.op, self.domain, self.opset = op, domain, opset
        self._entry = entry_of(op, domain, opset)
        self._context, self._programs = context, {}
        known = self._entry.get("attributes", {})
        for name in attributes:
            if name not in known:
                raise argument_error(f"{op} has no attribute '{name}', it has {', '.join(known) or 'none'}")
        self.attributes = {**known, **attributes}
        for name, value in self.attributes.items():
            if value is None:
                raise argument_error(f"the attribute '{name}' of {op} is missing")
        names = self._entry.get("outputs", "y").split()
        if not 1 <= outputs <= len(names):
            raise argument_error(f"{op} has {len(names)} outputs, {outputs} are asked for")
        self._outputs = names if self._entry.get("repeats") else names[:outputs]

    def __repr__(self):
        return f"<kiln.onnx.Operator {self.op}>"

    def __call__(self, *inputs):
        if self._entry.get("repeats"):
            return self._call_for_each(inputs)
        return self._call_once(inputs)

    def _call_once(self, inputs):
        made = self.translate(*inputs)
        key = (made.text, made.axes, made.keepdims)
        if key not in self._programs:
            self._programs[key] = Program(made.text, axes=made.axes, outputs=made.outputs, keepdims=made.keepdims,
                                          context=self._context)
        results = self._programs[key](**made.arguments, dtype=made.dtype)
        results = results if isinstance(results, tuple) else (results,)
        results = tuple(restore(made.views.get(name), result, inputs[0]) for name, result in zip(made.outputs, results))
        return results if len(results) > 1 else results[0]

    def _call_for_each(self, inputs):
        """Optimisers: one call for each tensor, whose values stand in lists one behind the other."""
        names = self._entry["inputs"].split()
        lists = sum(name.endswith("*") for name in names)
        first = len(names) - lists
        tensors, rest = divmod(len(inputs) - first, lists)
        if tensors < 1 or rest:
            raise argument_error(f"{self.op} takes {first} inputs and {lists} for each tensor, {len(inputs)} are given")
        found = [self._call_once((*inputs[:first], *inputs[first + at::tensors])) for at in range(tensors)]
        found = [one if isinstance(one, tuple) else (one,) for one in found]
        return tuple(one[at] for at in range(len(self._outputs)) for one in found)

    def translate(self, *inputs):
        """The Translation for arrays, of which types and shapes matter alone, but for those that are read on the host."""
        given, values = self._bind(inputs)
        types = {name: NAMES[describe(value)[0]] for name, value in given.items()}
        first = next(iter(types.values()))
        for name in self._outputs:
            types[name] = self._type_of(name, types, values, first)
        case = self._case(given, types, values)
        axis, axes = axes_of(case.get("axes"), values, given)
        text = self._render(case["text"], given, types, values, axis)
        views = case.get("views", {})
        arguments = {name: view(views.get(name), given, name, values) for name in given
                     if re.search(rf"\b{name}\b", text)}
        keepdims = bool(case.get("keepdims", values.get("keepdims", 0)))
        if axes == () and case.get("axes") == "axes":  # each element is a row of its own
            arguments = {name: array.reshape((*array.shape, 1)) for name, array in arguments.items()}
            axes, keepdims = (-1,), False
        return Translation(text, axes, self._outputs, keepdims, {name: types[name] for name in self._outputs}, arguments,
                           views)

    def _bind(self, inputs):
        """Arrays by their names in the program, and attributes with what is read on the host."""
        names, host = self._entry["inputs"].split(), self._entry.get("host", {})
        if names[-1].endswith("*") and not self._entry.get("repeats"):
            names = [f"x{at}" for at in range(len(inputs))]
        if len(inputs) > len(names) + len(host):
            raise argument_error(f"{self.op} has {len(names) + len(host)} inputs, {len(inputs)} are given")
        padded = [*inputs, *[None] * (len(names) + len(host) - len(inputs))]
        given = {}
        for name, value in zip(names, padded):
            if value is not None:
                given[name.rstrip("?*")] = self._array(value, name)
            elif not name.endswith("?"):
                raise argument_error(f"input {names.index(name)} of {self.op} is missing")
        values = dict(self.attributes)
        for name, value in zip(host, padded[len(names):]):
            if value is not None:
                values[name] = host_value(value)
            else:
                values.setdefault(name, host[name])
        return given, values

    def _array(self, value, name):
        """NumPy's numbers are arrays without axes here."""
        if not is_number(value):
            return value
        if not hasattr(value, "dtype"):
            raise argument_error(f"'{name}' of {self.op} is a number, expected an array")
        return value[...]

    def _type_of(self, name, types, values, first):
        for source in self._entry.get("types", {}).get(name, "").split():
            if source in types:
                return types[source]
            if source in NAMES:
                return source
            number = values.get(source)
            if number and number not in TYPES:
                raise refusal(f"the type {number} of onnx.TensorProto is none of Kiln's, which are {', '.join(NAMES)}")
            if number:
                return TYPES[number]
        return first

    def _case(self, given, types, values):
        """The entry with what the first case says whose conditions hold."""
        for case in self._entry.get("cases", ({},)):
            if all(self._holds(name, wanted, given, types, values) for name, wanted in case.get("when", {}).items()):
                if "refused" in case:
                    raise refusal(f"{self.op} with these attributes is no row program: {case['refused']}")
                return {**self._entry, **case}
        raise refusal(f"{self.op} has no program for {', '.join(f'{n}={v!r}' for n, v in values.items())}")

    @staticmethod
    def _holds(name, wanted, given, types, values):
        if name == "empty":
            return wanted == any(0 in array.shape for array in given.values())
        if name in values:
            return values[name] == wanted
        if isinstance(wanted, bool):
            return wanted == (name in given)
        kind = "integer" if types[name] in BITS else "bool" if types[name] == "bool" else "float"
        return wanted in (types[name], kind)

    def _render(self, text, given, types, values, axis):
        stored = types[self._outputs[0]]
        first = next(iter(types.values()))
        computed = "i32" if BITS.get(first, 64) < 32 else first
        numbers = {**values, "count": len(given), "bits": BITS.get(stored, 0),
                   "all_ones": 0 if stored[0] == "u" else -1}
        numbers["least"], numbers["largest"] = bounds(first)
        words = {name: literal(value) for name, value in numbers.items()} | {"axis": str(axis)}
        if "seed" in values:  # ONNX's are floats
            words["seed"] = literal(int(values["seed"]))
        words |= {f"type_{name}": kind for name, kind in types.items()}
        words |= {name: name if name in given else default
                  for name, default in self._entry.get("defaults", {}).items()}
        if "fold" in self._entry:
            words["x"] = folded(self._entry["fold"], list(given))

        def wrap(match):
            kind = computed
            if SUMS.search(match[1]):
                kind = "u64" if first == "u64" else "i64"
            return wrapped(match[1], kind, stored)

        text = re.sub(r"\{(\w+)\}", lambda match: words[match[1]], text)
        return re.sub(r"\{wrap:([^}]*)\}", wrap, text)


def folded(fold, names):
    """a + b of two: a + b + c of three."""
    value = names[0]
    for name in names[1:]:
        value = re.sub(r"\b[ab]\b", lambda match, left=value: left if match[0] == "a" else name, fold)
    return value


def bounds(type_name):
    """The least and the largest value."""
    if type_name == "bool":
        return False, True
    if type_name not in BITS:
        return -math.inf, math.inf
    bits = BITS[type_name]
    return (0, 2 ** bits - 1) if type_name[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
