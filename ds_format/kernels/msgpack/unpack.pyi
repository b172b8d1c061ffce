from collections.abc import Callable
from typing import Any

import numpy as np

def unpack(
    message: bytes, writable: bool, dtypes: dict[str, np.dtype[Any]], hook: Callable[[dict[Any, Any]], Any]
) -> Any: ...
