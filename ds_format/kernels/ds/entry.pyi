from typing import final

@final
class Header:
    keys: tuple[str, ...]
    is_doubtful: bool
    has_dtypes: bool
    def variable(self, i: int) -> tuple[int, tuple[int, ...] | None, int, int, bool, bool]: ...
