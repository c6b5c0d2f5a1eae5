# Types of the public names.
from typing import Any, NamedTuple

from . import Context

class Translation(NamedTuple):
    text: str
    axes: tuple[int, ...] | None
    outputs: list[str]
    keepdims: bool
    dtype: dict[str, str]
    arguments: dict[str, Any]
    views: dict[str, str]

class Operator:
    op: str
    domain: str
    opset: int | None
    attributes: dict[str, Any]
    def __init__(self, op: str, *, opset: int | None = None, domain: str = "", outputs: int = 1,
                 context: Context | None = None, **attributes: Any) -> None: ...
    def __call__(self, *inputs: Any) -> Any: ...
    def translate(self, *inputs: Any) -> Translation: ...

def operators(domain: str = "") -> list[str]: ...
