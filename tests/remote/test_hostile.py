"""Web servers that lie: the result is right, or an error that names the file. Nothing hangs, or takes much memory."""

from __future__ import annotations

import contextlib
import gzip
import re
import socket
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import ds_format as ds
from ds_format.body.remote import fetching
from ds_format.body.remote.responses import Response

from . import server as behaviours
from .server import Answer, Behaviour, Next, Request, Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")
pytest.importorskip("netCDF4")

Serve = Callable[..., Server]
SHAPE = (40, 60, 90)
GRID = np.random.default_rng(6).normal(size=SHAPE).astype("f4")
DATASET: dict[str, Any] = {"a": GRID, "b": -GRID, ".": {name: {".dims": ["t", "y", "x"]} for name in "ab"}}
FILES: dict[str, dict[str, Any]] = {
    "x.ds": {},
    "classic.nc": {"format": "NETCDF3_CLASSIC"},
    "chunked.nc": {"compression": "zlib", "chunks": {"t": 1, "y": 30, "x": 45}},
    "x.bpk": {"mappable": True},
    "x.msgpack": {"dim": "t"},
    "x.zds": {"dim": "t"},
}
MOST = 100 << 20
"""Bytes of memory that reading 1.7 MB may take, whatever a server says."""


def total(size: int, *, first: int = 0) -> Behaviour:
    """Tell another size of files, from the request of number `first` on."""

    def behaviour(request: Request, answer: Next) -> Answer:
        given = answer(request)
        told = re.sub(r"\d+$", str(size), given.headers.get("Content-Range", ""))
        return given.having(Content_Range=told) if told and request.number >= first else given

    return behaviour


def whole(*, first: int) -> Behaviour:
    """Ignore ranges from the request of number `first` on."""

    def behaviour(request: Request, answer: Next) -> Answer:
        return answer(replace(request, range=None) if request.number >= first else request)

    return behaviour


def empty(*, first: int) -> Behaviour:
    """Answer with no bytes, as a range that was sent."""

    def behaviour(request: Request, answer: Next) -> Answer:
        given = answer(request)
        return replace(given, body=b"") if request.number >= first else given

    return behaviour


def zeros(*, first: int) -> Behaviour:
    """Send zeros in place of all bytes, from the request of number `first` on."""

    def behaviour(request: Request, answer: Next) -> Answer:
        given = answer(request)
        return replace(given, body=bytes(len(given.body))) if request.number >= first else given

    return behaviour


