from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

def loads(text: Buffer | NDArray[Any]) -> Any: ...
