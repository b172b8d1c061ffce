"""A server of files on the loopback interface, and the ways in which it may misbehave.

`Server` answers as a good server does, with ranges and versions, and records all requests. Each behaviour is a function
that takes a request and the rest of the server, and returns an answer: `Server(files, stalling(), latency=0.02)`.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import http.server
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

Range = tuple[int | None, int | None]
"""(first, end) in bytes. An end of None is that of the file; a first of None stands for the last `end` bytes."""


@dataclass(frozen=True)
class Request:
    """A request as it was received. `number` counts all requests to a server, from 0."""

    server: Server
    number: int
    method: str
    host: str
    path: str
    query: str
    headers: Message
    range: Range | None


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    `cut` is the number of bytes of the body after which the connection is dropped. Below 0, it is dropped before the
    headers. With `stall`, it is not dropped before the server is closed. `more` is sent after the body, as long as the
    client takes it; the headers do not count it.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    stall: bool = False
    more: Iterable[bytes] = ()

    def having(self, **headers: str) -> Answer:
        """Return the answer with further headers; underscores in their names are hyphens."""
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        return replace(self, headers={**self.headers, **given})

    def without(self, *names: str) -> Answer:
        """Return the answer without some headers."""
        return replace(self, headers={name: text for name, text in self.headers.items() if name not in names})


Next = Callable[[Request], Answer]
Behaviour = Callable[[Request, Next], Answer]


class Server:
    """An HTTP/1.1 server of files in memory, at 127.0.0.1 and localhost; a proxy that has the files of all hosts, too.

    Parameters
    ----------
    files : dict
        Path without the first slash → bytes. It may be changed at any time.
    *behaviours : callable
        The first one sees a request first.
    latency : float
        Seconds to wait before each answer.
    etag : {"strong", "weak"} or None
        The kind of version that it tells.
    certificate : path, optional
        A file with a certificate and its key, for https.

    Attributes
    ----------
    requests : list of Request
        In the order of their arrival.
    most : int
        Maximum number of requests that were answered at the same time.
    sent : int
        Bytes of all bodies that were sent.
    faults : list of exceptions
        Errors of the server itself.
    """

    def __init__(
        self,
        files: dict[str, bytes] | None = None,
        *behaviours: Behaviour,
        latency: float = 0.0,
        etag: str | None = "strong",
        certificate: Path | None = None,
    ):
        self.files = {} if files is None else files
        self.latency = latency
        self.etag = etag
        self.requests: list[Request] = []
        self.most = self._n_answering = 0
        self.sent = 0
        self.faults: list[BaseException] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._answer: Next = self._file
        for behaviour in reversed(behaviours):
            self._answer = _before(behaviour, self._answer)
        self._http = _Listener(self)
        self.port: int = self._http.server_address[1]
        self.scheme = "http"
        if certificate is not None:
            self.scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # the handshake is made by the thread of the connection
            self._http.socket = context.wrap_socket(self._http.socket, True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, path: str = "", host: str = "127.0.0.1") -> str:
        """Return the URL of a file."""
        return f"{self.scheme}://{host}:{self.port}/{path}"

    @property
    def ranges(self) -> list[Range | None]:
        """The ranges of all requests, in the order of their arrival; None for a request without one."""
        return [request.range for request in self.requests]

    def received(self, header: str, host: str) -> list[str]:
        """Return the values of a header in all requests to a host, such as `Authorization` or `Cookie`."""
        return [
            value for request in self.requests if request.host == host for value in request.headers.get_all(header, [])
        ]

    def close(self) -> None:
        """End the server and all its connections."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            connections = [*self._connections]
        for connection in connections:
            _end(connection)
        self._http.server_close()

    def receive(self, handler: http.server.BaseHTTPRequestHandler) -> Answer:
        """Record a request, and return the answer."""
        parts = urlsplit(handler.path)
        host = handler.headers.get("Host", "").rpartition(":")[0]
        with self._lock:
            request = Request(
                self,
                len(self.requests),
                handler.command,
                host,
                parts.path.lstrip("/"),
                parts.query,
                handler.headers,
                _parsed_range(handler.headers.get("Range")),
            )
            self.requests.append(request)
            self._n_answering += 1
            self.most = max(self.most, self._n_answering)
        try:
            if self.latency:
                time.sleep(self.latency)
            return self._answer(request)
        finally:
            with self._lock:
                self._n_answering -= 1

    def opened(self, connection: socket.socket) -> None:
        """Remember a connection, which `close` ends."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        with self._lock:
            self._connections.discard(connection)

    def count(self, n: int) -> None:
        """Add to the number of bytes of bodies that were sent."""
        with self._lock:
            self.sent += n

    def version(self, data: bytes) -> str | None:
        """Return the ETag of the bytes of a file."""
        if self.etag is None:
            return None
        return ("W/" if self.etag == "weak" else "") + f'"{hashlib.md5(data).hexdigest()[:12]}"'

    def _file(self, request: Request) -> Answer:
        data = self.files.get(request.path)
        if data is None:
            return Answer(404, b"there is no such file")
        tag = self.version(data)
        headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if tag is not None:
            headers["ETag"] = tag
        expected = request.headers.get("If-Match")
        if expected not in {None, "*", tag if self.etag == "strong" else None}:  # a weak one never matches
            return Answer(412, headers=headers)
        if request.range is None or request.headers.get("If-Range") not in {None, tag}:
            return Answer(200, data, headers)
        first, end = request.range
        if first is None:
            first, end = max(0, len(data) - (end or 0)), None
        end = len(data) if end is None else min(end, len(data))
        if first >= end:
            return Answer(416, headers={**headers, "Content-Range": f"bytes */{len(data)}"})
        return Answer(206, data[first:end], {**headers, "Content-Range": f"bytes {first}-{end - 1}/{len(data)}"})


def _before(behaviour: Behaviour, answer: Next) -> Next:
    return lambda request: behaviour(request, answer)


def _parsed_range(text: str | None) -> Range | None:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", text or "")  # several ranges are answered with the file, as is allowed
    if match is None or match[0] == "bytes=-":
        return None
    if not match[1]:
        return None, int(match[2])
    return int(match[1]), int(match[2]) + 1 if match[2] else None


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client was faster
        connection.shutdown(socket.SHUT_RDWR)


class _Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, owner: Server):
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Collect errors of the server. A client that has gone, or does not trust it, is none."""
        error = sys.exception()
        if error is not None and not isinstance(error, (ConnectionError, ssl.SSLError)):
            self.owner.faults.append(error)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.server.owner.opened(self.connection)

    def finish(self) -> None:
        self.server.owner.closed(self.connection)
        with contextlib.suppress(ConnectionError):  # the client has gone
            super().finish()
        self.rfile.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _serve(self) -> None:
        owner = self.server.owner
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = owner.receive(self)
        if answer.cut is None or answer.cut >= 0:
            self._send(answer)
        if answer.cut is not None:
            self.close_connection = True
            if answer.stall:
                owner.closing.wait()
            _end(self.connection)

    do_GET = do_HEAD = do_PUT = do_POST = _serve

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        length = {} if "Transfer-Encoding" in answer.headers else {"Content-Length": str(len(answer.body))}
        for name, text in {**length, **answer.headers}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            body = answer.body[: answer.cut]
            self.wfile.write(body)
            self.server.owner.count(len(body))
        self.wfile.flush()
        for piece in answer.more:
            if self.server.owner.closing.is_set():
                break
            self.wfile.write(piece)
            self.wfile.flush()
            self.server.owner.count(len(piece))


