# SPDX-License-Identifier: Apache-2.0
"""Kiln's shared library by ctypes: programs, plans, launches. The structs are those of include/kiln/kiln.h.

Needs nothing but Python. Tensors are views: an address, the name of a type ("f16"), sizes and strides in elements.
"""
import ctypes
import json
import math
import re
from ctypes import c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p

TYPES = ("f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i16", "i8", "u8", "bool",
         "u16", "u32", "u64", "e8m0", "e2m1")
SIZES = (8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1, 2, 4, 8, 1, 1)
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


def tensor_text(name, type_name, shape, strides=None, offset=0):
    """"x=f16[8,64]{128,1}@2" as `kiln precompile` reads it; offset: elements from an aligned address."""
    step = f"{{{','.join(map(str, strides))}}}" if strides else ""
    size = type_size(type_name)
    alignment = math.gcd(16, offset * size)
    return f"{name}={type_name}[{','.join(map(str, shape))}]{step}" + (f"@{alignment}" if alignment < 16 else "")


def write_manifest(path, programs):
    """A line for `kiln precompile` of each (text, [(shape, type, strides or None)], axes); the text has one statement,
    its tensors are in the order of the plan's."""
    with open(path, "w", encoding="utf-8") as file:
        for text, tensors, axes in programs:
            target, expression = text.split("=", 1)
            names = dict.fromkeys(re.findall(r"\b[a-z]+\b(?!\()", expression.replace("inf", "")))
            specs = [tensor_text(name, kind, shape, strides)
                     for name, (shape, kind, strides) in zip([*names, target.strip()], tensors, strict=True)]
            file.write(json.dumps({"program": text, "tensors": specs, "axes": axes}) + "\n")


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("cache_dir", c_char_p), ("driver_path", c_char_p), ("nvrtc_path", c_char_p),
                ("policy", c_int), ("log", c_void_p), ("log_user", c_void_p), ("schedule", c_char_p)]


class ProgramOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("outputs", c_char_p), ("scalars", c_char_p),
                ("axes", ctypes.POINTER(c_int)), ("axis_count", c_size_t), ("all_axes", c_int)]


class GradientOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("wrt", c_char_p), ("saved", c_char_p)]


class PlanInfo(ctypes.Structure):
    _fields_ = ([("struct_size", c_size_t)]
                + [(name, c_char_p) for name in ("schedule", "reason", "source", "log")]
                + [(name, c_int) for name in ("arch", "is_ptx", "registers", "spill_bytes")]
                + [(name, c_int64) for name in ("shared_bytes", "image_bytes", "rows", "cols", "blocks")]
                + [("threads", c_int), ("origin", c_int)]
                + [(name + "_ms", c_double) for name in ("parse", "schedule", "emit", "lookup", "compile", "load")]
                + [("workspace_bytes", c_int64), ("launches", c_int), ("schedule_origin", c_int),
                   ("any_shape", c_int), ("least_cols", c_int64), ("most_cols", c_int64)])


def encoded(text):
    return None if text is None else text.encode()