LIES: dict[str, Callable[[int], Behaviour]] = {
    "huge": lambda first: total(1 << 60, first=first),
    "negative": lambda first: total(-1, first=first),
    "tiny": lambda first: total(10, first=first),
    "whole": lambda first: whole(first=first),
    "empty": lambda first: empty(first=first),
    "zeros": lambda first: zeros(first=first),
    "dropped": lambda first: behaviours.dropping(100_000, first=first),
    "gone": lambda first: behaviours.dropping(first=first),
    "short": lambda first: behaviours.wrong_206("short", first=first),
    "other": lambda first: behaviours.wrong_206("other", first=first),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder: Path = tmp_path_factory.mktemp("files")
    for name, options in FILES.items():
        ds.write(folder / name, DATASET, **options)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("first", [0, 2, 3, 4])
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", FILES)
def test_a_lie_is_an_error_or_does_no_harm(
    name: str, lie: str, first: int, files: dict[str, bytes], serve: Serve
) -> None:
    server = serve(files, LIES[lie](first), etag=None)
    message = None
    tracemalloc.start()
    try:
        with ds.remote(timeout=2, retries=0):
            found = ds.read(server.url(f"{name}?token=secret"))
    except (ds.DsError, OSError) as error:
        message = str(error)
    else:
        if lie != "zeros":  # without checksums, these may be values
            np.testing.assert_array_equal(found["a"], GRID)
            np.testing.assert_array_equal(found["b"], -GRID)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert message is None or (server.url(name) in message and "secret" not in message)
    assert peak < MOST
    assert len(server.requests) < 300  # half of a range is sent at a time, until it is whole


SPARE = 16 << 20
"""Bytes that a server may get rid of in the buffers of sockets, and that a small read may take of memory."""


@dataclass(frozen=True)
class WithoutEnd:
    """The same bytes as long as they are taken, for each request anew."""

    piece: bytes = bytes(1 << 16)
    pause: float = 0.0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            time.sleep(self.pause)
            yield self.piece


def endless(status: int, body: bytes = b"", more: Iterable[bytes] | None = None, **headers: str) -> Behaviour:
    """Answer with a body that does not end. Without a length in the headers, it is that until the connection ends."""

    def behaviour(request: Request, answer: Next) -> Answer:
        given = Answer(status, body, {"Connection": "close"}, more=WithoutEnd() if more is None else more)
        return given.having(**{"Content_Length": "", **headers})

    return behaviour


CHUNK = b"%x\r\n" % (1 << 16) + bytes(1 << 16) + b"\r\n"
ENDLESS: dict[str, tuple[Callable[[], Behaviour], str]] = {
    "200": (lambda: endless(200), "more than 1000000 bytes"),
    "announced": (lambda: endless(200, Content_Length=str(10**15)), "1000000000000000 bytes, more than 1000000"),
    "digits": (lambda: endless(200, Content_Length="9" * 5000), "more than 1000000 bytes"),
    "chunked": (
        lambda: endless(200, more=WithoutEnd(CHUNK), Transfer_Encoding="chunked"),
        "more than 1000000 bytes",
    ),
    "large chunk": (
        lambda: endless(200, b"%x\r\n" % 10**15, Transfer_Encoding="chunked"),
        "more than 1000000 bytes",
    ),
    "negative chunk": (lambda: endless(200, b"-1\r\n", Transfer_Encoding="chunked"), "negative"),
    "206": (
        lambda: endless(206, Content_Range=f"bytes 0-{10**11 - 1}/{10**11}", Content_Length=str(10**11)),
        "no known file format|not a ds file",
    ),
    "short 206": (lambda: endless(206, Content_Range="bytes 0-99/100"), "no known file format|not a ds file"),
    "302": (lambda: endless(302, Location="/x.ds"), "more than 10 redirects"),
    "302 chunked": (
        lambda: endless(302, more=WithoutEnd(CHUNK), Transfer_Encoding="chunked", Location="/x.ds"),
        "more than 10 redirects",
    ),
    "404": (lambda: endless(404), "HTTP status 404"),
    "416": (lambda: endless(416), "no known file format|empty"),
    "503": (lambda: endless(503), "HTTP status 503"),
    "gzip": (
        lambda: endless(200, gzip.compress(bytes(100 << 20), 9), [], Content_Encoding="gzip"),
        "more than 1000000 bytes",
    ),
    "gzip without end": (
        lambda: endless(200, b"", WithoutEnd(gzip.compress(bytes(1 << 20))), Content_Encoding="gzip"),
        "more than 1000000 bytes",
    ),
    "brotli": (lambda: endless(200, Content_Encoding="br"), r"compressed \(br\)"),
}


@pytest.mark.filterwarnings("ignore:.*does not support ranges:UserWarning")
@pytest.mark.parametrize("kind", ENDLESS)
def test_no_answer_is_taken_without_end(kind: str, serve: Serve) -> None:
    make, message = ENDLESS[kind]
    server = serve({}, make())
    tracemalloc.start()
    try:
        with ds.remote(whole=1_000_000, retries=0, timeout=20), pytest.raises((OSError, ds.DsError), match=message):
            ds.read(server.url("x.ds"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < SPARE
    assert server.sent < SPARE * len(server.requests)


def test_a_file_is_read_whole_up_to_the_limit(files: dict[str, bytes], serve: Serve) -> None:
    size = len(files["x.ds"])
    for behaviour in (behaviours.without_ranges, behaviours.chunked, behaviours.compressing(always=True)):
        server = serve(files, behaviour)
        with pytest.warns(UserWarning, match="does not support ranges"), ds.remote(whole=size):
            np.testing.assert_array_equal(ds.read(server.url("x.ds"))["a"], GRID)
        with (
            warnings.catch_warnings(action="ignore"),
            ds.remote(whole=size - 1),
            pytest.raises(OSError, match=r"bytes 0 to 65536: .*ds\.remote\(whole=\.\.\.\) is the limit: .*x\.ds"),
        ):
            ds.read(server.url("x.ds"))


def test_a_whole_file_in_place_of_a_range_is_skipped(files: dict[str, bytes], serve: Serve) -> None:
    with ds.remote(piece=100_000, lanes=1):
        np.testing.assert_array_equal(ds.read(serve(files, whole(first=1)).url("x.ds"))["b"], -GRID)
    server = serve(files, whole(first=1))
    with ds.remote(whole=70_000), pytest.raises(OSError, match="the answer is the whole file, expected a range"):
        ds.read(server.url("x.ds"), "b")


def test_skipped_bytes_give_time_for_those_that_follow() -> None:
    class Body:
        status, length_remaining = 200, 0
        headers: ClassVar[dict[str, str]] = {}

        def read(self, size: int, decode_content: bool) -> bytes:
            return b"x" * size

    noted: list[int] = []
    response = Response(Body(), cast("Any", SimpleNamespace(received=noted.append)), ())
    response.skip(10)
    assert response.take(5) == b"x" * 5
    assert noted == [10, 15]


TRICKLES: dict[str, Callable[[], Behaviour]] = {
    "body": lambda: endless(200, more=WithoutEnd(b"x", 0.05)),
    "range": lambda: endless(206, more=WithoutEnd(b"x", 0.05), Content_Range="bytes 0-999999/1000000"),
    "chunks": lambda: endless(200, more=WithoutEnd(b"1\r\nx\r\n", 0.05), Transfer_Encoding="chunked"),
}


@pytest.mark.filterwarnings("ignore:.*does not support ranges:UserWarning")
@pytest.mark.parametrize("kind", TRICKLES)
def test_a_byte_now_and_then_is_not_enough(kind: str, serve: Serve) -> None:
    server = serve({}, TRICKLES[kind]())
    with ds.remote(total=0.5), pytest.raises(TimeoutError, match=r"no complete answer within 0\.5 s: .*total.*x\.ds"):
        ds.read(server.url("x.ds"))
    assert len(server.requests) == 1


@pytest.mark.parametrize("line", [b"X", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_headers_without_end(line: bytes) -> None:
    stopped = threading.Event()

    def serve_one() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            if line == b"X":
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Header: ")
            while not stopped.wait(0.02):
                connection.sendall(line)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one)
        thread.start()
        try:
            with ds.remote(total=0.5), pytest.raises(TimeoutError, match="no complete answer"):
                ds.read(f"http://127.0.0.1:{listener.getsockname()[1]}/x.ds")
        finally:
            stopped.set()
            thread.join()


def test_answers_of_a_byte_each(files: dict[str, bytes], serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_a_byte(request: Request, answer: Next) -> Answer:
        if not request.number or request.range is None:
            return answer(request)
        start = request.range[0] or 0
        return answer(replace(request, range=(start, start + 1)))

    monkeypatch.setattr(fetching, "MAX_ANSWERS", 20)
    server = serve(files, of_a_byte)
    with pytest.raises(TimeoutError, match="not complete after 20 short answers"):
        ds.read(server.url("x.ds"), "a")
    assert len(server.requests) == 21
