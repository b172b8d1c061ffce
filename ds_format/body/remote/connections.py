"""Connections of urllib3 that end requests in time, and keep queries out of its log.

The timeout of a socket is for one wait. A server that sends a byte now and then never lets it end, so the time is also
checked whenever bytes are read, of headers or a body.

Queries have signatures, and urllib3 writes addresses to its log and into messages: it gets those without a query.
"""

from __future__ import annotations

import http.client
import io
import threading
import time
from types import TracebackType
from typing import Any


class Overdue(Exception):
    """A request takes too long. It is no OSError, for urllib3 makes other ones of these."""


class RequestContext(threading.local):
    """Facts about the request of a thread, for the connection that makes it."""

    query = ""
    """Query of the address."""
    end = float("inf")
    """When the request must have ended, by the monotonic clock."""


_context = RequestContext()


class Deadline:
    """The time that a request may take, all redirects included: a `with` block around it.

    Parameters
    ----------
    seconds : float
    size : int
        Bytes of a body after which there are as many seconds more.
    """

    def __init__(self, seconds: float, size: int):
        self._seconds = seconds
        self._size = size
        self._begin = 0.0

    def __enter__(self) -> Deadline:
        self._begin = time.monotonic()
        self.received(0)
        return self

    def received(self, size: int) -> None:
        """Note how many bytes of the body have been received."""
        _context.end = self._begin + self._seconds * (1 + size // self._size)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _context.end = float("inf")


class _TimedReader(io.RawIOBase):
    """The bytes that a socket receives, until the request of the thread must have ended."""

    def __init__(self, raw: Any):
        self._raw = raw

    def readable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        number: int = self._raw.fileno()
        return number

    def readinto(self, buffer: Any) -> int | None:
        """Fill a buffer with what one wait gives."""
        if time.monotonic() > _context.end:
            raise Overdue
        n: int | None = self._raw.readinto(buffer)
        return n

    def close(self) -> None:
        """Close the socket, if nothing else uses it."""
        if not self.closed:
            self._raw.close()
        super().close()


class _BoundedReader(io.BufferedReader):
    """Refuses to read everything: the length of a chunk may be negative."""

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes."""
        if size is None or size < 0:
            raise http.client.HTTPException("found a negative length")
        return super().read(size)


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: Any, *args: Any, **options: Any):
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = _BoundedReader(_TimedReader(sock.makefile("rb", buffering=0)))


class _Connection:
    """Common base of all classes of connections."""

    _begun: _Response | None = None
    """The response whose head is being read."""

    def response_class(self, *args: Any, **options: Any) -> _Response:
        """Return a response; http.client calls this."""
        self._begun = _Response(*args, **options)
        return self._begun

    def getresponse(self) -> Any:
        """Return the response. If urllib3 refuses its head, close the socket, which would wait for the collector."""
        try:
            return super().getresponse()  # type: ignore[misc]
        except BaseException:
            if self._begun is not None:
                self._begun.close()
            raise
        finally:
            self._begun = None

    def request(self, method: str, url: str, *args: Any, **options: Any) -> None:
        """Send a request."""
        super().request(method, url + _context.query, *args, **options)  # type: ignore[misc]


def set_query(query: str) -> None:
    """Set the query that the next requests of this thread have, with its question mark."""
    _context.query = query


def with_own_connections(manager: Any) -> Any:
    """Let a manager of pools of urllib3 make connections of this module, and return it."""
    manager.pool_classes_by_scheme = {
        scheme: type("Pool", (pool,), {"ConnectionCls": type("Connection", (_Connection, pool.ConnectionCls), {})})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }
    return manager
