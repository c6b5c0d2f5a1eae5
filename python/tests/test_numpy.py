# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy on the CPU reference, against NumPy."""
import fractions

import numpy as np
import pytest

import kiln

RANDOM = np.random.default_rng(1)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 2), None])
def test_axes_are_numpys(axis):
    x = RANDOM.standard_normal((3, 4, 5))
    np.testing.assert_allclose(kiln.run("y = sum(x)", x, axes=axis), x.sum(axis=axis))
    np.testing.assert_allclose(kiln.run("y = sum(x)", x, axes=axis, keepdims=True), x.sum(axis=axis, keepdims=True))


def test_arguments_come_by_position_and_by_name():
    x, mask = RANDOM.standard_normal((3, 8)), RANDOM.standard_normal(8)
    program = kiln.Program("y = softmax(x * scale + mask)")
    wanted = softmax(x * 0.125 + mask)
    assert program.parameters == ["x", "scale", "mask"]
    for result in (program(x, mask=mask, scale=0.125), program(x, 0.125, mask), program(mask=mask, x=x, scale=0.125)):
        np.testing.assert_allclose(result, wanted)


def test_the_same_parameter_is_a_scalar_or_an_array():
    program = kiln.Program("y = x * s")
    x = np.ones((2, 3))
    np.testing.assert_array_equal(program(x, 2.0), 2 * x)
    np.testing.assert_array_equal(program(x, np.array([1.0, 2.0, 3.0])), [[1, 2, 3]] * 2)
    np.testing.assert_array_equal(program(2.0, x), 2 * x)


@pytest.mark.parametrize("scalar", [3, 3.0, np.float32(3), np.int64(3), np.int32(3), np.uint8(3),
                                    fractions.Fraction(3)])
def test_numbers_are_scalars(scalar):
    assert kiln.run("y = x * s", np.ones(2), scalar).tolist() == [3, 3]


def test_integers_of_32_bits_stay_so():
    x = np.ones(2, np.int32)
    assert kiln.run("y = x * s", x, np.int32(3)).dtype == np.int32
    assert kiln.run("y = x * s", x, 3).dtype == np.int64


def test_bool_scalars_count_as_0_and_1():
    assert kiln.run("y = x + s", np.ones(2), True).tolist() == [2, 2]


def test_an_integer_beyond_64_bits_is_refused():
    with pytest.raises(OverflowError):
        kiln.run("y = x * s", np.ones(2), 1 << 70)


@pytest.mark.parametrize("text, inputs, wanted", [
    ("y = mean(x)", ["int32"], "float32"),
    ("y = sum(x)", ["int8"], "int64"),
    ("y = sum(x)", ["float16"], "float16"),
    ("y = x * w", ["float16", "float32"], "float32"),
    ("y = x * w", ["float16", "float64"], "float64"),
    ("y = x * w", ["int32", "float16"], "float16"),
    ("y = x + w", ["uint8", "int16"], "int32"),
    ("y = x + w", ["int64", "int8"], "int64"),
    ("y = x > 1", ["float32"], "bool"),
    ("y = argmax(x)", ["float32"], "int64"),
    ("y = max(x)", ["bool"], "bool"),
    ("y = i8(x) + 0", ["float32"], "int32"),
    ("y = index(-1) + i32(x)", ["float32"], "int64"),
    ("y = x + w", ["uint16", "uint8"], "int32"),
    ("y = x + w", ["uint32", "uint16"], "uint32"),
    ("y = x + w", ["uint32", "int32"], "int64"),
    ("y = x + w", ["uint64", "uint32"], "uint64"),
    ("y = sum(x)", ["uint64"], "uint64"),
    ("y = sum(x)", ["uint32"], "int64"),
])
def test_outputs_have_the_type_of_their_expression(text, inputs, wanted):
    arrays = [np.ones((2, 3), name) for name in inputs]
    assert kiln.run(text, *arrays).dtype == wanted


def test_several_outputs_are_a_tuple_in_their_order():
    x = RANDOM.standard_normal((3, 4))
    program = kiln.Program("m = max(x)\ns = sum(x)", outputs=["s", "m"])
    s, m = program(x)
    np.testing.assert_allclose(s, x.sum(-1))
    np.testing.assert_allclose(m, x.max(-1))
    assert program.outputs == ["s", "m"]


