# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy on a CUDA GPU. By hand, too: `python -m pytest python/tests/test_cupy_gpu.py`."""
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

import kiln  # noqa: E402

pytestmark = pytest.mark.skipif(not cupy.cuda.is_available(), reason="CuPy has no CUDA GPU")

X = np.random.default_rng(5).standard_normal((37, 1000))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_arrays_give_arrays(dtype):
    x = cupy.asarray(X.astype(dtype))
    y = kiln.run("y = softmax(x)", x)
    assert isinstance(y, cupy.ndarray) and y.dtype == x.dtype
    near = {"float64": 1e-12, "float32": 1e-6, "float16": 1e-3}[dtype]
    np.testing.assert_allclose(y.get(), softmax(x.get().astype("float64")), rtol=near, atol=near)
    out = cupy.empty((1000, 37), dtype)
    kiln.run("y = softmax(x)", x, out=out.T)  # another kernel, which adds up in another order
    np.testing.assert_allclose(out.T.get(), y.get(), rtol=near, atol=near)


def test_views_and_integers():
    x = cupy.arange(60, dtype="int32").reshape(3, 4, 5)
    np.testing.assert_array_equal(kiln.run("s = sum(x)", x[:, ::2].transpose(2, 0, 1), axes=-1).get(),
                                  x.get()[:, ::2].transpose(2, 0, 1).sum(-1))


def test_launches_are_on_the_current_stream():
    program = kiln.Program("y = x + 1")
    x = cupy.zeros(1 << 26, "float32")
    program(x)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(50):
            x = program(x)
        stream.synchronize()
    assert (x == 50).all()


def test_arrays_of_two_libraries():
    torch = pytest.importorskip("torch")
    x = cupy.asarray(X, dtype="float32")
    w = torch.linspace(1, 2, 1000, device="cuda")
    y = kiln.run("y = x * w", x, cupy.from_dlpack(w))
    np.testing.assert_allclose(torch.from_dlpack(y).cpu().numpy(), X.astype("float32") * w.cpu().numpy(), rtol=1e-6)
