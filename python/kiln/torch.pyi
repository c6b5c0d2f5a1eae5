# Types of the public names.
from typing import Any, Callable, Sequence

from . import Axes, Context, Names, Program

def function(program: str | Program, *, grad: str | Program | Sequence[str | Program] | None = None,
             name: str | None = None, axes: Axes = -1, outputs: Names | None = None, scalars: Names = (),
             context: Context | None = None, keepdims: bool = False) -> Callable[..., Any]: ...