def test_dtype_chooses_the_outputs_types():
    x = np.ones((2, 3), np.float32)
    assert kiln.run("y = x", x, dtype="f16").dtype == np.float16
    assert kiln.run("y = x", x, dtype=np.float64).dtype == np.float64
    assert kiln.run("y = x", x, dtype=float).dtype == np.float64
    a, b = kiln.run("a = x; b = x", x, dtype={"b": "i32"})
    assert (a.dtype, b.dtype) == (np.float32, np.int32)
    a, b = kiln.run("a = x; b = x", x, dtype=[None, "bool"])
    assert (a.dtype, b.dtype) == (np.float32, np.bool_)
    for wrong in ("f17", ["f16"], {"c": "f16"}, complex):
        with pytest.raises(kiln.ArgumentError):
            kiln.run("a = x; b = x", x, dtype=wrong)


def test_out_is_written_and_returned():
    x, y = np.arange(6.0).reshape(2, 3), np.empty((2, 3), np.float32)
    assert kiln.run("y = x * 2", x, out=y) is y
    np.testing.assert_array_equal(y, 2 * x)
    a, b = np.empty((2, 3)), np.empty(2)
    assert kiln.run("a = -x; b = sum(x)", x, out=(a, b))[1] is b
    np.testing.assert_array_equal(b, x.sum(-1))
    kiln.run("y = x + 1", x, out=x)
    assert x[0, 0] == 1


def test_out_names_some_outputs():
    x = np.arange(6.0).reshape(2, 3)
    program = kiln.Program("a = -x; b = sum(x)")
    for out in ({"b": np.empty(2, np.float32)}, (None, np.empty(2, np.float32)), {"a": None, "b": np.empty(2)}):
        given = out["b"] if isinstance(out, dict) else out[1]
        a, b = program(x, out=out)
        assert b is given and a.tolist() == (-x).tolist() and b.tolist() == [3, 12]
    a, b = program(x, out={"b": np.empty(2)}, dtype={"a": "f32"})
    assert (a.dtype, b.dtype) == (np.float32, np.float64)
    for out, sentence in (({"c": x}, "out names 'c', which is no output; the outputs are 'a' and 'b'"),
                          ((x,), "out has 1 arrays, expected 2"), ({"b": 1.0}, "out for 'b' is a number")):
        with pytest.raises(kiln.ArgumentError, match=sentence):
            program(x, out=out)


def test_rows_are_put_where_an_index_says():
    program = kiln.Program("put(cache, slot) = k / s; put(scale, slot) = s; m = max(k)", outputs="cache, scale, m")
    k, slot = RANDOM.standard_normal((3, 8)).astype(np.float32), np.array([[4], [0], [9]])
    s, cache, scale = abs(k).max(-1, keepdims=True), np.ones((6, 8), np.float32), np.ones(6, np.float32)
    results = program(k=k, s=s, slot=slot, out={"cache": cache, "scale": scale})
    assert results[0] is cache and results[1] is scale
    np.testing.assert_array_equal(results[2], k.max(-1))
    wanted, wanted_scale = np.ones((6, 8), np.float32), np.ones(6, np.float32)
    wanted[[4, 0]], wanted_scale[[4, 0]] = (k / s)[:2], s[:2, 0]
    np.testing.assert_allclose(cache, wanted)
    np.testing.assert_array_equal(scale, wanted_scale)
    with pytest.raises(kiln.ArgumentError, match="output 'scale' has as many rows as its tensor has"):
        program(k=k, s=s, slot=slot, out={"cache": cache})


@pytest.mark.parametrize("text", ["lengths(n)\ny = softmax(x); m = max(x)",
                                  "fn f(x) = softmax(x); lengths (n); y = f(x)\nm = max(x)",
                                  "# m is a row's\r\n\tlengths(\nn)\ny = softmax(x); m = max(x)"])
@pytest.mark.parametrize("kind", ["float32", "float16", "float64"])
def test_rows_with_lengths_are_0_behind_their_ends(kind, text):
    program = kiln.Program(text)
    x, n = RANDOM.standard_normal((4, 7)).astype(kind), np.array([[3], [0], [7], [12]], np.int32)
    kept = np.full_like(x, 5)
    y, m = program(x=x, n=n)
    assert program(x=x, n=n, out={"y": kept})[0] is kept
    for row, length in enumerate(n[:, 0].clip(0, 7)):
        wanted = softmax(x[row, :length].astype(float)) if length else []
        np.testing.assert_allclose(y[row, :length], wanted, rtol=2e-3)
        np.testing.assert_array_equal(kept[row, :length], y[row, :length])
        assert not y[row, length:].any() and (kept[row, length:] == 5).all()
    assert m[1] == -np.inf


