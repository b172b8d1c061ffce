"""A header: what it says → where each variable lies. Every check that header and file size alone decide is here.

It is read by a kernel, and item by item if the kernel gives up.

All numbers are Python integers, which cannot overflow. Code that holds a `ClassicHeader` may trust it, except for one
thing: that a variable is in the file whole. In a file that was truncated, or whose number of records is too large,
others may well be; `end_of` tells.

Some headers the grammar allows, or the library reads, but not as anybody would expect it. These are `Unusual`:

- a dimension, variable or attribute has a name of no character, or of more than 255 bytes, or one that contains NUL or
  `/`, or that is not in Unicode's normalization form C (the library looks names up in this form);
- two dimensions, two variables, or two attributes of one owner have the same name;
- there is a second record dimension, or the record dimension is not the first one of a variable;
- a variable has more than 64 dimensions, more than an array has.

`format` already reports empty names and too many dimensions.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..body.body import FIRST_SIZE, Body
from ..errors import FormatError, TruncatedError, Unusual
from ..kernels.classic.header import Parser
from .format import CODES, FORMATS, STREAMING, Attributes, Incomplete, RawHeader, RawVariable, read_items

MAX_NAME = 255
"""Bytes of a name: one less than `NC_MAX_NAME` in netcdf.h, of which the library loses the end."""

MAX_SIZE = 2**63 - 1
"""Bytes of a file."""


class Dimension(NamedTuple):
    """A dimension."""

    name: str
    size: int
    """Of the record dimension: the number of records."""
    is_record: bool


class ClassicVariable(NamedTuple):
    """A variable, and where it lies."""

    name: str
    dims: tuple[int, ...]
    """Indexes into `ClassicHeader.dimensions`."""
    attributes: dict[str, Any]
    """Text as str, one number as a NumPy scalar, others as (N,) arrays in native byte order."""
    code: str
    """NumPy kind and bytes of a value."""
    shape: tuple[int, ...]
    """The number of records is that of the dimension."""
    begin: int
    """Bytes from the start of the file to the first value."""
    step: int
    """Bytes from one record to the next; 0: it is no record variable."""


class ClassicHeader(NamedTuple):
    """All that a header says. Dimensions, attributes and variables are in file order."""

    format: str
    dimensions: tuple[Dimension, ...]
    attributes: dict[str, Any]
    variables: tuple[ClassicVariable, ...]
    size: int
    """Bytes of the header."""


def end_of(variable: ClassicVariable) -> int:
    """Return the bytes that a file must have to hold a variable; 0 if there is nothing to hold."""
    size = int(variable.code[1:]) * math.prod(variable.shape[1:] if variable.step else variable.shape)
    if not variable.step:
        return variable.begin + size
    n = variable.shape[0]
    return variable.begin + (n - 1) * variable.step + size if n else 0


def lay_out(raw: RawHeader, file_size: int) -> ClassicHeader:
    """Find where each variable lies.

    Parameters
    ----------
    raw : RawHeader
    file_size : int
        Bytes of the whole file.

    Raises
    ------
    FormatError
        If a variable is of a dimension that is not there, is larger than any file, or shares bytes with the header or
        with another variable; if there are more records than a file can have.
    Unusual
        If the library shall read the file.
    """
    _check_names(raw)
    sizes = [size for _, size in raw.dimensions]
    if sizes.count(0) > 1:
        raise Unusual("it has a second record dimension")
    slabs = [_slab_size(variable, sizes) for variable in raw.variables]
    records = [(v, slab) for v, slab in zip(raw.variables, slabs, strict=True) if _is_record(v, sizes)]
    step = records[0][1] if len(records) == 1 else sum(size + -size % 4 for _, size in records)
    if step > MAX_SIZE:
        raise FormatError(f"header: found records of {step} bytes each, expected no more than {MAX_SIZE}")
    numrecs = raw.numrecs
    if numrecs == STREAMING[raw.version]:
        numrecs = min((_records_in(file_size - v.begin, slab, step) for v, slab in records), default=0)
    elif numrecs > MAX_SIZE:
        raise FormatError(f"header: numrecs: found {numrecs - 2**64}, expected no negative number")
    header = ClassicHeader(
        FORMATS[raw.version],
        tuple(Dimension(name, size or numrecs, not size) for name, size in raw.dimensions),
        dict(raw.attributes),
        tuple(_variable(v, sizes, numrecs, step) for v in raw.variables),
        raw.size,
    )
    _check_places(header, slabs)
    return header


def _check_names(raw: RawHeader) -> None:
    _check_distinct("dimensions", (name for name, _ in raw.dimensions))
    _check_distinct("variables", (variable.name for variable in raw.variables))
    owners: list[tuple[str, Attributes]] = [("the file", raw.attributes)]
    owners += [(f'the variable "{variable.name}"', variable.attributes) for variable in raw.variables]
    for owner, attributes in owners:
        _check_distinct(f"attributes of {owner}", (name for name, _ in attributes))


def _check_distinct(what: str, names: Iterable[str]) -> None:
    found: set[str] = set()
    for name in names:
        if name in found:
            raise Unusual(f'two {what} have the name "{name}"')
        if "\0" in name or "/" in name:
            raise Unusual(f"one of the {what} has the name {name!r}")
        if not name.isascii() and not unicodedata.is_normalized("NFC", name):
            raise Unusual(f'one of the {what} has the name "{name}", which is not in normalization form C')
        if len(name.encode()) > MAX_NAME:
            raise Unusual(f"one of the {what} has a name of more than {MAX_NAME} bytes")
        found.add(name)


def _is_record(variable: RawVariable, sizes: list[int]) -> bool:
    return bool(variable.dims) and not sizes[variable.dims[0]]


def _slab_size(variable: RawVariable, sizes: list[int]) -> int:
    """Return the bytes of a variable, of a record variable those of one record, after checks of its dimensions."""
    wrong = next((dim for dim in variable.dims if dim >= len(sizes)), None)
    if wrong is not None:
        message = f"header: dimension id: found {wrong}, expected one below {len(sizes)}"
        raise FormatError(message, variable=variable.name)
    shape = [sizes[dim] for dim in variable.dims]
    inner = shape[1:] if shape and not shape[0] else shape
    if 0 in inner:
        raise Unusual(f'the record dimension is not the first one of the variable "{variable.name}"')
    size = int(CODES[variable.type][1:]) * math.prod(inner)
    if size > MAX_SIZE:
        raise FormatError(f"header: found {size} bytes, expected no more than {MAX_SIZE}", variable=variable.name)
    return size


def _records_in(room: int, slab: int, step: int) -> int:
    """Return how many records of a variable are in the file whole."""
    return (room - slab) // step + 1 if room >= slab else 0


def _variable(raw: RawVariable, sizes: list[int], numrecs: int, step: int) -> ClassicVariable:
    return ClassicVariable(
        raw.name,
        raw.dims,
        dict(raw.attributes),
        CODES[raw.type],
        tuple(sizes[dim] or numrecs for dim in raw.dims),
        raw.begin,
        step if _is_record(raw, sizes) else 0,
    )


def _check_places(header: ClassicHeader, slabs: list[int]) -> None:
    """Check that nothing shares bytes with anything else: so no file can be smaller than what is read of it."""
    places = [(v.begin, v.begin + size, v) for v, size in zip(header.variables, slabs, strict=True) if 0 not in v.shape]
    records = sorted((place for place in places if place[2].step), key=_begin)
    fixed = [place for place in places if not place[2].step]
    last = None
    if records:
        # from the first byte of all records to the last one
        (begin, _, first), (_, stop, last) = records[0], records[-1]
        if stop > begin + first.step:
            message = f"header: begin: found {last.begin}, expected its records between those of the other variables"
            raise FormatError(message, variable=last.name)
        fixed.append((begin, stop + (first.shape[0] - 1) * first.step, first))
    end, before = header.size, "header"
    for _, stop, variable in sorted(fixed, key=_begin):
        _check_apart(variable, end, before)
        end, before = stop, f'variable "{last.name if last and variable.step else variable.name}"'
    end = 0
    for _, stop, variable in records:
        _check_apart(variable, end, before)
        end, before = stop, f'variable "{variable.name}"'


def _begin(place: tuple[int, int, ClassicVariable]) -> int:
    return place[0]


def _check_apart(variable: ClassicVariable, end: int, before: str) -> None:
    if variable.begin < end:
        message = f"header: begin: found {variable.begin}, expected at least {end}, where the {before} ends"
        raise FormatError(message, variable=variable.name)


T = TypeVar("T")

_parser = Parser(Dimension, ClassicVariable, ClassicHeader, FORMATS, CODES)


def read_header(body: Body, *, share: bool = False) -> ClassicHeader:
    """Read the header of a classic file.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    share : bool
        Whether attributes of a variable may be the same objects as in the header of another file that says the same of
        the variable. Then they must not be changed.

    Raises
    ------
    OSError
        As the operating system says.
    FormatError, TruncatedError
        If it is damaged; see `format.read_items` and `layout.lay_out`.
    Unusual
        If the library shall read the file.
    """
    return read_on(body, partial(_parse, share=share))


def _parse(data: bytes | bytearray, file_size: int, share: bool) -> ClassicHeader:
    """Return the header if it ends in these first bytes of a file."""
    parsed = _parser.parse(data, file_size, share)
    if type(parsed) is ClassicHeader:
        return parsed
    if parsed is not None:
        raise Incomplete(parsed)
    with memoryview(data) as view:
        return lay_out(read_items(view, file_size), file_size)


def read_on(body: Body, parse: Callable[[bytes | bytearray, int], T]) -> T:
    """Parse the first bytes of a file, and more of them as long as they are too few.

    Parameters
    ----------
    body : Body
    parse : callable
        Takes bytes and the size of the file, and raises `Incomplete` if it needs more bytes.

    Raises
    ------
    TruncatedError
        If the file has become shorter than its body.
    """
    size = FIRST_SIZE
    while True:
        data = body.head(size)
        try:
            return parse(data, body.size)
        except Incomplete as error:
            n, size = len(data), min(size, body.size)
            if n < size:
                message = f"header: found the end of the file at byte {n}, expected {size} bytes"
                raise TruncatedError(message) from None
            size = max(error.size, 4 * size)
