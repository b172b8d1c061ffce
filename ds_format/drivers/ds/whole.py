"""A whole dataset in one go: small files in one read, any in one write."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...codec.body import Body, MemoryBody
from ...codec.decode import DTYPES
from ...codec.encode import Encoded, encode
from ...codec.header import ALIGNMENT, LARGE_SIZE, VarHeader
from ...codec.line import KNOWN, Header, build, compiled, decompiled, find_end, parse
from ...dataset import Dataset
from ...dtypes import TYPES
from ...errors import DsError
from ...kernels.ds.arrays import put_numbers
from ...kernels.files import files, ranges
from ...names import unescape
from ...packing import unpack_all
from ...regular import open_file
from ...target import Target, naming, resolve
from ..base import Metadata
from ..ds_header import read_header
from .entries import dataset_entry, entry_of, header_key
from .file_body import FileBody
from .variables import decode_variable, may_unpack, read_headers, typed

LOCKED_SIZE = 4 << 20
"""Bytes of a body whose writing takes so long that locking the temporary file costs nothing beside it."""
DTYPES_BY_NUMBER = [DTYPES[ds_type.code] if ds_type.is_number else None for ds_type in KNOWN]
"""The dtypes of all types, None for those that are no numbers."""
WHOLE_SIZE = 256 * 1024
"""Bytes up to which a file is read in one piece."""


def read(path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset:
    """Read a dataset: a small file in one piece, of a large one the header and the variables that are wanted.

    Parameters
    ----------
    path : str, bytes or PathLike
    keys : collection of str, optional
        Which variables to read, by their keys; those that do not exist are left out.
    full : bool
        Whether to return the metadata of the other variables, too.
    strings : bool
        As `codec.decode`.
    unpack : bool or None
        As `packing.is_unpacked_by`.
    """
    try:
        data = files.read_file(path, WHOLE_SIZE)
        if data is None:
            return _read_large(path, keys, full, strings, unpack)
        return _from_bytes(data, keys, full, strings, unpack)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))


def read_file(path: Any) -> bytearray | None:
    """Return the bytes of a file that is read in one piece; None of a larger one."""
    return files.read_file(path, WHOLE_SIZE)


def from_bytes(path: Any, data: bytearray, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset from the bytes of a whole file; `path` is for messages, `keys` and `unpack` as of `read`."""
    try:
        return _from_bytes(data, keys, False, False, unpack)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))


def _from_bytes(
    data: bytearray, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset:
    dataset, left = Dataset(), None
    found = compiled(data, None if full else keys)
    if found is None:
        header, meta = parse(data, find_end(data, whole=True), None if full else keys)
    else:
        short, meta = found
        if not short.is_doubtful:
            left = put_numbers(short, DTYPES_BY_NUMBER, data, keys is None, dataset, keys)
            if not (left or short.has_dtypes or short.has_others or unpack):
                dataset["."] = meta
                return dataset
        header = decompiled(data, short)
    body = MemoryBody(data, header.body, keys is None)
    return _complete(dataset, left, header, meta, body, keys, full, strings, unpack)


def _read_large(path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset:
    fd, status = open_file(path)
    size = status.st_size
    try:
        header, meta = read_header(fd, size, None if full else keys)
        body = FileBody(fd, header.body, size - header.body)
        return _complete(Dataset(), None, header, meta, body, keys, full, strings, unpack)
    finally:
        os.close(fd)


def _complete(
    dataset: Dataset,
    left: Iterable[str] | None,
    header: Header,
    meta: Metadata,
    body: Body,
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
) -> Dataset:
    """Put the variables that are left (None: all that are wanted) and metadata into a dataset."""
    wanted = header.keys if keys is None else [key for key in header.keys if key in keys]
    if left is None or left:
        variables = read_headers(header, body, wanted if left is None else left)
        for key, var in variables.items():
            dataset[key] = decode_variable(header, key, var, body, strings)
    dataset["."] = typed(header, meta)
    if may_unpack(header, unpack):
        unpack_all(dataset, dataset["."], unpack)
    return dataset


def aligned(offset: int, encoded: Encoded) -> int:
    """Return the first offset from `offset` on at which a variable may start."""
    step = ALIGNMENT if encoded.size >= LARGE_SIZE else max(encoded.type.size, 1)
    return offset + -offset % step


def write(
    path: Any,
    arrays: Mapping[str, Any],
    meta: Mapping[str, Mapping[str, Any]],
    *,
    version: str = "1.0",
    atomic: bool = True,
    durable: bool = False,
) -> None:
    """Write a whole file in one piece.

    Parameters
    ----------
    path : str, bytes or PathLike
    arrays : dict
        Key → ndarray, MaskedArray, or None for a variable without data.
    meta : Metadata
    version : str
        Of the format: `1.0` or `2.0.1`.
    atomic, durable : bool
        As `kernels.files.files.write_file`.
    """
    try:
        buffers, size = _encode_all(arrays, meta, version)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    if atomic and size >= LOCKED_SIZE:
        _write_large(path, buffers, durable)
    elif not files.write_file(path, buffers, atomic, durable):
        files.write_file(resolve(path)[0], buffers, atomic, durable)


def _write_large(path: Any, buffers: list[Any], durable: bool) -> None:
    """Write what may take long enough for the writer to be killed meanwhile, so that it is found later."""
    target = Target(path, durable=durable)
    try:
        with naming(path):
            fd = target.create()
            try:
                end = 0
                for buffer in buffers:
                    end += ranges.write_at(fd, end, buffer)
            finally:
                os.close(fd)
            target.commit()
    except BaseException:
        target.abort()
        raise


def _encode_all(
    arrays: Mapping[str, Any], meta: Mapping[str, Mapping[str, Any]], version: str
) -> tuple[list[Any], int]:
    """Return the buffers of a file, and the bytes of its body."""
    entries: dict[str, Any] = {}
    buffers: list[Any] = [b""]
    end = 0
    for key, array in arrays.items():
        entry = meta.get(key, {})
        if array is None:
            ds_type = TYPES.get(entry.get(".type") or "")
            var = VarHeader(ds_type, None, end, 0, ds_type is None or not ds_type.ordered)
        else:
            try:
                encoded = encode(array, entry.get(".type"))
            except DsError as error:
                raise error.at(variable=unescape(key))
            offset = aligned(end, encoded)
            if offset > end:
                buffers.append(bytes(offset - end))
            buffers += encoded.buffers
            end = offset + encoded.size
            big = not encoded.type.ordered
            var = VarHeader(encoded.type, array.shape, offset, encoded.size, big, encoded.mask is not None)
        entries[header_key(key, version)] = entry_of(key, entry, var, version)
    buffers[0] = build(entries, dataset_entry(meta.get(".", {}), version), version)
    return buffers, end
