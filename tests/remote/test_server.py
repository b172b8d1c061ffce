"""What the server of the tests does, as a plain client sees it."""

from __future__ import annotations

import gzip
import http.client
import http.cookiejar
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from . import server as behaviours
from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket

Serve = Callable[..., Server]
DATA = bytes(range(256)) * 4
FILES = {"x.ds": DATA}


def get(server: Server, path: str = "x.ds", **headers: str) -> tuple[int, bytes, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request("GET", f"/{path}", headers=given)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [("0-0", 0, 1), ("10-19", 10, 20), ("1000-", 1000, 1024), ("1000-5000", 1000, 1024), ("-24", 1000, 1024)],
)
def test_ranges(serve: Serve, asked: str, first: int, end: int) -> None:
    server = serve(FILES)
    status, body, headers = get(server, Range=f"bytes={asked}")
    assert (status, body, headers["Content-Range"]) == (206, DATA[first:end], f"bytes {first}-{end - 1}/1024")
    assert server.sent == end - first


def test_range_beyond_the_end(serve: Serve) -> None:
    status, body, headers = get(serve(FILES), Range="bytes=1024-")
    assert (status, body, headers["Content-Range"]) == (416, b"", "bytes */1024")


def test_requests_are_recorded(serve: Serve) -> None:
    server = serve(FILES)
    get(server, "x.ds?token=1", Range="bytes=5-9", X_Key="k")
    assert get(server, "absent")[0] == 404
    assert server.ranges == [(5, 10), None]
    first = server.requests[0]
    assert (first.method, first.host, first.path, first.query) == ("GET", "127.0.0.1", "x.ds", "token=1")
    assert server.received("X-Key", "127.0.0.1") == ["k"]


def test_versions(serve: Serve) -> None:
    strong, weak, none = serve(FILES), serve(FILES, etag="weak"), serve(FILES, etag=None)
    tag = get(strong)[2]["ETag"]
    assert get(weak)[2]["ETag"] == f"W/{tag}"
    assert get(none)[2]["ETag"] is None
    assert get(strong, If_Match=tag)[0] == 200
    assert get(strong, If_Match='"other"')[0] == get(weak, If_Match=f"W/{tag}")[0] == 412


def test_without_ranges(serve: Serve) -> None:
    status, body, headers = get(serve(FILES, behaviours.without_ranges), Range="bytes=1-2")
    assert (status, body, headers["Accept-Ranges"]) == (200, DATA, None)


def test_whole_as_200(serve: Serve) -> None:
    server = serve(FILES, behaviours.whole_as_200)
    assert get(server, Range="bytes=0-1023")[0] == 200
    assert get(server, Range="bytes=0-1022")[0] == 206


def test_chunked(serve: Serve) -> None:
    status, body, headers = get(serve(FILES, behaviours.chunked), Range="bytes=1-2")
    assert (status, body, headers["Content-Length"]) == (200, DATA, None)


def test_stalling(serve: Serve) -> None:
    server = serve(FILES, behaviours.stalling(10, first=1, times=1))
    assert get(server)[0] == 200
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.2)
    connection.request("GET", "/x.ds")
    answer = connection.getresponse()
    assert answer.read(10) == DATA[:10]
    with pytest.raises(TimeoutError):
        answer.read(1)
    answer.close()
    connection.close()
    assert get(server)[1] == DATA


def test_dropping(serve: Serve) -> None:
    server = serve(FILES, behaviours.dropping(100, times=1))
    with pytest.raises(http.client.IncompleteRead) as info:
        get(server)
    assert info.value.partial == DATA[:100]
    assert get(server)[1] == DATA
    with pytest.raises(http.client.RemoteDisconnected):
        get(serve(FILES, behaviours.dropping()))


def test_failing(serve: Serve) -> None:
    server = serve(FILES, behaviours.failing(429, times=2, Retry_After="1"))
    assert [get(server)[0] for _ in range(3)] == [429, 429, 200]


