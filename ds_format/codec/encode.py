"""One array or masked array → its type in the header, and its bytes as a list of buffers.

An array that is little-endian and C-contiguous in memory is its own buffer. Others are copied.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPE_OF_CODE, TYPES, Type
from ..base.text import unescape
from ..base.threads import each
from ..errors import UnsupportedError
from ..kernels.ds.strings import encode_strings
from ..kernels.ds.values import gather, pack_bits

Buffer = Any
STEP = 1 << 19
"""Number of values that a thread encodes at a time, a multiple of 8."""


class Encoded(NamedTuple):
    """An encoded array, or an encoded block of an array."""

    type: Type
    n: int
    """Number of values, missing ones included."""
    missing: int
    """Number of missing values."""
    buffers: list[Buffer]
    """The mask if a value is missing, then values, bits, or lengths and strings. All are C-contiguous."""
    size: int
    """Bytes of all buffers together."""


STORED_AS_IS = {np.dtype(f"<{row.code}"): row for row in TYPES.values() if row.is_number}
"""Dtypes whose arrays have the same bytes in memory and in a file."""


def type_of(array: NDArray[Any], hint: str | None = None) -> Type:
    """Return the ds type of an array.

    Parameters
    ----------
    array : ndarray or MaskedArray
    hint : str, optional
        `str` or `unicode`: the type of an object array without a present value.

    Raises
    ------
    UnsupportedError
        If the ds format does not have a type for the dtype, or the first present object is neither `str` nor `bytes`.
    """
    kind = array.dtype.kind
    if kind in "fiub":
        code = "?" if kind == "b" else array.dtype.str[1:]
        if code in TYPE_OF_CODE:
            return TYPE_OF_CODE[code]
    elif kind in "UT":
        return TYPES["unicode"]
    elif kind == "S":
        return TYPES["str"]
    elif kind == "O":
        return _type_of_objects(array, hint)
    names = array.dtype.names
    found = array.dtype if names is None else f"fields {', '.join(names)}"
    floats = ", ".join(name for name, row in TYPES.items() if row.code[0] == "f")
    raise UnsupportedError(f"dtype: found {found}, expected {floats}, an integer, bool or strings")


def _type_of_objects(array: NDArray[Any], hint: str | None) -> Type:
    """Return the type of the first present value. Encoding checks that all values have this type."""
    flags = np.ma.getmaskarray(array).reshape(-1)
    first = int(flags.argmin()) if flags.size else 0
    if first == flags.size or flags[first]:
        return TYPES[hint if hint in ("str", "unicode") else "unicode" if array.size else "str"]
    value = np.ma.getdata(array).reshape(-1)[first]
    if isinstance(value, str):
        return TYPES["unicode"]
    if isinstance(value, bytes):
        return TYPES["str"]
    raise UnsupportedError(f"an object array holds {type(value).__name__}; expected str or bytes")


def describe(arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the metadata of arrays, completed by `properties_of` each, and the metadata of the dataset.

    Raises
    ------
    UnsupportedError
        If no ds type can hold an array. The message names the variable.
    """
    out: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        entry = meta.get(key, {})
        try:
            out[key] = {**entry, **properties_of(array, entry.get(".type"))}
        except UnsupportedError as error:
            raise error.at(variable=unescape(key))
    out["."] = dict(meta.get(".", {}))
    return out


def properties_of(array: Any, hint: str | None = None) -> dict[str, Any]:
    """Return the properties of an array that a Sink needs before it writes: `.size`, `.type` and `.missing`.

    Raises
    ------
    UnsupportedError
        If no ds type can hold it.
    """
    if array is None:
        return {".size": None}
    missing = bool(np.ma.getmaskarray(array).any()) if isinstance(array, np.ma.MaskedArray) else False
    return {".size": list(array.shape), ".type": type_of(array, hint).name, ".missing": missing}


def encode(array: NDArray[Any], hint: str | None = None, mask_bit: int = 0, value_bit: int = 0) -> Encoded:
    """Encode an array, or a block of an array.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Any shape, byte order and memory layout.
    hint : str, optional
        See `type_of`.
    mask_bit, value_bit : int
        Positions in their first byte, 0 to 7, of the first bit of the mask, and of booleans. Bits before it are 0.

    Raises
    ------
    UnsupportedError
        If the ds format cannot hold a value.
    """
    if type(array) is np.ndarray and array.flags.c_contiguous:
        stored = STORED_AS_IS.get(array.dtype)
        if stored is not None:
            return Encoded(stored, array.size, 0, [array], array.nbytes)
    ds_type = type_of(array, hint)
    mask = np.ma.getmask(array)
    flat = np.ascontiguousarray(np.ma.getdata(array)).reshape(-1)
    buffers, counts, flags = [], [0], None
    if mask is not np.ma.nomask and mask.any():
        flags = np.ascontiguousarray(mask).reshape(-1)
        packed, counts = _packed(flags, mask_bit)
        buffers.append(packed)
    if ds_type.is_string:
        buffers += _encode_strings(flat if flags is None else flat[~flags], ds_type)
    elif ds_type.code == "?":
        present = flat if flags is None else _present(flat.view(np.uint8), flags, counts, mask_bit)
        buffers.append(_packed(present, value_bit)[0])
    else:
        buffers.append(
            flat.astype(flat.dtype.newbyteorder("<"), copy=False)
            if flags is None
            else _present(flat, flags, counts, mask_bit)
        )
    return Encoded(ds_type, flat.size, sum(counts), buffers, sum(buffer.nbytes for buffer in buffers))


def _is_big(dtype: np.dtype[Any]) -> bool:
    return dtype.byteorder == ">" or (dtype.byteorder == "=" and not np.little_endian)


def _packed(flags: NDArray[Any], bit: int) -> tuple[NDArray[np.uint8], list[int]]:
    """Return flags as bits that begin at `bit` of the first byte, and the number of set bits of each `STEP` bits."""
    bits = np.empty((bit + flags.size + 7) // 8, np.uint8)
    bits[:1] = 0
    counts = [0] * -(-(bit + flags.size) // STEP)

    def work(first: int, last: int) -> None:
        stretch = flags[max(first - bit, 0) : last - bit].view(np.uint8)
        counts[first // STEP] = pack_bits(stretch, bits[first // 8 : (last + 7) // 8], 0 if first else bit)

    each(work, bit + flags.size, STEP)
    return bits, counts


def _present(flat: NDArray[Any], flags: NDArray[np.bool_], counts: list[int], bit: int) -> NDArray[Any]:
    """Return the present values in little-endian order. `counts` and `bit` are those of the packed flags."""
    before = [0, *itertools.accumulate(counts)]
    present = np.empty(flat.size - before[-1], flat.dtype.newbyteorder("<"))
    swapped = _is_big(flat.dtype)

    def work(first: int, last: int) -> None:
        i = first // STEP
        first, last = max(first - bit, 0), last - bit
        part = present[first - before[i] : last - before[i + 1]]
        stretch = flat[first:last].view(np.uint8)
        gather(flags[first:last].view(np.uint8), stretch, part.view(np.uint8), flat.itemsize, swapped)

    each(work, bit + flat.size, STEP)
    return present


def _encode_strings(flat: NDArray[Any], ds_type: Type) -> list[Buffer]:
    try:
        if flat.dtype.kind == "T":
            from ..kernels.ds.numpy_strings import encode_numpy_strings

            return [*encode_numpy_strings(flat)]
        return [*encode_strings(np.require(flat, object, ["C", "W"]), ds_type.name == "unicode")]
    except (TypeError, ValueError) as error:
        raise UnsupportedError(str(error)) from None
