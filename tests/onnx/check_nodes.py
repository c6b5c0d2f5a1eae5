#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of single operators against kiln.onnx: every case of an operator that is elementwise, a reduction, a
normalisation, a softmax, a loss, a quantiser or an optimiser, with the inputs and outputs that the package onnx brings.
Prints the share of such operators that have a program, and of their cases that pass. It fails where one of the shares is
below 95 %, where a case fails or passes that not_run.txt names, and where ONNX has an operator that onnx_operators.json
does not know.

check_nodes.py [--driver LIBRARY --nvrtc LIBRARY] [--every N] [--case PART]

It runs the CPU reference, or with --driver kernels on the software GPU. KILN_ONNX names a folder with the package onnx
and what it needs. Without it or NumPy it ends with 77.
"""
import argparse
import collections
import ctypes
import os
import pathlib
import re
import sys
import warnings

if os.environ.get("KILN_ONNX"):
    sys.path.append(os.environ["KILN_ONNX"])
try:
    import numpy as np
    import onnx
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import kiln
import kiln._arrays
import kiln.onnx

LEAST = 0.95
DOMAINS = ("", "ai.onnx.preview.training")


class SoftwareMemory:
    """Arrays in memory of the software GPU, which the host reads as well."""

    def __init__(self, path):
        self.driver, self.taken, context = ctypes.CDLL(path), [], ctypes.c_void_p()
        self.check(self.driver.cuInit(0))
        self.check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.driver.cuCtxSetCurrent(context))

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"the driver returned {status}")

    def empty(self, shape, dtype):
        whole = np.empty(shape, dtype)
        if whole.nbytes == 0:
            return whole
        address = ctypes.c_uint64()
        self.check(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(whole.nbytes)))
        self.taken.append(address)
        memory = (ctypes.c_char * whole.nbytes).from_address(address.value)
        return np.frombuffer(memory, np.uint8).view(whole.dtype).reshape(whole.shape)

    def copy(self, array):
        own = self.empty(array.shape, array.dtype)
        own[...] = array
        return own

    def release(self):
        for address in self.taken:
            self.check(self.driver.cuMemFree_v2(address))
        self.taken = []


class HostMemory:
    @staticmethod
    def copy(array):
        return array

    @staticmethod
    def release():
        pass


def use_software_gpu(options):
    """Its memory, in which kiln then allocates results, and a context."""
    memory = SoftwareMemory(options.driver)
    kiln._arrays.NumPy.empty = staticmethod(
        lambda shape, type_name, like: memory.empty(shape, kiln._arrays.extended_dtype(type_name)))
    return memory, kiln.Context(driver=options.driver, nvrtc=options.nvrtc, host_arrays="gpu")


def exceptions():
    """Pattern of names to (type, cpu or all, why)."""
    text = pathlib.Path(__file__).with_name("not_run.txt").read_text(encoding="utf-8")
    lines = [line.split(None, 2) for line in text.splitlines() if line and not line.startswith("#")]
    return {part: (kind, why) for part, kind, why in lines}


def single_nodes():
    """(case, node) of the tests of one operator each that kiln.onnx has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        node = case.model.graph.node[0]
        if len(case.model.graph.node) == 1 and "_expanded" not in case.name and node.domain in DOMAINS:
            if node.op_type in kiln.onnx.operators(node.domain):
                yield case, node


def array_of(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def attributes_of(node):
    values = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def difference(found, expected, case, random):
    """A sentence about what differs, or None. Of random numbers types and shapes have to be the same."""
    found, expected = np.asarray(found), array_of(expected)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"it is {found.dtype}{list(found.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if random:
        return None
    wide = [array.astype(np.float64) if array.dtype.kind not in "biu" else array for array in (found, expected)]
    close = np.isclose(*wide, rtol=case.rtol, atol=case.atol, equal_nan=True)
    if close.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"element {list(at)} is {found[at]!r}, expected {expected[at]!r}"


def fault_of(case, node, memory, context):
    """A sentence about what is wrong with the case, or None."""
    names = [value.name for value in case.model.graph.input]
    version = next(one.version for one in case.model.opset_import if one.domain == node.domain)
    operator = kiln.onnx.Operator(node.op_type, opset=version, domain=node.domain, context=context,
                                  outputs=1 if node.domain else len(node.output), **attributes_of(node))
    for inputs, outputs in case.data_sets:
        given = {name: memory.copy(array_of(value)) for name, value in zip(names, inputs)}
        arrays = [given.get(name) for name in node.input]
        random = not node.domain and "uniform(" in operator.translate(*arrays).text
        results = operator(*arrays)
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(outputs):
            return f"there are {len(results)} results, expected {len(outputs)}"
        for result, expected in zip(results, outputs):
            fault = difference(result, expected, case, random)
            if fault:
                return fault
    return None


def tried(case, node, memory, context):
    """The same, with what Kiln or Python raises as a sentence."""
    try:
        return fault_of(case, node, memory, context)
    except Exception as error:  # whatever it is, the other cases still run
        return f"{type(error).__name__}: {error}"
    finally:
        memory.release()


def unknown_operators():
    """Operators of ONNX's that the table does not know."""
    data = kiln.onnx.table()
    known = {(entry.get("domain", ""), entry["op"]) for entry in data["operators"] + data["inexpressible"]}
    known |= {(domain, op) for domain, groups in data["outside"].items() for ops in groups.values() for op in ops.split()}
    return sorted(schema.name for schema in onnx.defs.get_all_schemas()
                  if schema.domain in DOMAINS and (schema.domain, schema.name) not in known)


def check_shares(counts):
    """Prints the shares; gives whether they are enough."""
    data = kiln.onnx.table()
    covered = {(entry.get("domain", ""), entry["op"]) for entry in data["operators"]}
    missing = [entry["op"] for entry in data["inexpressible"]]
    operators = len(covered) / (len(covered) + len(missing))
    cases = counts["passed"] / max(1, counts["passed"] + counts["failed"] + counts["not run"])
    print(f"{len(covered)} of {len(covered) + len(missing)} operators have a program, {100 * operators:.1f} %, all but "
          f"{', '.join(missing)}")
    print(f"{counts['passed']} cases pass, {100 * cases:.1f} %, {counts['failed']} fail, {counts['not run']} are not run; "
          f"{counts['type']} have types that Kiln has not")
    return operators >= LEAST and cases >= LEAST


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", help="run kernels, on the software GPU: its driver")
    parser.add_argument("--nvrtc", help="its compiler")
    parser.add_argument("--every", type=int, default=1, help="run one case of so many")
    parser.add_argument("--case", default="", help="run the cases with this in their names")
    options = parser.parse_args()
    memory, context = use_software_gpu(options) if options.driver else (HostMemory, None)
    not_run, counts, faults = exceptions(), collections.Counter(), unknown_operators()
    faults = [f"{name} is not in onnx_operators.json" for name in faults]
    for index, (case, node) in enumerate(single_nodes()):
        if index % options.every or options.case not in case.name:
            continue
        kind = next((kind for part, (kind, _) in not_run.items() if re.search(part, case.name)), None)
        if kind == "cpu" and options.driver:
            kind = None
        fault = tried(case, node, memory, context)
        if kind and not fault:
            faults.append(f"{case.name} passes, and not_run.txt names it")
        if fault and not kind:
            faults.append(f"{case.name}: {fault}")
        counts["passed" if not fault else "type" if kind == "type" else "not run" if kind else "failed"] += 1
    for fault in faults:
        print(fault)
    return 0 if check_shares(counts) and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
