# SPDX-License-Identifier: Apache-2.0
"""Programs as functions of PyTorch: custom operators with shapes for torch.compile and gradients for autograd.

>>> import kiln.torch, torch
>>> softmax = kiln.torch.function("y = softmax(x * s)", scalars="s", grad="dx = s * softmax_grad(y, dy)")
>>> x = torch.zeros(2, 4, requires_grad=True)
>>> softmax(x, 0.5)[:, 0].sum().backward()
>>> x.grad[0]
tensor([ 0.0938, -0.0312, -0.0312, -0.0312])
"""
import hashlib
import itertools

import torch

from ._errors import ArgumentError, argument_error, error_of
from ._gradients import Gradients, as_input, gradient_name
from ._program import Program
from ._types import LIBRARY_NAME

NAMESPACE = "kiln"
FIRST_MARK = 1009  # small, so that shapes of six open sizes still have a number of elements within 64 bits


class Functions:
    """Those that were registered, by name: PyTorch keeps them for good."""

    known = {}


def function(program, *, grad=None, name=None, **options):
    """A function of tensors that torch.compile takes as one operator.

    program: a text, with the options of kiln.Program, or a Program. Names of numbers have to be declared as `scalars`.
    grad: one or more programs of gradients, texts or Programs. They read inputs, outputs and scalars by their names and
    the gradient of output y as dy, and write the gradient of input x as dx. Texts have the axes of `program`. Where an
    input was broadcast, its gradient is summed over the elements that it was broadcast to, unless the gradient program
    already returns it in the input's shape. None: results have no gradients.
    name: of the operator, kiln::name; by default made of the text.

    The function has the attributes `program` and `operator`.
    """
    if not isinstance(program, Program):
        program = Program(program, **options)
    elif options:
        raise argument_error(f"a Program has its options already, and {', '.join(options)} is given")
    gradients = None if grad is None else Gradients(program, grad)
    identity = repr((program, program.context, program.context._functions, gradients and gradients.programs))
    name = name or "program_" + hashlib.sha256(identity.encode()).hexdigest()[:16]
    known = Functions.known.get(name)
    if known is None:
        known = Functions.known[name] = identity, make_function(name, program, gradients)
    elif known[0] != identity:
        raise argument_error(f"the operator kiln::{name} is registered already, for another program")
    return known[1]


def make_function(name, program, gradients):
    operator = register(name, program)
    if gradients is not None:
        add_gradients(name, operator, gradients)

    def call(*args, **kwargs):
        return operator(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"{program!r} as the operator kiln::{name}."
    call.program, call.operator = program, operator
    return call


def schema(program):
    kinds = {parameter: "Scalar" if parameter in program.declared_scalars else "Tensor"
             for parameter in program.parameters}
    if "Tensor" not in kinds.values():
        raise argument_error(f"the program {program.text!r} has no tensor among its parameters")
    arguments = ", ".join(f"{kind} {parameter}" for parameter, kind in kinds.items())
    results = ", ".join(["Tensor"] * len(program.outputs))
    return f"({arguments}) -> " + (results if len(program.outputs) == 1 else f"({results})")


def register(name, program):
    def run(*args):
        with torch.no_grad():  # autograd is above the operator
            return program(*args)

    def shapes(*args):
        like = next(value for value in args if isinstance(value, torch.Tensor))
        results = tuple(torch.empty(shape, dtype=getattr(torch, LIBRARY_NAME[kind]), device=like.device)
                        for kind, shape in symbolic_specs(program, args))
        return results if len(results) > 1 else results[0]

    operator = torch.library.custom_op(f"{NAMESPACE}::{name}", run, mutates_args=(), schema=schema(program))
    operator.register_fake(shapes)
    return operator


def described(args):
    """Arguments without strides, which shapes and types do not depend on. A number that torch.compile does not know is
    any number of its kind."""
    unknown = {torch.SymFloat: 1.0, torch.SymInt: 1, torch.SymBool: True}
    return [Shape(value.dtype, value.shape) if hasattr(value, "dtype") else unknown.get(type(value), value)
            for value in args]


def symbolic_specs(program, args):
    """The program's output_specs, where sizes that torch.compile leaves open stay open: numbers that no other size has
    stand for them meanwhile."""
    arguments = described(args)
    shapes = [argument for argument in arguments if isinstance(argument, Shape)]
    sizes = {str(size): size for shape in shapes for size in shape.shape}
    open_sizes = {text: size for text, size in sizes.items() if not isinstance(size, int)}
    free = (number for number in itertools.count(FIRST_MARK) if str(number) not in sizes)
    marks = dict(zip(open_sizes, free))
    marked = [Shape(one.dtype, [marks.get(str(size), size) for size in one.shape]) if isinstance(one, Shape) else one
              for one in arguments]
    try:
        specs = program.output_specs(*marked)
    except ArgumentError:  # sizes that are open and have to be the same: those of this call then
        return program.output_specs(*arguments)
    meant = {mark: open_sizes[text] for text, mark in marks.items()}
    return [(kind, [meant.get(size, size) for size in shape]) for kind, shape in specs]


class Shape:
    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, shape


def add_gradients(name, operator, gradients):
    forward = gradients.forward
    operators = [register(f"{name}_grad{i}", program) for i, program in enumerate(gradients.programs)]
    read = {parameter for program in gradients.programs for parameter in program.parameters}

    def setup_context(ctx, inputs, output):
        outputs = output if isinstance(output, tuple) else (output,)
        values = dict(zip(forward.parameters, inputs))
        ctx.shapes = {key: values[key].shape for key in gradients.inputs}
        ctx.dtypes = {key: values[key].dtype for key in gradients.inputs}
        ctx.scalars = {key: values[key] for key in forward.declared_scalars}
        ctx.kept = dict(zip(forward.outputs, (shape for _, shape in symbolic_specs(gradients.kept, inputs))))
        values.update(zip(forward.outputs, outputs))
        ctx.names = [key for key in values if key in read and key not in ctx.scalars]
        ctx.save_for_backward(*(values[key] for key in ctx.names))

    def backward(ctx, *output_gradients):
        values = {**dict(zip(ctx.names, ctx.saved_tensors)), **ctx.scalars}
        values.update(zip(map(gradient_name, forward.outputs), output_gradients))
        for key, shape in ctx.kept.items():
            for one in (key, gradient_name(key)):
                if values.get(one) is not None:
                    values[one] = values[one].reshape(shape)
        found = {}
        for program, one in zip(gradients.programs, operators):
            results = one(*(values[parameter] for parameter in program.parameters))
            found.update(zip(program.outputs, results if isinstance(results, tuple) else (results,)))
        space = torch.broadcast_shapes(*ctx.shapes.values())
        return tuple(input_gradient(ctx, parameter, needed, found, space)
                     for parameter, needed in zip(forward.parameters, ctx.needs_input_grad))

    def input_gradient(ctx, parameter, needed, found, space):
        if not needed or parameter in ctx.scalars:
            return None
        gradient = found.get(gradient_name(parameter))
        if gradient is None:
            raise error_of(3, "KILN_E_NAME", f"'{parameter}' requires a gradient, and no gradient program writes "
                                             f"'{gradient_name(parameter)}'")
        return as_input(gradient, ctx.shapes[parameter], space, torch.broadcast_to).to(ctx.dtypes[parameter])

    operator.register_autograd(backward, setup_context=setup_context)
