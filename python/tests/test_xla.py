# SPDX-License-Identifier: Apache-2.0
"""What XLA calls, without XLA: handlers on frames that are laid out here, on the CPU and on the software GPU, and the
ABI beside jaxlib's header where that and a compiler are there."""
import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import kiln
from kiln import _core

S64, F32 = 5, 11
EXECUTE, BUFFER, ARRAY, STRING = 3, 1, 1, 4
INVALID_ARGUMENT, INTERNAL = 3, 13


class Struct(ctypes.Structure):
    """Begins with its size and extensions, as most of XLA's do."""

    def __init__(self, *args, **kwargs):
        super().__init__(ctypes.sizeof(type(self)), None, *args, **kwargs)


HEAD = [("struct_size", ctypes.c_size_t), ("extensions", ctypes.c_void_p)]


class Version(Struct):
    _fields_ = [*HEAD, ("major", ctypes.c_int), ("minor", ctypes.c_int)]


class ErrorCreate(Struct):
    _fields_ = [*HEAD, ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


class StreamGet(Struct):
    _fields_ = [*HEAD, ("context", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


ERROR_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ErrorCreate))
STREAM_GET = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(StreamGet))


class Api(Struct):
    _fields_ = [*HEAD, ("version", Version), ("internal", ctypes.c_void_p), ("error_create", ERROR_CREATE),
                ("others", ctypes.c_void_p * 3), ("stream_get", STREAM_GET)]


class Buffer(Struct):
    _fields_ = [*HEAD, ("type", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
                ("sizes", ctypes.POINTER(ctypes.c_int64))]


class Array(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Values(Struct):
    _fields_ = [*HEAD, ("count", ctypes.c_int64), ("types", ctypes.POINTER(ctypes.c_int)),
                ("values", ctypes.POINTER(ctypes.c_void_p))]


class Attributes(Struct):
    _fields_ = [*HEAD, ("count", ctypes.c_int64), ("types", ctypes.POINTER(ctypes.c_int)),
                ("names", ctypes.POINTER(ctypes.POINTER(Text))), ("values", ctypes.POINTER(ctypes.c_void_p))]


class Frame(Struct):
    _fields_ = [*HEAD, ("api", ctypes.POINTER(Api)), ("context", ctypes.c_void_p), ("stage", ctypes.c_int),
                ("arguments", Values), ("results", Values), ("attributes", Attributes), ("future", ctypes.c_void_p)]


class Metadata(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("version", Version), ("traits", ctypes.c_uint32)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p),
                ("metadata", ctypes.POINTER(Metadata))]


def address(struct):
    return ctypes.addressof(struct)


class Runtime:
    """A runtime that keeps the errors that handlers make, and has one stream."""

    def __init__(self, stream=0, minor=3):
        self.errors, self.contexts = [], []

        def error_create(given):
            self.errors.append((given.contents.code, given.contents.message.decode()))
            return 1

        def stream_get(given):
            self.contexts.append(given.contents.context)
            given.contents.stream = stream

        self.api = Api(Version(0, minor), None, ERROR_CREATE(error_create), (ctypes.c_void_p * 3)(),
                       STREAM_GET(stream_get))

    def handler(self, platform):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Frame))(pointer(_core.xla_handlers()[platform], None))

    def call(self, platform, key, arguments, results, ranks=None, kind=F32):
        """True where no error came back. ranks: of the arguments without vmap's axes."""
        kept = []

        def values(arrays):
            buffers = [Buffer(kind, array.ctypes.data, array.ndim, (ctypes.c_int64 * array.ndim)(*array.shape))
                       for array in arrays]
            kept.append(buffers)
            count = len(arrays)
            return Values(count, (ctypes.c_int * count)(*[BUFFER] * count),
                          (ctypes.c_void_p * count)(*map(address, buffers)))

        ranks = [array.ndim for array in arguments] if ranks is None else ranks
        numbers = (ctypes.c_int64 * len(ranks))(*ranks)
        attributes = [("program", STRING, Text(key.encode(), len(key))),
                      ("ranks", ARRAY, Array(S64, len(ranks), address(numbers)))]
        names = [Text(name.encode(), len(name)) for name, _, _ in attributes]
        frame = Frame(ctypes.pointer(self.api), 77, EXECUTE, values(arguments), values(results), Attributes(
            2, (ctypes.c_int * 2)(*(kind for _, kind, _ in attributes)),
            (ctypes.POINTER(Text) * 2)(*map(ctypes.pointer, names)),
            (ctypes.c_void_p * 2)(*(address(value) for _, _, value in attributes))), None)
        return self.handler(platform)(ctypes.byref(frame)) is None


