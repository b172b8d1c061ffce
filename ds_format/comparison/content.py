"""Digests of the content of a dataset, which do not depend on how a file stores it. `docs/format.md` defines them.

A digest is BLAKE2b of 32 bytes. That of a variable is made from the digests of its leaves, equally many values each, so
that threads share large variables and blocks of any size give the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np

from ..base.dtypes import TYPES, type_of_integers
from ..base.progress import Advance
from ..base.text import unescape
from ..base.threads import results
from ..codec.encode import encode, type_of
from ..codec.header import TOO_DEEP, is_too_deep
from ..datasets import META, as_array, attrs, dims
from ..drivers.base import Source, check_faults, value_size
from ..errors import UnsupportedError
from ..model import missing
from ..timeaxis import JD_CALENDAR, JD_UNITS
from ..views.subset import memory_size

SIZE = 32
"""Bytes of a digest."""
LEAF_SIZE = 1 << 22
"""Bytes of the numbers or booleans of a leaf, in memory."""
LEAF_STRINGS = 1 << 16
"""Strings of a leaf."""
SMALL_SIZE = 1 << 16
"""Bytes of a variable that is read whole, which is faster. It is one leaf."""


def digests_of(source: Source, advance: Advance) -> dict[str, bytes]:
    """Return the digest of each variable by its key, and under `"."` that of the attributes of the dataset.

    Parameters
    ----------
    source : Source
    advance : Advance
        Counts the bytes of the values in memory. Its total is increased.

    Raises
    ------
    DsError, OSError
        If the source cannot be read.
    UnsupportedError
        If an attribute or a value has a type that a ds file does not have.
    """
    meta = {**source.meta}
    dataset = meta.pop(META, {})
    check_faults(source.faults, meta)
    advance.total += sum(map(memory_size, meta.values()))
    found = {META: _hash(b"ds attributes 1\n", _attributes(attrs(dataset), None))}
    for key, entry in meta.items():
        try:
            found[key] = _variable(source, key, entry, advance)
        except UnsupportedError as error:
            raise error.at(variable=unescape(key))
    return found


def joined(found: Mapping[str, bytes]) -> bytes:
    """Return the digest of a dataset from those that `digests_of` returns."""
    names = sorted((unescape(key), digest) for key, digest in found.items() if key != META)
    parts = [part for name, digest in names for part in (_text(name), digest)]
    return _hash(b"ds dataset 1\n", found[META], _count(len(names)), *parts)


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=SIZE).digest()


def _count(n: int) -> bytes:
    return n.to_bytes(8, "little")


@lru_cache(1024)
def _text(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return _count(len(raw)) + raw


def _variable(source: Source, key: str, entry: Mapping[str, Any], advance: Advance) -> bytes:
    """Return the digest of one variable."""
    size, attributes = entry.get(".size"), attrs(entry)
    if entry.get(".time") is True:
        attributes |= {"units": JD_UNITS, "calendar": JD_CALENDAR}
    attributes.pop(missing.FILL_ATTRIBUTE, None)
    names = dims(key, entry, len(size or ()))
    known = entry.get(".type") if entry.get(".type") in TYPES else None
    name = "" if size is None else known or type_of(as_array(source.read(key))).name
    shape = [0] * len(names) if size is None else size
    parts = [_count(len(names)), *(_text(dim) + _count(n) for dim, n in zip(names, shape, strict=True))]
    described = _attributes(attributes, _dtype_of(name or known or "float64"))
    return _hash(b"ds variable 1\n", _text(name), *parts, described, *_leaf_digests(source, key, name, size, advance))


def _leaf_digests(source: Source, key: str, name: str, size: Sequence[int] | None, advance: Advance) -> Iterable[bytes]:
    """Return the digest of each leaf of a variable of a ds type; there are none without data."""
    if size is None or 0 in size:
        return ()
    if is_small({".size": size, ".type": name}):
        advance.add(math.prod(size) * value_size(name))
        return (_leaf(name, [as_array(source.read(key)).reshape(-1)]),)
    blocks = advance.over_arrays(source.blocks(key), value_size(name))
    length = LEAF_STRINGS if TYPES[name].is_string else LEAF_SIZE // value_size(name)
    return results(partial(_leaf, name), _leaves(blocks, length))


def is_small(entry: Mapping[str, Any]) -> bool:
    """Return whether a variable with this metadata is read whole."""
    return entry.get(".size") is not None and memory_size(entry) <= SMALL_SIZE


def _dtype_of(name: str) -> np.dtype[Any] | None:
    """Return the dtype that plain numbers in attributes of a variable get; None: none of its own."""
    code = TYPES[name].code
    return None if code == "O" else np.dtype("i1" if code == "?" else code)


def _leaves(blocks: Iterable[Any], n: int) -> Iterator[list[Any]]:
    """Yield the values of each leaf as pieces of blocks, one-dimensional arrays or masked arrays."""
    pieces: list[Any] = []
    lack = n
    for block in blocks:
        flat = block.reshape(-1)
        while flat.size:
            pieces.append(flat[:lack])
            flat, lack = flat[lack:], lack - pieces[-1].size
            if not lack:
                yield pieces
                pieces, lack = [], n
    if pieces:
        yield pieces


def _leaf(name: str, pieces: list[Any]) -> bytes:
    """Return the digest of one leaf."""
    is_masked = any(map(np.ma.is_masked, pieces))
    if len(pieces) > 1 and (is_masked or not TYPES[name].is_number):
        pieces = [np.ma.concatenate(pieces)]  # type: ignore[no-untyped-call]
    digest = blake2b(b"\1" if is_masked else b"\0", digest_size=SIZE)
    for piece in pieces:
        for buffer in encode(_with_one_nan(piece), name).buffers:
            digest.update(buffer)
    return digest.digest()


def _with_one_nan(array: Any) -> Any:
    """Return an array in which all NaN have the same bits, because formats of text do not keep them."""
    values = np.ma.getdata(array)
    # the maximum is NaN if a value is, and faster to find than all of them
    if values.dtype.kind != "f" or not values.size or not np.isnan(values.max()):
        return array
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return np.ma.MaskedArray(values, np.ma.getmask(array)) if isinstance(array, np.ma.MaskedArray) else values


def _attributes(attributes: Mapping[str, Any], dtype: np.dtype[Any] | None) -> bytes:
    """Return attributes in canonical form.

    Parameters
    ----------
    attributes : dict
        Name → value.
    dtype : dtype, optional
        That of plain numbers in attributes whose numbers are values of the variable.
    """
    parts = [_count(len(attributes))]
    for name, value in sorted(attributes.items()):
        is_plain = not isinstance(value, (np.ndarray, np.generic))
        if is_plain and dtype is not None and name in missing.VALUE_ATTRIBUTES:
            value = missing.in_type_of_variable(value, dtype)
        try:
            if is_too_deep(value):
                raise UnsupportedError(TOO_DEEP)
            parts += [_text(name), _value(value)]
        except UnsupportedError as error:
            raise UnsupportedError(f'attribute "{name}": {error.message}') from None
    return b"".join(parts)


def _value(value: Any) -> bytes:
    """Return the value of an attribute in canonical form."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "biuf" and not isinstance(value, np.ma.MaskedArray):
            return _numbers(np.asarray(value))
        value = value.tolist() if value.dtype.kind in "UTO" else value
    if isinstance(value, (list, tuple)):
        items = [item.item() if isinstance(item, np.generic) else item for item in value]
        array = _as_numbers(items)
        if array is not None:
            return _numbers(array)
        if len(items) == 1 and isinstance(items[0], (str, bytes)):
            return _value(items[0])
        return b"".join((b"[", _count(len(items)), *map(_value, items)))
    if value is None:
        return b"n"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return b"t" + _text(value)
    if isinstance(value, (bool, int, float)):
        array = _as_numbers([value])
        return b"i" + _text(str(value)) if array is None else _numbers(array)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        parts = (part for key in sorted(value) for part in (_text(key), _value(value[key])))
        return b"".join((b"{", _count(len(value)), *parts))
    raise UnsupportedError(f"a value of type {type(value).__name__} is not supported")


def _as_numbers(items: list[Any]) -> Any:
    """Return Python's numbers as an array of the type that files have for them, or None if they are none.

    These are booleans, int64, uint64 for integers beyond it, and float64, also for integers among floats that it holds.
    """
    kinds = {type(item) for item in items}
    if kinds == {bool}:
        return np.array(items)
    if kinds == {int}:
        name = type_of_integers(min(items), max(items), ("int64", "uint64"))
        return None if name is None else np.array(items, name)
    if kinds <= {int, float} and all(type(item) is float or _is_float(item) for item in items):
        return np.array(items, "f8")
    return None


def _is_float(number: int) -> bool:
    """Return whether float64 holds an integer."""
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _numbers(array: Any) -> bytes:
    """Return numbers or booleans in canonical form. A list of one number is this number, as in NetCDF files."""
    shape = () if array.shape == (1,) else array.shape
    encoded = encode(_with_one_nan(array))
    sizes = map(_count, (len(shape), *shape))
    return b"".join((b"#", _text(encoded.type.name), *sizes, *(buffer.tobytes() for buffer in encoded.buffers)))
