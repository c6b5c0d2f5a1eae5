# SPDX-License-Identifier: Apache-2.0
"""One drawn case measured: Kiln, its peers and the copy of the same bytes take turns in one run, results are checked.

GpuMachine is where that is done; DryMachine runs Kiln's CPU reference and makes times up, so that all else can be tried
without a GPU.
"""
import program_peers
from checked import Expected
from kiln_ctypes import Plan, Program
from tensors import HostTensors, TorchTensors, choose_picks


def names_of(case):
    return [operand.name for operand in case.program.outputs()]


class GpuMachine:
    def __init__(self, torch, kiln, runs):
        from measure import Clock
        self.torch, self.kiln, self.clock = torch, kiln, Clock(torch, runs)
        self.name = torch.cuda.get_device_name()

    def tensors(self, case):
        return TorchTensors(self.torch, "cuda", case)

    def plan(self, kiln, case, tensors):
        return Plan(kiln, case.program.text, tensors.views(), case.axes, names_of(case), case.program.scalars)

    def wait(self):
        self.torch.cuda.synchronize()


class MadeUpClock:
    """Calls each once, as measure.Clock does some dozen times, and takes 3 TB/s for it."""

    def copy(self, moved):
        return lambda: None

    def medians(self, calls, moved):
        times = {}
        for place, name in enumerate(calls):
            calls[name]()
            middle = moved / 3e6 * (1 + place / 20)
            times[name] = (middle, middle * 0.99, middle * 1.01)
        return times


class DryPlan:
    def __init__(self, kiln, case, tensors):
        self.program = Program(kiln, case.program.text, case.axes, names_of(case), case.program.scalars)
        self.views = tensors.views()

    def launch(self):
        self.program.run_cpu(self.views)

    def info(self):
        return self.program.explain(self.views, 90)

    def close(self):
        self.program.close()


class DryMachine:
    """torch: None where it is not installed."""
    name = "no device (made-up times)"

    def __init__(self, torch, kiln):
        self.torch, self.kiln, self.clock = torch, kiln, MadeUpClock()

    def tensors(self, case):
        return TorchTensors(self.torch, "cpu", case) if self.torch else HostTensors(case)

    def plan(self, kiln, case, tensors):
        return DryPlan(kiln, case, tensors)

    def wait(self):
        pass


class Bench:
    """What all the cases of a run share. any_shape: a context of Kiln whose kernels serve any shape, measured besides."""

    def __init__(self, machine, peer_names, any_shape=None):
        self.machine = machine
        self.kilns = {"kiln": machine.kiln, **({"any_shape": any_shape} if any_shape else {})}
        self.peers, self.absent = program_peers.load(machine.torch, peer_names)

    def try_peer(self, peer, case, tensors, expected):
        """(a call, its record): the first of its calls that is right, or else the last that gives a result."""
        found, failure = None, None
        for call in peer.calls(case, tensors):
            try:
                error, right = expected.check(tensors, self.shaped(call(), tensors))
            except Exception as error:  # no kernel for these types, say: another way of writing it may have one
                failure = error
                continue
            found = call, {"error": error, "right": right}
            if right:
                break
        if found is None:
            raise failure
        return found

    def shaped(self, results, tensors):
        """A peer may drop the reduced axes, or have arrays of its own."""
        outputs = [operand for operand in tensors.operands if operand.is_output]
        return [self.machine.torch.as_tensor(result, device=tensors.device).reshape(operand.shape)
                for result, operand in zip(results, outputs)]

    def prepare_peers(self, case, tensors, expected):
        calls, records = {}, {}
        for name, peer in self.peers.items():
            try:
                calls[name], records[name] = self.try_peer(peer, case, tensors, expected)
            except program_peers.Absent as reason:
                records[name] = {"absent": str(reason)}
            except Exception as failure:  # whatever a peer fails of, it is reported, and the others are measured
                records[name] = {"failed": program_peers.one_line(failure)}
                self.machine.wait()
        return calls, records

    def prepare_kilns(self, case, tensors, expected):
        """(plans, records) by the kernel of the case's shape and, where wanted, by the one that serves any shape."""
        plans, records = {}, {}
        for name, kiln in self.kilns.items():
            try:
                tensors.poison()
                plans[name] = self.machine.plan(kiln, case, tensors)
                plans[name].launch()
                self.machine.wait()
                error, right = expected.check(tensors)
                records[name] = {"error": error, "right": right, "plan": plans[name].info()}
            except RuntimeError as failure:
                if name == "kiln":
                    raise
                plans.pop(name, None)
                records[name] = {"failed": program_peers.one_line(failure)}
        return plans, records

    def run(self, case):
        tensors = self.machine.tensors(case)
        expected = Expected(case, tensors, choose_picks(case))
        moved, plans = case.bytes, {}
        try:
            plans, kilns = self.prepare_kilns(case, tensors, expected)
            calls, peers = self.prepare_peers(case, tensors, expected)
            calls = {**{name: plan.launch for name, plan in plans.items()}, **calls}
            times = self.machine.clock.medians({**calls, "copy": self.machine.clock.copy(moved)}, moved)
        finally:
            self.machine.wait()
            for plan in plans.values():
                plan.close()
        copy = times["copy"][0]
        for name, target in [*kilns.items(), *peers.items()]:
            if name in times:
                median, low, high = times[name]
                target.update(us=median, low_us=low, high_us=high, gbps=moved / median / 1e3, ratio=copy / median)
        return {"copy_us": copy, "copy_gbps": moved / copy / 1e3, **kilns, "peers": peers}
