# SPDX-License-Identifier: Apache-2.0
"""Launches, on the stand-ins: what is launched where, and kernels on the software GPU."""
import ctypes
import threading

import numpy as np
import pytest

import kiln
from conftest import stand_in

CUDA = 2
FLOAT32 = 2 | 32 << 8 | 1 << 16


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("type", ctypes.c_uint32), ("sizes", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DeviceArray:
    """An array of a library that Kiln does not know, in host memory that it says is a GPU's."""

    def __init__(self, host, device=0):
        self.host, self.device, self.streams = host, device, []
        self.sizes = (ctypes.c_int64 * host.ndim)(*host.shape)
        self.strides = (ctypes.c_int64 * host.ndim)(*(stride // host.itemsize for stride in host.strides))
        self.managed = Managed(DLTensor(host.ctypes.data, CUDA, device, host.ndim, FLOAT32,
                                        ctypes.addressof(self.sizes), ctypes.addressof(self.strides), 0))

    def __dlpack_device__(self):
        return CUDA, self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class FakeDriver(ctypes.Structure):
    """The beginning of struct fake_driver, tests/support/fake_driver.h."""
    _fields_ = [(name, ctypes.c_int) for name in ("arch", "sm_count", "device_count")]


def fake_state(path):
    library = ctypes.CDLL(path)
    library.fake_driver_state.restype = ctypes.POINTER(FakeDriver)
    return library, library.fake_driver_state().contents


def test_gpu_arrays_are_launched_on_their_device(fake_driver):
    library, state = fake_state(fake_driver)
    state.device_count = 2
    x, y = (DeviceArray(np.zeros((4, 64), np.float32), device=1) for _ in range(2))
    context = kiln.Context(driver=fake_driver, cache_dir="")
    program = kiln.Program("y = softmax(x)", context=context)
    try:
        assert program(x, out=y) is y
    except kiln.ExecutionError as error:
        if error.status != "KILN_E_NO_NVRTC":
            raise
        pytest.skip(str(error))
    assert x.streams == [1]  # DLPack's number of the legacy default stream
    program(x, out=y, stream=1234)
    with pytest.raises(kiln.ArgumentError, match="cannot be allocated"):
        program(x)


def test_arrays_of_two_devices_are_refused(fake_driver):
    program = kiln.Program("y = x * w", context=kiln.Context(driver=fake_driver))
    x, w = DeviceArray(np.zeros(4, np.float32), device=1), DeviceArray(np.zeros(4, np.float32))
    with pytest.raises(kiln.ArgumentError, match="'w' is on GPU 0, expected on GPU 1"):
        program(x, w)
    with pytest.raises(kiln.ArgumentError, match="'w' is in host memory, expected on GPU 1"):
        program(x, np.zeros(4, np.float32))


def test_never_compile_raises(fake_driver):
    context = kiln.Context(driver=fake_driver, cache_dir="", policy="never_compile", host_arrays="gpu")
    with pytest.raises(kiln.ExecutionError) as caught:
        kiln.Program("y = x + 1.25", context=context)(np.ones(4))
    assert caught.value.status == "KILN_E_WOULD_COMPILE"


def test_a_log_is_a_function(tmp_path):
    lines = []
    (tmp_path / "kernels.kpack").write_text("no pack")
    kiln.Context(packs=[tmp_path / "kernels.kpack"], log=lambda level, text: lines.append((level, text)))
    assert lines and lines[0][0] in ("warning", "error") and "kernels.kpack" in lines[0][1]


def test_the_log_has_the_detail_that_is_asked_for(software_gpu):
    x = software_gpu.copy(np.ones((4, 64), np.float32))
    told = {}
    for detail in (None, "error", "info", "debug"):
        lines = told[detail] = []
        context = kiln.Context(driver=stand_in("KILN_SOFTWARE_DRIVER"), nvrtc=stand_in("KILN_SOFTWARE_NVRTC"),
                               host_arrays="gpu", cache_dir="", log_detail=detail,
                               log=lambda level, text, lines=lines: lines.append((level, text)))
        kiln.Program("y = x + 1", context=context)(x, out=x)
    assert not told[None] and not told["error"]
    assert {level for level, _ in told["info"]} == {"info"}
    assert any(text.startswith("compiled in ") for _, text in told["info"])
    assert {level for level, _ in told["debug"]} == {"info", "debug"}
    with pytest.raises(kiln.ArgumentError, match="log_detail is 'all', expected one of error, warning, info, debug"):
        kiln.Context(log_detail="all")


class Kept:
    """A cache of the caller's, which counts its questions."""

    def __init__(self):
        self.kernels, self.asked = {}, 0

    def get(self, key):
        self.asked += 1
        return self.kernels.get(key)

    def set(self, key, value):
        assert isinstance(key, str) and isinstance(value, bytes)
        self.kernels[key] = value


def kept_context(cache, **options):
    return kiln.Context(driver=stand_in("KILN_SOFTWARE_DRIVER"), nvrtc=stand_in("KILN_SOFTWARE_NVRTC"),
                        host_arrays="gpu", cache_dir="", cache=cache, **options)


@pytest.mark.parametrize("cache, kernels", [(Kept(), lambda cache: cache.kernels), ({}, lambda cache: cache)],
                         ids=["object", "dictionary"])
def test_a_cache_of_ones_own_has_the_kernels(software_gpu, cache, kernels):
    x = software_gpu.copy(np.ones((4, 64), np.float32))
    kiln.Program("y = x + 1", context=kept_context(cache))(x, out=x)
    assert [len(key) for key in kernels(cache)] == [32]
    context = kept_context(cache, policy="never_compile")
    kiln.Program("y = x + 1", context=context)(x, out=x)
    assert context.stats()["from_callbacks"] == 1 and (x == 3).all()


def test_a_cache_may_have_one_method_and_large_kernels(software_gpu):
    class Reader:
        asked = 0

        def get(self, key):
            Reader.asked += 1
            return bytearray(1 << 19)  # more than is asked for at first

    class Writer:
        def set(self, key, value):
            kept.append(value)

    kept, lines, x = [], [], software_gpu.copy(np.ones((4, 64), np.float32))
    context = kept_context(Reader(), log=lambda level, text: lines.append(text))
    kiln.Program("y = x + 2", context=context)(x, out=x)
    assert Reader.asked == 2 and any("that are not that kernel" in line for line in lines)
    kiln.Program("y = x + 2", context=kept_context(Writer()))(x, out=x)
    assert len(kept) == 1 and (x == 5).all()
    with pytest.raises(kiln.ArgumentError, match="cache is a int, expected an object with get"):
        kiln.Context(cache=3)


def test_what_a_cache_raises_is_a_miss(software_gpu, monkeypatch):
    class Broken:
        def get(self, key):
            raise KeyError(key)

        def set(self, key, value):
            raise OSError("no room")

    class Wrong(Broken):
        def get(self, key):
            return "no bytes"

    raised, x = [], software_gpu.copy(np.ones((4, 64), np.float32))
    monkeypatch.setattr("sys.unraisablehook", lambda report: raised.append(report.exc_type))
    for cache in (Broken(), Wrong()):
        kiln.Program("y = x + 3", context=kept_context(cache))(x, out=x)
    assert (x == 7).all() and raised == [KeyError, OSError, TypeError, OSError]


def test_threads_share_a_cache_of_ones_own(software_gpu):
    cache, faults = Kept(), []
    context = kept_context(cache)
    arrays = [software_gpu.copy(np.ones((4, 64), np.float32)) for _ in range(8)]

    def work(seed):
        program, x = kiln.Program(f"y = x + {seed % 3}", context=context), arrays[seed]
        program(x, out=x)
        if not (x == 1 + seed % 3).all():
            faults.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(cache.kernels) == 3 and cache.asked >= 3


def test_packs_are_written(software_gpu, tmp_path):
    program = kiln.Program("y = softmax(x * s)", scalars="s", context=kept_context({}))
    store = kiln.Program("put(cache, slot) = k", context=kept_context({}))
    packed, empty, path = kiln.PackWriter(), kiln.PackWriter().finish(), tmp_path / "kernels.kpack"
    packed.add(program, "f32[*, 64]", 1.0, arch=90)
    once = packed.finish()
    packed.add(program, x="f32[*, 64]", s=2.0, arch=90)  # there already
    assert packed.finish() == once and len(once) > len(empty)
    packed.add(store, slot="i64[*, 1]", k="f32[*, 64]", out="f32[10, 64]", arch=90)
    packed.write(path)
    assert path.read_bytes() == packed.finish() and [file.name for file in tmp_path.iterdir()] == [path.name]
    context = kept_context(None, packs=[path], policy="never_compile")
    x, cache = (software_gpu.copy(np.ones(shape, np.float32)) for shape in ((3, 64), (10, 64)))
    kiln.Program("y = softmax(x * s)", scalars="s", context=context)(x, 3.0, out=x)
    slot = software_gpu.copy(np.array([[4], [5], [6]]))
    kiln.Program("put(cache, slot) = k", context=context)(slot=slot, k=x, out=cache)
    assert (x == 1 / 64).all() and cache.sum(-1).tolist() == [64] * 4 + [1] * 3 + [64] * 3
    assert context.stats()["from_packs"] == 2


def test_what_no_pack_can_have_is_refused(software_gpu):
    packed, program = kiln.PackWriter(), kiln.Program("y = x * w", context=kept_context({}))
    for arguments, arch, sentence in ((("f32[*, 64]", "f32[64]"), 70, "sm_70 is asked for"),
                                      (("f32[4, *]", "f32[64]"), 90, "describes no array"),
                                      (("f32[4, 64]",), 90, "1 arguments are given")):
        with pytest.raises(kiln.Error, match=sentence):
            packed.add(program, *arguments, arch=arch)
    with pytest.raises(kiln.ArgumentError, match="program is a str, expected a kiln.Program"):
        packed.add("y = x", "f32[4]", arch=90)
    assert packed.finish() == kiln.PackWriter().finish()
    with pytest.raises(OSError):
        packed.write("/nonexistent/kernels.kpack")


def test_a_list_is_prepared(software_gpu, software_context):
    double = kiln.Program("y = x * s", scalars="s", context=software_context)
    softmax = kiln.Program("y = softmax(x)", context=software_context)
    told = []
    problems = [(double, "f32[4, 64]", 2.0), (softmax, "f32[4, 64]"), (double, "f32[4, 64]", {"s": 1.0})]
    preparation = kiln.prepare(problems, progress=lambda *now: told.append(now))
    assert preparation.wait() and preparation.wait(0) and preparation.done == preparation.total == 3
    assert preparation.errors == [None] * 3
    assert [(done, total, error) for done, total, _, error in told] == [(1, 3, None), (2, 3, None), (3, 3, None)]
    assert sorted(index for _, _, index, _ in told) == [0, 1, 2]
    assert software_context.stats()["compiled"] == 2
    x, y = (software_gpu.copy(np.ones((4, 64), np.float32)) for _ in range(2))
    assert (double(x, 2.0, out=y) == 2).all() and (softmax(x, out=y) == 1 / 64).all()
    assert software_context.stats()["compiled"] == 2


def test_what_cannot_be_prepared_is_told(software_gpu, software_context):
    program = kiln.Program("y = x * w", context=software_context)
    preparation = kiln.prepare([(program, "f32[4, 64]", "f32[64]"), (program, "f32[4, 64]", "f32[64]")], arch=12)
    with pytest.raises(kiln.Error, match="problem 0, the first of 2 that failed among 2: architecture sm_12") as caught:
        preparation.wait()
    assert caught.value.status == "KILN_E_ARCH"
    assert [error.status for error in preparation.errors] == ["KILN_E_ARCH"] * 2
    for problems, sentence in (([], "there are no problems"), (["y = x"], "begins with a str, expected a kiln.Program"),
                               ([(program, "f32[4, 64]")], "1 arguments are given")):
        with pytest.raises(kiln.ArgumentError, match=sentence):
            kiln.prepare(problems)


def test_a_preparation_may_be_dropped_and_cancelled(software_gpu, software_context):
    programs = [kiln.Program(f"y = softmax(x) * {i}", context=software_context) for i in range(6)]
    preparation = kiln.prepare([(program, "f32[4, 64]") for program in programs])
    preparation.cancel()
    with pytest.raises(kiln.Error, match="cancelled"):
        preparation.wait()
    del preparation
    kiln.prepare([(program, "f32[4, 64]") for program in programs], progress=lambda *_: None)


def test_launches_and_kernels_are_counted(software_gpu, software_context):
    x, y, row = (software_gpu.copy(np.ones(shape, np.float32)) for shape in ((4, 64), (4, 64), (64,)))
    program = kiln.Program("y = x * a + 0.25", context=software_context)
    assert set(program.stats().values()) == {0}
    assert set(software_context.stats().values()) == {0}
    for _ in range(3):
        program(x, 2.0, out=y)
    program(x[:2], 2.0, out=y[:2])
    program(x, row, out=y)  # the same text with an array in the number's place
    stats = program.stats()
    assert stats["launches"] == 5 and stats["shapes"] == 3
    assert stats["compiled"] + stats["from_memory"] == 3 and stats["compiled"] >= 2
    assert stats["compile_seconds"] > 0 and stats["prepare_seconds"] >= stats["compile_seconds"]
    whole = software_context.stats()
    assert whole["compiled"] == stats["compiled"] and whole["kernels"] == stats["loads"]
    assert set(stats) - set(whole) == {"launches"}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_gradients_are_accumulated_in_place(software_gpu, software_context, dtype):
    random = np.random.default_rng(4)
    shapes = {"x": (37, 70), "g": (37, 70), "dw": (70,), "loss": ()}
    host = {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    program = kiln.Program("y = x * rsqrt(mean(x * x)); dw1 = dw + sum(g * x, axes = 0)\n"
                           "loss1 = loss + sum(g * g, axes = all)", context=software_context)
    given = {name: software_gpu.copy(array) for name, array in host.items()}
    y = software_gpu.copy(np.zeros(shapes["x"], dtype))
    for _ in range(2):
        program(**given, out={"y": y, "dw1": given["dw"], "loss1": given["loss"]})
    x, g = (host[name].astype(np.float64) for name in "xg")
    close = {"rtol": 1e-2 if dtype == np.float16 else 1e-5, "atol": 1e-1 if dtype == np.float16 else 1e-4}
    np.testing.assert_allclose(y, x / np.sqrt((x * x).mean(-1, keepdims=True)), **close)
    np.testing.assert_allclose(given["dw"], host["dw"] + 2 * (g * x).sum(0), **close)
    np.testing.assert_allclose(given["loss"], host["loss"] + 2 * (g * g).sum(), **close)


class Allocated(DeviceArray):
    """A library with an allocator, whose memory is not 0."""

    gpu = None

    def __array_namespace__(self):
        return Allocated

    float32 = np.float32

    @staticmethod
    def empty(shape, dtype, device):
        return Allocated(Allocated.gpu.copy(np.full(shape, 7, dtype)), device)


def test_rows_with_lengths_are_0_behind_their_ends(software_gpu, software_context):
    Allocated.gpu = software_gpu
    program = kiln.Program("lengths(index(-2)); y = x + 1", context=software_context)
    x = software_gpu.copy(np.zeros((5, 4), np.float32))
    np.testing.assert_array_equal(program(Allocated(x)).host, np.tri(5, 4, -1))
    out = software_gpu.copy(np.full((5, 4), 7, np.float32))
    program(DeviceArray(x), out=DeviceArray(out))
    np.testing.assert_array_equal(out, np.where(np.tri(5, 4, -1), 1, 7))


def test_kernels_compute_on_the_software_gpu(software_gpu, software_context):
    x = software_gpu.copy(np.random.default_rng(2).standard_normal((5, 96)).astype(np.float32))
    s, y = (software_gpu.copy(np.zeros(shape, np.float32)) for shape in ((5,), (5, 96)))
    program = kiln.Program("s = absmax(x * a); y = x / s", outputs="s, y", context=software_context)
    for array in (np.asarray, DeviceArray):
        y[...] = s[...] = 0
        program(array(x), 2.0, out=(array(s), array(y)))
        np.testing.assert_allclose(s, 2 * abs(x).max(-1), rtol=1e-6)
        np.testing.assert_allclose(y, x / s[:, None], rtol=1e-6)


@pytest.mark.parametrize("stream, address", [(7, 7), (type("Stream", (), {"cuda_stream": 8}), 8),
                                             (type("Stream", (), {"ptr": 9}), 9)])
def test_streams_of_other_libraries(stream, address):
    from kiln._arrays import stream_address
    assert stream_address(stream) == address


def test_what_is_no_stream_is_refused():
    from kiln._arrays import stream_address
    with pytest.raises(kiln.ArgumentError, match="expected an address"):
        stream_address("stream")