def test_changing(serve: Serve) -> None:
    server = serve({"x.ds": DATA}, behaviours.changing({"x.ds": b"other"}, first=1))
    first, second = get(server), get(server)
    assert (first[1], second[1]) == (DATA, b"other")
    assert first[2]["ETag"] != second[2]["ETag"]


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        ("other", DATA[11:21], "bytes 11-20/1024"),
        ("short", DATA[10:15], "bytes 10-14/1024"),
        ("unnamed", DATA[10:20], None),
        ("size", DATA[10:20], "bytes 10-19/1025"),
        ("multipart", b"--b\r\nContent-Range: bytes 10-19/1024\r\n\r\n" + DATA[10:20] + b"\r\n--b--\r\n", None),
    ],
)
def test_wrong_206(serve: Serve, kind: str, body: bytes, named: str | None) -> None:
    server = serve(FILES, behaviours.wrong_206(kind, times=1))
    status, found, headers = get(server, Range="bytes=10-19")
    assert (status, found, headers["Content-Range"]) == (206, body, named)
    assert get(server, Range="bytes=10-19")[1] == DATA[10:20]


def test_compressing(serve: Serve) -> None:
    server, always = serve(FILES, behaviours.compressing()), serve(FILES, behaviours.compressing(always=True))
    assert get(server, Accept_Encoding="identity", Range="bytes=1-2")[:2] == (206, DATA[1:3])
    for one, accepted in ((server, "gzip, deflate"), (always, "identity")):
        status, body, headers = get(one, Accept_Encoding=accepted, Range="bytes=1-2")
        assert (status, gzip.decompress(body), headers["Content-Encoding"]) == (200, DATA, "gzip")


def test_guarded(serve: Serve) -> None:
    server = serve(FILES, behaviours.guarded(behaviours.basic("user", "secret")))
    status, _, headers = get(server)
    assert (status, headers["WWW-Authenticate"]) == (401, 'Basic realm="files"')
    assert get(server, Authorization=behaviours.basic("user", "secret"))[1] == DATA
    assert get(serve(FILES, behaviours.guarded("Bearer token")), Authorization="Bearer token")[1] == DATA


def test_redirects_show_whether_credentials_leak(serve: Serve) -> None:
    server = serve(FILES, behaviours.redirecting())
    request = urllib.request.Request(server.url("x.ds?a=1"), headers={"Authorization": "Bearer token"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert answer.read() == DATA
    assert [(one.host, one.query) for one in server.requests] == [("127.0.0.1", "a=1"), ("localhost", "a=1")]
    assert server.received("Authorization", "localhost") == ["Bearer token"]  # urllib sends it to every host


def test_signing_in(serve: Serve) -> None:
    server = serve(FILES, behaviours.signing_in("user", "secret"))
    with pytest.raises(urllib.error.HTTPError, match="401") as caught:
        urllib.request.urlopen(server.url("x.ds"), timeout=5)
    caught.value.close()
    passwords = urllib.request.HTTPPasswordMgrWithPriorAuth()
    passwords.add_password(None, server.url(host="localhost"), "user", "secret", is_authenticated=True)
    cookies = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(
        urllib.request.HTTPBasicAuthHandler(passwords), urllib.request.HTTPCookieProcessor(cookies)
    )
    for n in (4, 1):
        before = len(server.requests)
        with opener.open(server.url("x.ds"), timeout=5) as answer:
            assert answer.read() == DATA
        assert len(server.requests) - before == n


def test_server_is_a_proxy(serve: Serve) -> None:
    server = serve(FILES)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": server.url()}))
    with opener.open("http://data.invalid/x.ds", timeout=5) as answer:
        assert answer.read() == DATA
    assert (server.requests[0].path, server.requests[0].headers["Host"]) == ("x.ds", "data.invalid")


def test_bucket_wants_credentials(bucket: Bucket) -> None:
    bucket.put("folder/x.ds", DATA)
    assert (bucket.keys(), bucket.get("folder/x.ds"), bucket.unfinished()) == (["folder/x.ds"], DATA, [])
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{bucket.endpoint}/{bucket.name}/folder/x.ds", timeout=5)