# behaviours


def without_ranges(request: Request, answer: Next) -> Answer:
    """Send the whole file, whatever range is requested."""
    return answer(replace(request, range=None)).without("Accept-Ranges")


def whole_as_200(request: Request, answer: Next) -> Answer:
    """Answer with status 200 if the range is the whole file, as some servers do."""
    given, whole = answer(request), answer(replace(request, range=None))
    return whole if given.status == 206 and len(given.body) == len(whole.body) else given


def chunked(request: Request, answer: Next) -> Answer:
    """Send files without telling their size before."""
    given = answer(replace(request, range=None)).without("Accept-Ranges")
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(given.body), given.body)
    return replace(given, body=body).having(Transfer_Encoding="chunked")


def stalling(cut: int = -1, *, first: int = 0, times: int | None = None) -> Behaviour:
    """Send the first bytes of a body, or below 0 nothing at all, and then wait.

    This begins with the request of number `first`, and ends after some times.
    """
    return _cutting(cut, first, times, stall=True)


def dropping(cut: int = -1, *, first: int = 0, times: int | None = None) -> Behaviour:
    """Close the connection after the first bytes of a body, or below 0 before the headers. See `stalling`."""
    return _cutting(cut, first, times, stall=False)


def _cutting(cut: int, first: int, times: int | None, *, stall: bool) -> Behaviour:
    def behaviour(request: Request, answer: Next) -> Answer:
        given = answer(request)
        return replace(given, cut=cut, stall=stall) if _is_meant(request, first, times) else given

    return behaviour


def _is_meant(request: Request, first: int, times: int | None) -> bool:
    return request.number >= first and (times is None or request.number < first + times)


def failing(status: int, *, first: int = 0, times: int | None = None, **headers: str) -> Behaviour:
    """Answer with an error, such as 503 or 429, and headers, such as `Retry_After`. See `stalling`."""

    def behaviour(request: Request, answer: Next) -> Answer:
        return Answer(status, b"not now").having(**headers) if _is_meant(request, first, times) else answer(request)

    return behaviour


