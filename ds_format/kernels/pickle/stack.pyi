from collections.abc import Callable
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
