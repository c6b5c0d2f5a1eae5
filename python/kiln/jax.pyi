# Types of the public names.
from typing import Any, Protocol, Sequence

from . import Axes, Context, Names, Program

class _Function(Protocol):
    program: Program
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def function(program: str | Program, *, grad: str | Program | Sequence[str | Program] | None = None,
             axes: Axes = -1, outputs: Names | None = None, scalars: Names = (),
             context: Context | None = None, keepdims: bool = False) -> _Function: ...
