#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roof ratios of programs that fuse more than rows: blocks, values of all rows, places, order; PyTorch's beside.

  fused.py [--cases REGEX] [--json FILE]        measures (needs PyTorch with CUDA)
  fused.py --any-shape [--cases REGEX]          the kernel that serves any shape beside the one of a shape
  fused.py --lengths 200 --seed 7               kernels that serve ranges of columns beside those of a shape, for so many
                                                numbers of columns from 1 to 8192, drawn by the seed
  fused.py --list                               the cases; needs no GPU

Kiln, the peers and a copy of the bytes that must move take turns, the L2 flushed before each; the median of --runs rounds
counts. Bytes are those that must be read and written: of an embedding the rows that are asked for, of ragged rows their
own columns. What the kernels compute is tested elsewhere (tests/gpu/check_programs.py).

exit codes: 0 measured; 2 the command line is wrong; 3 no PyTorch, no GPU or no library.
"""
import argparse
import json
import random
import re
import sys
from dataclasses import dataclass, field

from kiln_ctypes import Kiln, Plan, Program, type_size, view

ANY_SHAPE, RANGE = 3, 5  # KILN_POLICY_ANY_SHAPE, KILN_POLICY_RANGE


@dataclass
class Case:
    """inputs: name -> (type, shape, how it is filled); outputs: name -> (type, shape). peers: name -> what takes PyTorch
    and the inputs by name. moved: bytes, where not all of the tensors are. then: programs behind it, [(text, outputs)], of
    the inputs and what the programs before them gave."""
    name: str
    text: str
    inputs: dict
    outputs: dict
    bar: float = 0.0
    peers: dict = field(default_factory=dict)
    moved: int = 0
    axes: tuple = (-1,)
    then: tuple = ()

    @property
    def bytes(self):
        def size(kind, shape):
            total = 1
            for n in shape:
                total *= n
            return total * type_size(kind) // (2 if kind == "e2m1" else 1)
        return self.moved or sum(size(t[0], t[1]) for t in [*self.inputs.values(), *self.outputs.values()])


def rows_of(kind, *shape):
    return (kind, shape, "normal")


def quantisers():
    for rows, cols, bar in ((8192, 4096, 0.95), (4096, 7168, 0.95)):
        yield Case(f"add + rms_norm + e4m3 per 128, bf16 {rows}x{cols}",
                   "r = x + h; y = rms_norm(r, w); s = scale_e4m3(y, block = 128); q = quantize_e4m3(y, block = 128)",
                   {"x": rows_of("bf16", rows, cols), "h": rows_of("bf16", rows, cols), "w": rows_of("bf16", 1, cols)},
                   {"r": ("bf16", (rows, cols)), "s": ("f32", (rows, cols // 128)), "q": ("e4m3", (rows, cols))}, bar)
    for kind, bar in (("e4m3", 0.97), ("e2m1", 0)):
        rows, cols = 16384, 4096
        yield Case(f"mx {kind}, bf16 {rows}x{cols}", f"s = scale_mx_{kind}(x); q = quantize_mx_{kind}(x)",
                   {"x": rows_of("bf16", rows, cols)}, {"s": ("e8m0", (rows, cols // 32)), "q": (kind, (rows, cols))}, bar)
    rows, cols = 16384, 5632
    yield Case(f"silu * value + e4m3 per 128, bf16 {rows}x{cols}",
               "y = silu(gate) * value; s = scale_e4m3(y, block = 128); q = quantize_e4m3(y, block = 128)",
               {"gate": rows_of("bf16", rows, cols), "value": rows_of("bf16", rows, cols)},
               {"s": ("f32", (rows, cols // 128)), "q": ("e4m3", (rows, cols))})


def gradients():
    for name, more, shapes in (("rms_norm", "", ((32768, 4096), (16384, 8192), (100000, 768), (8192, 5000))),
                               ("layer_norm", "; db = sum(g, axes = 0)", ((32768, 4096), (8192, 5000)))):
        for rows, cols in shapes:
            outputs = {"dx": ("bf16", (rows, cols)), "dw": ("f32", (1, cols))}
            if more:
                outputs["db"] = ("f32", (1, cols))
            yield Case(f"{name} dx + dw{' + db' if more else ''}, bf16 {rows}x{cols}",
                       f"dx = {name}_grad(x, w, g); dw = sum(g * {name}(x), axes = 0){more}",
                       {"x": rows_of("bf16", rows, cols), "w": rows_of("bf16", 1, cols), "g": rows_of("bf16", rows, cols)},
                       outputs, 0.92 if more else 0.93)


def places():
    for rows, cols in ((8192, 32000), (4096, 50257), (2048, 128256), (2048, 151936)):
        yield Case(f"cross-entropy by label, bf16 {rows}x{cols}", "l = logsumexp(x) - take(x, label)",
                   {"x": rows_of("bf16", rows, cols), "label": ("i64", (rows, 1), cols)}, {"l": ("f32", (rows, 1))}, 0.96,
                   {"eager": lambda torch, t: torch.nn.functional.cross_entropy(t["x"], t["label"][:, 0],
                                                                               reduction="none")})
    for words, cols in ((50257, 4096), (151936, 768)):
        rows = 32768
        yield Case(f"embedding, bf16 {rows} of {words}x{cols}", "e = rows(table, id) * 0.5",
                   {"table": rows_of("bf16", words, cols), "id": ("i64", (rows, 1), words)},
                   {"e": ("bf16", (rows, cols))}, 0.95,
                   {"eager": lambda torch, t: torch.nn.functional.embedding(t["id"][:, 0], t["table"]) * 0.5},
                   moved=rows * (4 * cols + 8))
    rows, cols = 16384, 4096
    yield Case(f"softmax, bf16 {rows}x{cols}", "y = softmax(x)", {"x": rows_of("bf16", rows, cols)},
               {"y": ("bf16", (rows, cols))})
    yield Case(f"softmax of lengths, half of them, bf16 {rows}x{cols}", "lengths(n); y = softmax(x)",
               {"n": ("i32", (rows, 1), cols), "x": rows_of("bf16", rows, cols)}, {"y": ("bf16", (rows, cols))},
               moved=2 * rows * cols)


def order():
    def topk(k):
        return {"eager": lambda torch, t: torch.topk(t["x"], k)}
    for rows, cols, k, bar in ((65536, 128, 8, 0.85), (8192, 4096, 32, 0.80), (512, 128256, 50, 0.70)):
        yield Case(f"topk f32 {rows}x{cols} k {k}", f"v, i = topk(x, {k})", {"x": rows_of("f32", rows, cols)},
                   {"v": ("f32", (rows, k)), "i": ("i64", (rows, k))}, bar, topk(k))
    rows, cols = 16384, 128
    yield Case(f"router top 8, f32 {rows}x{cols}", "v, i = topk(softmax(x), 8); p = v / sum(v)",
               {"x": rows_of("f32", rows, cols)}, {"p": ("f32", (rows, 8)), "i": ("i64", (rows, 8))}, 0.5,
               {"eager": lambda torch, t: (lambda v: v[0] / v[0].sum(-1, keepdim=True))(
                   torch.topk(torch.softmax(t["x"], -1), 8))})
    for rows, cols, bar in ((65536, 1024, 0.95), (8192, 8192, 0.95), (512, 131072, 0.90)):
        yield Case(f"cumsum f32 {rows}x{cols}", "y = cumsum(x)", {"x": rows_of("f32", rows, cols)},
                   {"y": ("f32", (rows, cols))}, bar, {"eager": lambda torch, t: torch.cumsum(t["x"], -1)})
    rows, cols = 16384, 1024
    yield Case(f"sort of values and indices, f32 {rows}x{cols}", "y = sort(x); i = argsort(x)",
               {"x": rows_of("f32", rows, cols)}, {"y": ("f32", (rows, cols)), "i": ("i64", (rows, cols))}, 0,
               {"eager": lambda torch, t: torch.sort(t["x"], dim=-1, stable=True)})
    for kind, rows, cols in (("f32", 256, 131072), ("f16", 64, 524288), ("f32", 1, 1 << 24)):
        yield Case(f"sort of long rows, {kind} {rows}x{cols}", "y = sort(x)", {"x": rows_of(kind, rows, cols)},
                   {"y": (kind, (rows, cols))}, 0, {"eager": lambda torch, t: torch.sort(t["x"], dim=-1)})
    yield Case("kth_largest f32 512x128256", "t = kth_largest(x, 50)", {"x": rows_of("f32", 512, 128256)},
               {"t": ("f32", (512, 1))}, 0, topk(50))
    yield Case("median f32 8192x4096", "m = median(x)", {"x": rows_of("f32", 8192, 4096)}, {"m": ("f32", (8192, 1))}, 0,
               {"eager": lambda torch, t: torch.median(t["x"], -1)})


def sample_eagerly(torch, tensors):
    """A token of each row, of those that make up nine tenths, by sorting all."""
    values, tokens = torch.sort(torch.softmax(tensors["x"] / 0.8, -1), -1, descending=True)
    values = values.masked_fill(values.cumsum(-1) - values >= 0.9, 0)
    return tokens.gather(-1, torch.multinomial(values, 1))


def sample_of_first_eagerly(torch, tensors):
    """The same of the 1,024 largest."""
    values, tokens = torch.topk(tensors["x"] / 0.8, 1024)
    values = torch.exp(values - torch.logsumexp(tensors["x"] / 0.8, -1, keepdim=True))
    values = values.masked_fill(values.cumsum(-1) - values >= 0.9, 0)
    return tokens.gather(-1, torch.multinomial(values, 1))


def sampling():
    rows, cols, first = 64, 128256, 1024
    yield Case(f"top-p step of the {first} largest, f32 {rows}x{cols}",
               f"v, i = topk(x / 0.8, {first}); l = logsumexp(x / 0.8)", {"x": rows_of("f32", rows, cols)},
               {"v": ("f32", (rows, first)), "i": ("i64", (rows, first)), "l": ("f32", (rows, 1))}, 0,
               {"eager, of all": sample_eagerly, "eager": sample_of_first_eagerly},
               moved=4 * rows * cols,
               then=(("p = exp(v - l); z = cumsum(p) - p < 0.9 ? v + gumbel(7) : -inf; "
                      "token = max(argmax(z) == index(-1) ? i : 0)", {"token": ("i64", (rows, 1))}),))


def all_cases():
    for family in (quantisers, gradients, places, order, sampling):
        yield from family()


def row_programs():
    """Programs over x, w, b and g for the comparison of kernels that serve several shapes: text, inputs, output."""
    return {"softmax": ("y = softmax(x)", "x", "y"), "layer_norm": ("y = layer_norm(x, w, b)", "x w b", "y"),
                "rms_norm": ("y = rms_norm(x, w)", "x w", "y"), "softmax_grad": ("d = softmax_grad(y, g)", "y g", "d"),
                "logsumexp": ("l = logsumexp(x)", "x", "l"), "sum": ("l = sum(x)", "x", "l"),
                "silu * value": ("y = silu(x) * g", "x g", "y"), "gelu + bias": ("y = gelu(x + b)", "x b", "y"),
                "var": ("l = var(x)", "x", "l"), "softcap": ("y = softmax(30 * tanh(x / 30))", "x", "y")}


def rows_case(name, elements, cols):
    rows = elements // cols
    text, inputs, output = row_programs()[name]
    return Case(f"{name} bf16 {rows}x{cols}", text,
                {n: rows_of("bf16", 1 if n in "wb" else rows, cols) for n in inputs.split()},
                {output: ("f32", (rows, 1)) if output == "l" else ("bf16", (rows, cols))})


def shapes():
    for cols in (96, 512, 1024, 4096, 5001, 16384, 50257):
        for name in row_programs():
            yield rows_case(name, 96_000_000, cols)


def lengths(count, seed):
    """Sequences of any length up to 8192, of programs that reduce rows in turn."""
    draw, names = random.Random(seed), [n for n in row_programs() if n not in ("silu * value", "gelu + bias")]
    for i in range(count):
        yield rows_case(names[i % len(names)], 32_000_000, draw.randint(1, 8192))


def tell_ranges(records):
    """How fast kernels for ranges are beside exact ones, and how many there are."""
    pairs = [r for r in records if "us" in r["kiln"] and "us" in r["range"]]
    ratios = sorted(r["kiln"]["us"] / r["range"]["us"] for r in pairs)
    kernels = {}
    for r in pairs:
        kernels.setdefault(r["case"].split(" bf16")[0], set()).add(r["range"]["plan"]["most_cols"])
    print(f"{len(pairs)} lengths: exact kernel's time over the range's: median {ratios[len(ratios) // 2]:.3f}, lowest tenth "
          f"{ratios[len(ratios) // 10]:.3f}, lowest {ratios[0]:.3f}; kernels of a program: at most "
          f"{max(map(len, kernels.values()))}")


def make(torch, kind, shape, fill):
    if fill != "normal":
        return torch.randint(0, fill, shape, dtype=getattr(torch, {"i64": "int64", "i32": "int32"}[kind]), device="cuda")
    types = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    return torch.randn(shape, dtype=torch.float32, device="cuda").to(types[kind])


class Plans:
    """Of a case's programs, launched one after another."""

    def __init__(self, torch, kiln, case, inputs, keep):
        tensors = {n: view(inputs[n].data_ptr(), case.inputs[n][0], inputs[n].shape) for n in inputs}
        self.plans = []
        for text, outputs in ((case.text, case.outputs), *case.then):
            program = Program(kiln, text, case.axes, list(outputs))
            names = program.input_names()
            program.close()
            for name, (kind, shape) in outputs.items():
                size = type_size(kind)
                for n in shape:
                    size *= n
                keep.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
                tensors[name] = view(keep[-1].data_ptr(), kind, shape)
            self.plans.append(Plan(kiln, text, [tensors[n] for n in (*names, *outputs)], case.axes, list(outputs)))

    def launch(self):
        for plan in self.plans:
            plan.launch()

    def info(self):
        """Of the first one, and how many launches all are."""
        return {**self.plans[0].info(), "launches": sum(plan.info()["launches"] for plan in self.plans)}

    def close(self):
        for plan in self.plans:
            plan.close()


