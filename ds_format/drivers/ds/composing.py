"""A whole dataset → the buffers of a file, for writing it at once; metadata alone → a header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.ma import nomask

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...body import Address, path_text
from ...body.target import write_at_once, write_whole
from ...codec.attributes import to_json
from ...codec.encode import STORED_AS_IS, Buffer, encode
from ...codec.header import ALIGNMENT, DTYPES, LARGE_SIZE, NEAR_SIZE, PRIVATE, VERSIONS, Entry, VarHeader, properties
from ...codec.line import build
from ...errors import DsError, UnsupportedError
from ...kernels.ds import compose as kernel
from ...model.marks import Marks, may_be_several
from ..base import Metadata, warn
from .checksums import of_buffers

LOCKED_SIZE = 4 << 20
"""Minimum bytes of a body that is written to a locked temporary file. The lock then takes no noticeable time."""
STORED = PRIVATE | {".size", ".type", DTYPES}
"""Properties that follow from the data."""


def entry_of(key: str, meta: Mapping[str, Any], var: VarHeader, version: str) -> dict[str, Any]:
    """Return the entry of one variable.

    Parameters
    ----------
    key : str
        Key of the variable in the dataset.
    meta : dict
        Its metadata.
    var : VarHeader
    version : str
        `1.0` or `2.0.1`.

    Raises
    ------
    UnsupportedError
        If the header cannot represent it; the message names variable and attribute.
    """
    if version == "2.0.1" and var.size is None:
        raise UnsupportedError("the 2.0.1 format has no variables without data", variable=unescape(key))
    entry = _attributes(meta, version, key)
    entry.update(properties(var, version))
    return entry


def dataset_entry(meta: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the entry `"."` for the metadata of the dataset itself.

    Raises
    ------
    UnsupportedError
        If the header cannot represent it, or the version is unknown.
    """
    if version not in VERSIONS:
        expected = " or ".join(f'"{known}"' for known in VERSIONS)
        raise UnsupportedError(f"version: found {version!r}, expected {expected}")
    return _attributes(meta, version, None)


def _attributes(meta: Mapping[str, Any], version: str, key: str | None) -> dict[str, Any]:
    try:
        out = to_json(meta, STORED)
        return out if version == "1.0" else {header_key(name, version): value for name, value in out.items()}
    except DsError as error:
        raise error.at(variable=None if key is None else unescape(key))


def header_key(key: str, version: str) -> str:
    """Return the key of a dataset for the header. Names of the 2.0.1 format are not escaped."""
    if version != "2.0.1" or not key.startswith("\\"):
        return key
    name = unescape(key)
    if name.startswith("."):
        raise UnsupportedError(f'the 2.0.1 format has no names that begin with ".": found "{name}"')
    return name


NAMES = {dtype: ds_type.name for dtype, ds_type in STORED_AS_IS.items()}


def compose(
    arrays: dict[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str = "1.0"
) -> tuple[list[Buffer], int]:
    """Return the buffers of a file, and the size of its body, in bytes.

    Parameters
    ----------
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    version : str
        Version of the format: `1.0` or `2.0.1`.

    Raises
    ------
    UnsupportedError
        If the format does not support a value; the message names variable and attribute.
    """
    if version == "1.0" and type(meta) is dict:
        try:
            composed = kernel.compose(arrays, meta, NAMES, STORED, _encoded)
        except UnsupportedError:
            composed = None  # `compose_any` finds the first variable that is wrong
        if composed is not None:
            return composed
    return compose_any(arrays, meta, version)


def compose_any(
    arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str
) -> tuple[list[Buffer], int]:
    """Do the same as `compose` for any metadata and version. For invalid ones, raise an error with the reason."""
    entries: dict[str, Any] = {}
    every: dict[str, tuple[VarHeader, list[Buffer]]] = {}
    for key, array in arrays.items():
        entry = meta.get(key, {})
        every[key] = _described(key, array, entry)
        entries[header_key(key, version)] = entry_of(key, entry, every[key][0], version)
    places, end = placed({key: (var.length, _item_size(var)) for key, (var, _) in every.items()})
    for key, offset in places.items():
        entries[header_key(key, version)][".offset"] = offset
    buffers: list[Buffer] = [build(entries, dataset_entry(meta.get(".", {}), version), version)]
    at = 0
    for is_far in (False, True):
        for key, (var, parts) in every.items():
            if parts and is_far is (var.length >= NEAR_SIZE):
                if places[key] > at:
                    buffers.append(bytes(places[key] - at))
                buffers += parts
                at = places[key] + var.length
    return buffers, end


def placed(sizes: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], int]:
    """Return the offset of each variable in the body, and the size of the body, in bytes.

    Variables of fewer than `NEAR_SIZE` bytes are before all others. Apart from that, the order is that of the header.

    Parameters
    ----------
    sizes : dict
        Key → bytes of the variable, and of one value.
    """
    places: dict[str, int] = {}
    end = 0
    for is_far in (False, True):
        for key, (size, item_size) in sizes.items():
            if is_far is (size >= NEAR_SIZE):
                places[key] = aligned(end, size, item_size)
                end = places[key] + size
    return places, end


