from typing import Any, final

@final
class Section: ...

@final
class Parser:
    def __init__(
        self,
        dimension: type,
        variable: type,
        header: type,
        formats: dict[int, str],
        codes: tuple[str, ...],
        numbers: Any = None,
    ) -> None: ...
    def parse(self, data: Any, file_size: int, share: bool = False) -> Any: ...
