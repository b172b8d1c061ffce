"""The header of a classic file → the position of each variable, with all checks that need only header and file size.

A kernel reads usual headers. If it gives up, the header is read item by item.

All numbers are Python integers, which cannot overflow. You may trust a `ClassicHeader`, with one exception: a variable
may end after the end of the file. If a file is truncated, or its number of records is too large, its other variables
may still be complete. Compare `end_of` with the size of the file.

Some headers follow the grammar, or are read by the library, but with a result that users do not expect. These are
`Unusual`:

- A name of a dimension, variable or attribute is empty, has more than 255 bytes, contains NUL or `/`, or is not in
  Unicode's normalization form C (the library looks up names in this form).
- Two dimensions, two variables, or two attributes of the same owner have the same name.
- The file has a second record dimension, or the record dimension is not the first dimension of a variable.
- A variable has more than 64 dimensions, which is the maximum of an array.

`format` reports empty names and too many dimensions.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ..base.dtypes import TypedNumbers
from ..body.body import FIRST_SIZE, Body
from ..errors import FormatError, NotInHeaderError, TruncatedError, Unusual
from ..kernels.classic.header import Parser
from .format import CODES, FORMATS, STREAMING, Attributes, Incomplete, RawHeader, RawVariable, read_items

MAX_NAME = 255
"""Maximum bytes of a name. It is less than `NC_MAX_NAME` (256) in netcdf.h: the library cuts names of this length."""

MAX_SIZE = 2**63 - 1
"""Maximum bytes of a file."""


class Dimension(NamedTuple):
    """A dimension."""

    name: str
    size: int
    """The number of records if this is the record dimension."""
    is_record: bool


class ClassicVariable(NamedTuple):
    """A variable and its position in the file."""

    name: str
    dims: tuple[int, ...]
    """Indexes into `ClassicHeader.dimensions`."""
    attributes: dict[str, Any]
    """Text as str, one number as a NumPy scalar, others as (N,) arrays in native byte order. `read_usual` gives other
    numbers."""
    code: str
    """NumPy kind and bytes of a value."""
    shape: tuple[int, ...]
    """With the number of records along the record dimension."""
    begin: int
    """Bytes from the start of the file to the first value."""
    step: int
    """Bytes from one record to the next; 0 if it is not a record variable."""


class ClassicHeader(NamedTuple):
    """The content of a header. Dimensions, attributes and variables are in file order."""

    format: str
    dimensions: tuple[Dimension, ...]
    attributes: dict[str, Any]
    variables: tuple[ClassicVariable, ...]
    size: int
    """Bytes of the header."""


def end_of(variable: ClassicVariable) -> int:
    """Return the minimum size of a file, in bytes, that contains a whole variable; 0 for a variable without records."""
    size = int(variable.code[1:]) * math.prod(variable.shape[1:] if variable.step else variable.shape)
    if not variable.step:
        return variable.begin + size
    n = variable.shape[0]
    return variable.begin + (n - 1) * variable.step + size if n else 0


def lay_out(raw: RawHeader, file_size: int) -> ClassicHeader:
    """Compute the position of each variable.

    Parameters
    ----------
    raw : RawHeader
    file_size : int
        Bytes of the whole file.

    Raises
    ------
    FormatError
        If a variable has a dimension that does not exist, is larger than any file, or overlaps the header or another
        variable, or if there are more records than a file can have.
    Unusual
        If the file is left to the library.
    """
    _check_names(raw)
    sizes = [size for _, size in raw.dimensions]
    if sizes.count(0) > 1:
        raise Unusual("it has a second record dimension")
    slabs = [_slab_size(variable, sizes) for variable in raw.variables]
    records = [(v, slab) for v, slab in zip(raw.variables, slabs, strict=True) if _is_record(v, sizes)]
    step = records[0][1] if len(records) == 1 else sum(size + -size % 4 for _, size in records)
    if step > MAX_SIZE:
        raise FormatError(f"header: found records of {step} bytes each, expected at most {MAX_SIZE}")
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
    _check_extents(header, slabs)
    return header


def _check_names(raw: RawHeader) -> None:
    _check_distinct("dimensions", (name for name, _ in raw.dimensions))
    _check_distinct("variables", (variable.name for variable in raw.variables))
    owners: list[tuple[str, Attributes]] = [("the file", raw.attributes)]
    owners += [(f'the variable "{variable.name}"', variable.attributes) for variable in raw.variables]
    for owner, attributes in owners:
        _check_distinct(f"attributes of {owner}", (name for name, _ in attributes))


def _check_distinct(plural: str, names: Iterable[str]) -> None:
    """Check the names of items of one owner; `plural` is the plural of these items, for messages."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Unusual(f'two {plural} have the name "{name}"')
        if "\0" in name or "/" in name:
            raise Unusual(f"one of the {plural} has the name {name!r}")
        if not name.isascii() and not unicodedata.is_normalized("NFC", name):
            raise Unusual(f'one of the {plural} has the name "{name}", which is not in normalization form C')
        if len(name.encode()) > MAX_NAME:
            raise Unusual(f"one of the {plural} has a name of more than {MAX_NAME} bytes")
        seen.add(name)


