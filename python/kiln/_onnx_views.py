# SPDX-License-Identifier: Apache-2.0
"""How tensors of ONNX's operators are seen by row programs: what kiln.onnx reshapes, and which axes are reduced.

Nothing is copied but where an array is not contiguous.
"""
import math


def axes_of(words, values, given):
    """(the axis that the text may name, the program's axes) for the table's words."""
    rank = len(next(iter(given.values())).shape)
    axis = values.get("axis", 0)
    if words == "pair":
        pair = -1 if values["interleaved"] else -2
        return pair, (pair,)
    if words == "axes":
        axes = values["axes"]
        axes = [axes] if isinstance(axes, int) else axes
        return axis, tuple(axes) if axes or values.get("noop_with_empty_axes") else None
    if words == "all":
        return axis, None
    if words == "axis":
        return axis, (axis,)
    if words == "axis..":
        return axis, tuple(range(axis % max(rank, 1), rank))
    if words == "2..":
        return axis, tuple(range(2, rank + ("num_groups" in values)))
    if words == "except 1":
        return axis, tuple(at for at in range(rank) if at != 1)
    return axis, (1,) if words == "1" else (-1,)


def along(vector, axis, rank):
    """A vector as a tensor that lies along one axis of others; what has one value has no axis."""
    if math.prod(vector.shape) == 1:
        return vector.reshape(())
    return vector.reshape((*vector.shape, *[1] * (rank - axis % rank - 1)))


def grouped(shape, groups):
    """The shape whose channels, axis 1, are parted into groups."""
    return (shape[0], groups, shape[1] // groups, *shape[2:])


def pairs(width, interleaved):
    """The two axes that the columns of a head are seen as: what is rotated together lies along one of them."""
    return (width // 2, 2) if interleaved else (2, width // 2)


def rotary(word, array, x, values):
    """The tensors of RotaryEmbedding, x of [B, H, S, D] or of [B, S, H D]."""
    interleaved, heads, shape = values["interleaved"], values["num_heads"], array.shape
    half = (shape[-1], 1) if interleaved else (1, shape[-1])
    by_head = len(x.shape) == 4
    if word == "rotated":
        if by_head:
            return (*shape[:-1], *pairs(shape[-1], interleaved))
        return (*shape[:-1], heads, *pairs(shape[-1] // heads, interleaved))
    if word == "positions":
        return (shape[0], 1, shape[1], 1, 1) if by_head else (*shape, 1, 1, 1)
    if len(shape) == 2:  # a row for each position
        return (shape[0], *half)
    return (shape[0], 1, shape[1], *half) if by_head else (*shape[:2], 1, *half)


def view(word, given, name, values):
    """An input as its program takes it."""
    array, x = given[name], next(iter(given.values()))
    if word is None:
        return array
    if word.startswith("along"):
        axis = values["axis"] if word == "along axis" else 1
        return along(array, axis, len(x.shape) + ("num_groups" in values))
    if word == "groups 0":
        groups = values["num_groups"]
        return array.reshape((groups, array.shape[0] // groups, *[1] * (len(x.shape) - 2)))
    if word == "groups":
        return array.reshape(grouped(array.shape, values["num_groups"]))
    if word == "insert 1":
        return array.reshape((array.shape[0], 1, *array.shape[1:]))
    if word == "flat":
        axis = values["axis"] if values["axis"] >= 0 else values["axis"] + len(array.shape)
        return array.reshape((math.prod(array.shape[:axis]), math.prod(array.shape[axis:])))
    return array.reshape(rotary(word, array, x, values))


def restore(word, result, x):
    """An output as ONNX has it."""
    shapes = {"as x": x.shape, "scalar": (), "vector": (-1,)}
    return result if word not in shapes else result.reshape(shapes[word])
