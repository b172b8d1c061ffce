"""Credentials go to the hosts that they are for, with the requests of those who gave them, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import http.cookiejar
import os
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import ds_format as ds
from ds_format.drivers import located

from . import server as behaviours
from .server import Answer, Next, Request, Server, basic

urllib3: Any = pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

from ds_format.body.remote.filesystems import file_system  # noqa: E402 - only where urllib3 is
from ds_format.body.remote.sessions import session_of  # noqa: E402 - only where urllib3 is
from ds_format.body.remote.urls import WebUrl, parse_url, redirected  # noqa: E402

Serve = Callable[..., Server]
GRID = np.arange(20_000.0).reshape(20, 1_000)
SECRETS = {"headers": {"X-Key": "key"}, "token": "token", "cookies": {"a": "b"}}
PIECES = [
    *(
        "http://",
        "HTTPS://",
        "http:",
        "https:/",
        "ftp://",
        "//",
        "/",
        "\\",
        "@",
        ":",
        "?",
        "#",
        "[",
        "]",
        ";",
        "&",
        "=",
    ),
    *("good.test", "evil.test", "127.0.0.1", "0x7f.1", "[::1]", "[fe80::1%25eth0]", "::1", "localhost", "user", "a:b"),
    *(
        ":80",
        ":443",
        ":1",
        ":99999",
        ":0",
        ":",
        ":٣",
        ":+1",
        "%40",
        "%2F",
        "%5C",
        "%00",
        "%",
        ".",
        "..",
        "。",
        "ß",
        "\uff0f",
    ),
    *("\t", "\n", "\r", " ", "\x00", "\x7f", "\xa0", "\xad", "\u200b", "\ud800", "\uff45vil.test", "℀"),
]
FORMS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text()
MASKS = {"a": 0, "b": 1}
BASE = "http://good.test:2/x"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("files") / "x.ds"
    ds.write(path, {"x": GRID})
    return {path.name: path.read_bytes()}


def connected(url: WebUrl) -> tuple[str, int]:
    """Return host and port to which urllib3 connects for an address."""
    found = []

    def connect(address: tuple[str, int], *args: Any, **options: Any) -> Any:
        found.append(address)
        raise OSError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib3.util.connection, "create_connection", connect)
        with pytest.raises(urllib3.exceptions.NewConnectionError):
            session_of({}).pool(url).request("GET", url.plain, retries=False)
    [address] = found
    return address


def check(url: WebUrl) -> None:
    """Check that every program that gets an address finds the same host in it."""
    bare = url.host.strip("[]")
    assert connected(url) == (bare, url.port)
    parts = urllib.parse.urlsplit(str(url))
    assert (parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}[url.scheme]) == (
        url.scheme,
        bare.lower(),
        url.port,
    )
    assert vars(http.cookiejar)["request_host"](urllib.request.Request(str(url))) == url.host.lower()
    assert parse_url(str(url)) == url._replace(credentials=None)


@given(FORMS)
@example("http://evil.test:1\\@good.test:2/x")
@example("http://good.test:2@evil.test:1/x")
@example("http://a@good.test:2@evil.test:1/x")
@example("//evil.test/x")
@example("http://[::1]:80/x")
@example("/path with a space?and=a query")
def test_the_host_that_is_decided_is_the_one_that_is_connected(form: str) -> None:
    base = parse_url(BASE)
    for parse in (parse_url, lambda text: redirected(base, text)):
        with contextlib.suppress(OSError):  # any other error fails the test
            url: WebUrl = parse(form)
            check(url)
            assert url.may_have_credentials_of(base) == (connected(url) == ("good.test", 2))


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://localhost:{port}\\@127.0.0.1:{port}/x.ds", "has a backslash or a control character"),
        ("http://localhost:{port}\t@127.0.0.1:{port}/x.ds", "has a backslash or a control character"),
        ("http://a@localhost:{port}@127.0.0.1:{port}/x.ds", 'more than one "@"'),
        ("//[::1", "no valid host and port"),
        ("[bad", "HTTP status 404"),
        ("http://[bad/x.ds", "no valid host and port"),
        ("http://127.0.0.1:99999/x.ds", "no valid host and port"),
        ("http://127.0.0.1:" + "9" * 5000, "no valid host and port"),
        ("file:///etc/passwd", "redirects to an address that has file, expected http or https"),
    ],
)
def test_redirects_that_parsers_understand_differently(
    location: str, message: str, files: dict[str, bytes], serve: Serve
) -> None:
    def redirecting(request: Request, answer: Next) -> Answer:
        if request.number:
            return answer(request)
        return Answer(302).having(Location=location.format(port=request.server.port))

    server = serve(files, redirecting)
    with pytest.raises(OSError, match=message) as error:
        ds.read(server.url("x.ds"), storage_options=SECRETS)
    assert error.value.filename == server.url("x.ds")
    assert {request.host for request in server.requests} == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://127.0.0.1:99999/x.ds", "no valid host and port"),
        ("http://[bad/x.ds", "no valid host and port"),
        ("http://me:pa55/word@127.0.0.1:1/x.ds", "percent-encoded"),
        ("http://me@pa55@127.0.0.1:1/x.ds", "as %40"),
        ("http://127.0.0.1:1\\x.ds", "backslash"),
        ("http:///x.ds", "no valid host"),
        (Path("http://me:pa55@127.0.0.1:1/x.ds"), "a Path has one of its slashes less"),
    ],
)
def test_addresses_that_are_none(address: Any, message: str) -> None:
    with pytest.raises(OSError, match=message) as error:
        ds.read(address)
    assert str(error.value.filename).startswith("http:/") and "pa55" not in str(error.value)


def test_passwords_are_percent_encoded(files: dict[str, bytes], serve: Serve) -> None:
    password = "p@ss/w:rd?#%ž"
    server = serve(files, behaviours.guarded(basic("me", password)))
    address = server.url("x.ds").replace("//", f"//me:{urllib.parse.quote(password, safe='')}@")
    np.testing.assert_array_equal(ds.read(address)["x"], GRID)
    np.testing.assert_array_equal(ds.read(server.url("x.ds"), storage_options={"auth": ("me", password)})["x"], GRID)


def test_jars_that_look_alike_are_those_of_two_users(files: dict[str, bytes], serve: Serve) -> None:
    def signing_in(request: Request, answer: Next) -> Answer:
        return answer(request).having(Set_Cookie=f"user={request.headers['X-User']}; Path=/")

    server = serve(files, signing_in)
    jars = [http.cookiejar.CookieJar(), http.cookiejar.CookieJar()]
    for _ in range(2):
        for i, jar in enumerate(jars):
            np.testing.assert_array_equal(
                ds.read(server.url("x.ds"), storage_options={"cookies": jar, "headers": {"X-User": str(i)}})["x"], GRID
            )
    for request in server.requests:
        assert request.headers.get("Cookie") in (None, f"user={request.headers['X-User']}")
    jar = http.cookiejar.CookieJar()
    assert session_of({"cookies": jar}) is session_of({"cookies": jar})
    assert session_of({"cookies": jar}) is not session_of({"cookies": http.cookiejar.CookieJar()})
    assert session_of({"headers": {"a": "1", "b": "2"}}) is session_of({"headers": {"b": "2", "a": "1"}})


def test_certificates_may_be_set_later(monkeypatch: pytest.MonkeyPatch) -> None:
    before = session_of({})
    monkeypatch.setenv("SSL_CERT_FILE", "/a.pem")
    assert session_of({}) is not before
    monkeypatch.delenv("SSL_CERT_FILE")
    assert session_of({}) is before


def test_what_netrc_has_for_any_host_is_not_for_one_to_which_an_answer_redirects(
    files: dict[str, bytes], serve: Serve
) -> None:
    server = serve(files, behaviours.redirecting("localhost"))
    netrc = Path(os.environ["HOME"], ".netrc")
    netrc.write_text("default login user password secret\n")
    netrc.chmod(0o600)
    np.testing.assert_array_equal(ds.read(server.url("x.ds"))["x"], GRID)
    assert server.received("Authorization", "127.0.0.1") == [basic("user", "secret")]
    assert server.received("Authorization", "localhost") == []
    netrc.write_text("machine localhost login user password other\ndefault login user password secret\n")
    np.testing.assert_array_equal(ds.read(server.url("x.ds"))["x"], GRID)
    assert set(server.received("Authorization", "localhost")) == {basic("user", "other")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token": "secret\r\n"}, "token: found a line break"),
        ({"headers": {"X-Key": "secret\nX: 1"}}, "headers: X-Key: found a line break"),
        ({"headers": {"X-Key": "secretž"}}, "headers: X-Key: found a line break, or another character"),
        ({"cookies": {"a": "secret\r"}}, "cookies: a: found a line break"),
        ({"auth": "me:secret"}, "auth: found str, expected a tuple"),
        ({"token": ["secret"]}, "token: found list, expected str"),
    ],
)
def test_credentials_that_cannot_be_sent(options: dict[str, Any], message: str, serve: Serve) -> None:
    server = serve({})
    with pytest.raises(ValueError, match=f"storage_options: {message}") as error:
        ds.read(server.url("x.ds"), storage_options=options)
    assert "secret" not in str(error.value) and not server.requests


def test_headers_are_sent_as_they_are(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files)
    headers = {"user-agent": "mine", "X-Bytes": b"caf\xe9", "X-Number": 5, "cookie": "c=d"}
    ds.read(server.url("x.ds"), storage_options={"headers": headers, "cookies": {"a": "b"}})
    assert server.received("User-Agent", "127.0.0.1") == ["mine"] * len(server.requests)
    assert set(server.received("Cookie", "127.0.0.1")) == {"a=b; c=d"}
    assert set(server.received("X-Number", "127.0.0.1")) == {"5"}
    assert base64.b64encode(server.received("X-Bytes", "127.0.0.1")[0].encode("latin-1")) == b"Y2Fm6Q=="


def test_masks_are_kept_for_the_file_that_they_are_of(serve: Serve, tmp_path: Path) -> None:
    """Handles keep masks. Two files may differ in nothing but their query, and have the same size and version."""
    files = {}
    for name, missing in MASKS.items():
        x = np.ma.MaskedArray(np.arange(42_000.0), np.arange(42_000) % 3 == missing)
        ds.write(tmp_path / "x.ds", {"x": x})
        files[name] = (tmp_path / "x.ds").read_bytes()

    def chosen(request: Request, answer: Next) -> Answer:
        return answer(replace(request, path=request.query)).having(ETag='"1"')

    server = serve(files, chosen)
    for _ in range(2):
        for name, missing in MASKS.items():
            with ds.open(server.url(f"x.ds?{name}")) as file:
                opened: Any = file["x"].handle()
            handle = replace(opened, known=())
            assert np.ma.getmaskarray(handle[3:6]).tolist() == [i == missing for i in range(3)]


def test_tokens_of_dask_differ_with_the_options() -> None:
    tokenize = pytest.importorskip("dask.base").tokenize
    address, other = "https://host/x.ds", {"token": "b"}
    tokens = [tokenize(located(address, options)) for options in (None, {"token": "a"}, other, other)]
    assert len(set(tokens)) == 3 and tokens[2] == tokens[3]
    fsspec = pytest.importorskip("fsspec")
    obstore = pytest.importorskip("obstore")
    stores = [obstore.store.MemoryStore(), obstore.store.MemoryStore(), fsspec.filesystem("memory")]
    assert len({tokenize(located("x.ds", store=store)) for store in stores}) == 3


def test_file_systems_are_shared_by_values_alone() -> None:
    pytest.importorskip("fsspec")

    class User:
        def __repr__(self) -> str:
            return "a user"

    for url in ("memory://x.ds", "filecache::memory://x.ds"):
        values, one, two = (
            file_system(url, {"memory": {"user": user}, "user": user} if "::" in url else {"user": user})[0]
            for user in ("a user", User(), User())
        )
        assert one is not two
        assert (values is file_system(url, {"user": "a user"})[0]) == ("::" not in url)