def test_rows_lie_one_behind_the_other():
    program = kiln.Program("offsets(o)\ny = softmax(x); m = max(x)")
    x, o = RANDOM.standard_normal(12).astype("float32"), np.array([1, 4, 4, 10])
    y, m = program(x=x, o=o)
    for row, (begin, end) in enumerate(zip(o, o[1:])):
        if end > begin:
            np.testing.assert_allclose(y[begin:end], softmax(x[begin:end].astype(float)), rtol=1e-5)
        assert m[row] == (x[begin:end].max() if end > begin else -np.inf)
    assert not y[:1].any() and not y[10:].any()


def test_any_strides_are_read_and_written():
    x = RANDOM.standard_normal((6, 8))
    for view in (x.T, x[::2, ::-1], x[:, 3:4], np.broadcast_to(x[0], (4, 8))):
        np.testing.assert_allclose(kiln.run("y = softmax(x)", view), softmax(view))
    y = np.zeros((8, 6))
    kiln.run("y = x", x, out=y.T)
    np.testing.assert_array_equal(y, x.T)


def test_without_arrays_out_tells_the_shape():
    y = np.empty((2, 3))
    kiln.run("y = a + index(-1)", 1.0, out=y)
    np.testing.assert_array_equal(y, [[1, 2, 3]] * 2)


def test_shapes_of_no_elements_and_of_no_axes():
    assert kiln.run("y = x * 2", np.ones((0, 4))).shape == (0, 4)
    assert kiln.run("y = x * 2", np.array(3.0), axes=()).tolist() == 6


def test_types_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    y = kiln.run("y = x * 2", x)
    assert y.dtype == ml_dtypes.bfloat16 and y.astype(float).tolist() == [2, 4, 6]
    assert kiln.run("y = x", x, dtype="e4m3").dtype == ml_dtypes.float8_e4m3fn


def test_scales_round_up():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 3, 0.75, -5, 0, np.inf], np.float32)
    y = kiln.run("y = x", x, dtype="e8m0")
    assert y.dtype == ml_dtypes.float8_e8m0fnu
    assert y.astype(float).tolist() == [1, 4, 1, 8, 2.0 ** -127, 2.0 ** 127]
    assert kiln.run("y = x * s", x[:2], y[:2]).tolist() == [1, 12]
    assert kiln.run("y = e8m0_down(x)", x[1:4]).tolist() == [2, 0.5, 4]


@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_unsigned_integers_wrap_around(kind):
    x = np.array([0, 1, 7, np.iinfo(kind).max], kind)
    for text, wanted in (("y = x + 1", x + 1), ("y = x * x", x * x), ("y = x >> 3", x >> 3), ("y = x % 10", x % 10),
                         ("y = ~x", ~x), ("y = max(x)", x.max()), ("y = div_floor(x, 3)", x // 3), ("y = -x", -x)):
        result = kiln.run(text, x)
        assert result.dtype == kind
        np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(kiln.run("y = sum(x)", x), x.sum())


def test_u16_is_computed_in_i32():
    x = np.array([0, 65535], np.uint16)
    assert kiln.run("y = x + 1", x).tolist() == [1, 65536]
    assert kiln.run("y = x + 1", x, dtype="u16").tolist() == [1, 65535]
    assert kiln.run("y = x - 1", x).tolist() == [-1, 65534]


def test_u64_meets_no_signed_integer():
    with pytest.raises(kiln.Error, match="of u64 and i32, which may be negative"):
        kiln.run("y = x + w", np.ones(2, np.uint64), np.ones(2, np.int32))


@pytest.mark.parametrize("array", [np.ones(3, complex), np.ones(3, ">f4"), np.ones(3, "U1"), [1.0], "x", None])
def test_what_is_no_array_of_kilns_types_is_refused(array):
    with pytest.raises(kiln.ArgumentError):
        kiln.run("y = x", array)


def test_a_read_only_output_is_refused():
    y = np.zeros(3)
    y.flags.writeable = False
    with pytest.raises(kiln.ArgumentError, match="read-only"):
        kiln.run("y = x", np.ones(3), out=y)
    assert kiln.run("y = x", y).tolist() == [0, 0, 0]
