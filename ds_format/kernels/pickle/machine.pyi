from collections.abc import Callable, Iterator
from typing import Any, final

@final
class Global:
    module: str
    name: str
    def __init__(self, module: str, name: str) -> None: ...

@final
class Pending:
    def __init__(self, finish: Callable[[Any], Any]) -> None: ...

@final
class Stack: ...

def run(pickle: Any, buffers: Iterator[Any], calls: dict[Any, Callable[..., Any]], host: Any, budget: int) -> Any: ...
