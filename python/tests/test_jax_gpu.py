# SPDX-License-Identifier: Apache-2.0
"""kiln.jax where JAX has a CUDA GPU: launches inside of compiled code, beside JAX's own functions. By hand, too:
`python -m pytest python/tests/test_jax_gpu.py`."""
import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import kiln  # noqa: E402
import kiln.jax  # noqa: E402


def has_gpu():
    try:
        return any("cuda" in str(device.client.platform_version).lower() for device in jax.devices("gpu"))
    except RuntimeError:
        return False


pytestmark = pytest.mark.skipif(not has_gpu(), reason="JAX has no CUDA GPU")

X = np.random.default_rng(3).standard_normal((512, 1024)).astype(np.float32)
W = np.linspace(1, 2, 1024, dtype=np.float32)


def rms_norm(x, w):
    return x * w * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def test_a_call_launches_and_nothing_comes_to_the_host():
    function = kiln.jax.function("y = rms_norm(x, w * s)", scalars="s")
    x, w = jnp.asarray(X), jnp.asarray(W)
    compiled = jax.jit(lambda x, w, s: function(jnp.sin(x), w, s) + 1)
    two = w[0] * 2
    compiled(x, w, two).block_until_ready()
    with jax.transfer_guard("disallow"):
        y = compiled(x, w, two)
    np.testing.assert_allclose(y, rms_norm(jnp.sin(x), w * 2) + 1, rtol=1e-5, atol=1e-5)
    assert "custom_call_target=\"kiln_run\"" in compiled.lower(x, w, two).compile().as_text()
    assert function.program.stats()["launches"] >= 2


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_work_before_and_behind_is_in_order(dtype):
    function = kiln.jax.function("y = softmax(x)")
    step = jax.jit(lambda x: function(x + x) * 1024)
    x = wanted = jnp.asarray(X, dtype)
    for _ in range(20):
        x, wanted = step(x), jax.jit(lambda x: (jax.nn.softmax(x + x) * 1024).astype(dtype))(wanted)
    np.testing.assert_allclose(x.astype(np.float32), wanted.astype(np.float32), rtol=0.1, atol=0.1)


def test_gradients_vmap_and_loops():
    function = kiln.jax.function("y = rms_norm(x, w)")
    loss = lambda f: lambda x, w: jnp.sum(jnp.sin(f(x, w)))  # noqa: E731
    wanted = jax.grad(loss(rms_norm), (0, 1))(X, W)
    for found, value in zip(jax.jit(jax.grad(loss(function), (0, 1)))(X, W), wanted):
        np.testing.assert_allclose(found, value, rtol=1e-3, atol=1e-3)
    batch = X.reshape(8, 64, 1024)
    np.testing.assert_allclose(jax.vmap(function, (0, None))(batch, W), rms_norm(batch, W), rtol=1e-5, atol=1e-5)
    looped = jax.lax.fori_loop(0, 5, lambda i, x: function(x, W), jnp.asarray(X))
    wanted = jnp.asarray(X)
    for _ in range(5):
        wanted = rms_norm(wanted, W)
    np.testing.assert_allclose(looped, wanted, rtol=1e-4, atol=1e-4)


def test_rows_behind_their_ends_are_0():
    function = kiln.jax.function("lengths(n); y = x + 1")
    n = jnp.arange(512, dtype=jnp.int32)[:, None]
    y = jax.jit(function)(n, jnp.asarray(X))
    np.testing.assert_allclose(y, np.where(np.arange(1024) < n, X + 1, 0), rtol=1e-6)


def test_every_gpu_has_its_own_launches():
    function = jax.jit(kiln.jax.function("y = softmax(x)"))
    for device in jax.devices("gpu"):
        y = function(jax.device_put(X, device))
        assert y.devices() == {device}
        np.testing.assert_allclose(y, jax.nn.softmax(X), rtol=1e-5, atol=1e-7)
