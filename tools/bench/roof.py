#!/usr/bin/env python3
"""How close Kiln's kernels come to the memory's speed, next to PyTorch's own, on this machine's GPU.

usage: tools/bench/roof.py [--library build/libkiln.so] [PROGRAM ...]

For each case: the roof ratio (time of a device-to-device copy that moves the same bytes, over the time of the kernel),
both timed in this run with events around the call, the L2 flushed before each, median of 30; microseconds; the
schedule; PyTorch's eager time; the largest difference from PyTorch in f32, relative to the largest magnitude. Needs PyTorch with CUDA.
"""
import argparse
import ctypes
import datetime

import torch

TYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
SHARE = 256e6  # bytes that a case moves, about


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


class ProgramOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("outputs", ctypes.c_char_p), ("scalars", ctypes.c_char_p),
                ("axes", ctypes.POINTER(ctypes.c_int)), ("axis_count", ctypes.c_size_t), ("all_axes", ctypes.c_int)]


class PlanInfo(ctypes.Structure):  # the library fills as much as struct_size says
    _fields_ = [("struct_size", ctypes.c_size_t), ("schedule", ctypes.c_char_p)]


class Kiln:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.kiln_last_error.restype = ctypes.c_char_p
        self.library.kiln_version.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.check(self.library.kiln_context_create(None, ctypes.byref(self.context)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.kiln_last_error().decode())


class Plan:
    """A program prepared for tensors: inputs, then outputs."""

    def __init__(self, kiln, text, tensors, axes):
        self.kiln, lib = kiln, kiln.library
        self.program, self.plan = ctypes.c_void_p(), ctypes.c_void_p()
        numbers = (ctypes.c_int * len(axes))(*axes)
        options = ProgramOptions(ctypes.sizeof(ProgramOptions), None, None, numbers, len(axes), 0)
        kiln.check(lib.kiln_program_create(kiln.context, text.encode(), ctypes.byref(options), ctypes.byref(self.program)))
        views = (Tensor * len(tensors))()
        for view, tensor in zip(views, tensors):
            view.data, view.type, view.rank = tensor.data_ptr(), TYPES[tensor.dtype], tensor.dim()
            for i in range(tensor.dim()):
                view.sizes[i], view.strides[i] = tensor.shape[i], tensor.stride(i)
        kiln.check(lib.kiln_plan_create(self.program, views, len(tensors), None, 0, ctypes.byref(self.plan)))
        self.data = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
        info = PlanInfo(ctypes.sizeof(PlanInfo))
        kiln.check(lib.kiln_plan_get_info(self.plan, ctypes.byref(info)))
        self.schedule = info.schedule.decode()

    def launch(self):
        self.kiln.check(self.kiln.library.kiln_plan_launch(self.plan, self.data, len(self.data), None, 0, None))

    def close(self):
        self.kiln.library.kiln_plan_destroy(self.plan)
        self.kiln.library.kiln_program_destroy(self.program)


class Clock:
    def __init__(self):
        self.flush, self.copies = torch.empty(128 << 20, dtype=torch.uint8, device="cuda"), {}

    def median_us(self, call, runs=30):
        call()
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(runs)]
        for start, end in events:
            self.flush.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return sorted(start.elapsed_time(end) for start, end in events)[runs // 2] * 1e3

    def copy_us(self, moved):
        if moved not in self.copies:
            source = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
            target = torch.empty_like(source)
            self.copies[moved] = self.median_us(lambda: target.copy_(source))
        return self.copies[moved]


def gelu(a, b, c):
    return torch.nn.functional.gelu(a + b, approximate="tanh") * c


# name: text, shapes of the inputs and the output (m: rows x columns, r: one row, s: one per row, c: one per column),
# axes, PyTorch's form
PROGRAMS = {
    "softmax": ("y = softmax(x)", "mm", [1], lambda x: torch.softmax(x, -1)),
    "softmax_grad": ("dx = softmax_grad(y, g)", "mmm", [1], lambda y, g: y * (g - (g * y).sum(-1, keepdim=True))),
    "rms_norm": ("y = rms_norm(x, w)", "mrm", [1], lambda x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)),
    "layer_norm": ("y = layer_norm(x, w, b)", "mrrm", [1], lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b)),
    "reduce_scale": ("y = reduce_scale(x)", "mm", [1], lambda x: x / x.abs().amax(-1, keepdim=True)),
    "sum": ("s = sum(x)", "ms", [1], lambda x: x.sum(-1, keepdim=True)),
    "column_sum": ("s = sum(x)", "mc", [0], lambda x: x.sum(0, keepdim=True)),
    "gelu_bias_mul": ("y = gelu_tanh(a + b) * c", "mrmm", [1], gelu),
}
CASES = (
    [("softmax", F16, c) for c in (8, 32, 33, 64, 100, 128, 256, 512, 1000, 1023, 1024, 2048, 4096, 8192, 16384, 32768, 50257, 65536, 131072)]
    + [("softmax", F32, c) for c in (128, 1000, 1024, 4096, 16384, 65536)]
    + [("softmax", BF16, c) for c in (1 << 20, 1 << 24)]
    + [("softmax_grad", F16, c) for c in (128, 1000, 1024, 4096, 8192, 32768)]
    + [("rms_norm", BF16, c) for c in (256, 1024, 4096, 8192, 16384, 65536)]
    + [("layer_norm", BF16, c) for c in (256, 1024, 4096, 8192, 16384, 65536)]
    + [("reduce_scale", F32, c) for c in (128, 1000)]
    + [("sum", F32, c) for c in (128, 1024, 4096, 65536, 1 << 20, 1 << 24)]
    + [("column_sum", F32, c) for c in (64, 1024, 65536)]
    + [("gelu_bias_mul", BF16, c) for c in (1023, 8192)]
)