X = np.random.default_rng(5).standard_normal((4, 6)).astype(np.float32)


def added(text, **options):
    program = kiln.Program(text, **options)
    _core.add_xla_program(program, text)
    return program


def test_a_call_on_the_cpu():
    program, runtime, y, s = added("y = x * k - max(x); s = sum(x)", scalars="k"), Runtime(), X * 0, X[:, 0] * 0
    assert runtime.call("cpu", program.text, [X, np.array(2, np.float32)], [y, s]), runtime.errors
    np.testing.assert_allclose(y, X * 2 - X.max(-1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(s, X.sum(-1), rtol=1e-5)
    assert not runtime.contexts  # no stream is asked for


def test_axes_of_vmap_come_before_all_others():
    program, runtime, y = added("y = x * w + k"), Runtime(), np.zeros((3, 4, 6), np.float32)
    x, w, k = np.stack([X, X + 1, X + 2]), np.arange(18, dtype=np.float32).reshape(3, 6), np.array([1, 2, 3], np.float32)
    assert runtime.call("cpu", program.text, [x, w, k], [y], ranks=[2, 1, 0]), runtime.errors
    np.testing.assert_allclose(y, x * w[:, None] + k[:, None, None], rtol=1e-6)


def test_a_launch_is_on_xlas_stream(software_gpu, software_context):
    program, runtime = added("y = softmax(x * k)", context=software_context), Runtime()
    x, k, y = (software_gpu.copy(np.asarray(array, np.float32)) for array in (X, 0.5, X * 0))
    assert runtime.call("CUDA", program.text, [x, k], [y]), runtime.errors
    assert not software_gpu.driver.cuCtxSynchronize()
    e = np.exp(X * 0.5)
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-5)
    assert runtime.contexts == [77] and program.stats()["launches"] == 1


def test_outputs_are_0_behind_the_ends_of_rows(software_gpu, software_context):
    program = added("lengths(index(-2)); y = x + 1", context=software_context)
    wanted = np.where(np.tri(4, 6, -1), X + 1, 0)
    for platform, copy in (("cpu", np.copy), ("CUDA", software_gpu.copy)):
        runtime, y = Runtime(), copy(np.full_like(X, 7))
        assert runtime.call(platform, program.text, [copy(X)], [y]), runtime.errors
        np.testing.assert_allclose(y, wanted, rtol=1e-6)


def test_errors_are_xlas():
    program, runtime = added("y = x * w"), Runtime()
    assert not runtime.call("cpu", "no such program", [X], [X * 0])
    assert not runtime.call("cpu", program.text, [X], [X * 0])
    assert not runtime.call("cpu", program.text, [X, X], [X[:2] * 0])
    assert not runtime.call("cpu", program.text, [X, X], [X * 0], kind=15)
    deep = X.reshape((1,) * 7 + (4, 6))
    assert not runtime.call("cpu", program.text, [deep, X], [deep * 0], ranks=[2, 2])
    assert [code for code, _ in runtime.errors] == [INVALID_ARGUMENT] * 2 + [INTERNAL] + [INVALID_ARGUMENT] * 2
    for (_, sentence), part in zip(runtime.errors, (
            "unknown in this process", "does not have the arguments and results", "output 'y' has shape [2, 6]",
            "type number 15 is none of Kiln's", "rank 9 with the axes of vmap, expected 0 to 8")):
        assert sentence.startswith("kiln: ") and part in sentence


@pytest.mark.parametrize("theirs, ours", [(None, 1), (1, 1), (3, 3), (9, 3)])
def test_a_handler_tells_a_version_that_the_runtime_knows(theirs, ours):
    runtime = Runtime(minor=theirs or 0)
    metadata = Metadata(ctypes.sizeof(Metadata), Version(0, 0))
    extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.pointer(metadata))
    frame = Frame(None if theirs is None else ctypes.pointer(runtime.api))
    frame.extensions = address(extension)
    assert runtime.handler("CUDA")(ctypes.byref(frame)) is None
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, ours, 0)


