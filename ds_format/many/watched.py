"""Files that are read again later, if they are still the same."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import drivers
from ..body.stamp import HOST, Stamp
from .reading import Content, batches, contents, stamp_of, whole


class WatchedFiles:
    """Files that are read twice or more: the first time it is written down which they are, afterwards it is compared.

    So little is kept of each that there may be hundreds of thousands. It can be pickled.

    Parameters
    ----------
    paths : sequence of str
        Absolute.
    group : str, optional
        Path of the group that is read of each; None: all of the file.

    Attributes
    ----------
    paths : list of str
    group : str or None
    stamps : (n, 3) ndarray of int64
        See `reading.Batch`.
    digests : (n,) ndarray of uint32
        Of the headers; 0 for formats that have none of their own.
    host : str
        Where they were opened.
    """

    __slots__ = ("digests", "group", "host", "paths", "stamps")

    def __init__(self, paths: Sequence[str], group: str | None = None):
        self.paths = list(paths)
        self.group = group
        self.stamps = np.zeros((len(self.paths), 3), np.int64)
        self.digests = np.zeros(len(self.paths), np.uint32)
        self.host = HOST

    def record(self, threads: int | None, reads_again: bool = True) -> Iterator[tuple[str, Content]]:
        """Yield each path with the content of the file, as `reading.contents` does, and write down which it was.

        Parameters
        ----------
        threads : int, optional
            As `reading.batches`.
        reads_again : bool
            False: nothing needs to be written down.
        """
        if not reads_again:
            yield from contents(self.paths, threads)
            return
        i = 0
        for found in batches(self.paths, threads):
            self.stamps[i : i + len(found.paths)] = found.stamps()
            for path, content in zip(found.paths, found.contents, strict=True):
                content, digest = self._held(path, content)
                if digest is not None:
                    self.digests[i] = digest
                yield path, content
                i += 1

    def again(self, which: Sequence[int], threads: int | None) -> Iterator[tuple[str, Content]]:
        """Yield some of the files once more.

        Parameters
        ----------
        which : sequence of int
            Their positions.
        threads : int, optional
            As `reading.batches`.

        Raises
        ------
        ReplacedError
            If one is not what it was.
        """
        columns = slice(0, 3 if self.host == HOST else 2)
        positions = np.asarray(which)
        start = 0
        for found in batches([self.paths[i] for i in which], threads):
            some = positions[start : start + len(found.paths)]
            same = (found.stamps()[:, columns] == self.stamps[some, columns]).all(1).tolist()
            for i, path, content, is_same in zip(some.tolist(), found.paths, found.contents, same, strict=True):
                if not is_same:
                    self._fail(i, content)
                held, digest = self._held(path, content)
                if digest is not None:
                    if content is None:
                        self._check_stamp(i)
                    self._check_digest(i, digest)
                yield path, held
            start += len(some)

    def note(self, i: int, digest: bytes) -> None:
        """Write down the digest of a file that is not read as a whole."""
        self.digests[i] = zlib.crc32(digest)

    def check(self, i: int, digest: bytes) -> None:
        """Check a file that was opened by its name, and not read as a whole, after it was read.

        Raises
        ------
        ReplacedError
            If it is not what it was.
        """
        self._check_stamp(i)
        self._check_digest(i, zlib.crc32(digest))

    def _check_stamp(self, i: int) -> None:
        n = 3 if self.host == HOST else 2
        if stamp_of(self.paths[i])[:n] != tuple(self.stamps[i, :n].tolist()):
            self._fail(i, None)

    def _check_digest(self, i: int, digest: int) -> None:
        if digest != self.digests[i]:
            stamp = self._stamp(i)
            stamp.compare(stamp._replace(digest=b""), self.paths[i])

    def some(self, which: Sequence[int]) -> WatchedFiles:
        """Return some of the files, by their positions."""
        out = WatchedFiles([self.paths[i] for i in which], self.group)
        out.stamps, out.digests, out.host = self.stamps[which], self.digests[which], self.host
        return out

    def token(self) -> tuple[Any, ...]:
        """Return what is the same whenever the same files are opened, on any host."""
        return tuple(self.paths), self.group, self.stamps[:, :2].tobytes(), self.digests.tobytes()

    def _held(self, path: str, content: Content) -> tuple[Content, int | None]:
        """Return the content of a file, and the digest of its header; None, None if it is to be opened."""
        if isinstance(content, int):
            return content, None
        driver = drivers.holder(path)[1] if self.group is None else None
        if driver is None:
            return None, None
        found = whole(path, driver) if content is None else content
        held = None if found is None else driver.held(path, found)
        return (None, None) if held is None else (found, driver.digest(held))

    def _stamp(self, i: int) -> Stamp:
        size, mtime, inode = self.stamps[i].tolist()
        return Stamp(size, mtime, self.digests[i].tobytes(), self.host, inode)

    def _fail(self, i: int, content: Content) -> None:
        """Raise what says what became of a file."""
        path = self.paths[i]
        try:
            status = os.stat(path)
        except OSError as error:
            raise self._stamp(i).gone(error, path) from None
        if isinstance(content, int):
            raise OSError(content, os.strerror(content), path)
        stamp = self._stamp(i)
        stamp.compare(Stamp.of(status, stamp.digest), path)
        stamp.compare(stamp._replace(mtime=-1), path)  # it was another one when it was read
