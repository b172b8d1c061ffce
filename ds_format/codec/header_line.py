"""A header line of which not everything is wanted at once."""

from collections.abc import Callable

from .header import Entry
from .line import Header, compiled, decompiled, find_end, interpreted


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

    __slots__ = ("_data", "_found")

    def __init__(self, data: bytes | bytearray):
        self._data = data
        found = compiled(data, ())
        self._found = found[0] if found is not None else interpreted(data, find_end(data, whole=True), ())[0]

    def text(self) -> str:
        """Return the line as it stands, behind the version line if there is one."""
        return self._data[: self._found.body].decode()

    def header(self) -> Header:
        """Return the header."""
        return self._found if isinstance(self._found, Header) else decompiled(self._found)

    def meta(self, typed: Callable[[Entry], Entry]) -> dict[str, Entry]:
        """Return the metadata as `parse` does, each time others, which nobody else holds.

        Parameters
        ----------
        typed : callable
            Gives attributes their types back, in place, and returns them: `attributes.from_json`.
        """
        found = compiled(self._data, None, typed)
        if found is not None:
            return found[1]
        meta = interpreted(self._data, self._found.body - 1)[1]
        return {key: typed(entry) for key, entry in meta.items()}
