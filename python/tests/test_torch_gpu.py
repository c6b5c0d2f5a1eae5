# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch on a CUDA GPU, and kiln.torch there. By hand, too:
`python -m pytest python/tests/test_torch_gpu.py`."""
import pytest

torch = pytest.importorskip("torch")

import kiln  # noqa: E402
import kiln.torch  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch has no CUDA GPU")

NORM = "y = rms_norm(x, w, 1e-6)"
NORM_GRAD = ["dx = rms_norm_grad(x, w, dy, 1e-6)", "dw = dy * x * rsqrt(mean(x * x) + 1e-6)"]


def random(*shape, dtype=torch.float32, requires_grad=False):
    return torch.randn(*shape, dtype=dtype, device="cuda").requires_grad_(requires_grad)


def rms_norm(x, w):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_give_tensors(dtype):
    x = random(37, 1000).to(dtype)
    y = kiln.run("y = softmax(x)", x)
    assert y.dtype == dtype and y.device == x.device
    torch.testing.assert_close(y, torch.softmax(x, -1))
    out = torch.empty(1000, 37, dtype=dtype, device="cuda")
    kiln.run("y = softmax(x)", x, out=out.T)
    torch.testing.assert_close(out.T, torch.softmax(x, -1))


def test_launches_are_on_the_current_stream():
    program = kiln.Program("y = x * 2")
    x, stream = torch.zeros(1 << 26, device="cuda"), torch.cuda.Stream()
    program(x)  # compiled before
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # some 0.1 s: a launch elsewhere would not wait for it
        x += 1
        y = program(x)
    stream.synchronize()
    assert (y == 2).all()


def test_launches_are_captured():
    program = kiln.Program("y = softmax(x)")
    x = random(64, 512)
    y = program(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = x
        for _ in range(100):
            z = program(z)
    x.copy_(random(64, 512))
    graph.replay()
    wanted = x
    for _ in range(100):
        wanted = torch.softmax(wanted, -1)
    torch.testing.assert_close(z, wanted)
    assert y.shape == z.shape


@pytest.mark.parametrize("text, options, shapes", [
    ("y = softmax(x * s)", {"scalars": "s"}, [(3, 7)]),
    ("y = rms_norm(x, w, 1e-6)", {}, [(3, 7), (7,)]),
    ("y = layer_norm(x, w, b, 1e-5)", {}, [(2, 3, 5), (5,), (5,)]),
    ("y = silu(a) * b", {}, [(4, 6), (4, 6)]),
    ("s = logsumexp(x); m = mean(x * x)", {"outputs": "s, m"}, [(3, 9)])])
def test_derived_gradients_pass_gradcheck(text, options, shapes):
    program = kiln.Program(text, **options)
    function = kiln.torch.function(program, grad=program.gradient())
    tensors = [random(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    scalars = [0.5] if options.get("scalars") else []
    assert torch.autograd.gradcheck(lambda *given: function(*given, *scalars), tensors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_torch(dtype):
    function = kiln.torch.function(NORM, grad=NORM_GRAD)
    x, w = random(64, 1024, dtype=dtype, requires_grad=True), random(1024, dtype=dtype, requires_grad=True)
    g = random(64, 1024, dtype=dtype)
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 0.5}
    wanted = torch.autograd.grad(rms_norm(x, w), (x, w), g)
    for found, value in zip(torch.autograd.grad(function(x, w), (x, w), g), wanted):
        torch.testing.assert_close(found, value, **near)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_takes_a_function_whole(backend, dynamic):
    function = kiln.torch.function(NORM, grad=NORM_GRAD)

    def model(x, w):
        return (function(x.sin(), w) * 2).sum()

    compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=dynamic)
    for rows in (8, 24, 40) if dynamic else (8,):
        x, w = random(rows, 32, requires_grad=True), random(32, requires_grad=True)
        wanted = torch.autograd.grad(model(x, w), (x, w))
        for found, value in zip(torch.autograd.grad(compiled(x, w), (x, w)), wanted):
            torch.testing.assert_close(found, value, rtol=1e-4, atol=1e-4)


def test_opcheck_finds_nothing():
    function = kiln.torch.function(NORM, grad=NORM_GRAD)
    torch.library.opcheck(function.operator, (random(8, 32, requires_grad=True), random(32, requires_grad=True)))
