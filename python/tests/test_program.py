# SPDX-License-Identifier: Apache-2.0
"""Programs and contexts as objects: errors, pickling, what they tell of themselves."""
import copy
import doctest
import importlib
import pathlib
import pickle
import re
import threading

import numpy as np
import pytest

import kiln


@pytest.mark.parametrize("text, options, status, place", [
    ("y = softmax(x", {}, "KILN_E_SYNTAX", (1, 14)),
    ("t = x\ny = sofmax(t)", {}, "KILN_E_NAME", (2, 5)),
    ("y = x", {"scalars": "z"}, "KILN_E_NAME", (None, None)),
    ("y = x", {"outputs": "z"}, "KILN_E_NAME", (None, None)),
])
def test_errors_of_a_text_have_their_place(text, options, status, place):
    with pytest.raises(kiln.ArgumentError) as caught:
        kiln.Program(text, **options)
    assert (caught.value.status, (caught.value.line, caught.value.column)) == (status, place)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, kiln.Error)


@pytest.mark.parametrize("args, kwargs, sentence", [
    ((), {}, "'x' is missing, expected 'x' and 'w'"),
    ((1.0, 1.0, 1.0), {}, "3 arguments are given"),
    ((np.ones(2), np.ones(3)), {}, "does not broadcast"),
    ((np.ones(2),), {"x": 1.0}, "given twice"),
    ((np.ones(2),), {"v": 1.0}, "no parameter 'v'"),
    ((np.ones(2), [1, 2]), {}, "'w' is a list, expected a number, or an array of NumPy"),
    ((np.ones(2), None), {}, "'w' is a NoneType, expected a number"),
    ((np.ones(2, complex), 1.0), {}, r"'x' has the type dtype\('complex128'\), which no type of Kiln matches"),
    ((np.ones(2), 1.0), {"out": "y"}, "'out' is a str"),
    ((1.0, 2.0), {}, "no argument is an array"),
    ((np.ones(2), 1.0), {"out": 3.0}, "is a number"),
    ((np.ones(2), 1.0), {"out": np.ones(3)}, "y"),
    ((np.ones(2), 1.0), {"out": np.ones(2), "dtype": "f16"}, "both out and dtype"),
])
def test_wrong_arguments_are_named(args, kwargs, sentence):
    with pytest.raises(kiln.ArgumentError, match=sentence):
        kiln.Program("y = x * w")(*args, **kwargs)


