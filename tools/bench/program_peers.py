# SPDX-License-Identifier: Apache-2.0
"""Drawn cases by other libraries. A peer's calls() returns the ways in which its users would write the program, the
likeliest first; each is a call without arguments that returns the results. It raises Absent where there is none.
"""
import re

from checked import as_results
from forms import NumpyMath, TorchMath
from peers import Absent
from tensors import torch_type

NARROW, EIGHT_BITS = ("f16", "bf16"), ("e4m3", "e5m2")  # PyTorch computes with none of the latter


def one_line(error):
    """Some messages have many lines and colours."""
    words = re.sub(r"\x1b\[[0-9;]*m", "", f"{type(error).__name__}: {error}").split()
    return " ".join(words)[:200]


def inputs_of(tensors):
    return [array for operand, array in zip(tensors.operands, tensors.arrays) if not operand.is_output]


def output_types(tensors):
    return [torch_type(tensors.torch, operand.type) for operand in tensors.operands if operand.is_output]


class Eager:
    def __init__(self, torch):
        self.torch, self.version = torch, "PyTorch " + torch.__version__

    def function(self, case, tensors, widened):
        """Of the inputs; widened: narrow floats become f32 first, as users write it where a row is added up."""
        form, types, scalars = case.program.form, output_types(tensors), dict(case.program.scalars)
        functions = TorchMath(self.torch, case.shape, case.axes, tensors.device)
        kinds = NARROW + EIGHT_BITS if widened else EIGHT_BITS
        narrow = [operand.type in kinds for operand in tensors.operands]

        def run(*inputs):
            inputs = [t.float() if wide else t for t, wide in zip(inputs, narrow)]
            return [result.to(kind) for result, kind in zip(as_results(form(functions, *inputs, **scalars)), types)]
        return run

    def calls(self, case, tensors):
        inputs = inputs_of(tensors)
        functions = [self.function(case, tensors, widened) for widened in (False, True)]
        return [lambda run=run: run(*inputs) for run in functions]


class Compiled(Eager):
    def __init__(self, torch):
        super().__init__(torch)
        self.version = "Inductor of " + self.version

    def calls(self, case, tensors):
        inputs = inputs_of(tensors)
        self.torch.compiler.reset()
        run = self.torch.compile(self.function(case, tensors, True), dynamic=False)
        return [lambda: run(*inputs)]


class Named:
    """A library that has some of the programs, by name: functions of their inputs."""

    def __init__(self, torch):
        self.functions = self.load(torch)

    def calls(self, case, tensors):
        function = self.functions.get(case.program.name)
        if function is None:
            raise Absent("it has no such program")
        inputs = inputs_of(tensors)
        return [lambda: as_results(function(*inputs))]


class Quack(Named):
    def load(self, torch):
        try:
            import quack
            from quack.cross_entropy import cross_entropy_fwd
            from quack.rmsnorm import layernorm_fwd, rmsnorm_fwd
            from quack.softmax import softmax_bwd, softmax_fwd
        except Exception as error:  # a part that it needs may fail in its own way
            raise Absent(one_line(error)) from error
        self.version = "quack " + getattr(quack, "__version__", "")

        def add_rms_norm(x, residual, w):
            y, h, _ = rmsnorm_fwd(x, w.flatten(), residual=residual)
            return h, y
        return {
            "softmax": softmax_fwd,
            "softmax_grad": lambda y, g: softmax_bwd(g, y),
            "layer_norm_f32_weights": lambda x, w, b: layernorm_fwd(x, w.flatten(), b.flatten(), 1e-5),
            "rms_norm": lambda x, w: rmsnorm_fwd(x, w.flatten())[0],
            "rms_norm_plain": lambda x: rmsnorm_fwd(x)[0],
            "rms_norm_one_plus": lambda x, w: rmsnorm_fwd(x, w.flatten(), weight_offset=1.0)[0],
            "add_rms_norm": add_rms_norm,
            "cross_entropy_label": lambda x, t: cross_entropy_fwd(x, t.flatten()),
        }


