from collections.abc import Callable
from typing import Any, Final

from numpy.typing import NDArray
from typing_extensions import Buffer

__pyx_capi__: Final[dict[str, object]]

def read_strings(
    segments: list[tuple[int, Any]],
    file_size: int,
    references: Buffer | NDArray[Any],
    as_text: bool,
    unusual: Callable[[str], Exception],
) -> tuple[str, ...] | tuple[bytes, ...] | list[tuple[int, int]]: ...
