# SPDX-License-Identifier: Apache-2.0
"""The same work by others: PyTorch eager and compiled, CuPy, CUB. Each peer makes a call out of a case and its tensors.

A peer's prepare() returns the call, which returns its result, or raises Absent with the reason why there is none.
"""
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile

from cases import THIN_COLS


class Absent(Exception):
    pass


def torch_forms(torch):
    """Each program on PyTorch tensors; also in f64, where it is the reference."""
    functional = torch.nn.functional
    whole = {
        "softmax": lambda axes, x: torch.softmax(x, axes[0]),
        "softmax_grad": lambda axes, y, g: y * (g - (g * y).sum(axes, keepdim=True)),
        "rms_norm": lambda axes, x, w: functional.rms_norm(x, x.shape[-1:], w, 1e-6),
        "layer_norm": lambda axes, x, w, b: functional.layer_norm(x, x.shape[-1:], w, b, 1e-5),
        "reduce_scale": lambda axes, x: x / x.abs().amax(axes, keepdim=True),
        "sum": lambda axes, x: x.sum(axes, keepdim=True),
        "max": lambda axes, x: x.amax(axes, keepdim=True),
        "var": lambda axes, x: x.var(axes, correction=1, keepdim=True),
        "argmax": lambda axes, x: x.argmax(axes[0], keepdim=True),
        "mul": lambda axes, a, b: a * b,
        "gelu_bias_mul": lambda axes, a, b, c: functional.gelu(a + b, approximate="tanh") * c,
        "silu_mul": lambda axes, a, b: functional.silu(a) * b,
        "add_row": lambda axes, x, b: x + b,
        "scale_rows": lambda axes, x, s: x * s,
        "add_mask": lambda axes, x, a: x + a,
        "to_f16": lambda axes, x: x.to(torch.float16),
    }
    return whole


class Eager:
    name = "eager"

    def __init__(self, torch):
        self.torch, self.forms = torch, torch_forms(torch)
        self.version = "PyTorch " + torch.__version__

    def prepare(self, case, inputs, output):
        if case.program == "softmax_grad":  # PyTorch's own kernel, which autograd would call
            backward, axis = getattr(self.torch, "_softmax_backward_data"), case.axes[0]
            return lambda: backward(inputs[1], inputs[0], axis, inputs[0].dtype)
        form, axes = self.forms[case.program], case.axes
        return lambda: form(axes, *inputs)


class Compiled:
    name = "compiled"

    def __init__(self, torch):
        self.torch, self.forms = torch, torch_forms(torch)
        try:
            import triton
        except ImportError as error:
            raise Absent(str(error)) from error
        self.version = "Triton " + triton.__version__

    def prepare(self, case, inputs, output):
        if case.set not in ("peers", "few", "axes", "elementwise") and case.cols not in THIN_COLS:
            raise Absent("not compiled for every shape of a sweep")
        form, axes = self.forms[case.program], case.axes
        self.torch.compiler.reset()
        compiled = self.torch.compile(lambda *tensors: form(axes, *tensors), dynamic=False)
        return lambda: compiled(*inputs)


CUPY_EXPRESSIONS = {
    "gelu_bias_mul": "float v = (float)a + (float)b; "
                     "y = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))) * (float)c",
    "silu_mul": "float v = (float)a; y = v / (1.0f + expf(-v)) * (float)b",
    "to_f16": "y = a",
}


class CuPy:
    name = "cupy"

    def __init__(self, torch):
        try:
            import cupy
        except ImportError as error:
            raise Absent(str(error)) from error
        self.cupy, self.kernels = cupy, {}
        self.version = "CuPy " + cupy.__version__

    def prepare(self, case, inputs, output):
        if case.type == "bf16":
            raise Absent("CuPy has no bf16")
        cupy, program = self.cupy, case.program
        arrays, out = [cupy.asarray(t) for t in inputs], cupy.asarray(output)
        axes = tuple(case.reduced)
        if program in ("sum", "max", "var"):
            function = {"sum": cupy.sum, "max": cupy.amax, "var": cupy.var}[program]
            more = {"ddof": 1} if program == "var" else {}
            return lambda: function(arrays[0], axis=axes, keepdims=True, out=out, **more)
        if program == "argmax":
            return lambda: cupy.argmax(arrays[0], axis=axes[0], keepdims=True)
        if program in ("mul", "scale_rows", "add_row", "add_mask"):
            function = cupy.multiply if program in ("mul", "scale_rows") else cupy.add
            return lambda: function(*arrays, out=out)
        if program not in CUPY_EXPRESSIONS:
            raise Absent("CuPy has no such function")
        names = ", ".join(f"T {letter}" for letter in "abc"[: len(arrays)])
        result = "float16 y" if program == "to_f16" else "T y"
        kernel = cupy.ElementwiseKernel(names, result, CUPY_EXPRESSIONS[program], "compare_" + program)
        return lambda: kernel(*arrays, out)


class Cub:
    name = "cub"

    def __init__(self, torch):
        self.torch = torch
        nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        if not nvcc:
            raise Absent("nvcc is not installed")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cub_sums.cu")
        arch = "sm_%d%d" % torch.cuda.get_device_capability()
        version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
        with open(source, "rb") as file:
            key = hashlib.sha256(file.read() + (version + arch).encode()).hexdigest()[:16]
        folder = os.path.join(tempfile.gettempdir(), f"kiln-compare-{os.getuid()}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"cub_{key}.so")
        if not os.path.exists(path):
            partial = f"{path}.{os.getpid()}"
            flags = ["-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-arch=" + arch]
            made = subprocess.run([nvcc, *flags, source, "-o", partial], capture_output=True, text=True)
            if made.returncode:
                raise Absent("nvcc failed: " + made.stderr.strip()[-300:])
            os.replace(partial, path)
        self.sums = ctypes.CDLL(path).cub_row_sums
        word, pointer = ctypes.c_longlong, ctypes.c_void_p
        self.sums.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t), pointer, pointer, word, word, pointer]
        self.version = "CUB of CUDA " + version.split("release ")[1].split(",")[0]

    def prepare(self, case, inputs, output):
        if case.program != "sum" or case.type != "f32" or case.reduced != [len(case.shape) - 1]:
            raise Absent("only sums of rows of f32 are called of CUB")
        rows, bytes_needed = inputs[0].numel() // case.cols, ctypes.c_size_t(0)
        result = self.torch.empty_like(output)
        def call(temporary):
            code = self.sums(temporary, ctypes.byref(bytes_needed), inputs[0].data_ptr(), result.data_ptr(), rows,
                             case.cols, None)
            if code:
                raise RuntimeError(f"CUB: CUDA error {code}")
            return result
        call(None)
        memory = self.torch.empty(max(1, bytes_needed.value), dtype=self.torch.uint8, device=result.device)
        return lambda: call(memory.data_ptr())


PEERS = {"eager": Eager, "compiled": Compiled, "cupy": CuPy, "cub": Cub}
