# SPDX-License-Identifier: Apache-2.0
"""Programs as functions of JAX, under jit, vmap and grad.

They are called back from the compiled code, on the CPU reference: exact and slow, also where JAX has a GPU, whose arrays
are copied to the host and back. kiln.Program takes JAX's GPU arrays outside of jit and launches there.

>>> import jax, jax.numpy as jnp, kiln.jax
>>> softmax = kiln.jax.function("y = softmax(x * s)", scalars="s")
>>> jax.grad(lambda x: softmax(x, 0.5)[0])(jnp.zeros(4))
Array([ 0.09375, -0.03125, -0.03125, -0.03125], dtype=float32)
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np

from ._arrays import extended_dtype
from ._errors import argument_error, error_of
from ._gradients import Gradients, as_input, gradient_name
from ._program import Program


def function(program, *, grad=None, **options):
    """A function of arrays, with the arguments of the program by position or name.

    program, options: as for kiln.torch.function. grad: as there, and None for the program's own gradient, which is derived
    when it is first asked for (docs/language.md has the rules; a program that has none is refused then).
    """
    if not isinstance(program, Program):
        program = Program(program, **options)
    elif options:
        raise argument_error(f"a Program has its options already, and {', '.join(options)} is given")
    gradients = functools.cache(lambda: Gradients(program, grad))
    if grad is not None:
        gradients()  # what is wrong with them is told now
    called = with_gradients(caller(program), program, gradients)

    def call(*args, **kwargs):
        values = dict(zip(program.parameters, args), **kwargs)
        if len(args) + len(kwargs) != len(program.parameters) or set(values) != set(program.parameters):
            raise error_of(8, "KILN_E_BINDING", f"expected the arguments {', '.join(program.parameters)}")
        return called(*(jnp.asarray(values[name]) for name in program.parameters))

    call.program = program
    call.__doc__ = f"{program!r} for JAX."
    return call


def caller(program):
    """The program as a function of arrays alone: scalars are arrays without axes until the callback."""
    scalars = set(program.declared_scalars)

    def described(values):
        return [scalar_like(value) if name in scalars else value for name, value in zip(program.parameters, values)]

    def called(*values):
        specs = program.output_specs(*described(values))
        results = [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(extended_dtype(kind)))
                   for kind, shape in specs]

        def on_host(*arrays):
            arrays = [np.asarray(array) for array in arrays]
            given = [array.item() if name in scalars else array for name, array in zip(program.parameters, arrays)]
            found = program(*given, dtype=[result.dtype for result in results])
            return found if isinstance(found, tuple) else (found,)

        found = jax.pure_callback(on_host, tuple(results), *values, vmap_method="sequential")
        return found if len(found) > 1 else found[0]

    return called


def scalar_like(value):
    """A number of the kind that the callback passes for it."""
    return 1 if jnp.issubdtype(value.dtype, jnp.integer) or value.dtype == bool else 1.0


def with_gradients(called, forward, gradients):
    """gradients: a function that gives the Gradients, called where a gradient is asked for."""
    function = jax.custom_vjp(called)

    def run_forward(*values):
        output = called(*values)
        return output, (values, output)

    def run_backward(saved, output_gradient):
        inputs, output = saved
        values = dict(zip(forward.parameters, inputs))
        kept = gradients().kept_shapes([1.0 if name in forward.declared_scalars else values[name]
                                      for name in forward.parameters])
        one = len(forward.outputs) == 1
        for i, name in enumerate(forward.outputs):
            values[name] = (output if one else output[i]).reshape(kept[name])
            values[gradient_name(name)] = (output_gradient if one else output_gradient[i]).reshape(kept[name])
        found = {}
        for program in gradients().programs:
            results = caller(program)(*(values[name] for name in program.parameters))
            found.update(zip(program.outputs, results if isinstance(results, tuple) else (results,)))
        space = jnp.broadcast_shapes(*(values[name].shape for name in gradients().inputs))
        return tuple(input_gradient(name, values[name], found, space) for name in forward.parameters)

    def input_gradient(name, value, found, space):
        if name in forward.declared_scalars or not jnp.issubdtype(value.dtype, jnp.floating):
            return no_gradient(value)
        gradient = found.get(gradient_name(name))
        if gradient is None:  # JAX does not tell whether it is asked for
            return jnp.full(value.shape, jnp.nan, value.dtype)
        return as_input(gradient, value.shape, space, jnp.broadcast_to).astype(value.dtype)

    function.defvjp(run_forward, run_backward)
    return function


def no_gradient(value):
    if jnp.issubdtype(value.dtype, jnp.floating):
        return jnp.zeros_like(value)
    return np.zeros(value.shape, jax.dtypes.float0)
