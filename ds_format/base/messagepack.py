"""The classes of the msgpack library, imported from modules that other libraries do not patch.

`msgpack_numpy.patch()` and similar functions replace classes in the module `msgpack` for the whole process. Their
classes unpickle bytes of a file, and write arrays differently. They leave the submodules unchanged, so this module
imports from these. No other module of this package imports the library; a rule of ruff enforces this.
"""

from __future__ import annotations

import os
from typing import Any

from msgpack.exceptions import UnpackException

if os.environ.get("MSGPACK_PUREPYTHON"):  # the library itself chooses in the same way
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
