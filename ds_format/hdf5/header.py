"""The metadata of an HDF5 file: body → `HDF5File`.

Files, or parts of them, are left to a library (`Unusual`) if they have:

- a user block (see `content`), addresses that do not have 8 bytes, a driver that spreads the file or an image of the
  metadata cache, or are open for writing;
- external links, groups that are nested deeper than 32, links whose names have slashes;
- messages that are shared in a heap, heaps with filters, references to regions;
- names that are empty or not UTF-8, two attributes with one name;
- a structure of a version that is not in "HDF5 File Format Specification Version 3.0".
"""

from __future__ import annotations

from typing import cast

from ..base import signatures
from ..body.body import Body
from ..errors import Unusual
from ..kernels.hdf5.objects import Parser
from .reading import Segments, first_bytes, read_known
from .records import (
    HDF5Attribute,
    HDF5Dataset,
    HDF5File,
    HDF5Filter,
    HDF5Group,
    HDF5Layout,
    HDF5Type,
)

SIGNATURE = signatures.HDF5

_records = (HDF5Type, HDF5Attribute, HDF5Filter, HDF5Layout, HDF5Dataset, HDF5Group, HDF5File)
_parser = Parser(_records, Unusual)


def content(body: Body) -> Body | None:
    """Return the body of an HDF5 file without its user block; None if it has no signature of HDF5."""
    start = 0
    while start + len(SIGNATURE) <= body.size:
        if bytes(body.read(start, len(SIGNATURE))) == SIGNATURE:
            return body.section(start) if start else body
        start = 2 * start or signatures.HDF5_START
    return None


def read_file(body: Body, *, netcdf: bool = False, share: bool = False) -> HDF5File:
    """Read the metadata of a file.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    netcdf : bool
        Whether attributes are given as netCDF has them; see `records.HDF5Dataset`.
    share : bool
        With `netcdf`, whether attributes of an object may be the same dict as those of another one, in any file, that
        has the same ones. Then they must not be changed.

    Raises
    ------
    OSError
        As the operating system says.
    FormatError, TruncatedError
        If it is damaged: with the structure and its position.
    Unusual
        If a library shall read the file.
    """

    def parse(segments: Segments, size: int) -> HDF5File | list[tuple[int, int]]:
        return cast("HDF5File | list[tuple[int, int]]", _parser.parse(segments, size, netcdf, share))

    return read_known(body, parse, first_bytes(body))
