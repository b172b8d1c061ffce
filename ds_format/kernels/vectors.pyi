from typing import Any

class Vectors:
    def __init__(self, buffers: list[Any]) -> None: ...
