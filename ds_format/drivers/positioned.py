"""Variables that are read by the positions that the header of their file told, without the header."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from ..body import open_file
from ..body.body import Body, FileBody
from ..body.stamp import Stamp, Watch
from ..errors import DsError
from ..names import unescape
from .handle import Indexed

MAX_KNOWN = 4096
"""Files whose digests are remembered."""

_known: dict[tuple[Stamp, int, int], bytes] = {}
"""Digests of headers, by what the system says of a file: it tells the time of the last change, whoever made it."""


def digest(line: Any) -> bytes:
    """Return the digest of the bytes of a file before its data."""
    return hashlib.blake2b(line, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class PositionedHandle(Indexed):
    """A variable of a file; see `drivers.base.Handle`.

    Attributes
    ----------
    path, key, stamp
        See `drivers.base.Handle`.
    body : int
        Bytes of the header, from the start of the file.
    """

    path: str
    key: str
    stamp: Stamp
    body: int

    @staticmethod
    def stamp_of(path: str, watch: Watch, header: Any) -> Stamp:
        """Return what tells whether a file is still the one that was opened.

        A small file is closed by then. If another one has its name, that one's header has another digest, or else is
        this header, too, and what it says of the data holds for both.

        Parameters
        ----------
        path : str
        watch : Watch
            Of the file, if it is open.
        header : buffer
            Its bytes before the data.
        """
        if watch.stamp is None:
            return Stamp.of(os.stat(path), digest(header))
        return watch.stamp._replace(digest=digest(header))

    @abstractmethod
    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        """Read the variable or a part of it from the open file."""

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Read the variable or a part of it; see `drivers.base.Handle`."""
        try:
            fd, status = open_file(self.path)
        except OSError as error:
            raise self.stamp.gone(error, self.path, self.key) from None
        file = FileBody.of(self.path, fd, status)
        try:
            self.stamp.compare(Stamp.of(status, self._digest(file, status)), self.path)
            with file.watch:
                return self._read(file, index)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(self.key))

    def _digest(self, file: Body, status: os.stat_result) -> bytes:
        """Return the digest of the first bytes of the file, as many as its header had."""
        known = Stamp.of(status), status.st_ctime_ns, self.body
        found = _known.get(known)
        if found is None:
            found = digest(file.head(self.body))
            if len(_known) >= MAX_KNOWN:
                _known.clear()
            _known[known] = found
        return found
