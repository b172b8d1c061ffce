"""A whole dataset → the buffers of a file, for writing it at once; metadata alone → a header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...body import Address, path_text
from ...body.target import naming, resolve, write_whole
from ...codec.attributes import to_json
from ...codec.encode import STORED_AS_IS, Buffer, Encoded, encode
from ...codec.header import ALIGNMENT, DTYPES, LARGE_SIZE, PRIVATE, VERSIONS, Entry, VarHeader, properties
from ...codec.line import build
from ...errors import DsError, UnsupportedError, explained
from ...kernels.ds import compose as kernel
from ...kernels.files import files
from ..base import Metadata
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
        composed = kernel.compose(arrays, meta, NAMES, STORED, _encoded)
        if composed is not None:
            return composed
    return compose_any(arrays, meta, version)


def compose_any(
    arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str
) -> tuple[list[Buffer], int]:
    """Do the same as `compose` for any metadata and version. For invalid ones, raise an error with the reason."""
    entries: dict[str, Any] = {}
    buffers: list[Buffer] = [b""]
    end = 0
    for key, array in arrays.items():
        entry = meta.get(key, {})
        var, parts = _placed(key, array, entry, end)
        if var.offset > end:
            buffers.append(bytes(var.offset - end))
        buffers += parts
        end = var.offset + var.length
        entries[header_key(key, version)] = entry_of(key, entry, var, version)
    buffers[0] = build(entries, dataset_entry(meta.get(".", {}), version), version)
    return buffers, end


def _encoded(key: str, array: Any, entry: Mapping[str, Any], end: int) -> tuple[Entry, list[Buffer]]:
    var, buffers = _placed(key, array, entry, end)
    return properties(var, "1.0"), buffers


def _placed(key: str, array: Any, entry: Mapping[str, Any], end: int) -> tuple[VarHeader, list[Buffer]]:
    """Return the position of a variable in a body that so far has the size `end`, and its bytes."""
    if array is None:
        ds_type = TYPES.get(entry.get(".type") or "")
        return VarHeader(ds_type, None, end, 0, ds_type is None or not ds_type.ordered), []
    try:
        encoded = encode(array, entry.get(".type"))
    except DsError as error:
        raise error.at(variable=unescape(key))
    big = not encoded.type.ordered
    var = VarHeader(encoded.type, array.shape, aligned(end, encoded), encoded.size, big, encoded.missing > 0)
    return var, encoded.buffers


def aligned(offset: int, encoded: Encoded) -> int:
    """Return the first offset from `offset` on at which a variable may begin."""
    step = ALIGNMENT if encoded.size >= LARGE_SIZE else max(encoded.type.size, 1)
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

    Raises
    ------
    UnsupportedError
        If the header cannot represent the metadata; the message names variable and attribute.
    """

    def __init__(self, meta: Metadata, version: str):
        self.meta = meta
        self.version = version
        self.body = len(self._build({key: self._largest(key) for key in meta if key != "."}))

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

    def header(self, variables: Mapping[str, VarHeader]) -> bytes:
        """Return the first `body` bytes of the file, from the headers of all variables in any order."""
        return self._build({key: variables[key] for key in self.meta if key != "."}, padded_size=self.body)

    def place(self, name: str, type_name: str, end: int) -> VarHeader:
        """Return the position for numbers or booleans without a mask, after the existing variables of a file.

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
        start = end + -end % ALIGNMENT
        length = (math.prod(size) * ds_type.bits + 7) // 8
        return VarHeader(ds_type, size, start - self.body, length, not ds_type.ordered)

    def end(self, var: VarHeader) -> int:
        """Return the end of a variable, in bytes from the start of the file."""
        return self.body + var.offset + var.length


def _composed(
    arrays: dict[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str, checksum: bool
) -> tuple[list[Buffer], int]:
    """Do the same as `compose`, and with `checksum` add a trailer; see `checksums`."""
    buffers, size = compose(arrays, meta, version)
    return ([*buffers, of_buffers(buffers)] if checksum else buffers), size


def dumps(
    arrays: dict[str, Any], meta: Mapping[str, Mapping[str, Any]], *, version: str = "1.0", checksum: bool = False
) -> bytes:
    """Return the bytes of a file. Parameters are those of `write`."""
    return b"".join(_composed(arrays, meta, version, checksum)[0])


def write(
    path: Any,
    arrays: dict[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    version: str = "1.0",
    atomic: bool = True,
    durable: bool = False,
    checksum: bool = False,
) -> None:
    """Write a whole file at once.

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
        buffers, size = _composed(arrays, meta, version, checksum)
    except DsError as error:
        raise error.at(path=path_text(path))
    if type(path) is not str and isinstance(path, Address):
        path.put(buffers, create=not atomic, durable=durable)
        return
    if atomic and size >= LOCKED_SIZE:
        write_whole(path, buffers, durable=durable)
        return
    try:
        if not files.write_file(path, buffers, atomic, durable):
            with naming(path):
                files.write_file(resolve(path)[0], buffers, atomic, durable)
    except FileNotFoundError as error:
        raise explained(error, is_output=True) from None
