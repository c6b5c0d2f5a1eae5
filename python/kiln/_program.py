# SPDX-License-Identifier: Apache-2.0
"""Programs: what users call."""
import collections
import threading

from . import _core
from ._arrays import describe
from ._context import default_context
from ._errors import argument_error

RUN_LIMIT = 1024
DEFAULT_ARCH = 90


class Program(_core.Program):
    """A row program, called with arrays and numbers.

    text: the program. Its parameters are the names that it reads and does not assign, in the order of their first
    appearance; docs/language.md has the language.
    axes: what reductions run over: a number, a tuple, or None for all axes.
    outputs: names, where not every assigned name that nothing reads is to be one, or their order matters.
    scalars: names that are always numbers. Others are numbers where a call passes one.
    keepdims: outputs of one value for a row keep the reduced axes as 1.

    `stats()` has what was done for it since it was made: launches, kernels by where they came from, seconds (docs/observing.md).

    A call takes arguments by position or name: numbers for scalars, arrays of one library for the rest. It returns an
    array of the same library for each output, or writes into `out`: an array, a tuple of one for each output, or a
    dictionary by name. What `out` lacks, or has None for, is allocated, but for the tensor of a put(name, i), which is
    always given. Results have the type of their expression, a float that of the widest floating input, unless `dtype`
    says otherwise. Of a program with lengths(n) or offsets(o) allocated results are 0 where no row is, and `out` keeps
    there what it held. `stream` is a CUDA stream, by default the library's current one.

    >>> import kiln, numpy as np
    >>> program = kiln.Program("y = softmax(x * scale + mask)")
    >>> x, mask = np.zeros((2, 4), np.float32), np.array([0, 0, -np.inf, -np.inf], np.float32)
    >>> program(x, mask=mask, scale=0.125)
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ]], dtype=float32)
    >>> program.parameters
    ['x', 'scale', 'mask']
    >>> kiln.Program("m = max(x); s = sum(x)", axes=0, outputs="s, m")(np.eye(3))
    (array([1., 1., 1.]), array([1., 1., 1.]))
    """

    def __init__(self, text, *, axes=-1, outputs=None, scalars=(), keepdims=False, context=None):
        self._options = {"axes": axes, "outputs": outputs, "scalars": scalars, "keepdims": keepdims}
        self._given_context = context
        self.text = text
        super().__init__(default_context() if context is None else context, text, joined(outputs),
                         split(scalars), axes_list(axes), keepdims)

    def __reduce__(self):
        return restored_program, (self.text, {**self._options, "context": self._given_context})

    def __repr__(self):
        defaults = {"axes": -1, "outputs": None, "scalars": (), "keepdims": False}
        changed = [f", {name}={value!r}" for name, value in self._options.items() if value != defaults[name]]
        return f"kiln.Program({self.text!r}{''.join(changed)})"

    @property
    def outputs(self):
        """Names of the outputs, in the order of a call's results."""
        return self.output_names

    def _arguments(self, args, kwargs):
        given = dict(zip(self.parameters, args))
        for name, value in kwargs.items():
            if name not in self.parameters:
                raise argument_error(f"the program has no parameter '{name}', expected {', '.join(self.parameters)}")
            if name in given:
                raise argument_error(f"'{name}' is given twice, by position and by name")
            given[name] = value
        missing = [name for name in self.parameters if name not in given]
        if missing or len(args) > len(self.parameters):
            raise argument_error(f"{len(given)} arguments are given, expected {', '.join(self.parameters)}")
        return [describe(given[name]) for name in self.parameters]

    def _given_outputs(self, out):
        """What `out` describes, in the order of the outputs: None where it describes nothing."""
        names = self.outputs
        if out is None or isinstance(out, dict):
            given = out or {}
            for name in given:
                if name not in names:
                    raise argument_error(f"out names '{name}', which is no output; the outputs are {', '.join(names)}")
            out = [given.get(name) for name in names]
        elif not isinstance(out, (tuple, list)):
            out = [out]
        if len(out) != len(names):
            raise argument_error(f"out has {len(out)} arrays, expected {len(names)}: {', '.join(names)}")
        described = [None if one is None else describe(one) for one in out]
        for name, one in zip(names, described):
            if one is not None and not isinstance(one, tuple):
                raise argument_error(f"out for '{name}' is a number, expected an array")
        return described

    def output_specs(self, *args, out=None, **kwargs):
        """(type, shape) of each output for arguments as `explain` takes them. Nothing is computed.

        >>> import kiln
        >>> kiln.Program("s = sum(x); y = x / s", outputs="s, y").output_specs("f16[8, 64]")
        [('f16', (8,)), ('f16', (8, 64))]
        """
        return self.infer(self._arguments(args, kwargs), self._given_outputs(out))

    def gradient(self, *args, wrt=None, saved=None, **kwargs):
        """The program's gradient, a Program: it takes what it reads of this one's arguments, and the gradient of each output
        'y' as 'dy', with reduced axes of size 1, and gives that of each 'x' as 'dx'.

        Arguments are as `explain` takes them. With them the gradients of arguments that are broadcast are summed;
        without any, all have all axes. Reduced axes stay as 1: reshape results to their arguments' shapes where these
        have fewer axes.
        wrt: names of what is differentiated by, in the order of the results. None: all floating arrays.
        saved: names of outputs that it takes as arguments instead of computing them again.
        docs/language.md has the rules.

        >>> import kiln
        >>> layer_norm = kiln.Program("y = layer_norm(x, w, b)")
        >>> print(layer_norm.gradient("bf16[8, 64]", "bf16[64]", "bf16[64]").text)
        dx = layer_norm_grad(x, w, dy)
        dw = sum(dy * layer_norm(x), axes = 0)
        db = sum(dy, axes = 0)
        """
        arguments = self._arguments(args, kwargs) if args or kwargs else None
        text, outputs, scalars = self.derive(arguments, joined(wrt), joined(saved))
        return Program(text, axes=self._options["axes"], outputs=outputs, scalars=scalars, keepdims=True,
                       context=self._given_context)

    def explain(self, *args, arch=None, dtype=None, out=None, **kwargs):
        """What is made of the program for some arguments: phases, schedule, source. Needs no GPU, compiles nothing.

        Arguments are arrays, whose data is not read, or texts such as "f16[8, 64]", and numbers. "f16[*, 64]" leaves the
        number of rows open.
        out: such arrays or texts in the form that a call's `out` has. The tensor of a put(name, i) is always given.
        arch: 90 for sm_90. None: that of the first GPU, else 90.

        >>> import kiln
        >>> print(kiln.Program("y = x - mean(x)").explain("f16[4096, 1024]", arch=90))  # doctest: +ELLIPSIS
        program   y = x - mean(x)
        outputs   f16[4096, 1024]
        phases    phase 0: r0 = sum(x)
                  finish: y = x - (r0 / count)
        schedule  ...
        """
        arguments = self._arguments(args, kwargs)
        return Explanation(self.text, self.compile(arguments, self._given_outputs(out), dtype,
                                                   arch or self._device_arch(), False, False))

    def _device_arch(self):
        if not self.context.system_info()["device_count"]:
            return DEFAULT_ARCH
        return self.context.device_info(0)["arch"]

    @property
    def phases(self):
        """The program's phases in words, for matrices of f32; `explain` has them for other arguments.

        >>> import kiln
        >>> for line in kiln.Program("y = x - mean(x)").phases:
        ...     print(line)
        phase 0: r0 = sum(x)
        finish: y = x - (r0 / count)
        """
        rank = max([2] + [axis + 1 if axis >= 0 else -axis for axis in axes_list(self._options["axes"]) or []])
        scalars = self.declared_scalars
        arguments = [1.0 if name in scalars else (1, (64,) * rank, None) for name in self.parameters]
        return self.compile(arguments, None, None, DEFAULT_ARCH, False, False)["phases"].splitlines()


