from collections.abc import Callable
from typing import Any

import numpy as np

def pack(value: Any, prefixes: dict[np.dtype[Any], bytes]) -> Any: ...
def unpack(
    message: bytes, writable: bool, dtypes: dict[str, np.dtype[Any]], hook: Callable[[dict[Any, Any]], Any]
) -> Any: ...
