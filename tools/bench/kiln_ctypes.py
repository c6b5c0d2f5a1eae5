# SPDX-License-Identifier: Apache-2.0
"""Kiln's shared library by ctypes: programs, plans, launches. The structs are those of include/kiln/kiln.h.

Needs nothing but Python. Tensors are views: an address, the name of a type ("f16"), sizes and strides in elements.
"""
import ctypes
import json
import re
from ctypes import c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

TYPES = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i16", "i8", "u8", "bool")
SIZES = (8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1)
MAX_RANK = 8


def type_size(name):
    return SIZES[TYPES.index(name)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("type", c_int), ("rank", c_int32), ("sizes", c_int64 * MAX_RANK),
                ("strides", c_int64 * MAX_RANK)]


def view(address, type_name, sizes, strides=None):
    """A tensor of the library; contiguous where no strides are given."""
    tensor = Tensor(address, TYPES.index(type_name), len(sizes))
    step = 1
    for i in reversed(range(len(sizes))):
        tensor.sizes[i], tensor.strides[i] = sizes[i], strides[i] if strides is not None else step
        step *= max(1, sizes[i])
    return tensor


def write_manifest(path, programs):
    """A line for `kiln precompile` of each (text, [(shape, type, strides or None)], axes); the text has one statement,
    its tensors are in the order of the plan's."""
    with open(path, "w", encoding="utf-8") as file:
        for text, tensors, axes in programs:
            target, expression = text.split("=", 1)
            names = dict.fromkeys(re.findall(r"\b[a-z]+\b(?!\()", expression.replace("inf", "")))
            specs = [f"{name}={kind}[{','.join(map(str, shape))}]" + (f"{{{','.join(map(str, strides))}}}" if strides else "")
                     for name, (shape, kind, strides) in zip([*names, target.strip()], tensors, strict=True)]
            file.write(json.dumps({"program": text, "tensors": specs, "axes": axes}) + "\n")


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("cache_dir", c_char_p), ("driver_path", c_char_p), ("nvrtc_path", c_char_p),
                ("policy", c_int), ("log", c_void_p), ("log_user", c_void_p), ("schedule", c_char_p)]


class ProgramOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("outputs", c_char_p), ("scalars", c_char_p),
                ("axes", ctypes.POINTER(c_int)), ("axis_count", c_size_t), ("all_axes", c_int)]


class PlanInfo(ctypes.Structure):
    _fields_ = ([("struct_size", c_size_t)]
                + [(name, c_char_p) for name in ("schedule", "reason", "source", "log")]
                + [(name, c_int) for name in ("arch", "is_ptx", "registers", "spill_bytes")]
                + [(name, c_int64) for name in ("shared_bytes", "image_bytes", "rows", "cols", "blocks")]
                + [("threads", c_int), ("origin", c_int)]
                + [(name + "_ms", c_double) for name in ("parse", "schedule", "emit", "lookup", "compile", "load")]
                + [("workspace_bytes", c_int64), ("launches", c_int)])


def encoded(text):
    return None if text is None else text.encode()


class Kiln:
    """The library with one context."""

    def __init__(self, path, schedule=None, cache_dir=None):
        lib = self.library = ctypes.CDLL(path)
        lib.kiln_last_error.restype = lib.kiln_version.restype = c_char_p
        lib.kiln_plan_launch.argtypes = [c_void_p, ctypes.POINTER(c_void_p), c_size_t, c_void_p, c_size_t, c_void_p]
        for destroy in (lib.kiln_plan_destroy, lib.kiln_program_destroy, lib.kiln_context_destroy):
            destroy.argtypes, destroy.restype = [c_void_p], None
        self.version = lib.kiln_version().decode()
        self.context = c_void_p()
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), schedule=encoded(schedule),
                                 cache_dir=encoded(cache_dir))
        self.check(lib.kiln_context_create(ctypes.byref(options), ctypes.byref(self.context)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.kiln_last_error().decode())

    def close(self):
        self.library.kiln_context_destroy(self.context)


class Plan:
    """A program prepared for tensors: inputs, then outputs. axes: of the reductions; an empty list reduces nothing."""

    def __init__(self, kiln, text, tensors, axes):
        self.kiln, lib = kiln, kiln.library
        self.program, self.plan = c_void_p(), c_void_p()
        numbers = (c_int * max(1, len(axes)))(*axes)
        options = ProgramOptions(ctypes.sizeof(ProgramOptions), None, None, numbers, len(axes), 0)
        kiln.check(lib.kiln_program_create(kiln.context, text.encode(), ctypes.byref(options),
                                           ctypes.byref(self.program)))
        views = (Tensor * len(tensors))(*tensors)
        self.data = (c_void_p * len(tensors))(*[t.data for t in tensors])
        try:
            kiln.check(lib.kiln_plan_create(self.program, views, c_size_t(len(tensors)), None, c_size_t(0),
                                            ctypes.byref(self.plan)))
        except RuntimeError:
            lib.kiln_program_destroy(self.program)
            raise

    def launch(self, stream=None):
        status = self.kiln.library.kiln_plan_launch(self.plan, self.data, len(self.data), None, 0, stream)
        if status:
            self.kiln.check(status)

    def info(self):
        info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
        self.kiln.check(self.kiln.library.kiln_plan_get_info(self.plan, ctypes.byref(info)))
        left_out = ("struct_size", "source", "log")
        fields = {name: getattr(info, name) for name, _ in PlanInfo._fields_ if name not in left_out}
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}

    def close(self):
        self.kiln.library.kiln_plan_destroy(self.plan)
        self.kiln.library.kiln_program_destroy(self.program)
