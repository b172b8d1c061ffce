"""The two libraries that know codecs which Python has not, asked for by the names of their own modules.

Neither is asked for a codec by an id that stands in a file: numcodecs would load whatever is registered under it.
"""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import UnsupportedError

EXTRA = "ds-format-cython[binpickle]"


def numcodecs(module: str, codec: str) -> Any:
    """Return a module of numcodecs.

    Parameters
    ----------
    module : str
        Its name, one of this package's choosing.
    codec : str
        For whose sake.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or was built without this module.
    """
    try:
        return importlib.import_module(f"numcodecs.{module}" if module else "numcodecs")
    except ImportError as error:
        raise UnsupportedError(
            f"codec {codec!r}: needs the library numcodecs, as pip install {EXTRA!r} installs it ({error})"
        ) from None


def decompress_blosc(data: Any) -> Any:
    """Decode one frame of blosc, with numcodecs or else with python-blosc."""
    try:
        return numcodecs("blosc", "blosc").decompress(data)
    except UnsupportedError as error:
        try:
            return importlib.import_module("blosc").decompress(data)
        except ImportError:
            raise error from None


def compress_blosc(data: Any, name: str, level: int, shuffle: int) -> bytes:
    """Encode an array, (n,) of any type, as one frame of blosc; as `decompress_blosc`."""
    try:
        module = numcodecs("blosc", "blosc")
    except UnsupportedError as error:
        try:
            blosc = importlib.import_module("blosc")
        except ImportError:
            raise error from None
        size = data.itemsize if data.itemsize <= blosc.MAX_TYPESIZE else 1
        found: bytes = blosc.compress(data, typesize=size, clevel=level, shuffle=shuffle, cname=name)
        return found
    return bytes(module.Blosc(cname=name, clevel=level, shuffle=shuffle).encode(data))
