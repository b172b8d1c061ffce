"""Arrays as text, for formats that are text themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError


def as_text(array: Any, errors: str) -> NDArray[np.object_]:
    """Return strings as objects of `str`.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Of text or of bytes, in UTF-8.
    errors : {"strict", "surrogateescape"}
        What to do with bytes that are not UTF-8.

    Returns
    -------
    ndarray
        Of the same shape; None where a value is missing.

    Raises
    ------
    UnsupportedError
        If text has surrogates, bytes are not UTF-8, or an object is neither or of the other kind than the first one.
    """
    values: NDArray[np.object_] = np.ma.getdata(array).astype(object)
    present = ~np.ma.getmaskarray(array)
    strings = values[present].tolist()
    try:
        if strings and isinstance(strings[0], bytes):
            strings = [string.decode("utf-8", errors) for string in strings]
        else:
            "".join(strings).encode()
    except UnicodeEncodeError as error:
        found = ord(error.object[error.start])
        raise UnsupportedError(f"a text has the surrogate U+{found:04X}, which is no character") from None
    except UnicodeDecodeError as error:
        raise UnsupportedError(f"found the bytes {error.object[:20]!r}, which are not UTF-8") from None
    except (AttributeError, TypeError):
        kinds = ", ".join(sorted({type(string).__name__ for string in strings}))
        raise UnsupportedError(f"an object array holds {kinds}; expected all str or all bytes") from None
    out = np.full(values.shape, None, object)
    out[present] = strings
    return out


def count_payloads(array: Any) -> int:
    """Return how many present values are NaN of other bits than the usual ones, which text cannot tell.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Of any dtype. The sign of a NaN does not count: it has no meaning, and processors make both.
    """
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    if data.dtype.kind != "f":
        return 0
    flags = np.isnan(data)
    found = data[flags if mask is np.ma.nomask else flags & ~mask]
    found = found.astype(found.dtype.newbyteorder("="), copy=False)
    bits = found.view(f"u{found.itemsize}")
    usual = np.array(np.nan, found.dtype).view(bits.dtype)
    return int(np.count_nonzero(bits << 1 != usual << 1))
