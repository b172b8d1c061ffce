"""Whole variables of a ds file; a small file in one read."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import NETCDF
from ...base.text import unescape
from ...body import Address, path_text
from ...body.body import FIRST_SIZE, Body, MemoryBody, open_body, opened_body
from ...codec.attributes import from_json
from ...codec.header import ALIGNMENT, VarHeader
from ...codec.line import PARSER, TYPES_BY_NUMBER, Header, find_end, header_of, parse, parse_any, read_line
from ...datasets import Dataset
from ...errors import DsError, FormatError
from ...kernels.ds.arrays import put_arrays, put_file
from ...kernels.files import files
from ...kernels.header.header import Header as Compiled

if TYPE_CHECKING:
    from ..base import Metadata

KINDS: list[Any] = [
    {"str": bytes, "unicode": str}.get(ds_type.name, np.dtype(ds_type.code)) for ds_type in TYPES_BY_NUMBER
]
"""The result of the kernel for each type: dtypes of numbers and booleans, and the classes of strings."""
WHOLE_SIZE = 256 * 1024
"""Maximum size of a file that is read at once, or of a part of a larger one, in bytes."""
VERSION_SIZE = 7
"""The header of a file does not end within this number of bytes."""


_kinds = KINDS, [None if kind is str else kind for kind in KINDS]
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
        held = path.whole(WHOLE_SIZE)
        if held is not None:
            return loads(path, held, keys, full, strings, unpack, keys is None)
        return read_body(open_body(path), keys, full, strings, unpack)
    opened = files.read_or_open(path, WHOLE_SIZE, FIRST_SIZE)
    if isinstance(opened, bytearray):
        return loads(path, opened, keys, full, strings, unpack, keys is None)
    return read_body(opened_body(path_text(path), opened), keys, full, strings, unpack)


def read_body(file: Body, keys: Collection[str] | None, full: bool, strings: bool, unpack: bool | None) -> Dataset:
    """Read a dataset from an open file, or from a file in memory; see `read`."""
    if file.is_in_memory:
        return loads(file.name, bytearray(file.memory), keys, full, strings, unpack, keys is None)
    dataset = Dataset()
    try:
        line = read_line(file)
        with file.watch:
            header, meta = parse(line, find_end(line, whole=True), None if full else keys, from_json)
            requested = [key for key in header.keys if keys is None or key in keys]
            _decode(dataset, requested, header, meta, file.section(header.body), strings)
        _add_metadata(dataset, header, meta, unpack)
    except DsError as error:
        raise error.at(path=file.name)
    return dataset


def read_small(path: Any, limit: int) -> tuple[dict[str, Any], Metadata, int] | Body:
    """Read a small file; see `drivers.formats.Driver.read_small`."""
    # reading needs none of these
    from ...datasets import checked
    from ...model.marks import settled
    from ..base import value_size

    file = open_body(path, whole=WHOLE_SIZE)
    if not file.is_in_memory:
        return file
    try:
        dataset = loads(path, bytearray(file.memory), None, True, False, False)
        arrays, meta = checked(dataset)
    except DsError:
        return file  # the general way may leave a variable out
    size = sum(array.size * value_size(meta[key].get(".type")) for key, array in arrays.items() if array is not None)
    return file if size > limit else (arrays, settled(meta, arrays), size)


def digest(held: bytearray) -> int:
    """Return a digest of the header of a file. It is fast; it does not protect against manipulated files."""
    end = held.find(b"\n", VERSION_SIZE)
    return zlib.crc32(memoryview(held)[: end if end >= 0 else len(held)])


def from_held(path: Any, held: bytearray, keys: Collection[str] | None, unpack: bool | None) -> Dataset:
    """Read a dataset from the bytes of a file. `path` is for messages; `keys` and `unpack` are those of `read`."""
    return loads(path, held, keys, False, False, unpack, keys is None)


def loads(
    path: Any,
    data: bytearray | memoryview,
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
    share: bool = True,
) -> Dataset:
    """Read a dataset from the bytes of a file.

    Parameters
    ----------
    path : str, bytes or PathLike
        For messages.
    data : (N,) bytearray, or memoryview of bytes
        The whole file.
    keys, full, strings, unpack
        As for `read`.
    share : bool
        Whether arrays may be views of `data`.
    """
    dataset = Dataset()
    try:
        rest = put_file(PARSER, from_json, _kinds[strings], data, dataset, keys, full, share)
        if rest is not None:
            _complete(dataset, data, *rest, keys, full, strings, unpack, share)
        elif unpack:
            _unpack(dataset, unpack)
    except DsError as error:
        raise error.at(path=path_text(path))
    return dataset


def _complete(
    dataset: Dataset,
    data: bytearray | memoryview,
    parsed: tuple[Compiled, Metadata] | None,
    left: list[str] | None,
    marked: list[str],
    keys: Collection[str] | None,
    full: bool,
    strings: bool,
    unpack: bool | None,
    share: bool,
) -> None:
    """Decode variables and headers that `kernels.ds.arrays` leaves, and unpack variables."""
    header: Header | Compiled
    if parsed is None:
        line = read_line(MemoryBody("", data))
        header, meta = parse_any(line, find_end(line, whole=True), None if full else keys)
        typed(header, meta)
    else:
        header, meta = parsed
    _restore(meta, dataset, marked)
    if left != []:
        header = header_of(header) if isinstance(header, Compiled) else header
        left = [key for key in header.keys if keys is None or key in keys] if left is None else left
        _decode(dataset, left, header, meta, MemoryBody("", data, header.body, lends=share), strings)
    _add_metadata(dataset, header, meta, unpack)


def _add_metadata(dataset: Dataset, header: Header | Compiled, meta: Metadata, unpack: bool | None) -> None:
    """Add the metadata to the variables of a dataset, which are then unpacked."""
    dataset["."] = meta
    if unpack or (unpack is None and header.may_be_packed):
        _unpack(dataset, unpack)


def _decode(dataset: Dataset, keys: Collection[str], header: Header, meta: Metadata, body: Body, strings: bool) -> None:
    """Add variables to a dataset."""
    variables = read_headers(header, body, keys)
    dataset.update(dict.fromkeys(variables))
    if header.compiled is not None and not body.is_in_memory:
        _put_blocks(dataset, header.compiled, header, variables, body, strings)
    for key, var in variables.items():
        if dataset[key] is None:
            dataset[key] = decode_variable(header.version, key, var, body, strings)
    others = (key for key, entry in meta.items() if NETCDF in entry and (key in variables or key not in dataset))
    _restore(meta, dataset, others)


def _put_blocks(
    dataset: Dataset, compiled: Compiled, header: Header, variables: Mapping[str, VarHeader], body: Body, strings: bool
) -> None:
    """Add small variables of an open file to a dataset. The kernel makes those that are close to each other together.

    All bytes that other variables need are announced, too.
    """
    from ...codec.decode import span_of

    numbers = {key: i for i, key in enumerate(header.keys)}
    small, others = [], []
    for key, var in variables.items():
        offset, size = span_of(var, body.size)
        is_left = strings and var.type is not None and var.type.name == "unicode"
        # the kernel does not know corrected offsets
        if size > WHOLE_SIZE or is_left or var is not header.variables[key].var:
            others.append((offset, size))
        elif size:
            small.append((offset, size, numbers[key]))
    blocks = [*_blocks(small, body.gap)]
    body.announce_spans([*others, *((start, end - start) for start, end, _ in blocks)])
    for start, end, some in blocks:
        data = np.empty(end - start, np.uint8)
        with contextlib.suppress(
            FormatError
        ):  # if the file was truncated after it was opened, `decode` raises it again
            body.read_into(start, data)
            put_arrays(compiled, _kinds[strings], data, -start, True, dataset, some)


def _blocks(spans: list[tuple[int, int, int]], gap: int) -> Iterator[tuple[int, int, list[int]]]:
    """Join ranges of bytes that are close to each other, and iterate over the start, the end and the numbers of each.

    Parameters
    ----------
    spans : list of (int, int, int)
        Offset and size of each range, and a number.
    gap : int
        Maximum bytes between two ranges that are joined.
    """
    start = end = 0
    numbers: list[int] = []
    for offset, size, number in sorted(spans):
        if numbers and (offset > end + gap or offset + size > start + WHOLE_SIZE):
            yield start, end, numbers
            numbers = []
        if not numbers:
            start = end = offset - offset % ALIGNMENT
        end = max(end, offset + size)
        numbers.append(number)
    if numbers:
        yield start, end, numbers


def _unpack(dataset: Dataset, unpack: bool | None) -> None:
    if unpack is None:
        from ...kernels.common.masked import unpack_usual

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
    if header.compiled is not None:
        for key, missing in zip(header.keys, header.compiled.missing(), strict=True):
            meta[key][".missing"] = missing
        return meta
    for key in header.keys:
        var = header.variables[key].var
        meta[key][".missing"] = var is None or var.missing
    return meta
