"""Whole variables of a ds file; a small file in one read."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import NETCDF
from ...base.text import unescape
from ...body import Address, path_text
from ...body.body import FIRST_SIZE, Body, MemoryBody, open_body, opened_body
from ...codec.attributes import from_json
from ...codec.header import VarHeader
from ...codec.line import PARSER, TYPES_BY_NUMBER, Header, find_end, header_of, parse, parse_any, read_line
from ...dataset import Dataset
from ...errors import DsError, FormatError
from ...kernels.ds.arrays import Reader, Rest
from ...kernels.files import files

if TYPE_CHECKING:
    from ..base import Metadata

KINDS: list[Any] = [
    {"str": bytes, "unicode": str}.get(ds_type.name, np.dtype(ds_type.code)) for ds_type in TYPES_BY_NUMBER
]
"""The result of the kernel for each type: dtypes of numbers and booleans, and the classes of strings."""
WHOLE_SIZE = 256 * 1024
"""Maximum size of a file that is read at once, in bytes."""
VERSION_SIZE = 7
"""The header of a file does not end within this number of bytes."""


def _reader(kinds: list[Any]) -> Reader:
    return Reader(PARSER, from_json, kinds, files.read_or_open, WHOLE_SIZE, FIRST_SIZE)


_readers = _reader(KINDS), _reader([None if kind is str else kind for kind in KINDS])
"""With text as objects; with text that is left to `codec.decode`, which makes arrays of StringDType."""


def read(path: Any, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset:
    """Read a dataset: a small file at once, or the header and the requested variables of a larger file.

    A `DsSource` takes three times as long for a file with many variables, because it makes the metadata of all.

    Parameters
    ----------
    path : str, bytes or PathLike
    keys : collection of str, optional
        Keys of the variables to read. Those that do not exist are left out.
    full : bool
        Return the metadata of the other variables, too.
    strings : bool
        As for `codec.decode`.
    unpack : bool or None
        As for `packing.is_unpacked_by`.
    """
    if type(path) is not str and isinstance(path, Address):
        return _read_elsewhere(open_body(path), keys, full, strings, unpack)
    dataset = Dataset()
    try:
        rest = _readers[strings].read(path, dataset, keys, full)
        if isinstance(rest, tuple):
            _read_larger(dataset, opened_body(path_text(path), rest), keys, full, strings, unpack)
        elif rest is not None or unpack:
            _complete(dataset, rest, keys, full, strings, unpack, keys is None)
    except DsError as error:
        raise error.at(path=path_text(path))
    return dataset


def _read_elsewhere(
    file: Body, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset:
    """Read a dataset from a file that has no path; see `read`."""
    if file.is_in_memory:
        return _from_memory(file.name, bytearray(file.memory), keys, full, strings, unpack, keys is None)
    dataset = Dataset()
    try:
        _read_larger(dataset, file, keys, full, strings, unpack)
    except DsError as error:
        raise error.at(path=file.name)
    return dataset


def digest(held: bytearray) -> int:
    """Return a digest of the header of a file. It is fast; it does not protect against manipulated files."""
    end = held.find(b"\n", VERSION_SIZE)
    return zlib.crc32(memoryview(held)[: end if end >= 0 else len(held)])


def from_held(path: Any, held: bytearray, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset from the bytes of a file. `path` is for messages; `keys` and `unpack` are those of `read`."""
    return _from_memory(path_text(path), held, keys, False, False, unpack, keys is None)


