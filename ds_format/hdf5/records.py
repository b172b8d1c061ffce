"""Metadata of an HDF5 file as plain records. The kernel `kernels.hdf5.objects` makes them from bytes.

Source of all facts: "HDF5 File Format Specification Version 3.0", The HDF Group.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class HDF5Type(NamedTuple):
    """A datatype message."""

    kind: str
    """`number`, `text` (strings of fixed length), `string` (strings of variable length), `enum`, `reference` (to
    objects), or, without a code, a type that ds does not have: `compound`, `sequence` (variable length), `opaque`,
    `bitfield`, `time`, `array`, `unusual float`, `unusual number`."""
    code: str | None
    """As `str` of a NumPy dtype: of numbers and enums in the byte order of the file (`<f4`, `|i1`); `|S` with the size
    of text; else None."""
    size: int
    """Bytes of one element in the file."""
    members: tuple[tuple[str, int], ...] | None = None
    """Members of an enum, in the order of the file."""
    address: int | None = None
    """Position of the object header of a committed (named) type."""
    padding: str = ""
    """End of text that is shorter than its type: `NUL ends` (bytes after the first NUL mean nothing), `NULs`,
    `spaces`."""
    is_utf8: bool = False
    """Whether text is marked as UTF-8, not as ASCII."""


class HDF5Attribute(NamedTuple):
    """An attribute whose value has no usual Python form: an enum, a reference, several axes, an odd number."""

    type: HDF5Type
    shape: tuple[int, ...] | None
    """None: a null dataspace."""
    data: bytes | list[str]
    """As in the file. If attributes are not as netCDF has them, strings of variable length."""


class HDF5Filter(NamedTuple):
    """A filter of a pipeline."""

    number: int
    """Registered number: 1 deflate, 2 shuffle, 3 Fletcher-32, 4 szip, ..."""
    is_optional: bool
    values: tuple[int, ...]


class HDF5Layout(NamedTuple):
    """Where the values of a dataset are."""

    kind: str
    """`compact`, `contiguous`, `chunked`, or `unusual` (virtual, external)."""
    address: int | None
    """Position in the file: of the values, those of a compact dataset included, or of the index of chunks. None:
    nothing was written."""
    size: int
    """Bytes of compact or contiguous values; bytes of an element of chunks."""
    chunk: tuple[int, ...] | None
    index: str | None  # type: ignore[assignment]  # hides a method of tuples
    """Index of chunks: `btree1`, `single`, `implicit`, `fixed`, `extensible`, `btree2`."""
    parameters: tuple[int, ...]
    """Parameters of the index, as in the layout message: `single` (size, mask) if it is filtered; `fixed` (page bits);
    `extensible` (bits of an index, entries of the index block, least addresses of a super block, least entries of a
    data block, page bits); `btree2` (node size, split and merge per cent)."""
    flags: int
    """Flags of layout versions 4 and 5: 1 chunks at the edge are not filtered, 2 a filtered single chunk."""


class HDF5Dataset(NamedTuple):
    """A dataset."""

    name: str
    """With its groups: `g/h/x`."""
    address: int
    """Position of its object header, by which references name it."""
    order: int
    """Creation order of its link; -1: not tracked."""
    type: HDF5Type
    shape: tuple[int, ...] | None
    """None: a null dataspace."""
    max_shape: tuple[int, ...]
    """-1: unlimited."""
    layout: HDF5Layout
    filters: tuple[HDF5Filter, ...]
    fill: bytes | None
    """One element; None: the fill value message has none."""
    is_fill_written: bool
    """False: the fill time is "never", values that were not written are undefined."""
    attributes: dict[str, Any]
    """NumPy scalars, (N,) arrays in native byte order, `str`, lists of `str`, or an `HDF5Attribute`, also if there are
    several axes. Without a value: the empty string, or None. Text of variable length ends before its first NUL, text of
    fixed length as its type says. Bytes that are not UTF-8 are kept as `surrogateescape` does. In creation order if it
    is tracked, else sorted by name. DIMENSION_LIST is left out. `header.read_header` gives other numbers.

    As netCDF has them: Those of shape (1,) are like those of shape (). Numbers without a value are an empty array.
    Text ends before its first NUL; one of fixed length and shape () before the NULs at its end. If the creation order
    is not tracked, they are in the order of the file. Not the hidden ones."""
    strings: list[str]
    """Names of attributes that netCDF has as one text of the type string, as well: a string of variable length of
    shape () or (1,), or text of shape (1,)."""
    hidden: dict[str, Any]
    """Attributes by which netCDF-4 stores dimensions: CLASS and NAME (`str`), `_Netcdf4Dimid` (`int`),
    `_Netcdf4Coordinates` (tuple of `int`), DIMENSION_LIST (for each axis a tuple of addresses), `_NCProperties`
    (`str`), `_nc3_strict` (True). REFERENCE_LIST is left out. Any other form of these is an `HDF5Attribute`, as is a
    CLASS that is not padded with NULs: the library does not heed it. Unless attributes are as netCDF has them, only
    DIMENSION_LIST."""


class HDF5Group(NamedTuple):
    """A group."""

    name: str
    """With those around it, without slashes at the ends; the root is the empty string."""
    address: int
    order: int
    attributes: dict[str, Any]
    strings: list[str]
    hidden: dict[str, Any]
    """As of `HDF5Dataset`."""


class HDF5File(NamedTuple):
    """All objects of a file, each by the first of its names."""

    groups: list[HDF5Group]
    """The root first, then in the order of links, by creation if it is tracked (else by name), outer ones first, each
    followed by the groups in it."""
    datasets: list[HDF5Dataset]
    """Group by group, in the same order of links."""
    types: list[tuple[str, HDF5Type]]
    """Committed types by their names, with groups."""
    is_ordered: bool
    """Whether all groups track the creation order of their links."""
    links: list[tuple[str, int, int | str]]
    """Other names of objects, with groups; creation order as of `HDF5Dataset`; address of the object header, or
    path of a soft link."""
    unusual: str = ""
    """Why a library must read the file; empty: it need not. Objects with something unusual may be left out."""