def changing(files: Mapping[str, bytes], *, first: int = 1) -> Behaviour:
    """Replace files before the request of number `first`."""

    def behaviour(request: Request, answer: Next) -> Answer:
        if request.number == first:
            request.server.files.update(files)
        return answer(request)

    return behaviour


def wrong_206(kind: str, *, first: int = 0, times: int | None = None) -> Behaviour:
    """Answer a range wrongly. See `stalling`.

    Parameters
    ----------
    kind : {"other", "short", "multipart", "unnamed", "size"}
        Another range, as the answer says; fewer bytes, as it says, which is allowed; the range as a part of several;
        without saying which range it is; with another size of the file.
    """

    def behaviour(request: Request, answer: Next) -> Answer:
        given = answer(request)
        if given.status != 206 or not _is_meant(request, first, times):
            return given
        start, end, size = (int(number) for number in re.findall(r"\d+", given.headers["Content-Range"]))
        if kind == "other":
            data = request.server.files[request.path]
            body = (data[start + 1 :] + data)[: len(given.body)]
            return replace(given, body=body).having(Content_Range=f"bytes {start + 1}-{start + len(body)}/{size}")
        if kind == "short":
            body = given.body[: (len(given.body) + 1) // 2]
            return replace(given, body=body).having(Content_Range=f"bytes {start}-{start + len(body) - 1}/{size}")
        if kind == "multipart":
            named = f"--b\r\nContent-Range: {given.headers['Content-Range']}\r\n\r\n".encode()
            body = named + given.body + b"\r\n--b--\r\n"
            return (
                replace(given, body=body)
                .without("Content-Range")
                .having(Content_Type="multipart/byteranges; boundary=b")
            )
        if kind == "unnamed":
            return given.without("Content-Range")
        assert kind == "size"
        return given.having(Content_Range=f"bytes {start}-{end}/{size + 1}")

    return behaviour


def compressing(*, always: bool = False) -> Behaviour:
    """Compress whole files with gzip, and ignore ranges then, unless the client asks for identity (or even so)."""

    def behaviour(request: Request, answer: Next) -> Answer:
        accepted = {part.split(";")[0].strip() for part in request.headers.get("Accept-Encoding", "*").split(",")}
        if accepted <= {"identity"} and not always:
            return answer(request)
        given = answer(replace(request, range=None))
        if given.status != 200:
            return given
        return (
            replace(given, body=gzip.compress(given.body))
            .without("Accept-Ranges", "ETag")
            .having(Content_Encoding="gzip")
        )

    return behaviour


def basic(user: str, password: str) -> str:
    """Return the header `Authorization` of a user."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def guarded(authorization: str, *, header: str = "Authorization") -> Behaviour:
    """Require a header, such as `basic(user, password)`, `Bearer TOKEN`, or a cookie."""

    def behaviour(request: Request, answer: Next) -> Answer:
        if request.headers.get(header) == authorization:
            return answer(request)
        return Answer(401, b"who are you?").having(WWW_Authenticate=f'{authorization.split()[0]} realm="files"')

    return behaviour


def redirecting(host: str = "localhost", status: int = 302) -> Behaviour:
    """Redirect requests of all other hosts to the same file at this host."""

    def behaviour(request: Request, answer: Next) -> Answer:
        if request.host == host:
            return answer(request)
        query = f"?{request.query}" if request.query else ""
        return Answer(status).having(Location=request.server.url(request.path, host) + query)

    return behaviour


def signing_in(user: str, password: str, host: str = "localhost") -> Behaviour:
    """Require a login at another host, as archives of satellite data do.

    A request without a session is redirected to `/login` of that host. This requires the user's name and password, sets
    a cookie of its own, and redirects back to `/signed-in`, which sets the cookie of the session and redirects to the
    file.
    """
    code = "a-code-of-one-session"

    def behaviour(request: Request, answer: Next) -> Answer:
        server, query = request.server, parse_qs(request.query)
        if request.host == host:
            if request.path != "login":
                return Answer(404)
            if request.headers.get("Authorization") != basic(user, password):
                return Answer(401, b"who are you?").having(WWW_Authenticate='Basic realm="login"')
            back = urlencode({"code": code, "to": query["to"][0]})
            there = f"{server.url('signed-in', query['from'][0])}?{back}"
            return Answer(302).having(Location=there, Set_Cookie="login=known; Path=/; HttpOnly")
        if request.path == "signed-in" and query.get("code") == [code]:
            return Answer(302).having(Location=f"/{query['to'][0]}", Set_Cookie=f"session={code}; Path=/; HttpOnly")
        if f"session={code}" in request.headers.get("Cookie", ""):
            return answer(request)
        origin = urlencode({"from": request.host, "to": request.path})
        return Answer(302).having(Location=f"{server.url('login', host)}?{origin}")

    return behaviour