def _is_record(variable: RawVariable, sizes: list[int]) -> bool:
    return bool(variable.dims) and not sizes[variable.dims[0]]


def _slab_size(variable: RawVariable, sizes: list[int]) -> int:
    """Check the dimensions of a variable, and return its bytes, or those of one record of a record variable."""
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
        raise FormatError(f"header: found {size} bytes, expected at most {MAX_SIZE}", variable=variable.name)
    return size


def _records_in(size: int, slab: int, step: int) -> int:
    """Return the number of complete records of a variable in `size` bytes from its `begin` to the end of the file."""
    return (size - slab) // step + 1 if size >= slab else 0


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


def _check_extents(header: ClassicHeader, slabs: list[int]) -> None:
    """Check that header and variables do not overlap. So all arrays together are not larger than the file."""
    extents = [
        (v.begin, v.begin + size, v) for v, size in zip(header.variables, slabs, strict=True) if 0 not in v.shape
    ]
    records = sorted((extent for extent in extents if extent[2].step), key=_begin)
    fixed = [extent for extent in extents if not extent[2].step]
    last = None
    if records:
        # all records together are one extent among those of the other variables
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


def _begin(extent: tuple[int, int, ClassicVariable]) -> int:
    return extent[0]


def _check_apart(variable: ClassicVariable, end: int, before: str) -> None:
    if variable.begin < end:
        message = f"header: begin: found {variable.begin}, expected at least {end}, where the {before} ends"
        raise FormatError(message, variable=variable.name)


T = TypeVar("T")

_parser = Parser(Dimension, ClassicVariable, ClassicHeader, FORMATS, CODES)
_usual_parser = Parser(Dimension, ClassicVariable, ClassicHeader, FORMATS, CODES, TypedNumbers)


def read_header(body: Body, *, share: bool = False) -> ClassicHeader:
    """Read the header of a classic file.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    share : bool
        Whether attributes may be the same objects as those of an equal variable in the header of another file. Then
        you must not change them.

    Raises
    ------
    OSError
        If the operating system cannot read the file.
    FormatError, TruncatedError
        If the header is damaged; see `format.read_items` and `lay_out`.
    Unusual
        If the file is left to the library.
    """
    return read_on(body, partial(_parse, share=share))


def read_usual(body: Body) -> ClassicHeader:
    """Do the same as `read_header` without NumPy: numbers of attributes are `TypedNumbers`.

    Raises
    ------
    NotInHeaderError
        If the header must be read item by item; perhaps though it is not wrong.
    """
    return read_on(body, partial(_parse, share=False, parser=_usual_parser))


def _parse(data: bytes | bytearray, file_size: int, share: bool, parser: Parser = _parser) -> ClassicHeader:
    """Return the header if it ends within `data`, the first bytes of a file; otherwise raise `Incomplete`."""
    parsed = parser.parse(data, file_size, share)
    if type(parsed) is ClassicHeader:
        return parsed
    if parsed is not None:
        raise Incomplete(parsed)
    if parser is _usual_parser:
        raise NotInHeaderError("a wrong or unusual header")
    with memoryview(data) as view:
        return lay_out(read_items(view, file_size), file_size)


def read_on(body: Body, parse: Callable[[bytes | bytearray, int], T]) -> T:
    """Parse the first bytes of a file, and read more as long as they are too few.

    Parameters
    ----------
    body : Body
    parse : callable
        Takes bytes and the size of the file, and raises `Incomplete` if it needs more bytes.

    Raises
    ------
    TruncatedError
        If the file was truncated after its body was opened.
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