def test_errors_are_kilns_own_and_can_be_pickled():
    with pytest.raises(kiln.ArgumentError) as caught:
        kiln.Program("y = sofmax(x)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.status, again.column) == (str(caught.value), "KILN_E_NAME", 5)
    assert {kind.__module__ for kind in (kiln.Error, kiln.ArgumentError, kiln.OutOfMemoryError)} == {"kiln"}


def test_what_is_described_is_named_where_it_is_wrong():
    program = kiln.Program("y = x * w")
    for args, kwargs, sentence in ((("f32[4]",), {"v": 1.0}, "no parameter 'v', expected x, w"),
                                   (("f32[4]",), {"x": 1.0}, "'x' is given twice"),
                                   (("f32[4]",), {}, "1 arguments are given, expected x, w"),
                                   (("c64[4]", 1.0), {}, "the type c64 is none of f64, f32")):
        with pytest.raises(kiln.ArgumentError, match=sentence):
            program.explain(*args, **kwargs)


def test_declared_scalars_take_no_arrays():
    program = kiln.Program("y = x * s", scalars="s")
    assert program.declared_scalars == ["s"]
    with pytest.raises(kiln.ArgumentError, match="scalar 's' is a ndarray"):
        program(np.ones(2), np.ones(2))


def test_what_is_missing_on_the_machine_is_a_runtime_error():
    context = kiln.Context(driver="/nonexistent/libcuda.so", host_arrays="gpu")
    with pytest.raises(kiln.ExecutionError, match="driver") as caught:
        kiln.Program("y = x", context=context)(np.ones(2))
    assert caught.value.status == "KILN_E_NO_DRIVER" and isinstance(caught.value, RuntimeError)


def test_programs_are_pickled_and_copied():
    program = kiln.Program("m = max(x * s); k = sum(x)", axes=(0,), outputs="k, m", scalars=["s"], keepdims=True)
    for again in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert repr(again) == repr(program)
        for result, wanted in zip(again(np.eye(3), 2.0), program(np.eye(3), 2.0)):
            np.testing.assert_array_equal(result, wanted)


def test_a_pickled_program_keeps_its_context(tmp_path):
    context = kiln.Context(cache_dir=str(tmp_path), policy="never_compile")
    again = pickle.loads(pickle.dumps(kiln.Program("y = x", context=context)))
    assert repr(again.context) == repr(context) == f"kiln.Context(cache_dir={str(tmp_path)!r}, policy='never_compile')"


def test_repr_is_what_makes_it():
    program = kiln.Program("y = sum(x)", axes=None, keepdims=True)
    assert repr(program) == "kiln.Program('y = sum(x)', axes=None, keepdims=True)"
    assert repr(eval(repr(program))) == repr(program)


def test_run_keeps_its_programs():
    from kiln._program import Runs
    kiln.run("y = x + 40", np.ones(1), axes=[0])
    before = len(Runs.programs)
    kiln.run("y = x + 40", np.ones(5), axes=(0,))
    assert len(Runs.programs) == before


def test_explain_has_schedule_and_source():
    program = kiln.Program("y = softmax(x * scale + mask)")
    found = program.explain("f16[8, 1024]", 0.5, mask=np.ones(1024, np.float16), arch=90)
    assert "__global__" in found.source and found.rows == 8 and found.cols == 1024 and len(found.phases) == 3
    assert str(found).startswith("program   y = softmax(x * scale + mask)\noutputs   f16[8, 1024]\n")
    assert found.schedule in repr(found)
    assert program.explain("f16[8, 64]", 0.5, "f16[64]", dtype="f32").outputs == [("f32", (8, 64))]
    with pytest.raises(kiln.ArgumentError, match="describes no array"):
        program.explain("f16[8, x]", 0.5, "f16[64]")
    with pytest.raises(kiln.ArgumentError):
        program.explain("f16[8, 64]", 0.5)


def test_the_tensor_of_a_put_is_described_too():
    program = kiln.Program("put(cache, slot) = k / s; m = max(k)", outputs="cache, m")
    described = {"k": "f16[8, 64]", "s": "f16[8, 1]", "slot": "i64[8, 1]"}
    for out in ({"cache": "e4m3[32, 64]"}, ("e4m3[32, 64]", None)):
        found = program.explain(**described, out=out, arch=90)
        assert found.outputs == [("e4m3", (32, 64)), ("f16", (8,))] and "__global__" in found.source
        assert program.output_specs(**described, out=out) == found.outputs
    assert program.explain(**described, out={"cache": np.ones((4, 64))}, dtype={"m": "f32"}, arch=90).outputs == [
        ("f64", (4, 64)), ("f32", (8,))]
    for out, sentence in ((None, "'cache' has as many rows as its tensor"), ({"c": "f32[2]"}, "out names 'c'"),
                          ("f32[4, 64]", "out has 1 arrays, expected 2"), ({"cache": 1.0}, "'cache' is a number")):
        with pytest.raises(kiln.ArgumentError, match=sentence):
            program.explain(**described, out=out)


def test_the_number_of_rows_may_be_open():
    found = kiln.Program("y = softmax(x)").explain("f16[*, 1024]", arch=90)
    assert found.outputs == [("f16", (-1, 1024))] and found.rows == -1
    assert "outputs   f16[*, 1024]" in str(found) and "as many blocks of" in str(found)


def test_phases_need_no_arguments():
    assert kiln.Program("y = x * s", scalars="s", axes=2).phases == ["finish: y = x * s"]


def test_output_specs_compute_nothing():
    program = kiln.Program("s = sum(x); y = x / s", outputs="s, y")
    assert program.output_specs(np.ones((4, 2), np.int8)) == [("i64", (4,)), ("f32", (4, 2))]


def test_info_names_what_was_found(tmp_path):
    found = kiln.info(kiln.Context(cache_dir=tmp_path, driver="/nonexistent/libcuda.so"))
    assert found["cache_dir"] == str(tmp_path) and "cannot be opened" in found["driver"] and found["devices"] == []
    assert f"kiln        {kiln.__version__}" in str(found)


def test_a_wrong_policy_is_refused():
    with pytest.raises(kiln.ArgumentError, match="expected one of compile, never_compile"):
        kiln.set_policy("sometimes")


def test_nvrtc_of_pips_packages_is_found(tmp_path):
    from kiln._nvrtc import installed_nvrtc
    for name in ("cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13", "cu13/lib/libnvrtc-builtins.so.13.2"):
        file = tmp_path / "nvidia" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert installed_nvrtc([str(tmp_path)]) == str(tmp_path / "nvidia/cu13/lib/libnvrtc.so.13")
    assert installed_nvrtc([str(tmp_path / "nvidia")]) is None


def test_threads_share_a_program():
    program, faults = kiln.Program("y = x * s + sum(x)"), []

    def work(seed):
        for size in range(1, 40):
            x = np.full((2, size), float(seed))
            result = program(x, 2.0) if size % 2 else program(x, np.full(size, 2.0))
            if not np.allclose(result, 2 * x + x.sum(-1, keepdims=True)):
                faults.append((seed, size))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_gradients_are_programs():
    forward = kiln.Program("y = softmax(x * w)")
    random = np.random.default_rng(3)
    x, w, dy = random.standard_normal((3, 5)), random.standard_normal(5), random.standard_normal((3, 5))
    gradient = forward.gradient(x, w, wrt="w, x")
    assert gradient.outputs == ["dw", "dx"]
    dw, dx = gradient(x=x, w=w, dy=dy)
    y = forward(x, w)
    g = y * (dy - (dy * y).sum(-1, keepdims=True))
    assert np.allclose(dx, g * w) and np.allclose(dw.reshape(5), (g * x).sum(0))
    assert forward.gradient(wrt=["x"], saved="y").parameters == ["y", "dy", "w"]
    scaled = kiln.Program("y = x * s", scalars="s").gradient(wrt="x")
    assert scaled.declared_scalars == ["s"] and scaled(dy, 2.0).tolist() == (2 * dy).tolist()
    with pytest.raises(kiln.Error, match="expected inputs and scalars"):
        forward.gradient(wrt="z")
    with pytest.raises(kiln.Error, match="no gradient"):
        kiln.Program("y = lgamma(x)").gradient()


@pytest.mark.parametrize("name", ["kiln", "kiln._context", "kiln._program", "kiln._info", "kiln._pack_writer"])
def test_examples_of_the_documentation(name):
    from kiln._context import Default
    kept = Default.options, Default.context
    try:
        results = doctest.testmod(importlib.import_module(name))
    finally:
        Default.options, Default.context = kept
    assert results.attempted and not results.failed


def test_examples_of_the_readme():
    readme = pathlib.Path(__file__).parents[1] / "README.md"
    results = doctest.testfile(str(readme), module_relative=False)
    assert results.attempted and not results.failed


def test_example_of_the_repositorys_readme():
    readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
    names = {}
    exec(readme.split("```python\n")[1].split("```")[0], names)
    assert names["y"].tolist() == [[0.5, 0.5, 0, 0]] * 2


def readme():
    page = pathlib.Path(__file__).parents[2] / "README.md"
    if not page.exists():
        pytest.skip("README.md is not beside the tests")
    return page.read_text()


def test_programs_of_the_readme_are_programs():
    table = readme().split("| what | program |\n", 1)[1].split("\n\n", 1)[0]
    programs = re.findall(r"^\| [^`|]+ \| `(.+)` \|$", table, re.MULTILINE)
    assert len(programs) == table.count("\n")
    for text in programs:
        kiln.Program(text)


def test_the_python_example_of_the_readme_runs():
    names = {}
    exec(re.search(r"^```python\n(.*?)^```$", readme(), re.MULTILINE | re.DOTALL)[1], names)
    assert names["y"].tolist() == [[0.5, 0.5, 0, 0]] * 2


SQUASH = "__device__ float squash(float x) { return x / (1.0f + fabsf(x)); }"


def test_device_functions_of_ones_own():
    context = kiln.Context(cache_dir="")
    x = np.array([1, -3, 0.5], np.float32)
    context.add_function("squash", SQUASH, host=lambda v: v / (1 + abs(v)))
    context.add_function("between", "__device__ float between(float a, float b) { return 0.5f * (a + b); }", 2)
    assert np.allclose(kiln.Program("y = squash(x)", context=context)(x), x / (1 + abs(x)))
    with pytest.raises(kiln.Error, match="'between' has no host callback"):
        kiln.Program("y = between(x, x)", context=context)(x)
    with pytest.raises(kiln.ArgumentError, match="'exp' cannot name a device function"):
        context.add_function("exp", SQUASH)
    with pytest.raises(kiln.ArgumentError, match="unknown function 'squash'"):
        kiln.Program("y = squash(x)", context=kiln.Context(cache_dir=""))
    with pytest.raises(kiln.ArgumentError, match="'softmax' cannot name a device function: the language has it"):
        context.add_function("softmax", SQUASH)
    assert "namespace kiln_own_squash" in kiln.Program("y = squash(x)", context=context).explain("f32[4, 256]", arch=90).source


def negated(value):
    return -value


def test_device_functions_go_with_a_pickled_context():
    context = kiln.Context(cache_dir="")
    context.add_function("minus", "__device__ float minus(float x) { return -x; }", host=negated)
    again = pickle.loads(pickle.dumps(context))
    assert kiln.Program("y = minus(x)", context=again)(np.ones(2))[0] == -1