def _encoded(key: str, array: Any, entry: Mapping[str, Any]) -> tuple[Entry, list[Buffer], int, int]:
    var, buffers = _described(key, array, entry)
    return properties(var, "1.0"), buffers, var.length, _item_size(var)


def _item_size(var: VarHeader) -> int:
    return max(var.type.size, 1) if var.type is not None and var.size is not None else 1


def _described(key: str, array: Any, entry: Mapping[str, Any]) -> tuple[VarHeader, list[Buffer]]:
    """Return the header of a variable, without its position, and its bytes."""
    if array is None:
        ds_type = TYPES.get(entry.get(".type") or "")
        return VarHeader(ds_type, None, 0, 0, ds_type is None or not ds_type.ordered), []
    try:
        encoded = encode(array, entry.get(".type"))
    except DsError as error:
        raise error.at(variable=unescape(key))
    big = not encoded.type.ordered
    return VarHeader(encoded.type, array.shape, 0, encoded.size, big, encoded.missing > 0), encoded.buffers


def aligned(offset: int, size: int, item_size: int) -> int:
    """Return the first offset from `offset` on at which a variable of `size` bytes may begin.

    A variable without bytes begins anywhere: padding before it would be after the last byte of the file.
    """
    step = ALIGNMENT if size >= LARGE_SIZE else item_size if size else 1
    return offset + -offset % step


LARGEST = (1 << 63) - 1
"""Replaces an offset or a length that is not known yet. No other number has more digits."""


class Plan:
    """A header that is at the start of the file, but is written last.

    Space is reserved for it, and unused space is filled with blanks.

    Parameters
    ----------
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data.
    version : str
        Version of the format: `1.0` or `2.0.1`.

    Attributes
    ----------
    body : int
        Start of the body, in bytes from the start of the file.
    near : dict
        Key → offset in the body, and bytes: space for variables of few bytes before the others.
    start : int
        End of this space, in bytes from the start of the file.

    Raises
    ------
    UnsupportedError
        If the header cannot represent the metadata; the message names variable and attribute.
    """

    def __init__(self, meta: Metadata, version: str):
        self.meta = meta
        self.version = version
        self.body = len(self._build({key: self._largest(key) for key in meta if key != "."}))
        sizes = {key: size for key in meta if key != "." and (size := self._most(key)) is not None}
        near = {key: size for key, size in sizes.items() if 0 < size[0] < NEAR_SIZE}
        # without large variables, no order is better
        places, end = placed(near if any(size >= NEAR_SIZE for size, _ in sizes.values()) else {})
        self.near = {key: (offset, near[key][0]) for key, offset in places.items()}
        self.start = self.body + end

    def _most(self, key: str) -> tuple[int, int] | None:
        """Return the maximum bytes of a variable, and of one value; None if they are not known."""
        entry = self.meta[key]
        ds_type = TYPES.get(entry.get(".type") or "")
        if ds_type is None or ds_type.is_string or entry.get(".size") is None:
            return None
        n = math.prod(entry[".size"])
        mask_size = 0 if entry.get(".missing") is False else (n + 7) // 8
        return mask_size + (n * ds_type.bits + 7) // 8, max(ds_type.size, 1)

    def _largest(self, key: str) -> VarHeader:
        size = self.meta[key].get(".size")
        shape = None if size is None else tuple(size)
        ds_type = TYPES.get(self.meta[key].get(".type") or "unicode", TYPES["unicode"])
        return VarHeader(ds_type, shape, LARGEST, LARGEST, False, False)

    def _build(self, variables: Mapping[str, VarHeader], padded_size: int = 0) -> bytes:
        entries = {}
        for key, var in variables.items():
            entries[header_key(key, self.version)] = entry_of(key, self.meta[key], var, self.version)
        return build(entries, dataset_entry(self.meta.get(".", {}), self.version), self.version, padded_size)

    def header(self, variables: Mapping[str, VarHeader], *, may_grow: bool = False) -> bytes:
        """Return the first `body` bytes of the file, from the headers of all variables in any order.

        With `may_grow` these are more bytes if the metadata are larger than those for which space was reserved.
        """
        known = {key: variables[key] for key in self.meta if key != "."}
        try:
            return self._build(known, padded_size=self.body)
        except ValueError:
            if not may_grow:
                raise
        return self._build(known)

    def place(self, name: str, type_name: str, end: int) -> VarHeader:
        """Return the position for numbers or booleans without a mask: in the space for few bytes, or after the others.

        Parameters
        ----------
        name : str
            Key of a variable with `.size`.
        type_name : str
        end : int
            End of the existing or planned data, in bytes from the start of the file.
        """
        ds_type = TYPES[type_name]
        size = tuple(self.meta[name][".size"])
        length = (math.prod(size) * ds_type.bits + 7) // 8
        offset = self.place_near(name, length)
        if offset is None:
            offset = end + (-end % ALIGNMENT if length else 0) - self.body
        return VarHeader(ds_type, size, offset, length, not ds_type.ordered)

    def place_near(self, name: str, size: int) -> int | None:
        """Return the offset in the body of the space for a variable; None if it has none, or too little."""
        offset, reserved = self.near.get(name, (0, 0))
        return offset if 0 < size <= reserved else None

    def end(self, var: VarHeader) -> int:
        """Return the end of a variable, in bytes from the start of the file."""
        return self.body + var.offset + var.length


