from typing import Any, Final

from numpy.typing import NDArray
from typing_extensions import Buffer

__pyx_capi__: Final[dict[str, object]]

def loads(text: Buffer | NDArray[Any]) -> Any: ...