class Liger(Named):
    def load(self, torch):
        try:
            from importlib.metadata import PackageNotFoundError, version
            from liger_kernel.ops.cross_entropy import cross_entropy_forward
            from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
            from liger_kernel.ops.geglu import LigerGELUMulFunction
            from liger_kernel.ops.layer_norm import LigerLayerNormFunction
            from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction
            from liger_kernel.ops.rms_norm import LigerRMSNormFunction
            from liger_kernel.ops.softmax import LigerSoftmaxFunction
            from liger_kernel.ops.swiglu import LigerSiLUMulFunction
        except Exception as error:
            raise Absent(one_line(error)) from error
        try:
            self.version = "Liger " + version("liger_kernel")
        except PackageNotFoundError:  # unzipped without its metadata
            self.version = "Liger"

        def rms_norm(x, w, offset=0.0):
            return LigerRMSNormFunction.apply(x, w, 1e-6, offset, "gemma", False)

        def add_rms_norm(x, residual, w):
            y, h = LigerFusedAddRMSNormFunction.apply(x, residual, w.flatten(), 1e-6, 0.0, "gemma", False)
            return h, y

        def cross_entropy(x, t):
            return cross_entropy_forward(x, t.flatten(), None, -100, 0.0, 0.0, "none", None, False)[0]

        def layer_norm(x, w, b):
            return LigerLayerNormFunction.apply(x, w.flatten(), b.flatten(), 1e-5)
        return {
            "softmax": LigerSoftmaxFunction.apply,
            "layer_norm": layer_norm, "layer_norm_f32_weights": layer_norm,
            "rms_norm": lambda x, w: rms_norm(x, w.flatten()),
            "rms_norm_plain": lambda x: rms_norm(x, None),
            "rms_norm_one_plus": lambda x, w: rms_norm(x, w.flatten(), 1.0),
            "add_rms_norm": add_rms_norm,
            "swiglu": LigerSiLUMulFunction.apply,
            "geglu": LigerGELUMulFunction.apply,
            "relu_squared": LigerReLUSquaredFunction.apply,
            "cross_entropy_label": cross_entropy,
        }


class CuPy:
    """Elementwise programs as one kernel of cupy.fuse."""

    def __init__(self, torch):
        try:
            import cupy
            from cupyx.scipy import special
        except Exception as error:
            raise Absent(one_line(error)) from error
        self.cupy, self.special, self.version = cupy, special, "CuPy " + cupy.__version__

    def calls(self, case, tensors):
        kinds = {operand.type for operand in tensors.operands}
        if case.axes or "index" in case.program.text or case.program.random:
            raise Absent("only elementwise programs without positions are fused")
        if kinds & {"bf16", "e4m3", "e5m2"}:
            raise Absent("CuPy has neither bf16 nor 8-bit floats")
        cupy, form, scalars = self.cupy, case.program.form, dict(case.program.scalars)
        functions = NumpyMath(case.shape, case.axes, module=cupy)
        functions.erf, functions.lgamma = self.special.erf, self.special.gammaln
        arrays = [cupy.asarray(t) for t in inputs_of(tensors)]
        outputs = [cupy.asarray(t).dtype for t, operand in zip(tensors.arrays, tensors.operands) if operand.is_output]
        half = [array.dtype == cupy.float16 for array in arrays]

        def run(*inputs):
            inputs = [t.astype(cupy.float32) if narrow else t for t, narrow in zip(inputs, half)]
            results = as_results(form(functions, *inputs, **scalars))
            results = [result.astype(kind) for result, kind in zip(results, outputs)]
            return results[0] if len(results) == 1 else tuple(results)
        fused = cupy.fuse(kernel_name="programs_" + case.program.name)(run)
        return [lambda: as_results(fused(*arrays))]


PEERS = {"eager": Eager, "compiled": Compiled, "quack": Quack, "liger": Liger, "cupy": CuPy}


def load(torch, names):
    """({name: peer}, {name: why it is absent})"""
    there, absent = {}, {}
    for name in names:
        try:
            there[name] = PEERS[name](torch)
        except Absent as reason:
            absent[name] = str(reason)
    return there, absent
