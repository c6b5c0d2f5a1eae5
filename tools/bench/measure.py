# SPDX-License-Identifier: Apache-2.0
"""One case on the GPU: Kiln, its peers and the copy of the same bytes, interleaved in one run, with results checked.

Everything is launched on the default stream, on the same tensors. Needs PyTorch with CUDA.
"""
import math
import random

from kiln_ctypes import Plan, view
from peers import PEERS, Absent, torch_forms
from tolerances import LEAST, PEER_FACTOR, TOLERANCES

FLUSH_BYTES = 256 << 20  # more than any L2; writing it also hides the host's time for the next call
CHECKED_ELEMENTS = 1 << 25
SHORT_BYTES, SHORT_ROUNDS = 32e6, 4  # cases of fewer bytes take a few microseconds: so many times as many rounds


class Clock:
    """Times calls between events, the L2 flushed before each."""

    def __init__(self, torch, runs):
        self.torch, self.runs = torch, runs
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.buffers = None
        for _ in range(2000):  # the clocks rise
            self.flush.zero_()
        torch.cuda.synchronize()

    def copy(self, moved):
        """A call that reads moved / 2 bytes and writes as many."""
        half = (moved // 2 + 511) // 512 * 512
        if self.buffers is None or self.buffers[0].numel() < half:
            self.buffers = None
            self.buffers = [self.torch.empty(half, dtype=self.torch.uint8, device="cuda") for _ in range(2)]
        source, target = (buffer[:half] for buffer in self.buffers)
        return lambda: target.copy_(source)

    def medians(self, calls, moved=math.inf):
        """{name: (median, lower quartile, upper quartile)} in microseconds. Each round calls all of them once, each
        time beginning with another one."""
        runs = self.runs * (SHORT_ROUNDS if moved < SHORT_BYTES else 1)
        def pair():
            return tuple(self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        names = list(calls)
        events = {name: [pair() for _ in range(runs)] for name in names}
        for name in names * 2:
            calls[name]()
        for i in range(runs):
            for name in names[i % len(names):] + names[:i % len(names)]:
                start, end = events[name][i]
                self.flush.zero_()
                start.record()
                calls[name]()
                end.record()
        self.torch.cuda.synchronize()
        times = {name: sorted(a.elapsed_time(b) * 1e3 for a, b in pairs) for name, pairs in events.items()}
        return {name: (t[len(t) // 2], t[len(t) // 4], t[len(t) * 3 // 4]) for name, t in times.items()}


class Bench:
    """What all the cases of a run share."""

    def __init__(self, torch, kiln, peer_names, runs):
        self.torch, self.kiln, self.forms = torch, kiln, torch_forms(torch)
        self.types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
                      "i64": torch.int64}
        self.clock, self.peers, self.absent = Clock(torch, runs), {}, {}
        for name in peer_names:
            try:
                self.peers[name] = PEERS[name](torch)
            except Absent as reason:
                self.absent[name] = str(reason)

    def make_tensors(self, case):
        specs, spread = case.tensors(), case.definition.spread
        tensors = [self.torch.empty(shape, dtype=self.types[kind], device="cuda") for shape, kind in specs]
        for tensor in tensors[:-1]:
            tensor.uniform_(-spread, spread)
            tensor.masked_fill_(tensor == 0, spread)  # 0 / 0 would look like what was not written
        return tensors

    def poison(self, output):
        output.fill_(float("nan") if output.dtype.is_floating_point else -1)

    def checked_rows(self, case):
        """Rows to compare, None: all. The first, the last, and some between."""
        rows, wanted = case.shape[0], CHECKED_ELEMENTS // case.shape[-1]
        by_rows = len(case.shape) == 2 and 0 not in case.reduced
        if not by_rows or rows <= max(3, wanted):
            return None
        picked = {0, rows - 1, rows // 2}
        while len(picked) < min(wanted, 512):
            picked.add(random.randrange(rows))
        return self.torch.tensor(sorted(picked), device="cuda")

    def reference(self, case, inputs):
        """(what is expected, in f64, of which rows, the magnitude that errors are relative to)"""
        rows = self.checked_rows(case)
        some = [t if rows is None or t.dim() == 1 or t.shape[0] != case.shape[0] else t[rows] for t in inputs]
        wanted = self.forms[case.program](case.axes, *[t.double() for t in some])
        scale = wanted.double().abs().max().item()
        if case.program == "sum":  # a sum of both signs may be near 0 by chance
            scale = max(scale, math.sqrt(case.cols) / 2)
        return some, wanted.double(), rows, scale

    def error_of(self, case, got, expected):
        """The largest error over the scale; infinite where an element was not written."""
        some, wanted, rows, scale = expected
        got = self.torch.as_tensor(got, device="cuda")  # CuPy's arrays, too
        if got.is_floating_point() and bool(self.torch.isnan(got).any()):
            return math.inf
        part = got if rows is None else got[rows]
        if case.program == "argmax":  # of equal elements any one will do
            axis = case.reduced[0]
            part, wanted = (some[0].gather(axis, index.long().clamp(0, case.cols - 1)) for index in (part, wanted))
        least = LEAST.get(output_type(case), 0.0)  # results so small are stored in steps of this
        return (((part.double() - wanted.double()).abs() - least).clamp(min=0).max() / (scale or 1)).item()

    def prepare_peers(self, case, inputs, output, expected):
        """The calls of those present, and a record of each."""
        calls, records = {}, {name: {"absent": reason} for name, reason in self.absent.items()}
        limit = PEER_FACTOR * TOLERANCES[output_type(case)]
        for name, peer in self.peers.items():
            try:
                call = peer.prepare(case, inputs, output)
                error = self.error_of(case, call(), expected)
            except Absent as reason:
                records[name] = {"absent": str(reason)}
            except Exception as failure:  # a peer's failure is told, and is no failure of the run
                self.torch.cuda.synchronize()
                records[name] = {"absent": f"failed: {type(failure).__name__}: {str(failure)[:200]}"}
            else:
                calls[name], records[name] = call, {"error": error, "right": error <= limit}
        return calls, records

    def run(self, case):
        tensors = self.make_tensors(case)
        inputs, output = tensors[:-1], tensors[-1]
        expected = self.reference(case, inputs)
        self.poison(output)
        views = [view(t.data_ptr(), kind, t.shape, t.stride()) for t, (_, kind) in zip(tensors, case.tensors())]
        plan = Plan(self.kiln, case.definition.text, views, case.reduced)
        try:
            plan.launch()
            error = self.error_of(case, output, expected)
            record = {"error": error, "right": error <= TOLERANCES[output_type(case)], "plan": plan.info()}
            calls, peers = self.prepare_peers(case, inputs, output, expected)
            del expected
            times = self.clock.medians({"kiln": plan.launch, **calls, "copy": self.clock.copy(case.bytes)},
                                       case.bytes)
        finally:
            self.torch.cuda.synchronize()
            plan.close()
        copy = times["copy"][0]
        for name, target in [("kiln", record)] + list(peers.items()):
            if name in times:
                median, low, high = times[name]
                target.update(us=median, low_us=low, high_us=high, gbps=case.bytes / median / 1e3, ratio=copy / median)
        return {"copy_us": copy, "copy_gbps": case.bytes / copy / 1e3, "kiln": record, "peers": peers}


def output_type(case):
    return case.definition.output_type or case.type
