import os
from collections.abc import Iterator
from typing import final

@final
class Contents:
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[bytearray | int | None]: ...

def read_files(paths: list[str] | list[bytes] | list[os.PathLike[str]], limit: int) -> Contents: ...
