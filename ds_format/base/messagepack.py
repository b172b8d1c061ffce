"""What the msgpack library consists of, taken from where no other library can replace it.

`msgpack_numpy.patch()` and its like put classes of their own into the module `msgpack`, for the whole process: they
unpickle what a file says, and write arrays in another way. The modules behind it stay as they are. Nothing else in this
package imports the library, which a rule of ruff holds.
"""

from __future__ import annotations

import os
from typing import Any

from msgpack.exceptions import UnpackException

if os.environ.get("MSGPACK_PUREPYTHON"):  # as the library itself chooses
    from msgpack.fallback import Packer, unpackb
else:
    try:
        from msgpack._cmsgpack import Packer, unpackb
    except ImportError:
        from msgpack.fallback import Packer, unpackb

__all__ = ["Packer", "UnpackException", "packb", "unpackb"]


def packb(value: Any) -> bytes:
    """Return a value of plain types as one message."""
    data: bytes = Packer().pack(value)
    return data
