"""A whole dataset in one go: a small file in one read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterable
from typing import Any

from ...body.body import Body, MemoryBody
from ...codec.attributes import from_json
from ...codec.decode import DTYPES
from ...codec.line import KNOWN, PARSER, Header, decompiled, find_end, interpreted, parse
from ...dataset import Dataset
from ...errors import DsError
from ...kernels.ds.small import Reader
from ...kernels.files import files
from ...model.packing import unpack_all
from ..base import Metadata
from ..ds_header import open_line
from ..library.missing import restore
from ..settings import NETCDF
from .variables import decode_variable, may_unpack, read_headers, typed

DTYPES_BY_NUMBER = [DTYPES[ds_type.code] if ds_type.is_number else None for ds_type in KNOWN]
"""The dtypes of all types, None for those that are no numbers."""
WHOLE_SIZE = 256 * 1024
"""Bytes up to which a file is read in one piece."""
VERSION_SIZE = 7
"""Bytes of a file among which its header does not end."""


_small = Reader(PARSER, from_json, DTYPES_BY_NUMBER, files.read_file, WHOLE_SIZE)


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
    dataset = Dataset()
    try:
        rest = _small.read(path, dataset, keys, full)
        if rest is not None and rest[0] is None:
            _read_large(dataset, path, keys, full, strings, unpack)
        elif rest is not None or unpack:
            _go_on(dataset, rest, keys, full, strings, unpack)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    return dataset


def digest(held: bytearray) -> int:
    """Return what tells the header of a file from others: it need not withstand who means harm, and there are many."""
    end = held.find(b"\n", VERSION_SIZE)
    return zlib.crc32(memoryview(held)[: end if end >= 0 else len(held)])


def from_held(path: Any, held: bytearray, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset from the bytes of a whole file; `path` is for messages, `keys` and `unpack` as of `read`."""
    dataset = Dataset()
    try:
        rest = _small.fill(held, dataset, keys, False)
        if rest is not None or unpack:
            _go_on(dataset, rest, keys, False, False, unpack)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    return dataset


def _go_on(
    dataset: Dataset,
    rest: tuple[Any, Any, list[str] | None] | None,
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
) -> None:
    """Do what `kernels.ds.small` leaves to others."""
    if rest is None:
        unpack_all(dataset, dataset["."], unpack)
        return
    data, found, left = rest
    if found is None:
        header, meta = interpreted(data, find_end(data, whole=True), None if full else keys)
    else:
        header, meta = decompiled(found[0]), found[1]
    _complete(dataset, left, header, meta, MemoryBody("", data, header.body, lends=keys is None), keys, strings, unpack)


def _read_large(
    dataset: Dataset, path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> None:
    file, line = open_line(path)
    with file.watch:
        header, meta = parse(line, find_end(line, whole=True), None if full else keys)
        _complete(dataset, None, header, meta, file.section(header.body), keys, strings, unpack)


def _complete(
    dataset: Dataset,
    left: Iterable[str] | None,
    header: Header,
    meta: Metadata,
    body: Body,
    keys: Collection[str] | None,
    strings: bool,
    unpack: bool | None,
) -> None:
    """Put the variables that are left (None: all that are wanted) and metadata into a dataset."""
    if left is None:
        left = header.keys if keys is None else [key for key in header.keys if key in keys]
    left = read_headers(header, body, left)
    for key, var in left.items():
        dataset[key] = decode_variable(header.version, key, var, body, strings)
    dataset["."] = typed(header, meta)
    for key in left:
        if NETCDF in meta[key]:
            restore(meta[key], dataset[key])
    if may_unpack(header, unpack):
        unpack_all(dataset, dataset["."], unpack)