def measure(torch, clock, kilns, case):
    """{"kiln": {...}, ...}: us, ratio and, of Kiln, the schedule."""
    inputs = {name: make(torch, *given) for name, given in case.inputs.items()}
    plans, calls, keep, found = {}, {}, [], {}
    for name, kiln in kilns.items():
        try:
            plans[name] = Plans(torch, kiln, case, inputs, keep)
            plans[name].launch()
            calls[name] = plans[name].launch
        except RuntimeError as error:
            found[name] = {"failed": str(error)}
    if len(kilns) == 1:
        for name, peer in case.peers.items():
            calls[name] = lambda peer=peer: peer(torch, inputs)
    times = clock.medians({**calls, "copy": clock.copy(case.bytes)}, case.bytes)
    for name in calls:
        found[name] = {"us": times[name][0], "ratio": times["copy"][0] / times[name][0]}
    for name, plan in plans.items():
        found[name]["plan"] = plan.info()
        plan.close()
    return found


def told(case, found):
    parts = []
    for name, record in found.items():
        parts.append(f"{name} " + (f"{record['ratio']:.3f} {record['us']:.1f} us" if "us" in record
                                   else f"failed: {record['failed']}"))
    bar = f" (bar {case.bar})" if case.bar else ""
    schedule = found.get("kiln", {}).get("plan", {}).get("schedule", "")
    return f"{case.name}{bar}: {'; '.join(parts)}  [{schedule}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="libkiln.so (default: of build-gpu/ or build/)")
    parser.add_argument("--cache-dir", help="of the kernels")
    parser.add_argument("--cases", default="", metavar="REGEX", help="those whose name it is found in")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--any-shape", action="store_true")
    parser.add_argument("--lengths", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    drawn = lengths(given.lengths, given.seed) if given.lengths else [*shapes(), *all_cases()] if given.any_shape else all_cases()
    cases = [case for case in drawn if re.search(given.cases, case.name)]
    if given.list:
        for case in cases:
            print(f"{case.bytes / 1e6:8.1f} MB  {case.name}: {case.text}")
        return 0
    try:
        import torch
        from compare import find_library
        from measure import Clock
        torch.zeros(1, device="cuda")
        library = given.library or find_library()
        kilns = {"kiln": Kiln(library, None, given.cache_dir)}
        if given.any_shape:
            kilns["any shape"] = Kiln(library, None, given.cache_dir, ANY_SHAPE)
        if given.lengths:
            kilns["range"] = Kiln(library, None, given.cache_dir, RANGE)
    except (ImportError, OSError, RuntimeError) as error:
        print(f"fused.py: {error}", file=sys.stderr)
        return 3
    clock, records = Clock(torch, given.runs), []
    print(f"{torch.cuda.get_device_name()}, Kiln {kilns['kiln'].version}, PyTorch {torch.__version__}", flush=True)
    for case in cases:
        found = measure(torch, clock, kilns, case)
        records.append({"case": case.name, "bar": case.bar, "bytes": case.bytes, **found})
        print(told(case, found), flush=True)
        torch.cuda.empty_cache()
    if given.lengths:
        tell_ranges(records)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name(), "kiln": kilns["kiln"].version, "cases": records}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
