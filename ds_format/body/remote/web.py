"""Web servers, by urllib3.

Redirects are followed here, hop by hop, since each host gets its own credentials: only the host of the address gets the
given ones, others get those in `.netrc`. This allows a sign-in on another host that leads back with a cookie.
"""

from __future__ import annotations

import contextlib
import errno
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ...base.text import on_one_line
from .connections import Deadline, Overdue, set_query
from .responses import Response
from .sessions import session_of
from .settings import current
from .stores import Answer, TemporaryFailure, first_line
from .urls import WebUrl, parse_url, redirected

MAX_REDIRECTS = 10
REDIRECTS = frozenset({301, 302, 303, 307, 308})
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which repeating a request may help."""
UNTRUSTED = "; if you trust the server, name the file of its certificate by the option ca_certs or SSL_CERT_FILE"


class HttpStore:
    """A file on a web server; see `stores.Store`.

    Parameters
    ----------
    url : str
    options : mapping
        See `sessions.Session`.
    name : str
        For messages.

    Raises
    ------
    OSError
        If the address is none.
    """

    def __init__(self, url: str, options: Mapping[str, Any], name: str):
        self.name = name
        self._url = parse_url(url, name=name)
        self._session = session_of(options)
        exceptions = self._session.urllib3.exceptions
        self._failures = (exceptions.HTTPError, OSError)
        self._moved = self._url
        """Where redirects led the last time."""

    def first(self, size: int) -> Answer:
        """Return the first bytes, or the whole file if the server does not support ranges."""
        with self._request(f"bytes=0-{size - 1}") as response:
            if response.status == 416:
                response.end()
                return Answer(bytearray(), 0, response.version)
            if response.status == 206:
                found = response.range(0)
                most = min(size, found.stop)
                data = response.take(most)
                if len(data) < most:
                    raise TemporaryFailure(f"the answer has {len(data)} bytes, expected {most}")
            else:
                return self._whole(response, size)
        whole = found.size if found.size is not None else self._size(found.stop, response.version)
        if len(data) < min(size, whole):
            raise TemporaryFailure(f"the answer has {len(data)} bytes, expected {min(size, whole)}")
        return Answer(data, whole, response.version)

    def last(self, size: int) -> tuple[int, Answer] | None:
        """Return the last bytes."""
        with self._request(f"bytes=-{size}") as response:
            if response.status != 206:
                return None
            found = response.range(None)
            n = found.stop - found.start
            if n > size or found.size not in (None, found.stop):
                return None
            data = response.take(n)
            return None if len(data) < n else (found.start, Answer(data, found.stop, response.version))

    def get(self, start: int, stop: int) -> Answer:
        """Return a range of bytes."""
        with self._request(f"bytes={start}-{stop - 1}") as response:
            if response.status == 206:
                found = response.range(start)
                data = response.take(min(found.stop, stop) - start)
                size = found.size
            elif response.status == 416:
                response.end()
                return Answer(b"", response.size_elsewhere or 0, response.version)
            else:  # servers may answer with the whole file where a range has all of it
                size = response.length
                if response.compression is not None:
                    data = response.whole(current().whole)[start:stop]
                else:
                    if start > current().whole:
                        raise OSError(errno.EFBIG, "the answer is the whole file, expected a range")
                    response.skip(start)
                    data = response.take(stop - start)
            if not data:
                raise TemporaryFailure("the answer is empty")
            return Answer(data, size, response.version)

    def now(self) -> None:
        """Return None: each answer has size and version."""

    def _whole(self, response: Response, size: int) -> Answer:
        """Return a file of which the server sends all bytes."""
        length, most = response.length, current().whole
        response.check_length(most)
        if length is None or length > size:
            many = "all bytes" if length is None else f"all {length} bytes"
            message = f"{self.name}: the server does not support ranges, so {many} are read for any part of the file"
            warnings.warn(on_one_line(message), stacklevel=2)
        data = response.whole(most)
        if length is not None and len(data) < length:
            raise TemporaryFailure(f"the answer has {len(data)} bytes, expected {length}")
        return Answer(data, len(data), response.version)

    def _size(self, known: int, version: str) -> int:
        """Return the size of a file of which the server does not tell it with a range, by one more request or two.

        Parameters
        ----------
        known : int
            Bytes that the file has at least.
        version : str
        """
        with contextlib.suppress(OSError), self._request(None, "HEAD") as response:
            size = response.length
            response.end()
            if response.status == 200 and size is not None and size >= known and response.version == version:
                return size
        with self._request("bytes=-1") as response:
            if response.status == 206 and response.version == version:
                return response.range(None).stop
        raise OSError(None, "the server tells the size of the file neither with a range nor for HEAD")

    @contextlib.contextmanager
    def _request(self, span: str | None, method: str = "GET") -> Iterator[Response]:
        """Request a range, follow redirects, and give a response with data, or one with the status 416.

        It is closed after the `with` block, which must end in time.
        """
        settings = current()
        try:
            with Deadline(settings.total, settings.piece) as deadline:
                response = self._moved_or_given(method, span, deadline)
                try:
                    yield response
                finally:
                    response.close()
        except Overdue:
            message = f"no complete answer within {settings.total:g} s: ds.remote(total=...) is the limit"
            raise OSError(errno.ETIMEDOUT, message) from None

    def _moved_or_given(self, method: str, span: str | None, deadline: Deadline) -> Response:
        url = self._moved
        try:
            return self._followed(method, url, span, deadline)
        except (FileNotFoundError, PermissionError):
            if url == self._url:
                raise
            self._moved = self._url  # an address to which a redirect led may expire
            return self._followed(method, self._url, span, deadline)

    def _followed(self, method: str, url: WebUrl, span: str | None, deadline: Deadline) -> Response:
        for _ in range(MAX_REDIRECTS):
            response = self._sent(method, url, span, deadline)
            if response.status not in REDIRECTS or "Location" not in response.headers:
                self._check(response)
                self._moved = url
                return response
            response.end()
            response.close()
            url = redirected(url, response.headers["Location"])
        raise OSError(None, f"more than {MAX_REDIRECTS} redirects")

    def _sent(self, method: str, url: WebUrl, span: str | None, deadline: Deadline) -> Response:
        """Send one request, with those credentials that belong to its host."""
        session, settings = self._session, current()
        exceptions = session.urllib3.exceptions
        headers = session.headers(url, self._url)
        if span is not None:
            headers["Range"] = span
        headers["Accept-Encoding"] = "identity"
        seconds = settings.timeout / (settings.retries + 1)
        pool = session.pool(url)
        set_query(url.query)
        try:
            response = pool.request(
                method,
                url.plain,
                headers=headers,
                timeout=session.urllib3.Timeout(connect=seconds, read=seconds),
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
        except exceptions.SSLError as error:
            advice = UNTRUSTED if "CERTIFICATE_VERIFY_FAILED" in str(error) else ""
            raise OSError(None, f"{first_line(error)}{advice}") from error
        except exceptions.LocationValueError as error:
            raise OSError(None, first_line(error)) from error
        except exceptions.TimeoutError as error:
            is_silent = not isinstance(error, exceptions.NewConnectionError)
            raise TemporaryFailure("no answer in time" if is_silent else first_line(error)) from error
        except self._failures as error:
            raise TemporaryFailure(first_line(error)) from error
        session.keep_cookies(response.headers, url)
        return Response(response, deadline, self._failures)

    def _check(self, response: Response) -> None:
        """Raise the error of a response that has no data."""
        status = response.status
        if status == 206 and response.compression is not None:
            response.close()
            raise OSError(None, f"the answer is compressed ({response.compression[:20]})")
        if status in (200, 206, 416):
            return
        response.end()
        response.close()
        if status in (404, 410):
            raise FileNotFoundError(None, response.reason)
        if status in (401, 403, 407):
            raise PermissionError(None, response.reason)
        if status in BUSY:
            wait = re.fullmatch(r"\d{1,9}", response.headers.get("Retry-After", ""), re.ASCII)
            raise TemporaryFailure(response.reason, None if wait is None else float(wait[0]))
        raise OSError(None, response.reason)