def loads(
    name: str, data: memoryview, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> Dataset:
    """Read a dataset from a buffer of another owner.

    Parameters
    ----------
    name : str
        For messages.
    data : (N,) memoryview of bytes
        The whole file. Arrays are views of it where possible.
    keys, full, strings, unpack
        As for `read`.
    """
    return _from_memory(name, data, keys, full, strings, unpack, True)


def _from_memory(
    name: str,
    data: bytearray | memoryview,
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
    share: bool,
) -> Dataset:
    dataset = Dataset()
    try:
        rest = _readers[strings].fill(data, dataset, keys, full, share)
        if rest is not None or unpack:
            _complete(dataset, rest, keys, full, strings, unpack, share)
    except DsError as error:
        raise error.at(path=name)
    return dataset


def _complete(
    dataset: Dataset,
    rest: Rest | None,
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
    share: bool,
) -> None:
    """Decode variables and headers that `kernels.ds.arrays` leaves, and unpack variables."""
    if rest is None:
        _unpack(dataset, unpack)
        return
    if rest.parsed is not None and rest.keys == []:
        compiled, meta = rest.parsed
        dataset["."] = meta
        _restore(meta, dataset, rest.marked)
        if unpack or (unpack is None and compiled.may_be_packed):
            _unpack(dataset, unpack)
        return
    if rest.parsed is None:
        line = read_line(MemoryBody("", rest.data))
        header, meta = parse_any(line, find_end(line, whole=True), None if full else keys)
    else:
        header, meta = header_of(rest.parsed[0]), rest.parsed[1]
    _restore(meta, dataset, rest.marked)
    body = MemoryBody("", rest.data, header.body, lends=share)
    _decode(dataset, rest.keys, header, meta, body, keys, strings, unpack)


def _read_larger(
    dataset: Dataset, file: Body, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None
) -> None:
    line = read_line(file)
    with file.watch:
        header, meta = parse(line, find_end(line, whole=True), None if full else keys)
        _decode(dataset, None, header, meta, file.section(header.body), keys, strings, unpack)


def _decode(
    dataset: Dataset,
    left: Iterable[str] | None,
    header: Header,
    meta: Metadata,
    body: Body,
    keys: Collection[str] | None,
    strings: bool,
    unpack: bool | None,
) -> None:
    """Add metadata and variables (None: all requested ones) to a dataset."""
    from ...codec.decode import decode_in_one_read

    if left is None:
        left = [key for key in header.keys if keys is None or key in keys]
    meta = typed(header, meta)
    variables = read_headers(header, body, left)
    arrays: dict[str, Any] = {}
    if not body.is_in_memory and header.version == "1.0":
        arrays = dict(zip(variables, decode_in_one_read([*variables.values()], body, strings), strict=True))
    for key, var in variables.items():
        array = arrays.pop(key, None)
        dataset[key] = decode_variable(header.version, key, var, body, strings) if array is None else array
    _restore(meta, dataset, [key for key, entry in meta.items() if NETCDF in entry])
    dataset["."] = meta
    if may_unpack(header, unpack):
        _unpack(dataset, unpack)


def _unpack(dataset: Dataset, unpack: bool | None) -> None:
    if unpack is None:
        from ...kernels.common.packing import unpack_usual

        if unpack_usual(dataset, dataset["."]):
            return
    from ...model.packing import unpack_all

    unpack_all(dataset, dataset["."], unpack)


def _restore(meta: Metadata, dataset: Dataset, keys: Iterable[str]) -> None:
    """Write the numbers that mark missing values below the masks of variables, and remove their description."""
    marked = []
    for key in keys:
        record = meta[key][NETCDF]
        if isinstance(record, dict) and ("fill" in record or "mark" in record):
            marked.append(key)
    if not marked:
        return
    from ...model.marks import take_stored  # only if a file has a fill value

    entries = {key: meta[key] for key in marked}
    for key, marks in take_stored(entries).items():
        marks.restore(dataset.get(key))
    meta.update(entries)


def read_headers(header: Header, body: Body, keys: Iterable[str]) -> dict[str, VarHeader]:
    """Return the headers of some variables. Wrong offsets of older writers are corrected.

    Raises
    ------
    FormatError
        If a header is invalid; the message names the variable.
    """
    variables: dict[str, VarHeader] = {}
    for key in keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            raise FormatError(described.error, variable=unescape(key))
        variables[key] = var
    if is_simple(header):
        return variables
    every = all_headers(header, body)
    return {key: every[key] for key in variables}


def is_simple(header: Header) -> bool:
    """Return whether each variable can be read with its own entry of the header alone."""
    return header.version == "1.0" and not header.is_doubtful


def may_unpack(header: Header, unpack: bool | None) -> bool:
    """Return whether `packing.is_unpacked_by` may be true for a variable."""
    return unpack is True or (unpack is None and header.may_be_packed)


def all_headers(header: Header, body: Body) -> dict[str, VarHeader]:
    """Return the headers of all variables except damaged ones. Wrong offsets of older writers are corrected."""
    every = {key: var for key in header.keys if (var := header.variables[key].var) is not None}
    if header.version == "2.0.1" and not header.is_own:
        from ...codec import legacy

        legacy.warn_of_masks(every, body)
    if header.is_doubtful and len(every) == len(header.keys):
        from ...codec import layout, legacy

        if not layout.are_offsets_doubtful(every.values(), body.size):
            return every
        return legacy.true_offsets(every, body, header.version)
    return every


def decode_variable(version: str, key: str, var: VarHeader, body: Body, strings: bool) -> Any:
    """Decode one whole variable, as `codec.decode` does.

    Raises
    ------
    FormatError
        If its bytes are invalid; the message names the variable.
    """
    try:
        if version == "2.0.1" and var.type is not None:
            from ...codec import legacy

            if var.type.is_string:
                return legacy.decode_strings(var, body, strings)
            legacy.check_mask(var, body)
        from ...codec.decode import decode

        return decode(var, body, strings)
    except DsError as error:
        raise error.at(variable=unescape(key))


def typed(header: Header, meta: Metadata) -> Metadata:
    """Convert the attributes of a dataset to their NumPy types, in place."""
    if header.has_dtypes:
        for entry in meta.values():
            from_json(entry)
    return meta


def faults_of(header: Header, path: str) -> dict[str, DsError]:
    """Return the errors of variables that cannot be decoded, because their entry in the header is damaged, by key."""
    if header.compiled is not None:
        return {}
    damaged = ((key, header.variables[key]) for key in header.keys if header.variables[key].var is None)
    return {key: FormatError(found.error, path=path, variable=unescape(key)) for key, found in damaged}


def source_metadata(header: Header, meta: Metadata) -> Metadata:
    """Convert the metadata of a dataset to those of a Source, in place."""
    typed(header, meta)
    if header.compiled is not None:
        for key, missing in zip(header.keys, header.compiled.missing(), strict=True):
            meta[key][".missing"] = missing
        return meta
    for key in header.keys:
        var = header.variables[key].var
        meta[key][".missing"] = var is None or var.missing
    return meta
