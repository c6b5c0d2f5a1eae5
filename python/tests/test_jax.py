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


def test_compiled_code_calls_kiln_itself():
    function = kiln.jax.function("y = softmax(x * s)", scalars="s")
    text = jax.jit(function).lower(X, 2.0).as_text()
    assert "kiln_run" in text and "callback" not in text


@pytest.mark.parametrize("text, options, batched", [
    ("y = rms_norm(x, w) * s", {}, True),
    ("y = x * w + s", {}, True),
    ("y = where(index(-1) < 4, x, w) * s", {}, False),
    ("y = (x - mean(x)) * w * s", {"axes": 0}, False),
    ("y = x * w * s + sum(x)", {"axes": None}, False),
    ("y = x * w * s * size(0)", {}, False),
])
def test_vmap_is_one_call_or_one_for_each(text, options, batched):
    function = kiln.jax.function(text, scalars="s", **options)
    x, s = jnp.stack([X, X + 1, X * 2]), jnp.arange(1.0, 4)
    w = jnp.stack([W, W + 1, W * 3])
    for axes in ((0, None, None), (0, 0, None), (0, None, 0), (0, 0, 0), (None, 0, 0)):
        values = [value if axis == 0 else value[0] for value, axis in zip((x, w, s), axes)]
        mapped = jax.vmap(function, axes)
        wanted = [function(*(value if axis is None else value[i] for value, axis in zip(values, axes)))
                  for i in range(3)]
        np.testing.assert_allclose(mapped(*values), jnp.stack(wanted), rtol=1e-6, atol=1e-6)
        assert ("while" in jax.jit(mapped).lower(*values).as_text()) != batched


def test_vmap_of_rows_one_behind_the_other():
    function = kiln.jax.function("offsets(o); y = softmax(x)")
    x, o = jnp.stack([X[0], X[1], X[2]]), jnp.array([[0, 2, 5], [1, 3, 4], [0, 0, 6]], jnp.int32)
    for axes in ((0, 0), (None, 0), (0, None)):
        values = [value if axis == 0 else value[0] for value, axis in zip((o, x), axes)]
        wanted = [function(*(value if axis is None else value[i] for value, axis in zip(values, axes)))
                  for i in range(3)]
        np.testing.assert_allclose(jax.vmap(function, axes)(*values), jnp.stack(wanted), rtol=1e-6)


def test_vmap_may_be_nested_and_differentiated():
    function = kiln.jax.function("y = rms_norm(x, w)")
    x = jnp.stack([jnp.stack([X, X + 1]), jnp.stack([X * 2, X - 1]), jnp.stack([X, X * 3])])
    nested = jax.vmap(jax.vmap(function, (0, None)), (0, None))
    np.testing.assert_allclose(nested(x, W), rms_norm(x, W), rtol=1e-4, atol=1e-5)
    found = jax.vmap(jax.grad(lambda x, w: jnp.sin(function(x, w)).sum(), (0, 1)), (0, None))(x[0], W)
    wanted = jax.vmap(jax.grad(lambda x, w: jnp.sin(rms_norm(x, w)).sum(), (0, 1)), (0, None))(x[0], W)
    for one, value in zip(found, wanted):
        np.testing.assert_allclose(one, value, rtol=1e-4, atol=1e-5)


def test_scalars_are_traced():
    function = kiln.jax.function("y = x * s + k", scalars="s, k")
    compiled = jax.jit(function)
    for s, k in ((0.5, 3), (2.5, -1), (True, 2), (np.float32(0.1), np.int8(4))):
        np.testing.assert_allclose(compiled(X, s, k), X * s + k, rtol=1e-6)
        assert compiled(X.astype(jnp.bfloat16), s, k).dtype == jnp.bfloat16
    assert function(jnp.arange(3), 2, 1).tolist() == [1, 3, 5]
    with pytest.raises(kiln.ArgumentError, match=r"the scalar 's' has shape \(4, 8\), expected a number"):
        compiled(X, X, 1)


def test_functions_in_loops_and_conditions():
    function = kiln.jax.function("y = x * 0.5 + mean(x)")
    half = lambda x: x * 0.5 + x.mean(-1, keepdims=True)  # noqa: E731
    looped = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: function(x), x))(X)
    np.testing.assert_allclose(looped, half(half(half(X))), rtol=1e-5, atol=1e-6)
    chosen = jax.jit(lambda p, x: jax.lax.cond(p, function, lambda x: x, x))
    np.testing.assert_allclose(chosen(True, X), half(X), rtol=1e-5, atol=1e-6)
    assert (chosen(False, X) == X).all()


def test_rows_behind_their_ends_are_0():
    function = kiln.jax.function("lengths(n); y = x + 1")
    n = jnp.arange(4, dtype=jnp.int32)[:, None]
    np.testing.assert_allclose(jax.jit(function)(n, X), np.where(np.arange(8) < n, X + 1, 0), rtol=1e-6)


def test_double_precision():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x, single = jnp.asarray(X, jnp.float64), jnp.asarray(X, jnp.float32)
        function = kiln.jax.function("y = x * s + sum(x)", scalars="s")
        assert function(x, 1 / 3).dtype == jnp.float64 and function(single, 1 / 3).dtype == jnp.float32
        np.testing.assert_allclose(jax.jit(function)(x, 1 / 3), x / 3 + x.sum(-1, keepdims=True), rtol=1e-14)
        assert function(jnp.arange(3), 2).dtype == jnp.int64


def test_programs_of_several_contexts_are_told_apart():
    contexts = [kiln.Context(cache_dir="") for _ in range(2)]
    keys = {kiln.jax.Targets.key(kiln.Program("y = x * 7", context=context)) for context in contexts * 2}
    assert len(keys) == 2


def test_an_older_jax_calls_back(monkeypatch):
    monkeypatch.setattr(kiln.jax, "has_handlers", lambda: False)
    function = kiln.jax.function("s = max(x) * a; y = x / s", outputs="s, y", scalars="a")
    s, y = jax.jit(function)(X, 2.0)
    np.testing.assert_allclose(y, X / s[:, None], rtol=1e-6)
    assert "callback" in jax.jit(function).lower(X, 2.0).as_text()
    np.testing.assert_allclose(jax.vmap(lambda x: function(x, a=2.0)[1])(X), X / s[:, None], rtol=1e-6)


def test_wrong_arguments_are_refused():
    with pytest.raises(kiln.ArgumentError, match="expected the arguments x, w"):
        kiln.jax.function(NORM)(X)


def test_examples_of_the_documentation():
    results = doctest.testmod(importlib.import_module("kiln.jax"))
    assert results.attempted and not results.failed
