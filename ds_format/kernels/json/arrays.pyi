from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

def decode_variables(text: Buffer | NDArray[Any]) -> dict[str, Any]: ...