SAME_LAYOUT = """
#include "xla/ffi/api/c_api.h"
#include "xla.hpp"
#define SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define AT(ours, member, theirs, their_member) \\
    static_assert(offsetof(ours, member) == offsetof(theirs, their_member), #ours "." #member)
#if XLA_FFI_API_MINOR < 4
typedef XLA_FFI_Extension_Base XLA_FFI_InternalExtension;
#endif
AT(xla::Extension, type, XLA_FFI_InternalExtension, type);
AT(xla::Extension, next, XLA_FFI_InternalExtension, next);
SIZE(xla::Version, XLA_FFI_Api_Version);
AT(xla::Version, minor, XLA_FFI_Api_Version, minor_version);
AT(xla::ErrorCreate, message, XLA_FFI_Error_Create_Args, message);
AT(xla::ErrorCreate, code, XLA_FFI_Error_Create_Args, errc);
AT(xla::StreamGet, context, XLA_FFI_Stream_Get_Args, ctx);
AT(xla::StreamGet, stream, XLA_FFI_Stream_Get_Args, stream);
AT(xla::Api, version, XLA_FFI_Api, api_version);
AT(xla::Api, error_create, XLA_FFI_Api, XLA_FFI_Error_Create);
AT(xla::Api, stream_get, XLA_FFI_Api, XLA_FFI_Stream_Get);
SIZE(xla::Buffer, XLA_FFI_Buffer);
AT(xla::Buffer, type, XLA_FFI_Buffer, dtype);
AT(xla::Buffer, data, XLA_FFI_Buffer, data);
AT(xla::Buffer, rank, XLA_FFI_Buffer, rank);
AT(xla::Buffer, sizes, XLA_FFI_Buffer, dims);
AT(xla::Array, size, XLA_FFI_Array, size);
AT(xla::Array, data, XLA_FFI_Array, data);
AT(xla::Text, size, XLA_FFI_ByteSpan, len);
SIZE(xla::Values, XLA_FFI_Args);
SIZE(xla::Values, XLA_FFI_Rets);
AT(xla::Values, types, XLA_FFI_Rets, types);
AT(xla::Values, values, XLA_FFI_Args, args);
SIZE(xla::Attributes, XLA_FFI_Attrs);
AT(xla::Attributes, types, XLA_FFI_Attrs, types);
AT(xla::Attributes, names, XLA_FFI_Attrs, names);
AT(xla::Attributes, values, XLA_FFI_Attrs, attrs);
AT(xla::CallFrame, api, XLA_FFI_CallFrame, api);
AT(xla::CallFrame, context, XLA_FFI_CallFrame, ctx);
AT(xla::CallFrame, stage, XLA_FFI_CallFrame, stage);
AT(xla::CallFrame, arguments, XLA_FFI_CallFrame, args);
AT(xla::CallFrame, results, XLA_FFI_CallFrame, rets);
AT(xla::CallFrame, attributes, XLA_FFI_CallFrame, attrs);
AT(xla::Metadata, version, XLA_FFI_Metadata, api_version);
AT(xla::Metadata, traits, XLA_FFI_Metadata, traits);
AT(xla::MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata);
#define SAME(ours, theirs) static_assert(int(xla::ours) == int(XLA_FFI_##theirs), #ours)
SAME(METADATA, Extension_Metadata);
SAME(EXECUTE, ExecutionStage_EXECUTE);
SAME(BUFFER, ArgType_BUFFER);
SAME(BUFFER, RetType_BUFFER);
SAME(ARRAY, AttrType_ARRAY);
SAME(STRING, AttrType_STRING);
SAME(INVALID_ARGUMENT, Error_Code_INVALID_ARGUMENT);
SAME(INTERNAL, Error_Code_INTERNAL);
SAME(major_version, API_MAJOR);
SAME(PRED, DataType_PRED);
SAME(S8, DataType_S8);
SAME(S16, DataType_S16);
SAME(S32, DataType_S32);
SAME(S64, DataType_S64);
SAME(U8, DataType_U8);
SAME(U16, DataType_U16);
SAME(U32, DataType_U32);
SAME(U64, DataType_U64);
SAME(F16, DataType_F16);
SAME(F32, DataType_F32);
SAME(F64, DataType_F64);
SAME(BF16, DataType_BF16);
SAME(F8E5M2, DataType_F8E5M2);
SAME(F8E4M3FN, DataType_F8E4M3FN);
SAME(F8E8M0FNU, DataType_F8E8M0FNU);
"""


def test_the_abi_is_that_of_jaxlibs_header(tmp_path):
    found = importlib.util.find_spec("jaxlib")
    include = pathlib.Path(found.origin).parent / "include" if found and found.origin else None
    sources = pathlib.Path(__file__).resolve().parents[1] / "src"
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not include or not (include / "xla/ffi/api/c_api.h").exists():
        pytest.skip("no jaxlib with its headers is installed")
    if not compiler or not (sources / "xla.hpp").exists():
        pytest.skip("no compiler, or the package's sources are not beside the tests")
    (tmp_path / "same_layout.cpp").write_text(SAME_LAYOUT)
    made = subprocess.run([*compiler.split(), "-std=c++17", "-fsyntax-only", f"-I{include}", f"-I{sources}",
                           "same_layout.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
