"""A whole dataset in one go: a small file in one read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from typing import Any

from ...body.body import MemoryBody
from ...codec.attributes import from_json
from ...codec.decode import DTYPES
from ...codec.line import KNOWN, PARSER, decompiled, find_end, interpreted
from ...dataset import Dataset
from ...errors import DsError
from ...kernels.ds.plain import Reader
from ...kernels.files import files
from ...model.packing import unpack_all
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


def read(path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset | None:
    """Read a dataset from a small file, in one piece; None if the file is larger.

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
            return None
        if rest is not None or unpack:
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
    """Decode what `kernels.ds.plain` does not: variables that are no plain numbers, headers of other kinds; unpack."""
    if rest is None:
        unpack_all(dataset, dataset["."], unpack)
        return
    data, found, left = rest
    if found is None:
        header, meta = interpreted(data, find_end(data, whole=True), None if full else keys)
    else:
        header, meta = decompiled(found[0]), found[1]
    body = MemoryBody("", data, header.body, lends=keys is None)
    if left is None:
        left = [key for key in header.keys if keys is None or key in keys]
    meta = typed(header, meta)
    for key, var in read_headers(header, body, left).items():
        dataset[key] = decode_variable(header.version, key, var, body, strings)
        if NETCDF in meta[key]:
            restore(meta[key], dataset[key])
    dataset["."] = meta
    if may_unpack(header, unpack):
        unpack_all(dataset, dataset["."], unpack)
