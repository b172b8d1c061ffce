from collections.abc import Callable, Iterator
from typing import Any

def run(pickle: Any, buffers: Iterator[Any], calls: dict[Any, Callable[..., Any]], host: Any, budget: int) -> Any: ...
