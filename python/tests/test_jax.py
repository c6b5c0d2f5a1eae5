# SPDX-License-Identifier: Apache-2.0
"""Arrays of JAX, and kiln.jax against JAX's own functions, on the CPU."""
import doctest
import importlib

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import kiln  # noqa: E402
import kiln.jax  # noqa: E402

X = jnp.asarray(np.random.default_rng(3).standard_normal((4, 8)), jnp.float32)
W = jnp.arange(1, 9, dtype=jnp.float32)
NORM = "y = rms_norm(x, w, 1e-6)"
NORM_GRAD = ["dx = rms_norm_grad(x, w, dy, 1e-6)", "dw = dy * x * rsqrt(mean(x * x) + 1e-6)"]


def rms_norm(x, w):
    return x * w * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def test_arrays_of_the_cpu_give_arrays():
    y = kiln.run("y = softmax(x)", X)
    assert isinstance(y, jax.Array) and y.dtype == jnp.float32
    np.testing.assert_allclose(y, jax.nn.softmax(X), rtol=1e-5)
    assert kiln.run("y = x", X, dtype=jnp.bfloat16).dtype == jnp.bfloat16


def test_arrays_of_jax_are_no_outputs():
    with pytest.raises(kiln.ArgumentError, match="cannot be written to"):
        kiln.run("y = x", X, out=X)


def test_functions_under_jit_and_vmap():
    function = kiln.jax.function("s = max(x) * a; y = x / s", outputs="s, y", scalars="a")
    s, y = jax.jit(function)(X, 2.0)
    np.testing.assert_allclose(s, X.max(-1) * 2, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(lambda x: function(x, a=2.0)[1])(X), X / s[:, None], rtol=1e-6)


def test_gradients_are_those_of_jax():
    function = kiln.jax.function(NORM, grad=NORM_GRAD)
    loss = lambda f: lambda x, w: jnp.sum(jnp.sin(f(x, w)))  # noqa: E731
    wanted = jax.grad(loss(rms_norm), (0, 1))(X, W)
    for found, value in zip(jax.jit(jax.grad(loss(function), (0, 1)))(X, W), wanted):
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


def test_half_precision_and_integers():
    function = kiln.jax.function("y = x * k", scalars="k", grad="dx = dy * k")
    x = X.astype(jnp.bfloat16)
    assert function(x, 3).dtype == jnp.bfloat16
    assert jax.grad(lambda x: function(x, 3).sum())(x)[0, 0] == 3
    assert kiln.jax.function("y = argmax(x)")(X).tolist() == X.argmax(-1).tolist()


def test_wrong_arguments_are_refused():
    with pytest.raises(kiln.ArgumentError, match="expected the arguments x, w"):
        kiln.jax.function(NORM)(X)


def test_examples_of_the_documentation():
    results = doctest.testmod(importlib.import_module("kiln.jax"))
    assert results.attempted and not results.failed
