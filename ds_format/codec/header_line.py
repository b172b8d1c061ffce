"""A header line of which not everything is wanted at once."""

from .header import Entry
from .line import Header, compiled, decompiled, find_end, metadata_of, parse, parse_any


class HeaderLine:
    """A header line that is right. What it says is made when it is asked for.

    Parameters
    ----------
    data : bytes or bytearray
        The first bytes of a file, with all of the line, which may not be changed afterwards.

    Raises
    ------
    FormatError, VersionError
        As `find_end` and `parse`.
    """

    __slots__ = ("_compiled", "_data", "_read")

    def __init__(self, data: bytes | bytearray):
        self._data = data
        found = compiled(data)
        if found is None:
            self._compiled = None
            self._read = parse_any(data, find_end(data, whole=True))
        else:
            self._compiled = found[0]

    def text(self) -> str:
        """Return the line as it stands, behind the version line if there is one."""
        return self._data[: self.header().body].decode()

    def header(self) -> Header:
        """Return the header."""
        return self._read[0] if self._compiled is None else decompiled(self._data, self._compiled)

    def meta(self) -> dict[str, Entry]:
        """Return the metadata as `parse` does: each time others, which nobody else holds."""
        if self._compiled is None:
            return metadata_of(*self._read)
        return parse(self._data, self._compiled.body - 1)[1]
