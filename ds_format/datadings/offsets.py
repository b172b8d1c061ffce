"""`.offsets`: n + 1 integers of 64 bits, big-endian, without a header."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError, TruncatedError
from . import format, parts

_pair = struct.Struct(">QQ").unpack_from
_one = struct.Struct(">Q").unpack_from


def encode(ends: NDArray[np.int64]) -> bytes:
    """Return the file of samples that end at these places, (n,) int64, in bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from ds_format.datadings import offsets
    >>> offsets.encode(np.array([14, 28])).hex()
    '0000000000000000000000000000000e000000000000001c'
    """
    return bytes(format.OFFSET_SIZE) + ends.astype(">u8").tobytes()


def end(data: Any) -> int:
    """Return where the last sample ends, in bytes, as the file says it; -1 if it has no offset."""
    whole = len(data) - len(data) % format.OFFSET_SIZE
    return int(_one(data, whole - format.OFFSET_SIZE)[0]) if whole else -1


def check(data: Any, path: str, size: int) -> int:
    """Check the ends of the file, which is all that can be checked without reading it.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.
    size : int
        Bytes of the data file.

    Returns
    -------
    int
        The number of samples.

    Raises
    ------
    FormatError
        If the offsets do not begin with 0 and end with the size of the data file, or are not whole.
    TruncatedError
        If the data file ends before the last sample does.
    """
    own = path + format.OFFSETS
    if not len(data) or len(data) % format.OFFSET_SIZE:
        raise FormatError(f"found {len(data)} bytes, expected offsets of 8 bytes each; {parts.REPAIR}", path=own)
    n = len(data) // format.OFFSET_SIZE - 1
    first, last = _one(data, 0)[0], end(data)
    if first:
        raise FormatError(f"found the first offset {first}, expected 0; {parts.REPAIR}", path=own)
    if last > size:
        reason = f"found {size} bytes, expected {last}, where the last of {n} samples ends"
        raise TruncatedError(f"{reason}; `ds reindex --cut` keeps those that are whole", path=path)
    if last < size:
        reason = f"{size - last} bytes behind the {n} samples of its index, from byte {last} on"
        raise FormatError(
            f"{reason}: `ds reindex` takes them in, if they are samples; with `--cut` it removes others", path=path
        )
    return n


def bounds(data: Any, i: int, path: str, size: int) -> tuple[int, int]:
    """Return start and end of a sample, in bytes; FormatError if they are wrong. Arguments as those of `check`."""
    start, stop = found = _pair(data, format.OFFSET_SIZE * i)
    if start > stop or stop > size:
        raise _wrong(start, stop, i, path, size)
    return found


def spans(data: Any, start: int, stop: int, path: str, size: int) -> list[int]:
    """Return where the samples from `start` to `stop` - 1 start, and where the last of them ends; as `bounds`."""
    found = list(struct.unpack_from(f">{stop - start + 1}Q", data, format.OFFSET_SIZE * start))
    if found[-1] > size or found != sorted(found):
        for i in range(start, stop):
            bounds(data, i, path, size)
    return found


def _wrong(start: int, stop: int, i: int, path: str, size: int) -> FormatError:
    return FormatError(
        f"sample {i}: found the offsets {start} and {stop}, expected ascending ones up to {size}; {parts.REPAIR}",
        path=path + format.OFFSETS,
    )
