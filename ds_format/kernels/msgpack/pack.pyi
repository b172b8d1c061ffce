from typing import Any

import numpy as np

def pack(value: Any, prefixes: dict[np.dtype[Any], bytes]) -> Any: ...
