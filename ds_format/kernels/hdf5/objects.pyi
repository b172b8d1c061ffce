from typing import Any, final

@final
class Reader: ...

@final
class Parser:
    def __init__(self, records: tuple[type, ...], numbers: Any = None) -> None: ...
    def parse(
        self, segments: list[tuple[int, Any]], file_size: int, netcdf: bool = False, share: bool = False
    ) -> Any: ...