def marked(arrays: Mapping[str, Any], meta: Mapping[str, Any], path: str | None) -> Mapping[str, Any]:
    """Return metadata that tell by which of several numbers missing values are marked; `path` is for warnings."""
    found: dict[str, Any] = {}
    for key, array in arrays.items():
        if array.__class__ is not np.ndarray and getattr(array, "_mask", nomask) is not nomask and key in meta:
            marks = Marks.of(meta[key], array.dtype) if may_be_several(meta[key]) else None
            if marks is not None:
                marks.see(array)
                found[key] = stored_entry(marks, path, key)
    return {**meta, **found} if found else meta


def stored_entry(marks: Marks, path: str | None, key: str) -> Mapping[str, Any]:
    """Return the metadata of a variable with its marks; warn if they are too large to tell numbers apart."""
    entry, tells_apart = marks.stored()
    if not tells_apart:
        warn(f"{marks.told()}, at too many places: all are kept as the first", path, unescape(key))
    return entry


def composed(
    arrays: dict[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    version: str = "1.0",
    checksum: bool = False,
    path: Any = None,
) -> tuple[list[Buffer], int]:
    """Do the same as `compose` after `marked`, and with `checksum` add a trailer; see `checksums`."""
    buffers, size = compose(arrays, marked(arrays, meta, None if path is None else path_text(path)), version)
    return ([*buffers, of_buffers(buffers)] if checksum else buffers), size


def dumps(
    arrays: dict[str, Any], meta: Mapping[str, Mapping[str, Any]], *, version: str = "1.0", checksum: bool = False
) -> bytes:
    """Return the bytes of a file. Parameters are those of `write`."""
    return b"".join(composed(arrays, meta, version, checksum)[0])


def write(
    path: Any,
    arrays: dict[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    version: str = "1.0",
    atomic: bool = True,
    durable: bool = False,
    checksum: bool = False,
) -> bool:
    """Write a whole file at once. Return True: this is always possible.

    Parameters
    ----------
    path : str, bytes, PathLike or Address
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    version : str
        Version of the format: `1.0` or `2.0.1`.
    atomic, durable : bool
        As for `kernels.files.files.write_file`.
    checksum : bool
        Add a trailer with checksums; see `checksums`.
    """
    try:
        buffers, size = composed(arrays, meta, version, checksum, path)
    except DsError as error:
        raise error.at(path=path_text(path))
    write_buffers(path, buffers, size, atomic=atomic, durable=durable)
    return True


def write_buffers(path: Any, buffers: list[Buffer], size: int, *, atomic: bool = True, durable: bool = False) -> None:
    """Write a file of what `composed` returned; see `write`."""
    if atomic and size >= LOCKED_SIZE and (type(path) is str or not isinstance(path, Address)):
        write_whole(path, buffers, durable=durable)
    else:
        write_at_once(path, buffers, atomic=atomic, durable=durable)
