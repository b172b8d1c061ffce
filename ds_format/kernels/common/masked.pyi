from typing import Any, Final

from numpy.typing import NDArray

__pyx_capi__: Final[dict[str, object]]

def masked_view(array: NDArray[Any], mask: NDArray[Any] | None = None) -> Any: ...
