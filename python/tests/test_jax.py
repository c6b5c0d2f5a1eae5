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


@pytest.mark.parametrize("text, options, like", [
    (NORM, {}, rms_norm),
    ("y = softmax(x * w)", {}, lambda x, w: jax.nn.softmax(x * w)),
    ("y = logsumexp(x) * mean(w)", {}, lambda x, w: jax.nn.logsumexp(x, -1) * w.mean()),
    ("m = mean(x)\ny = (x - m) * rsqrt(mean((x - m) ** 2) + 1e-6) * w", {"axes": 0, "outputs": "y"},
     lambda x, w: (x - x.mean(0)) * jax.lax.rsqrt(x.var(0) + 1e-6) * w),
])
def test_gradients_are_derived(text, options, like):
    function = kiln.jax.function(text, **options)
    loss = lambda f: lambda x, w: jnp.sum(jnp.sin(f(x, w)))  # noqa: E731
    wanted = jax.grad(loss(like), (0, 1))(X, W)
    for found, value in zip(jax.jit(jax.grad(loss(function), (0, 1)))(X, W), wanted):
        assert found.shape == value.shape
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)


def test_derived_gradients_of_several_outputs_scalars_and_indices():
    function = kiln.jax.function("s = sum(x * x) * a\nl = logsumexp(x) - take(x, label)", outputs="s, l", scalars="a")
    label = jnp.asarray([[1], [0], [7], [3]])
    found = jax.grad(lambda x: sum(value.sum() for value in function(x=x, a=3.0, label=label)))(X)
    wanted = 6 * X + jax.nn.softmax(X) - jax.nn.one_hot(label[:, 0], 8)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_what_has_no_gradient_is_refused_where_one_is_asked_for():
    function = kiln.jax.function("y = lgamma(x)")
    np.testing.assert_allclose(jax.jit(function)(jnp.abs(X) + 1), jax.lax.lgamma(jnp.abs(X) + 1), rtol=1e-5, atol=1e-6)
    with pytest.raises(kiln.Error, match="no gradient"):
        jax.grad(lambda x: function(x).sum())(X)
    with pytest.raises(kiln.ArgumentError, match="writes|write"):
        kiln.jax.function("y = x", grad="dz = dy")


def test_a_gradient_may_be_a_program():
    forward = kiln.Program("y = gelu(x * w)")
    function = kiln.jax.function(forward, grad=forward.gradient(wrt="w"))
    found = jax.grad(lambda w: function(X, w).sum())(W)
    wanted = jax.grad(lambda w: jax.nn.gelu(X * w, approximate=False).sum())(W)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


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