class Kiln:
    """The library with one context."""

    def __init__(self, path, schedule=None, cache_dir=None, policy=0):
        lib = self.library = ctypes.CDLL(path)
        lib.kiln_last_error.restype = lib.kiln_version.restype = c_char_p
        lib.kiln_plan_launch.argtypes = [c_void_p, ctypes.POINTER(c_void_p), c_size_t, c_void_p, c_size_t, c_void_p]
        for destroy in (lib.kiln_plan_destroy, lib.kiln_kernel_destroy, lib.kiln_program_destroy,
                        lib.kiln_context_destroy):
            destroy.argtypes, destroy.restype = [c_void_p], None
        self.version = lib.kiln_version().decode()
        self.context = c_void_p()
        options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions), schedule=encoded(schedule),
                                 cache_dir=encoded(cache_dir), policy=policy)
        self.check(lib.kiln_context_create(ctypes.byref(options), ctypes.byref(self.context)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.kiln_last_error().decode())

    def close(self):
        self.library.kiln_context_destroy(self.context)


class ScalarValue(ctypes.Union):
    _fields_ = [("f64", c_double), ("i64", c_int64)]


class Scalar(ctypes.Structure):
    _fields_ = [("type", c_int), ("value", ScalarValue)]


def scalar_type(value):
    return "f64" if isinstance(value, float) else "i64"


def scalar(value):
    kind = scalar_type(value)
    return Scalar(TYPES.index(kind), ScalarValue(**{kind: value}))


class Program:
    """outputs: their names, None for those that no statement reads. axes: of the reductions; an empty list reduces
    nothing. scalars: (name, value) of each; a float is an f64, an int an i64."""

    def __init__(self, kiln, text, axes, outputs=None, scalars=()):
        self.kiln, self.handle = kiln, c_void_p()
        numbers = (c_int * max(1, len(axes)))(*axes)
        names = ",".join(name for name, _ in scalars)
        options = ProgramOptions(ctypes.sizeof(ProgramOptions), encoded(outputs and ",".join(outputs)),
                                 encoded(names or None), numbers, len(axes), 0)
        self.scalars = (Scalar * len(scalars))(*[scalar(value) for _, value in scalars])
        kiln.check(kiln.library.kiln_program_create(kiln.context, text.encode(), ctypes.byref(options),
                                                    ctypes.byref(self.handle)))

    def arguments(self, tensors):
        """The beginning of every call that takes tensors (inputs, then outputs) and scalars."""
        views = (Tensor * len(tensors))(*tensors)
        return self.handle, views, c_size_t(len(tensors)), self.scalars, c_size_t(len(self.scalars))

    def input_names(self):
        library = self.kiln.library
        library.kiln_program_input_count.restype, library.kiln_program_input_name.restype = c_size_t, c_char_p
        count = library.kiln_program_input_count(self.handle)
        return [library.kiln_program_input_name(self.handle, c_size_t(i)).decode() for i in range(count)]

    def gradient(self, inputs, wrt):
        """The text of the program's gradient by the inputs named."""
        library, handle = self.kiln.library, c_void_p()
        views = (Tensor * len(inputs))(*inputs)
        options = GradientOptions(ctypes.sizeof(GradientOptions), encoded(",".join(wrt)))
        library.kiln_program_text.argtypes, library.kiln_program_text.restype = [c_void_p], c_char_p
        self.kiln.check(library.kiln_program_gradient(self.handle, views, ctypes.byref(options), ctypes.byref(handle)))
        text = library.kiln_program_text(handle).decode()
        library.kiln_program_destroy(handle)
        return text

    def run_cpu(self, tensors):
        self.kiln.check(self.kiln.library.kiln_run_cpu(*self.arguments(tensors)))

    def explain(self, tensors, arch):
        """What a plan's info() is, for an architecture, without a GPU."""
        library, kernel = self.kiln.library, c_void_p()
        self.kiln.check(library.kiln_compile(*self.arguments(tensors), arch, 0, 0, ctypes.byref(kernel)))
        try:
            return read_info(self.kiln, library.kiln_kernel_get_info, kernel)
        finally:
            library.kiln_kernel_destroy(kernel)

    def close(self):
        self.kiln.library.kiln_program_destroy(self.handle)


def read_info(kiln, call, handle):
    info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
    kiln.check(call(handle, ctypes.byref(info)))
    left_out = ("struct_size", "source", "log")
    fields = {name: getattr(info, name) for name, _ in PlanInfo._fields_ if name not in left_out}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}


class Plan:
    """A program prepared for tensors: inputs, then outputs."""

    def __init__(self, kiln, text, tensors, axes, outputs=None, scalars=()):
        self.kiln, self.plan = kiln, c_void_p()
        self.program = Program(kiln, text, axes, outputs, scalars)
        self.data = (c_void_p * len(tensors))(*[t.data for t in tensors])
        try:
            kiln.check(kiln.library.kiln_plan_create(*self.program.arguments(tensors), ctypes.byref(self.plan)))
        except RuntimeError:
            self.program.close()
            raise

    def launch(self, stream=None):
        scalars = self.program.scalars
        status = self.kiln.library.kiln_plan_launch(self.plan, self.data, len(self.data), scalars, len(scalars), stream)
        if status:
            self.kiln.check(status)

    def info(self):
        return read_info(self.kiln, self.kiln.library.kiln_plan_get_info, self.plan)

    def close(self):
        self.kiln.library.kiln_plan_destroy(self.plan)
        self.program.close()
