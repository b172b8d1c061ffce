from typing import Any, Self

from typing_extensions import disjoint_base

@disjoint_base
class Vectors:
    def __new__(cls, buffers: list[Any]) -> Self: ...
