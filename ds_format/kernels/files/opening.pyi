from os import PathLike
from typing import Final

__pyx_capi__: Final[dict[str, object]]

def open_first(path: str | bytes | PathLike[str] | PathLike[bytes], limit: int) -> tuple[int, int, bytearray, int]: ...
