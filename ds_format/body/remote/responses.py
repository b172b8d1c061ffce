"""An answer of a web server: which bytes it has, and how these are read without trusting that they end."""

from __future__ import annotations

import errno
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from .connections import Deadline, Overdue
from .stores import TemporaryFailure, first_line

STREAM_SIZE = 1 << 20
"""Bytes that are taken from a connection at once."""
MOST_DRAINED = 1 << 16
"""Bytes that are read to no purpose but to use a connection again."""
NUMBER = r"(\d{1,18})"
"""A size or position in a header; 18 digits are 10^9 GB."""
RANGE = re.compile(rf"\s*bytes\s+{NUMBER}-{NUMBER}/(?:{NUMBER}|\*)\s*", re.ASCII)
COMPRESSIONS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Names of compressions, and what zlib calls them."""


class ByteRange(NamedTuple):
    """Which bytes of which file are in an answer."""

    start: int
    stop: int
    size: int | None
    """Size of the file; None if the server does not report it."""


class Response:
    """An answer to a request.

    Parameters
    ----------
    response : urllib3.HTTPResponse
    deadline : Deadline
        The time that it may take.
    failures : tuple of exception classes
        Those of urllib3 and of the operating system.
    """

    def __init__(self, response: Any, deadline: Deadline, failures: tuple[type[BaseException], ...]):
        self._response = response
        self._deadline = deadline
        self._failures = failures
        self._received = 0
        self.status: int = response.status
        self.headers = response.headers
        self.compression: str | None = response.headers.get("Content-Encoding", "identity").strip().lower()
        if self.compression in ("identity", ""):
            self.compression = None

    @property
    def reason(self) -> str:
        """Status and its reason, for messages."""
        return f"HTTP status {self.status} {str(self._response.reason or '')[:80]}".rstrip()

    @property
    def version(self) -> str:
        """The ETag, or else when the file was changed; empty if the server tells neither.

        The mark of a weak ETag is a part of it.
        """
        return str(self.headers.get("ETag") or self.headers.get("Last-Modified") or "")

    @property
    def length(self) -> int | None:
        """Size of the file in bytes, in an answer with all of it; None if that is not known before."""
        found = re.fullmatch(NUMBER, self.headers.get("Content-Length", ""), re.ASCII)
        return None if found is None or self.compression is not None else int(found[1])

    @property
    def size_elsewhere(self) -> int | None:
        """Size of a file that does not have the range; None if it is not known."""
        found = re.fullmatch(rf"bytes \*/{NUMBER}", self.headers.get("Content-Range", ""), re.ASCII)
        return None if found is None else int(found[1])

    def range(self, start: int | None) -> ByteRange:
        """Return which bytes an answer has.

        Parameters
        ----------
        start : int, optional
            Position of the first byte that was requested.

        Raises
        ------
        OSError
            If these are not those that were requested.
        """
        header = self.headers.get("Content-Range", "")
        found = RANGE.fullmatch(header)
        if found is None:
            raise OSError(None, f"Content-Range: found {header[:80]!r}, expected a range of bytes")
        first, last = int(found[1]), int(found[2])
        size = None if found[3] is None else int(found[3])
        if not first <= last or (size is not None and last >= size) or (start is not None and first != start):
            raise OSError(None, f"Content-Range: found {header[:80]!r}, expected bytes from {start or 0} on")
        return ByteRange(first, last + 1, size)

    def take(self, most: int) -> bytearray:
        """Return the bytes of the body, up to `most`: as many as came, if the connection is lost."""
        data = bytearray()
        for chunk in self._chunks(most):
            data += chunk
        if len(data) == most:
            self.end()
        return data

    def skip(self, size: int) -> None:
        """Read bytes of the body, and forget them."""
        for _ in self._chunks(size):
            pass

    def check_length(self, most: int) -> None:
        """Check the announced size of a file that is read whole. Raises an OSError if it is larger than `most`."""
        if self.length is not None and self.length > most:
            raise _too_large(self.length, most)

    def whole(self, most: int) -> bytearray:
        """Return the body, decompressed.

        Parameters
        ----------
        most : int
            Maximum size in bytes.

        Raises
        ------
        OSError
            If it is larger, or compressed in a way that is not supported.
        """
        data = bytearray()
        chunks = self._chunks(None)
        for chunk in chunks if self.compression is None else self._decompressed(chunks):
            data += chunk
            if len(data) > most:
                raise _too_large(None, most)
        return data

    def end(self) -> None:
        """Read what is left of a short answer, so that the connection can be used again."""
        failures: tuple[type[BaseException], ...] = (Overdue, *self._failures)
        try:
            if (self._response.length_remaining or 0) <= MOST_DRAINED:
                self._response.read(MOST_DRAINED, decode_content=False)
        except failures:
            self.close()

    def close(self) -> None:
        """Release the connection. It is closed if the answer has not ended."""
        self._response.close()

    def _chunks(self, most: int | None) -> Iterator[bytes]:
        """Yield up to `most` bytes as they arrive, or all.

        If the connection is lost, some of the former will do, but not of the latter.
        """
        n = 0
        try:
            while chunk := self._response.read(
                STREAM_SIZE if most is None else min(most - n, STREAM_SIZE), decode_content=False
            ):
                n += len(chunk)
                self._received += len(chunk)
                self._deadline.received(self._received)
                yield chunk
        except self._failures as error:
            if most is None or not n:
                raise TemporaryFailure(first_line(error)) from error

    def _decompressed(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield decompressed bytes, each time at most `STREAM_SIZE`."""
        if self.compression not in COMPRESSIONS:
            raise OSError(None, f"the answer is compressed ({str(self.compression)[:20]}), as was not requested")
        try:
            yield from _inflated(chunks, COMPRESSIONS[self.compression])
        except zlib.error as error:
            raise TemporaryFailure(f"the answer is compressed, and damaged: {error}") from error


def _inflated(chunks: Iterator[bytes], window: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(window)
    for chunk in chunks:
        left = chunk
        while left:
            if inflater.eof:  # a gzip file may consist of several
                inflater = zlib.decompressobj(window)
            yield inflater.decompress(left, STREAM_SIZE)
            left = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    while not inflater.eof:
        piece = inflater.decompress(inflater.unconsumed_tail, STREAM_SIZE)
        if not piece:
            raise zlib.error("it ends too early")
        yield piece


def _too_large(size: int | None, most: int) -> OSError:
    found = f"more than {most} bytes" if size is None else f"{size} bytes, more than {most}"
    message = f"the server does not support ranges, and the file has {found}: ds.remote(whole=...) is the limit"
    return OSError(errno.EFBIG, message)
