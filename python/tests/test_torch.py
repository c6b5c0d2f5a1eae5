# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch, and kiln.torch against autograd of PyTorch's own functions."""
import doctest
import importlib

import pytest

torch = pytest.importorskip("torch")

import kiln  # noqa: E402
import kiln.torch  # noqa: E402

torch.manual_seed(1)
NORM = "y = rms_norm(x, w, 1e-6)"
NORM_GRAD = ["dx = rms_norm_grad(x, w, dy, 1e-6)", "dw = dy * x * rsqrt(mean(x * x) + 1e-6)"]


def rms_norm(x, w):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_the_cpu_give_tensors(dtype):
    x = torch.randn(4, 16).to(dtype)
    y = kiln.run("y = softmax(x)", x)
    assert y.dtype == dtype
    torch.testing.assert_close(y, torch.softmax(x, -1))
    out = torch.empty(16, 4, dtype=torch.float32)
    assert kiln.run("y = softmax(x)", x, out=out.T) is not None
    torch.testing.assert_close(out.T, torch.softmax(x.float(), -1), rtol=1e-2, atol=1e-2)


def test_types_of_torch_choose_outputs():
    x = torch.randn(4, 16)
    assert kiln.run("y = x", x, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert kiln.run("y = x", x, dtype="e4m3").dtype == torch.float8_e4m3fn
    assert kiln.run("y = x > 0", x).dtype == torch.bool


def test_without_dlpacks_table_attributes_are_read(monkeypatch):
    from kiln import _arrays
    library = _arrays.PyTorch(torch.ones(1))
    assert library.view(torch.ones(2, 3).T, "x", False)[1:] == (1, (3, 2), (1, 3), False, 0)
    assert library.empty((2, 3), "bf16", torch.ones(1)).dtype == torch.bfloat16
    with pytest.raises(kiln.ArgumentError, match="complex64"):
        library.view(torch.ones(2, dtype=torch.complex64), "x", False)


def test_subclasses_and_parameters_are_tensors():
    w = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(kiln.ArgumentError, match="'w' requires a gradient"):
        kiln.run("y = w * 2", w)
    with torch.no_grad():
        assert kiln.run("y = w * 2", w).tolist() == [2, 2, 2]


def test_gradients_are_those_of_torch():
    function = kiln.torch.function(NORM, grad=NORM_GRAD)
    for shape in ((8, 32), (2, 3, 32)):
        x, w = torch.randn(*shape, requires_grad=True), torch.randn(32, requires_grad=True)
        g = torch.randn(*shape)
        wanted = torch.autograd.grad(rms_norm(x, w), (x, w), g)
        for found, value in zip(torch.autograd.grad(function(x, w), (x, w), g), wanted):
            assert found.shape == value.shape
            torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-5)


def test_gradients_of_several_outputs_that_lose_their_axes():
    function = kiln.torch.function("s = sum(x * x)\nm = mean(x)", outputs="s, m", grad="dx = 2 * x * ds + dm / 5")
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert function(x)[0].shape == (3,)
    assert torch.autograd.gradcheck(function, (x,))


def test_a_scalar_has_no_gradient():
    function = kiln.torch.function("y = x * s", scalars="s", grad="dx = dy * s")
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda value: function(value, s=0.5), (x,))
    assert function(x, 2).tolist() == (x * 2).tolist()


def test_a_gradient_over_other_axes_is_a_program_of_its_own():
    column_sums = kiln.Program("dw = sum(dy * x)", axes=0)
    function = kiln.torch.function("y = x * w", grad=["dx = dy * w", column_sums])
    x, w = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((4, 3), (3,)))
    assert torch.autograd.gradcheck(function, (x, w))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_takes_a_function_whole(backend):
    function = kiln.torch.function(NORM, grad=NORM_GRAD)

    def model(x, w):
        return (function(x.sin(), w) * 2).sum()

    x, w = torch.randn(8, 32, requires_grad=True), torch.randn(32, requires_grad=True)
    wanted = torch.autograd.grad(model(x, w), (x, w))
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    for found, value in zip(torch.autograd.grad(compiled(x, w), (x, w)), wanted):
        torch.testing.assert_close(found, value)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_with_scalars_and_changing_shapes(backend):
    function = kiln.torch.function("s = max(x) * a; y = x / s", outputs="s, y", scalars="a")
    compiled = torch.compile(lambda x, a: function(x, a)[1] + 1, fullgraph=True, backend=backend)
    for rows in range(2, 14):  # more than torch.compile's limit of compilations
        for a in (1.5, 2.5):
            x = torch.rand(rows, 8) + 1
            torch.testing.assert_close(compiled(x, a), x / (x.amax(-1, keepdim=True) * a) + 1)


def test_open_sizes_have_gradients():
    function = kiln.torch.function("s = sum(x * w)", grad="dx = ds * w; dw = ds * x")
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in range(2, 14):
        x, w = torch.randn(rows, 8, requires_grad=True), torch.randn(8, requires_grad=True)
        g = torch.randn(rows)
        wanted = torch.autograd.grad((x * w).sum(-1), (x, w), g)
        for found, value in zip(torch.autograd.grad(compiled(x, w), (x, w), g), wanted):
            torch.testing.assert_close(found, value)


def test_opcheck_finds_nothing():
    function = kiln.torch.function(NORM, grad=NORM_GRAD)
    x, w = torch.randn(8, 32, requires_grad=True), torch.randn(32, requires_grad=True)
    torch.library.opcheck(function.operator, (x, w), test_utils=("test_schema", "test_autograd_registration",
                                                                 "test_faketensor", "test_aot_dispatch_dynamic"))


def test_the_same_program_is_registered_once():
    assert kiln.torch.function("y = x * 3") is kiln.torch.function("y = x * 3")
    kiln.torch.function("y = x * 3", name="times3")
    with pytest.raises(kiln.ArgumentError, match="registered already"):
        kiln.torch.function("y = x * 4", name="times3")


@pytest.mark.parametrize("grad, sentence", [
    ("dx = dz", "reads 'dz'"),
    ("dv = dy", "'dv'"),
    (["dx = dy", "dx = 2 * dy"], "'dx' twice"),
    ("dx = softmax_grad(y", "1:20"),
])
def test_wrong_gradient_programs_are_named(grad, sentence):
    with pytest.raises(kiln.ArgumentError, match=sentence):
        kiln.torch.function("y = softmax(x)", grad=grad)


def test_a_missing_gradient_is_an_error():
    function = kiln.torch.function("y = x * w", grad="dx = dy * w")
    with pytest.raises(kiln.ArgumentError, match="no gradient program writes 'dw'"):
        function(torch.ones(3), torch.ones(3, requires_grad=True)).sum().backward()


def test_examples_of_the_documentation():
    results = doctest.testmod(importlib.import_module("kiln.torch"))
    assert results.attempted and not results.failed
