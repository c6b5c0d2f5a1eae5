# SPDX-License-Identifier: Apache-2.0
"""What a call from Python takes for a shape that was seen before, without a GPU.

The tensors are PyTorch's, in host memory, and the driver is the stand-in of a build tree, whose launches do nothing:
PYTHONPATH=build/python/tree python3 tools/bench/python_calls.py build/tests/libkiln_fake_driver.so
"""
import argparse
import timeit

import torch

import kiln


def least(call, count):
    """Microseconds of a call in the fastest of seven series."""
    return min(timeit.repeat(call, number=count, repeat=7)) / count * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("driver", help="the stand-in's file")
    parser.add_argument("--count", type=int, default=50000, help="calls of a series (default: 50000)")
    options = parser.parse_args()
    context = kiln.Context(driver=options.driver, host_arrays="gpu")
    x, w = torch.ones(512, 1024, dtype=torch.bfloat16), torch.ones(1024, dtype=torch.bfloat16)
    cases = [("y = softmax(x)", (x,)), ("y = layer_norm(x, w, b, 1e-5)", (x, w, w.clone())),
             ("y = rms_norm(x, w, eps)", (x, w, 1e-6))]
    print(f"{'program':<32}{'with out':>10}{'allocating':>12}   us")
    for text, arguments in cases:
        program = kiln.Program(text, context=context)
        y = program(*arguments)
        given, allocated = (least(call, options.count) for call in (lambda: program(*arguments, out=y),
                                                                   lambda: program(*arguments)))
        print(f"{text:<32}{given:10.2f}{allocated:12.2f}")
    print(f"{'torch.empty_like(x)':<32}{'':10}{least(lambda: torch.empty_like(x), options.count):12.2f}")


if __name__ == "__main__":
    main()
