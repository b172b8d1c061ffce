from collections.abc import Callable
from typing import Any, Final

__pyx_capi__: Final[dict[str, object]]

MAX_DEPTH: Final[int]

def dumps(value: object, fallback: Callable[[Any], object] | None = ..., like_python: bool = ...) -> bytes: ...
