# SPDX-License-Identifier: Apache-2.0
"""Programs of gradients: which names they read and write, and the shapes that gradients have to get.

A gradient program reads inputs, outputs and scalars of the forward program by their names, and the gradient of output
'y' as 'dy'. It writes the gradient of input 'x' as 'dx'.
"""
from ._errors import argument_error
from ._program import Program


def gradient_name(name):
    return "d" + name


class Gradients:
    """The programs that give the gradients of a forward program. given: a text, a Program, or a list of them; None for
    what Program.gradient derives."""

    def __init__(self, forward, given):
        self.forward = forward
        self.inputs = [name for name in forward.parameters if name not in forward.declared_scalars]
        # For shapes alone: with their reduced axes as 1, outputs broadcast with the inputs.
        self.kept = with_kept_axes(forward, forward.text, forward._options["axes"], forward.outputs)
        if given is None:  # without shapes: as_input sums what was broadcast
            given = forward.gradient()
        given = [given] if isinstance(given, (str, Program)) else list(given)
        self.programs = [self._program(one) for one in given]
        self.written = [name for program in self.programs for name in program.outputs]
        self._check()

    def _program(self, given):
        if isinstance(given, str):
            return with_kept_axes(self.forward, given, self.forward._options["axes"], None)
        return with_kept_axes(self.forward, given.text, given._options["axes"], given.outputs)

    def _check(self):
        readable = self.forward.parameters + self.forward.outputs
        readable += [gradient_name(name) for name in self.forward.outputs]
        writable = [gradient_name(name) for name in self.inputs]
        if len(set(readable)) < len(readable):
            raise argument_error(f"a parameter is called as an output's gradient: {', '.join(readable)}")
        for program in self.programs:
            for name in program.parameters:
                if name not in readable:
                    raise argument_error(f"the gradient program {program.text!r} reads '{name}', expected some of "
                                         f"{', '.join(readable)}")
        for name in self.written:
            if name not in writable:
                raise argument_error(f"the gradient programs write '{name}', expected some of {', '.join(writable)}")
            if self.written.count(name) > 1:
                raise argument_error(f"the gradient programs write '{name}' twice")

    def kept_shapes(self, arguments):
        """The outputs' shapes with their reduced axes as 1, by name. arguments: those of the forward program."""
        return {name: shape for name, (_, shape) in zip(self.forward.outputs, self.kept.output_specs(*arguments))}


def with_kept_axes(forward, text, axes, outputs):
    options = {"axes": axes, "outputs": outputs, "keepdims": True, "context": forward._given_context}
    parameters = Program(text, **options).parameters
    scalars = [name for name in forward.declared_scalars if name in parameters]
    return Program(text, scalars=scalars, **options)


def without_leading_ones(shape, rank):
    shape = tuple(shape)
    while len(shape) > rank and shape[0] == 1:
        shape = shape[1:]
    return shape


def summed_axes(space, shape):
    """The axes of a space that a gradient is summed over for an input of some shape."""
    missing = len(space) - len(shape)
    return tuple(range(missing)) + tuple(missing + i for i, size in enumerate(shape) if size == 1 < space[missing + i])


def as_input(gradient, shape, space, broadcast):
    """A gradient in its input's shape: as it is where it has that, else summed over the space's other elements."""
    shape = tuple(shape)
    if without_leading_ones(gradient.shape, len(shape)) == shape:
        return gradient.reshape(shape)
    gradient = broadcast(gradient, space)
    axes = summed_axes(space, shape)
    return (gradient.sum(axes) if axes else gradient).reshape(shape)
