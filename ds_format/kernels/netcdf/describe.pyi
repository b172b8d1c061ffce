from collections.abc import Callable
from typing import Any, final

import numpy as np

class NotOrdinary(Exception): ...

@final
class Describer:
    def __init__(
        self,
        types: dict[np.dtype[Any], np.dtype[Any]],
        fills: dict[np.dtype[Any], np.generic],
        properties: frozenset[str],
        unusual: frozenset[str],
        typed: frozenset[str],
        make: type[tuple[Any, ...]],
        record: type[tuple[Any, ...]],
        encode: Callable[[str, Any, np.dtype[Any] | None], Any],
        options: Callable[[Any, tuple[int, ...], tuple[bool, ...]], dict[str, Any]],
        is_boolean: dict[str, Any],
        of_text: dict[str, Any],
        is_classic: bool,
        most: int,
    ) -> None: ...
    def attributes(self, entry: dict[str, Any], dtype: np.dtype[Any] | None) -> dict[str, Any]: ...
    def describe(
        self, arrays: dict[str, Any], meta: Any, unlimited: set[str]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, int], dict[str, int]]: ...
