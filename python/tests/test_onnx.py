# SPDX-License-Identifier: Apache-2.0
"""kiln.onnx against NumPy, without the package onnx: older opsets, inputs that are missing, types, and what is refused.
tests/onnx has ONNX's own tests."""
import doctest
import json
import pathlib

import numpy as np
import pytest

import kiln
import kiln.onnx
from kiln.onnx import Operator

RANDOM = np.random.default_rng(1)
INT8, STRING = 3, 8  # numbers of onnx.TensorProto


def normal(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_the_examples_are_right():
    assert doctest.testmod(kiln.onnx).failed == 0


def test_rows_of_the_table_can_be_read():
    names = set()
    for entry in kiln.onnx.table()["operators"]:
        known = {"op", "domain", "kind", "since", "inputs", "repeats", "host", "attributes", "defaults", "outputs", "types",
                 "keepdims", "fold", "axes", "views", "text", "cases", "when", "refused"}
        for case in entry.get("cases", ({},)):
            assert not {*entry, *case} - known
            assert bool({**entry, **case}.get("text")) != bool(case.get("refused")), entry["op"]
        assert "cases" not in entry or "text" not in entry
        assert (entry["op"], entry["since"]) not in names
        names.add((entry["op"], entry["since"]))
    json.dumps(kiln.onnx.table())


def test_softmax_of_old_opsets_flattens():
    x = normal(2, 3, 4)
    flat = softmax(x.reshape(2, 12), 1).reshape(x.shape)
    np.testing.assert_allclose(Operator("Softmax", opset=11)(x), flat, rtol=1e-6)
    np.testing.assert_allclose(Operator("LogSoftmax", opset=12)(x), np.log(flat), rtol=1e-5)
    np.testing.assert_allclose(Operator("Softmax", opset=13)(x), softmax(x, -1), rtol=1e-6)
    np.testing.assert_allclose(Operator("Softmax", opset=11, axis=2)(x), softmax(x, -1), rtol=1e-6)
    hard = Operator("Hardmax", opset=11, axis=-2)(x)
    assert hard.shape == x.shape and (hard.sum((1, 2)) == 1).all() and hard[x == x.max((1, 2), keepdims=True)].all()


@pytest.mark.parametrize("opset, options, inputs", [(11, {"axes": [1]}, ()), (18, {}, (np.array([1]),))])
def test_axes_are_an_attribute_or_an_input(opset, options, inputs):
    x = normal(2, 3, 4)
    for name, function in (("ReduceMax", np.max), ("ReduceMean", np.mean), ("ReduceSum", np.sum)):
        found = Operator(name, opset=opset, keepdims=0, **options)(x, *inputs)
        np.testing.assert_allclose(found, function(x, 1), rtol=1e-6)


def test_no_axes_are_all_or_none():
    x = normal(2, 3)
    assert Operator("ReduceSum", keepdims=1)(x).shape == (1, 1)
    assert Operator("ReduceSum", keepdims=0)(x).shape == ()
    np.testing.assert_allclose(Operator("ReduceSumSquare", noop_with_empty_axes=1)(x), x * x, rtol=1e-6)
    np.testing.assert_allclose(Operator("ReduceLogSumExp", noop_with_empty_axes=1)(x, np.array([], np.int64)), x, rtol=1e-6)


def test_bounds_of_clip_are_attributes_or_inputs():
    x = normal(3, 4)
    np.testing.assert_array_equal(Operator("Clip", opset=6, min=-0.5)(x), np.maximum(x, -0.5))
    np.testing.assert_array_equal(Operator("Clip")(x, None, np.float32(0.25)), np.minimum(x, 0.25))
    np.testing.assert_array_equal(Operator("Clip")(x), x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_wrap_around(dtype):
    ends = np.iinfo(dtype)
    a = np.array([ends.max, ends.min, ends.max // 2 + 1, 7, 0], dtype)
    b = np.array([1, 1, 3, ends.max, ends.max], dtype)
    with np.errstate(over="ignore"):
        for name, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)):
            found = Operator(name)(a, b)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, function(a, b), err_msg=name)
        np.testing.assert_array_equal(Operator("Neg")(a), np.negative(a))
        np.testing.assert_array_equal(Operator("BitwiseNot")(a), ~a)
        np.testing.assert_array_equal(Operator("ReduceProd", keepdims=0)(b), np.prod(b, dtype=dtype))
        np.testing.assert_array_equal(Operator("ReduceSum", keepdims=0)(b), np.sum(b, dtype=dtype))


@pytest.mark.parametrize("to, dtype", [(2, np.uint8), (3, np.int8), (4, np.uint16), (5, np.int16), (6, np.int32),
                                       (7, np.int64), (12, np.uint32), (13, np.uint64)])
def test_casts_between_integers_keep_the_low_bits(to, dtype):
    for source in (np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        ends = np.iinfo(source)
        x = np.array([ends.min, ends.max, ends.max // 2 + 1, ends.min // 2, 200 if ends.max > 200 else 100, 1], source)
        np.testing.assert_array_equal(Operator("Cast", to=to)(x), x.astype(dtype), err_msg=np.dtype(source).name)


def test_division_of_integers_is_towards_zero():
    a, b = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
    np.testing.assert_array_equal(Operator("Div")(a, b), [3, -3, -3, 3])
    np.testing.assert_array_equal(Operator("Mod")(a, b), np.mod(a, b))
    np.testing.assert_array_equal(Operator("Mod", fmod=1)(a, b), np.fmod(a, b))


def test_shifts_beyond_the_width_leave_the_sign():
    x = np.array([-3, 5, -3, 5], np.int8)
    np.testing.assert_array_equal(Operator("BitShift", direction="RIGHT")(x, np.array([1, 1, 8, 100], np.int8)), [-2, 2, -1, 0])
    np.testing.assert_array_equal(Operator("BitShift", direction="LEFT")(x, np.array([1, 6, 8, -1], np.int8)), [-6, 64, 0, 0])


def test_group_norm_has_weights_of_groups_or_channels():
    x = normal(2, 6, 5)
    parted = x.reshape(2, 3, 10)
    normed = ((parted - parted.mean(2, keepdims=True)) / np.sqrt(parted.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    groups, channels = normal(3), normal(6)
    found = Operator("GroupNormalization", opset=18, num_groups=3)(x, groups, groups)
    expected = normed * groups.repeat(2)[:, None] + groups.repeat(2)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    found = Operator("GroupNormalization", opset=21, num_groups=3)(x, channels, channels)
    np.testing.assert_allclose(found, normed * channels[:, None] + channels[:, None], rtol=1e-4, atol=1e-6)


def test_batch_norm_gives_running_statistics():
    x, w, b, m, v = normal(4, 3, 5), normal(3), normal(3), normal(3), np.abs(normal(3))
    y, mean, var = Operator("BatchNormalization", training_mode=1, momentum=0.75, outputs=3)(x, w, b, m, v)
    assert y.shape == x.shape and mean.shape == var.shape == (3,)
    np.testing.assert_allclose(mean, m * 0.75 + x.mean((0, 2)) * 0.25, rtol=1e-5)
    np.testing.assert_allclose(var, v * 0.75 + x.var((0, 2)) * 0.25, rtol=1e-5)
    plain = Operator("BatchNormalization", opset=9)(x, w, b, m, v)
    expected = (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * w[:, None] + b[:, None]
    np.testing.assert_allclose(plain, expected, rtol=1e-4, atol=1e-6)


def test_losses_leave_out_a_label():
    x, t, w = normal(4, 5), np.array([1, 4, -1, 0]), np.abs(normal(5))
    lp = np.log(softmax(x, 1))
    kept = t >= 0
    each = np.where(kept, -lp[np.arange(4), t] * w[t], 0)
    for reduction, expected in (("none", each), ("sum", each.sum()), ("mean", each.sum() / w[t][kept].sum())):
        found, log_prob = Operator("SoftmaxCrossEntropyLoss", reduction=reduction, ignore_index=-1, outputs=2)(x, t, w)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(log_prob, lp, rtol=1e-5)
        found = Operator("NegativeLogLikelihoodLoss", reduction=reduction, ignore_index=-1)(lp, t, w)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_quantising_there_and_back():
    x = normal(3, 8)
    scale, zero = np.array([0.5, 0.25, 0.125], np.float32), np.array([3, 128, 0], np.uint8)
    q = Operator("QuantizeLinear", axis=0)(x, scale, zero)
    expected = np.clip(np.rint(x / scale[:, None]) + zero[:, None], 0, 255)
    np.testing.assert_array_equal(q, expected.astype(np.uint8))
    back = Operator("DequantizeLinear", axis=0)(q, scale, zero)
    np.testing.assert_array_equal(back, (expected - zero[:, None]) * scale[:, None])
    blocks = np.abs(normal(3, 4)) + 1
    q = Operator("QuantizeLinear", axis=1, block_size=2, output_dtype=INT8)(x, blocks)
    np.testing.assert_array_equal(q, np.rint(x / blocks.repeat(2, 1)).astype(np.int8))


def test_random_numbers_come_from_the_seed():
    x = np.zeros((64, 64), np.float32)
    u = Operator("RandomUniformLike", low=-2.0, high=6.0, seed=5.0)(x)
    assert u.min() >= -2 and u.max() < 6 and abs(u.mean() - 2) < 0.1
    np.testing.assert_array_equal(u, Operator("RandomUniformLike", low=-2.0, high=6.0, seed=5.0)(x))
    n = Operator("RandomNormalLike", mean=3.0, scale=2.0)(x)
    assert np.isfinite(n).all() and abs(n.mean() - 3) < 0.2 and abs(n.std() - 2) < 0.1
    y, mask = Operator("Dropout", outputs=2)(x + 1, np.float32(0.25), np.bool_(True))
    np.testing.assert_allclose(y, mask / 0.75, rtol=1e-6)
    assert abs(mask.mean() - 0.75) < 0.05
    y, mask = Operator("Dropout", outputs=2)(x)
    assert (y == x).all() and mask.all()


def test_optimisers_go_through_all_tensors():
    r, t = np.float32(0.1), np.array(3, np.int64)
    x, g, v = [normal(2), normal(3)], [normal(2), normal(3)], [normal(2), normal(3)]
    momentum = Operator("Momentum", domain="ai.onnx.preview.training", alpha=0.9, beta=0.5, mode="standard",
                        norm_coefficient=0.0)
    found = momentum(np.asarray(r), t, *x, *g, *v)
    new = [0.9 * v[i] + 0.5 * g[i] for i in range(2)]
    for i in range(2):
        np.testing.assert_allclose(found[2 + i], new[i], rtol=1e-6)
        np.testing.assert_allclose(found[i], x[i] - 0.1 * new[i], rtol=1e-5)


@pytest.mark.parametrize("make, sentence", [
    (lambda: Operator("LRN"), "LRN is no row program: it sums over a window"),
    (lambda: Operator("MatMul"), "MatMul of the domain '' is no row program"),
    (lambda: Operator("Add", opset=6), "Add of opset 6 is no row program, those from opset 7 on are"),
    (lambda: Operator("Elu", alfa=1.0), "Elu has no attribute 'alfa', it has alpha"),
    (lambda: Operator("Cast"), "the attribute 'to' of Cast is missing"),
    (lambda: Operator("Abs", outputs=2), "Abs has 1 outputs, 2 are asked for"),
    (lambda: Operator("Add")(normal(2)), "input 1 of Add is missing"),
    (lambda: Operator("Abs")(normal(2), normal(2)), "Abs has 1 inputs, 2 are given"),
    (lambda: Operator("Add")(normal(2), 1.0), "'b' of Add is a number, expected an array"),
    (lambda: Operator("Cast", to=STRING)(normal(2)), "the type 8 of onnx.TensorProto is none of Kiln's"),
    (lambda: Operator("Cast", to=19, saturate=0)(normal(2)), "Cast with these attributes is no row program"),
    (lambda: Operator("Adam", domain="ai.onnx.preview.training")(normal(1), normal(1), normal(2)),
     "Adam takes 2 inputs and 4 for each tensor, 3 are given"),
    (lambda: Operator("RotaryEmbedding", rotary_embedding_dim=2)(normal(1, 1, 1, 4), normal(1, 1, 1), normal(1, 1, 1)),
     "RotaryEmbedding with these attributes is no row program"),
])
def test_what_is_refused_says_why(make, sentence):
    with pytest.raises(kiln.ArgumentError) as caught:
        make()
    assert sentence in str(caught.value)


def test_the_table_is_beside_the_module():
    assert pathlib.Path(kiln.onnx.__file__).with_name("onnx_operators.json").exists()
    assert {"Abs", "Softmax"} <= set(kiln.onnx.operators()) and "Adam" in kiln.onnx.operators("ai.onnx.preview.training")