class Explanation:
    """What Kiln makes of a program: an attribute for each of `fields`; printed as a page."""

    def __init__(self, text, fields):
        self.text = text
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)
        self.phases = fields["phases"].splitlines()

    def __str__(self):
        outputs = [f"{kind}{list(shape)}".replace("-1", "*") for kind, shape in self.outputs]
        threads = f"blocks of {self.threads} threads"
        launch = f"{self.blocks} {threads}" if self.blocks >= 0 else f"as many {threads} as the rows need"
        bytes_of = f"{self.workspace_bytes} bytes" if self.workspace_bytes > 0 else "as many bytes as the rows need"
        workspace = f", a workspace of {bytes_of}" if self.workspace_bytes else ""
        lines = [("program", self.text), ("outputs", ", ".join(outputs)), ("phases", ("\n" + 10 * " ").join(self.phases)),
                 ("schedule", self.schedule), ("why", self.reason),
                 ("launch", f"{launch}, {self.shared_bytes} bytes of shared memory each{workspace}")]
        return "\n".join(f"{title:<10}{line}" for title, line in lines)

    def __repr__(self):
        return f"<kiln.Explanation of {self.text!r}: {self.schedule}>"


def split(names):
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def joined(names):
    return None if names is None else ",".join(split(names))


def axes_list(axes):
    if axes is None:
        return None
    return [axes] if isinstance(axes, int) else list(axes)


def restored_program(text, options):
    return Program(text, **options)


class Runs:
    """The programs of kiln.run, the oldest first."""

    lock = threading.Lock()
    programs = collections.OrderedDict()


def hashable(names):
    return tuple(names) if isinstance(names, list) else names


def run(text, *args, axes=-1, outputs=None, scalars=(), keepdims=False, **kwargs):
    """Runs a program once; its object is kept for the next call with the same text and options.

    Options and arguments are those of kiln.Program.

    >>> import kiln, numpy as np
    >>> kiln.run("y = x / sum(x)", np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    context = default_context()
    key = (text, hashable(axes), hashable(outputs), hashable(scalars), keepdims, id(context))
    program = Runs.programs.get(key)
    if program is None:
        program = Program(text, axes=axes, outputs=outputs, scalars=scalars, keepdims=keepdims)
        with Runs.lock:
            Runs.programs[key] = program
            if len(Runs.programs) > RUN_LIMIT:
                Runs.programs.popitem(last=False)
    return program(*args, **kwargs)


def forget_runs():
    with Runs.lock:
        Runs.programs.clear()
