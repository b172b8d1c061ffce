"""Reading variables elsewhere: by the position of their values in a file, or by opening the file again."""

from __future__ import annotations

import importlib
import os
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.dtypes import TYPES
from ..base.text import unescape
from ..body import Address, open_file, path_text
from ..body.body import Body, FileBody
from ..body.stamp import Stamp, Watch
from ..errors import DsError, ReplacedError
from ..model.index import normalize
from .base import Entries, Handle, Origin

MAX_DIGESTS = 4096
"""Maximum number of files whose digests are stored."""

_digests: dict[tuple[Stamp, int, int], bytes] = {}
"""Digests of headers, by the status of the file, which includes the time of the last change by any process."""


class Indexed:
    """The interface for NumPy, dask and xarray of an array that is read when it is indexed."""

    __slots__ = ()

    @property
    def dtype(self: Handle) -> np.dtype[Any]:
        """Type of the arrays that are read; object for text and byte strings."""
        return np.dtype(TYPES[self.type or "float64"].code)

    @property
    def ndim(self: Handle) -> int:
        """Number of dimensions."""
        return len(self.shape or ())

    def __getitem__(self: Handle, index: Any) -> Any:
        return self.read(None if self.shape is None else normalize(index, self.shape))

    def __dask_tokenize__(self: Handle) -> tuple[Any, ...]:
        return self.path, self.key, *self.stamp[:3]


@dataclass(frozen=True)
class FileHandle(Indexed):
    """A variable of a file that is opened for each read, because only its library knows the position of the values.

    Attributes
    ----------
    origin : Origin
    key, shape, type, missing
        See `drivers.base.Handle`.
    """

    origin: Origin
    key: str
    shape: tuple[int, ...] | None
    type: str | None
    missing: bool

    @property
    def path(self) -> Any:
        """Absolute path of the file, or its address."""
        return self.origin.path

    @property
    def stamp(self) -> Stamp:
        """Stamp of the file when it was opened, to detect that it was replaced or modified."""
        return self.origin.stamp

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; see `drivers.base.Handle`."""
        try:
            self._compare()
            try:
                found = self._read(index)
            except Exception:
                self._compare()
                raise
            self._compare()
            return found
        except DsError as error:
            raise error.at(path=path_text(self.path), variable=unescape(self.key))

    def _compare(self) -> None:
        if isinstance(self.path, Address):
            return  # the stamp is compared when it is opened
        try:
            found = Stamp.of_path(self.path)
        except OSError as error:
            raise self.stamp.gone(error, self.path, self.key) from None
        self.stamp.compare(found, self.path)

    def _read(self, index: tuple[Any, ...] | None) -> Any:
        source: Any = self.origin.reopen(self.origin)
        try:
            return self._read_opened(source, index)
        finally:
            source.close()

    def _read_opened(self, source: Any, index: tuple[Any, ...] | None) -> Any:
        """Return the variable or a part of it from the file that was opened again."""
        if isinstance(self.path, Address):
            self.stamp.compare(source.origin.stamp, self.path.name)
        if properties(source.meta, self.key) != (self.shape, self.type):
            raise ReplacedError("the file was changed after it was opened: its metadata differ; open it again")
        return source.read(self.key, index)


def properties(meta: Entries, key: str) -> tuple[tuple[int, ...] | None, str | None]:
    """Return shape and type of a variable. If it does not exist, return values that no variable has."""
    entry = meta.get(key, {".size": [-1]})
    size = entry.get(".size")
    return None if size is None else tuple(size), entry.get(".type")


def digest(line: Any) -> bytes:
    """Return the digest of the bytes before the data of a file."""
    # loading it takes longer than `ds ls` takes to read a header
    found: bytes = importlib.import_module("hashlib").blake2b(line, digest_size=16).digest()
    return found


@dataclass(frozen=True, slots=True)
class PositionedHandle(Indexed):
    """A variable of a file; see `drivers.base.Handle`.

    Attributes
    ----------
    path : str or Address
        Absolute path, or the address of a file that is elsewhere.
    key, stamp
        See `drivers.base.Handle`.
    body : int
        Size of the header, in bytes from the start of the file.
    """

    path: Any
    key: str
    stamp: Stamp
    body: int

    @staticmethod
    def stamp_of(path: Any, watch: Watch, header: Any) -> Stamp:
        """Return the stamp of a file, to detect later that it was replaced or modified.

        A small file is closed by now. If another file has its name, its header has another digest. Or it has the same
        header, which then is right for its data, too.

        Parameters
        ----------
        path : str or Address
            The stamp of a file that is elsewhere has its version instead of a digest.
        watch : Watch
            Watch of the file, if it is open.
        header : buffer
            Its bytes before the data.
        """
        if isinstance(path, Address):
            return watch.stamp or Stamp(len(header), 0, digest(header), "", 0)
        if watch.stamp is None:
            return Stamp.of(os.stat(path), digest(header))
        return watch.stamp._replace(digest=digest(header))

    @abstractmethod
    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        """Return the variable or a part of it from the open file."""

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; see `drivers.base.Handle`."""
        if isinstance(self.path, Address):
            return self._read_elsewhere(index)
        try:
            opened = open_file(self.path)
        except OSError as error:
            raise self.stamp.gone(error, self.path, self.key) from None
        file = FileBody.of(self.path, *opened)
        status = opened[1]
        try:
            self.stamp.compare(Stamp.of(status, self._digest(file, status)), self.path)
            with file.watch:
                return self._read(file, index)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(self.key))

    def _read_elsewhere(self, index: tuple[Any, ...] | None) -> Any:
        """Read from a file that has no path. Each answer is compared with the stamp."""
        try:
            return self._read(self.path.reopened(self.stamp, self.known), index)
        except DsError as error:
            raise error.at(path=self.path.name, variable=unescape(self.key))

    @property
    def known(self) -> tuple[tuple[int, bytes], ...]:
        """Bytes of a file that is elsewhere, and where they begin: they came with its header."""
        return ()

    def _digest(self, file: Body, status: os.stat_result) -> bytes:
        """Return the digest of the first `body` bytes of the file."""
        key = Stamp.of(status), status.st_ctime_ns, self.body
        found = _digests.get(key)
        if found is None:
            found = digest(file.head(self.body))
            if len(_digests) >= MAX_DIGESTS:
                _digests.clear()
            _digests[key] = found
        return found
