from typing import Final, final

__pyx_capi__: Final[dict[str, object]]

@final
class Header:
    body: int
    keys: tuple[str, ...]
    is_doubtful: bool
    has_dtypes: bool
    has_others: bool
    def variable(self, i: int) -> tuple[int, tuple[int, ...] | None, int, int, bool, bool]: ...
    def missing(self) -> list[bool]: ...
