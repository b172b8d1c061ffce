"""Classic files read in one call."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Any

from .... import classic
from ....body.body import Body
from ..format import MARKER
from ..recalled import RecalledFile, escaped
from ..whole import WholeFile
from .recalled import recall
from .source import ClassicValues


class WholeClassicFile(WholeFile):
    """A classic file that is read in one call.

    Parameters
    ----------
    body : Body

    Raises
    ------
    FormatError
        If the header is wrong.
    Unusual
        If only the netCDF4 library can read the file.
    """

    __slots__ = ()
    header: classic.ClassicHeader

    def __init__(self, body: Body):
        super().__init__(body, classic.read_header(body, share=True), ClassicValues(body))

    def recall(self, keys: Collection[str] | None, lends: bool) -> RecalledFile:
        """See `WholeFile`."""
        return recall(self.header, self.values.scalar, keys, lends)

    def attributes(self) -> dict[str, Any]:
        """See `WholeFile`."""
        return escaped(self.header.attributes)

    def has_marker(self) -> bool:
        """See `WholeFile`."""
        return MARKER in self.header.attributes

    def places(self) -> Sequence[classic.ClassicVariable]:
        """See `WholeFile`."""
        return self.header.variables

    def is_alike(self, known: WholeClassicFile) -> bool:
        """Compare the headers; equal bytes of variables gave the same objects."""
        header, other = self.header, known.header
        if header.format != other.format or header.dimensions != other.dimensions:
            return False
        if len(header.variables) != len(other.variables):
            return False
        pairs = zip(header.variables, other.variables, strict=True)
        return all(new.attributes is old.attributes and new.name == old.name for new, old in pairs)

    def digest(self) -> int:
        """Return a checksum of the header."""
        return zlib.crc32(self.body.read(0, self.header.size))
