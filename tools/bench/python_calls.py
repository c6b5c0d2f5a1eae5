# SPDX-License-Identifier: Apache-2.0
"""What a call from Python takes the host, for a shape that was seen before.

On a GPU, on a stream of PyTorch's, beside PyTorch's own functions and torch.compile's (kiln_run in C:
tests/bench/bench_launch.c):
PYTHONPATH=build/python/tree python3 tools/bench/python_calls.py
Without one the tensors are PyTorch's in host memory, and the driver is the stand-in of a build tree, whose launches do
nothing:
PYTHONPATH=build/python/tree python3 tools/bench/python_calls.py build/tests/libkiln_fake_driver.so
"""
import argparse
import platform
import statistics
import time

import torch

import kiln
import kiln.torch

BURST = 256  # launches, fewer than a stream holds before the host has to wait
TEXTS = ("y = softmax(x)", "y = layer_norm(x, w, b, 1e-5)", "y = rms_norm(x, w, eps)")
EAGER = (lambda x: torch.softmax(x, -1), lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, 1e-5),
         lambda x, w, eps: torch.nn.functional.rms_norm(x, x.shape[-1:], w, eps))


def cost(call, rounds, settle):
    """Microseconds of a call: the median of bursts, each on an idle stream."""
    times = []
    for _ in range(rounds):
        settle()
        start = time.perf_counter()
        for _ in range(BURST):
            call()
        times.append((time.perf_counter() - start) / BURST * 1e6)
    return statistics.median(times)


def ways(text, eager, arguments, context, on_gpu):
    """Calls, in the order of the table's columns."""
    program = kiln.Program(text, context=context)
    y = program(*arguments)
    yield lambda: program(*arguments, out=y)
    yield lambda: program(*arguments)
    if on_gpu:
        options = {"scalars": "eps"} if "eps" in text else {}
        function = kiln.torch.function(text, **options)
        compiled = torch.compile(eager)
        yield lambda: function(*arguments)
        yield lambda: eager(*arguments)
        yield lambda: compiled(*arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", nargs="?", help="the stand-in's file; without it there is a GPU")
    parser.add_argument("--rounds", type=int, default=201, help="bursts of 256 calls (default: 201)")
    options = parser.parse_args()
    on_gpu = not options.driver
    context = None if on_gpu else kiln.Context(driver=options.driver, host_arrays="gpu")
    if on_gpu:
        torch.cuda.set_stream(torch.cuda.Stream())
    settle = torch.cuda.synchronize if on_gpu else lambda: None
    device = "cuda" if on_gpu else "cpu"
    x = torch.ones(8, 1024, dtype=torch.bfloat16, device=device)
    w = torch.ones(1024, dtype=torch.bfloat16, device=device)
    print(f"Python {platform.python_version()}, PyTorch {torch.__version__}, "
          f"{torch.cuda.get_device_name() if on_gpu else 'the stand-in'}; us of the host for each call")
    names = ["out=", "allocating"] + (["kiln.torch", "eager", "compiled"] if on_gpu else [])
    print(" " * 32 + "".join(f"{name:>12}" for name in names))
    for text, eager, arguments in zip(TEXTS, EAGER, ((x,), (x, w, w.clone()), (x, w, 1e-6))):
        costs = []
        for call in ways(text, eager, arguments, context, on_gpu):
            call()
            costs.append(cost(call, options.rounds, settle))
        print(f"{text:<32}" + "".join(f"{us:12.2f}" for us in costs))
    print(f"{'torch.empty_like(x)':<32}{'':12}{cost(lambda: torch.empty_like(x), options.rounds, settle):12.2f}")


if __name__ == "__main__":
    main()
