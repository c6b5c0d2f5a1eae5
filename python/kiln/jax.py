# SPDX-License-Identifier: Apache-2.0
"""Programs as functions of JAX, under jit, vmap and grad.

On a GPU they are custom calls that launch on XLA's own stream, in host memory the CPU reference, exact and slow.

>>> import jax, jax.numpy as jnp, kiln.jax
>>> softmax = kiln.jax.function("y = softmax(x * s)", scalars="s")
>>> jax.grad(lambda x: softmax(x, 0.5)[0])(jnp.zeros(4))
Array([ 0.09375, -0.03125, -0.03125, -0.03125], dtype=float32)
"""
import functools
import hashlib
import re

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from ._arrays import extended_dtype
from ._errors import Error, argument_error, error_of
from ._gradients import Gradients, as_input, gradient_name
from ._program import Program, axes_list

TARGET = "kiln_run"
# What means other rows, positions or numbers where arrays have an axis more: vmap calls such programs one by one.
KNOWS_AXES = re.compile(r"\b(index|size|uniform|rows|put|axes|lengths|offsets)\b")


def function(program, *, grad=None, **options):
    """A function of arrays, with the arguments of the program by position or name.

    program, options: as for kiln.torch.function. grad: as there, and None for the program's own gradient, which is derived
    when it is first asked for (docs/language.md has the rules; a program that has none is refused then).

    Declared scalars are arrays without axes to JAX, and may be traced: another value compiles nothing.
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
    """The program as a function of arrays alone, compiled by JAX for each of their shapes."""
    scalars = set(program.declared_scalars)
    by_xla, by_python = foreign_call(program), host_call(program)

    def called(*values):
        found = (by_xla if has_handlers() else by_python)(result_shapes(program, values), *values)
        return found if len(found) > 1 else found[0]

    compiled = jax.jit(called)

    def checked(*values):
        for name, value in zip(program.parameters, values):
            if name in scalars and value.shape:
                raise argument_error(f"the scalar '{name}' has shape {value.shape}, expected a number")
        return compiled(*values)

    return checked


def result_shapes(program, values):
    """Shapes and types of the results, for arrays of which shapes and types are known."""
    scalars = set(program.declared_scalars)
    described = [scalar_like(value) if name in scalars else value for name, value in zip(program.parameters, values)]
    return tuple(jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(extended_dtype(kind)))
                 for kind, shape in program.output_specs(*described))


def scalar_like(value):
    """A number of the kind that the program takes for it."""
    return 1 if jnp.issubdtype(value.dtype, jnp.integer) or value.dtype == bool else 1.0


# ---- in compiled code -------------------------------------------------------------------------------------


def foreign_call(program):
    """Calls Kiln from XLA's compiled code."""
    scalars = set(program.declared_scalars)
    method = functools.cache(lambda: "expand_dims" if may_be_batched(program) else "sequential")

    def called(results, *values):
        wide = any(value.dtype == np.float64 for name, value in zip(program.parameters, values) if name not in scalars)
        values = [as_scalar(value, wide) if name in scalars else value
                  for name, value in zip(program.parameters, values)]
        ranks = np.array([value.ndim for value in values], np.int64)
        call = jax.ffi.ffi_call(TARGET, results, vmap_method=method())
        return tuple(call(*values, program=Targets.key(program), ranks=ranks))

    return called


@functools.cache
def has_handlers():
    """Whether JAX has the public interface, and its devices are CPUs or CUDA GPUs: then the handlers are registered."""
    version = str(jax.devices()[0].client.platform_version).lower()
    if not hasattr(jax, "ffi") or not (jax.default_backend() == "cpu" or "cuda" in version):
        return False
    for platform, handler in _core.xla_handlers().items():
        jax.ffi.register_ffi_target(TARGET, handler, platform=platform)
    return True


class Targets:
    """Programs that compiled code calls, by key: kept for good, as compiled code may be."""

    programs = {}

    @classmethod
    def key(cls, program):
        """The same in each process, for JAX's cache on disk; of programs in several contexts a number tells them apart."""
        digest = hashlib.sha256(repr(program).encode()).hexdigest()[:16]
        alike = cls.programs.setdefault(digest, [])
        for number, known in enumerate(alike):
            if known.context is program.context:
                return f"{digest}-{number}"
        key = f"{digest}-{len(alike)}"
        alike.append(program)
        _core.add_xla_program(program, key)
        return key


def as_scalar(value, wide):
    """A scalar as an array without axes that computes like it: a float in the program's own type."""
    if jnp.issubdtype(value.dtype, jnp.floating):
        return value.astype(np.float64 if wide else np.float32)
    return value.astype(np.int32) if value.dtype == bool else value


def may_be_batched(program):
    """Whether the program, applied to arrays with an axis more before theirs, is one for each place along it."""
    axes = axes_list(program._options["axes"])
    if axes is None or any(axis >= 0 for axis in axes) or KNOWS_AXES.search(program.text):
        return False
    try:
        return not any(KNOWS_AXES.search(phase) for phase in program.phases)
    except Error:  # it is none for matrices of f32
        return False


# ---- called back ------------------------------------------------------------------------------------------


def host_call(program):
    """Calls back into Python, on platforms that Kiln has no kernels for."""
    scalars = set(program.declared_scalars)

    def on_host(results, *arrays):
        arrays = [np.asarray(array) for array in arrays]
        given = [array.item() if name in scalars else array for name, array in zip(program.parameters, arrays)]
        found = program(*given, dtype=[result.dtype for result in results])
        return found if isinstance(found, tuple) else (found,)

    def called(results, *values):
        return jax.pure_callback(functools.partial(on_host, results), results, *values, vmap_method="sequential")

    return called


# ---- gradients --------------------------------------------------------------------------------------------


def with_gradients(called, forward, gradients):
    """gradients: a function that gives the Gradients, called where a gradient is asked for."""
    function = jax.custom_vjp(called)
    callers = functools.cache(lambda: [(program, caller(program)) for program in gradients().programs])

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
        for program, call in callers():
            results = call(*(values[name] for name in program.parameters))
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