def run(kiln, clock, name, dtype, cols, rows):
    text, kinds, axes, reference = PROGRAMS[name]
    shapes = {"m": (rows, cols), "r": (cols,), "s": (rows, 1), "c": (1, cols)}
    tensors = [(torch.rand(shapes[k], device="cuda") * 2 - 1).to(dtype) for k in kinds]
    inputs, output = tensors[:-1], tensors[-1]
    moved = sum(t.numel() * t.element_size() for t in tensors)
    output.fill_(float("nan"))
    plan = Plan(kiln, text, tensors, axes)
    mine, copy = clock.median_us(plan.launch), clock.copy_us(moved)
    theirs = clock.median_us(lambda: reference(*inputs), 10)
    some = [t[:64] if t.dim() == 2 and axes == [1] else t for t in inputs]
    wanted = reference(*[t.float() for t in some])
    error = ((output[: wanted.shape[0]].float() - wanted).abs().max() / wanted.abs().max()).item()
    schedule = plan.schedule
    plan.close()
    return copy / mine, mine, theirs, error, moved / mine / 1e3, schedule


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/libkiln.so")
    parser.add_argument("programs", nargs="*", help="of " + ", ".join(PROGRAMS))
    arguments = parser.parse_args()
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    kiln, clock = Kiln(arguments.library), Clock()
    print(f"{datetime.date.today()}, {torch.cuda.get_device_name()}, Kiln {kiln.library.kiln_version().decode()}, "
          f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    print("| program | type | rows x columns | roof ratio | us | GB/s | PyTorch eager us | error | schedule |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, dtype, cols in CASES:
        if arguments.programs and name not in arguments.programs:
            continue
        full = PROGRAMS[name][1].count("m")
        rows = max(1, int(SHARE / full / cols / torch.tensor([], dtype=dtype).element_size()))
        ratio, mine, theirs, error, speed, schedule = run(kiln, clock, name, dtype, cols, rows)
        print(f"| {name} | {str(dtype)[6:]} | {rows} x {cols} | {ratio:.3f} | {mine:.1f} | {speed:.0f} | {theirs:.1f} | "
              f"{error:.0e} | {schedule} |", flush=True)


if __name__ == "__main__":
    main()
