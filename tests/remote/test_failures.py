"""Web servers that fail, answer wrongly, move files, or ask who the user is."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from . import server as behaviours
from .conftest import check_interrupt
from .server import Server, basic

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
GRID = np.arange(200_000.0).reshape(20, 10_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    ds.write(folder / "large.ds", {"x": GRID})
    ds.write(folder / "other.ds", {"x": -GRID})
    ds.write(folder / "zeros.ds", {"x": 0 * GRID})
    ds.write(folder / "small.ds", {"x": GRID[0, :10]})
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with ds.remote(timeout=20, retries=3):
        yield


def read(server: Server, name: str = "large.ds", **options: Any) -> Any:
    return ds.read(server.url(name), **options)["x"]


@pytest.mark.parametrize(
    "behaviour",
    [
        behaviours.failing(503, times=2),
        behaviours.failing(429, times=1, Retry_After="0"),
        behaviours.failing(500, first=1, times=2),
        behaviours.dropping(times=2),
        behaviours.dropping(1000, times=2),
        behaviours.dropping(first=1, times=2),
        behaviours.dropping(1000, first=1, times=3),
        behaviours.stalling(times=1),
        behaviours.stalling(1000, first=1, times=1),
        behaviours.wrong_206("short", first=1),
        behaviours.whole_as_200,
    ],
)
def test_failures_that_end_are_survived(behaviour: behaviours.Behaviour, files: dict[str, bytes], serve: Serve) -> None:
    with ds.remote(timeout=4):
        np.testing.assert_array_equal(read(serve(files, behaviour)), GRID)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (behaviours.failing(503), r"bytes 0 to 65536: HTTP status 503 .*\(4 attempts\)"),
        (behaviours.failing(503, first=1), r"bytes 65536 to \d+: HTTP status 503 .*\(4 attempts\)"),
        (behaviours.failing(429, Retry_After="100"), "bytes 0 to 65536: HTTP status 429"),
        (behaviours.failing(418), "HTTP status 418"),
        (behaviours.dropping(), r"\(4 attempts\)"),
        (behaviours.stalling(), "no answer in time"),
        (behaviours.wrong_206("other"), "Content-Range: found 'bytes 1-65536/.*, expected bytes from 0 on"),
        (behaviours.wrong_206("other", first=1), "expected bytes from 65536 on"),
        (behaviours.wrong_206("multipart"), "Content-Range: found '', expected a range"),
        (behaviours.wrong_206("unnamed", first=1), "Content-Range: found '', expected a range"),
    ],
)
def test_failures_that_stay_are_errors(
    behaviour: behaviours.Behaviour, message: str, files: dict[str, bytes], serve: Serve
) -> None:
    server = serve(files, behaviour)
    with ds.remote(timeout=2), pytest.raises(OSError, match=message) as error:
        ds.read(server.url("large.ds?token=secret").replace("//", "//me:password@"))
    assert server.url("large.ds") in str(error.value)
    assert "secret" not in str(error.value) and "password" not in str(error.value)


@pytest.mark.parametrize(("status", "kind"), [(404, FileNotFoundError), (401, PermissionError), (403, PermissionError)])
def test_statuses_are_usual_errors(status: int, kind: type[OSError], files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files, behaviours.failing(status))
    with pytest.raises(kind, match=f"HTTP status {status}") as error:
        read(server)
    assert error.value.filename == server.url("large.ds")
    assert len(server.requests) == 1


def test_nothing_listens() -> None:
    server = Server({})
    server.close()
    with ds.remote(retries=1), pytest.raises(OSError, match=r"refused.*x\.ds"):
        ds.read(server.url("x.ds"))


@pytest.mark.parametrize("etag", ["strong", "weak"])
def test_a_file_that_is_replaced_is_never_mixed(etag: str, files: dict[str, bytes], serve: Serve) -> None:
    server = serve(dict(files), behaviours.changing({"large.ds": files["other.ds"]}), etag=etag)
    with pytest.raises(ds.ReplacedError, match="its version differs; open it again"):
        read(server)
    np.testing.assert_array_equal(read(server), -GRID)


def test_a_file_of_another_size_is_another(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(dict(files), behaviours.changing({"large.ds": files["large.ds"] + b" "}), etag=None)
    with pytest.raises(ds.ReplacedError, match="bytes, expected"):
        read(server)
    server = serve(files, behaviours.wrong_206("size", first=1), etag=None)
    with pytest.raises(ds.ReplacedError, match="bytes, expected"):
        read(server)


def test_without_an_etag_times_are_compared(files: dict[str, bytes], serve: Serve) -> None:
    """Files have the same size."""

    def dated(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        given = answer(request)
        is_other = request.server.files["large.ds"] != files["large.ds"]
        return given.having(Last_Modified=f"Fri, 27 Nov 2026 10:00:0{int(is_other)} GMT")

    server = serve(dict(files), dated, behaviours.changing({"large.ds": files["other.ds"]}), etag=None)
    with pytest.raises(ds.ReplacedError, match="its version differs; open it again"):
        read(server)
    np.testing.assert_array_equal(read(server), -GRID)


@pytest.mark.parametrize("headers", [{"ETag"}, {"ETag", "Last-Modified"}])
def test_a_version_that_comes_or_goes_is_another(headers: set[str], files: dict[str, bytes], serve: Serve) -> None:
    def versions(numbers: range) -> behaviours.Behaviour:
        def behaviour(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
            given = answer(request).having(Last_Modified="Fri, 27 Nov 2026 10:00:00 GMT")
            return given if request.number in numbers else given.without(*headers)

        return behaviour

    with pytest.raises(ds.ReplacedError, match="version"):
        read(serve(files, versions(range(1))))
    with pytest.raises(ds.ReplacedError, match="version differs"):
        read(serve(files, versions(range(1, 9))))
    np.testing.assert_array_equal(read(serve(files, versions(range(0)))), GRID)


@pytest.mark.parametrize(
    ("refused", "methods"),
    [([], ["GET", "HEAD"]), (["HEAD"], ["GET", "HEAD", "GET"])],
)
def test_the_size_of_the_file_may_be_told_elsewhere(
    refused: list[str], methods: list[str], files: dict[str, bytes], serve: Serve
) -> None:
    """`Content-Range: bytes 0-65535/*` is what a server may say that does not know the size."""

    def without_size(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        if request.method in refused:
            return behaviours.Answer(405)
        given = answer(request)
        return given.having(Content_Range=re.sub(r"/\d+$", "/*", given.headers.get("Content-Range", "")))

    server = serve(files, without_size)
    np.testing.assert_array_equal(read(server), GRID)
    assert [request.method for request in server.requests] == [*methods, "GET"]
    np.testing.assert_array_equal(read(server, "small.ds"), GRID[0, :10])
    with ds.open(server.url("large.ds")) as file:
        handle = file["x"].handle()
    np.testing.assert_array_equal(handle.read(), GRID)


def test_the_size_of_the_file_is_told_nowhere(files: dict[str, bytes], serve: Serve) -> None:
    def without_size(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        if request.method == "HEAD":
            return behaviours.Answer(405)
        if request.range == (None, 1):
            return answer(dataclasses.replace(request, range=None))
        return answer(request).having(Content_Range="bytes 0-65535/*")

    with pytest.raises(OSError, match="tells the size of the file neither with a range nor for HEAD"):
        read(serve(files, without_size))


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Range": f"bytes 0-{'9' * 5000}/{'9' * 5001}"},
        {"Content_Range": f"bytes 0-65535/{'9' * 5000}"},
        {"Content_Range": "bytes 0-65535/\xb2"},
        {"Content_Length": "9" * 5000},
        {"Content_Length": "10, 20"},
        {"Content_Length": "-1"},
        {"Set_Cookie": "a=b; Max-Age=" + "9" * 5000 + "; Expires=never; Domain=["},
        {"ETag": "\xff" * 5000},
        {"Content_Encoding": "x" * 5000},
    ],
)
@pytest.mark.parametrize("status", [200, 206, 302, 416, 429, 503])
def test_headers_that_are_none(headers: dict[str, str], status: int, files: dict[str, bytes], serve: Serve) -> None:
    def behaviour(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        given = answer(request).having(Location="//[", Retry_After="9" * 5000, Connection="close", **headers)
        return dataclasses.replace(given, status=status)

    server = serve(files, behaviour)
    with warnings.catch_warnings(action="ignore"), ds.remote(timeout=1), contextlib.suppress(OSError, ds.DsError):
        np.testing.assert_array_equal(read(server, "small.ds"), GRID[0, :10])  # any other error fails the test


def test_what_urllib3_refuses_is_closed_at_once(files: dict[str, bytes], serve: Serve) -> None:
    """Otherwise the collector closes it, and warns wherever it runs."""

    def behaviour(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        return answer(request).having(Connection="close", Content_Length="10, 20")

    server = serve(files, behaviour)
    gc.collect()
    with pytest.raises(OSError, match=r"small\.ds"):
        read(server, "small.ds")
    gc.collect()  # pytest makes an error of the warning


def test_a_handle_notices_a_new_version(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(dict(files))
    with ds.open(server.url("large.ds")) as file:
        handle = file["x"].handle()
    server.files["large.ds"] = files["other.ds"]
    with pytest.raises(ds.ReplacedError, match=r"large\.ds.*variable"):
        handle.read()
    del server.files["large.ds"]
    with pytest.raises(FileNotFoundError):
        handle.read()


@pytest.mark.parametrize("behaviour", [behaviours.without_ranges, behaviours.chunked])
def test_a_server_without_ranges_is_read_once_with_a_warning(
    behaviour: behaviours.Behaviour, files: dict[str, bytes], serve: Serve
) -> None:
    server = serve(files, behaviour)
    with pytest.warns(UserWarning, match="does not support ranges, so all .*bytes are read"):
        file = ds.open(server.url("large.ds"))
    np.testing.assert_array_equal(file["x"][3], GRID[3])
    np.testing.assert_array_equal(file["x"][:], GRID)
    assert len(server.requests) == 1


def test_a_small_file_needs_no_ranges(files: dict[str, bytes], serve: Serve) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(serve(files, behaviours.without_ranges), "small.ds").tolist() == [*range(10)]


def test_answers_are_asked_not_to_be_compressed(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files, behaviours.compressing())
    np.testing.assert_array_equal(read(server), GRID)
    assert server.received("Accept-Encoding", "127.0.0.1") == ["identity"] * len(server.requests)
    with pytest.warns(UserWarning, match="does not support ranges"):
        assert not read(serve(files, behaviours.compressing(always=True)), "zeros.ds").any()


def test_credentials_stay_with_their_host(files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files, behaviours.redirecting("localhost"))
    options = {"headers": {"X-Key": "key"}, "token": "token", "cookies": {"a": "b"}}
    np.testing.assert_array_equal(read(server, storage_options=options), GRID)
    for header, value in (("X-Key", "key"), ("Authorization", "Bearer token"), ("Cookie", "a=b")):
        assert set(server.received(header, "127.0.0.1")) == {value}
        assert server.received(header, "localhost") == []
    # the next range goes where the redirect led
    assert [request.host for request in server.requests] == ["127.0.0.1", "localhost", "localhost"]


def test_a_redirect_that_expires_is_followed_again(files: dict[str, bytes], serve: Serve) -> None:
    def once(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        if request.host == "localhost" and sum(each.host == "localhost" for each in request.server.requests) == 2:
            return behaviours.Answer(403)
        return answer(request)

    server = serve(files, once, behaviours.redirecting("localhost"))
    np.testing.assert_array_equal(read(server), GRID)
    hosts = [request.host for request in server.requests]
    assert hosts == ["127.0.0.1", "localhost", "localhost", "127.0.0.1", "localhost"]


def test_a_circle_of_redirects_ends(files: dict[str, bytes], serve: Serve) -> None:
    def around(request: behaviours.Request, answer: behaviours.Next) -> behaviours.Answer:
        return behaviours.Answer(302).having(Location=f"/{request.path}")

    with pytest.raises(OSError, match="more than 10 redirects"):
        read(serve(files, around))


def test_signing_in_at_another_host(files: dict[str, bytes], serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(files, behaviours.signing_in("user", "password"))
    netrc = Path(os.environ["HOME"], ".netrc")
    netrc.write_text("machine localhost login user password password\n")
    netrc.chmod(0o600)
    np.testing.assert_array_equal(read(server, storage_options={"headers": {"X-Run": "1"}}), GRID)
    assert server.received("Authorization", "127.0.0.1") == []
    n = len(server.requests)
    read(server, "small.ds", storage_options={"headers": {"X-Run": "1"}})  # the session goes on
    assert len(server.requests) == n + 1


@pytest.mark.parametrize(
    ("expected", "options"),
    [
        (basic("me", "secret"), {"auth": ("me", "secret")}),
        ("Bearer t", {"token": "t"}),
        ("Bearer t", {"client_kwargs": {"headers": {"Authorization": "Bearer t"}}}),
    ],
)
def test_credentials_in_options(expected: str, options: dict[str, Any], files: dict[str, bytes], serve: Serve) -> None:
    server = serve(files, behaviours.guarded(expected))
    np.testing.assert_array_equal(read(server, storage_options=options), GRID)
    with pytest.raises(PermissionError):
        read(server)


def test_an_unknown_option_is_an_error(files: dict[str, bytes], serve: Serve) -> None:
    with pytest.raises(ValueError, match=r"found 'tokne', expected .* did you mean token"):
        read(serve(files), storage_options={"tokne": "t"})


def test_a_proxy_of_the_environment(files: dict[str, bytes], serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(files)
    monkeypatch.setenv("HTTP_PROXY", proxy.url().replace("//", "//me:secret@"))
    np.testing.assert_array_equal(ds.read("http://files.invalid/large.ds")["x"], GRID)
    assert {request.host or "files.invalid" for request in proxy.requests} == {"files.invalid"}
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    direct = serve(files)
    np.testing.assert_array_equal(read(direct), GRID)
    assert len(direct.requests) == 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a self-signed certificate of 127.0.0.1 and its key."""
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    key = path.with_name("key.pem")
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *name]
    subprocess.run([*command, "-keyout", key, "-out", path], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + key.read_bytes())
    return path


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_certificates(
    files: dict[str, bytes], serve: Serve, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(files, certificate=certificate)
    with pytest.raises(
        OSError, match=r"CERTIFICATE_VERIFY_FAILED.* by the option ca_certs or SSL_CERT_FILE: .*large\.ds"
    ):
        read(server)
    assert not server.requests
    for options in ({"ca_certs": str(certificate)}, {"ca_certs": certificate}):
        np.testing.assert_array_equal(read(server, storage_options=options), GRID)
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, str(certificate))
            np.testing.assert_array_equal(read(server, storage_options={"headers": {"X": name}}), GRID)
    digest = subprocess.run(
        ["openssl", "x509", "-noout", "-hash", "-in", certificate], check=True, capture_output=True, text=True
    ).stdout.strip()
    (tmp_path / f"{digest}.0").write_bytes(certificate.read_bytes())
    np.testing.assert_array_equal(read(server, storage_options={"ca_certs": tmp_path}), GRID)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(OSError, match=r"SSL_CERT_FILE: certificates not found: .*absent\.pem: .*large\.ds"):
        read(server, storage_options={"headers": {"X": "other"}})
    np.testing.assert_array_equal(read(serve(files), storage_options={"headers": {"X": "other"}}), GRID)


CODE = """
import sys
import ds_format as ds
with ds.remote(piece=100_000, timeout=60):
    ds.read(sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("first", "requests"), [(0, 1), (1, 5)])
def test_an_interrupt_ends_at_once(
    first: int, requests: int, files: dict[str, bytes], serve: Serve, tmp_path: Path
) -> None:
    server = serve(files, behaviours.stalling(1000, first=first))
    check_interrupt(CODE, [server.url("large.ds")], server, requests, tmp_path)
