"""Secrets of addresses and options are in no message, repr, log, warning, journal, or pickle of an error.

A handle and a dataset that are pickled have the address and the options, because another process reads with them.
"""

from __future__ import annotations

import contextlib
import http.cookiejar
import io
import logging
import os
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers

from ..formats import SUFFIXES
from . import server as behaviours
from .server import Answer, Behaviour, Next, Request, Server

if TYPE_CHECKING:
    from .bucket import Bucket

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

Serve = Callable[..., Server]
MARK = "Zx8Secret"
QUERY = f"sig={MARK}&key={MARK}"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"token": MARK},
    {"token": f"{MARK}\r\n"},
    {"token": f"{MARK}ž"},
    {"headers": {"X-Key": MARK, "Authorization": f"Bearer {MARK}"}},
    {"headers": {"X-Key": f"{MARK}\n"}},
    {"auth": ("me", MARK)},
    {"auth": ("me", f"{MARK}/ž")},
    {"auth": f"me:{MARK}"},
    {"cookies": {"session": MARK}},
    {"cookies": {"session": f"{MARK}\0"}},
    {"tokne": MARK},
]
USERS = [
    "",
    f"me:{MARK}@",
    f"me:{MARK}/x@",
    f"me:{MARK}?x@",
    f"me:{MARK}#x@",
    f"me@{MARK}@",
    f"{MARK}\\@",
    f"a:{MARK}:1@",
]
FAILURES: dict[str, Behaviour] = {
    "none": lambda request, answer: answer(request),
    "404": behaviours.failing(404),
    "503": behaviours.failing(503),
    "dropped": behaviours.dropping(),
    "cut": behaviours.dropping(1000, first=1),
    "moved": behaviours.redirecting("localhost"),
    "moved to nothing": lambda request, answer: Answer(302).having(Location=f"http://me:{MARK}@localhost:1/x?{QUERY}"),
    "moved to no address": lambda request, answer: Answer(302).having(Location=f"http://me:{MARK}/@[/x?{QUERY}"),
    "whole": behaviours.without_ranges,
    "wrong": behaviours.wrong_206("other"),
}


class Notes:
    """Everything that users may see or pass on."""

    def __init__(self) -> None:
        self.text = io.StringIO()

    def add(self, *things: object) -> None:
        for thing in things:
            print(thing, repr(thing), file=self.text)

    def add_error(self, error: BaseException) -> None:
        """Add a traceback with all causes, and a pickle."""
        self.add(*traceback.format_exception(error), error.args, vars(error))
        with contextlib.suppress(TypeError):  # exceptions of other packages that cannot be pickled
            self.add(pickle.dumps(error))


@pytest.fixture
def notes() -> Iterator[Notes]:
    """Return notes with all that is logged and warned. In the end, there must be no secret in them."""
    found = Notes()
    handler = logging.StreamHandler(found.text)
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(action="always"), ds.remote(retries=1, timeout=10):
            warnings.showwarning = lambda *args, **options: found.add(args[0])
            yield found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    text = found.text.getvalue()
    assert text
    assert MARK not in text, text[max(text.index(MARK) - 300, 0) : text.index(MARK) + 100]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("files") / "x.ds"
    ds.write(path, {"x": np.arange(20_000.0), ".": {"x": {".dims": ["t"]}}})
    return {"x.ds": path.read_bytes(), "bad.nc": b"CDF\1" + b"\xff" * 100, "y.json": b"{"}


def use(notes: Notes, address: Any, **options: Any) -> None:
    """Read a file in several ways."""
    for name in ("x.ds", "bad.nc", "y.json", "absent"):
        where = address if not isinstance(address, str) else address.replace("x.ds", name)
        try:
            notes.add(drivers.located(where, **options))
            found = ds.read(where, **options)
            with ds.open(where, **options) as opened:
                handle: Any = opened["x"].handle()
                notes.add(opened, opened["x"], handle, handle.stamp, handle.path)
                assert np.array_equal(handle.read(), found["x"])
        except (OSError, ValueError, ds.DsError) as error:
            notes.add_error(error)


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("user", USERS)
def test_addresses(user: str, kind: str, files: dict[str, bytes], serve: Serve, notes: Notes) -> None:
    server = serve(files, FAILURES[kind])
    address = server.url(f"x.ds?{QUERY}#{MARK}").replace("//", f"//{user}")
    use(notes, address)
    if user in USERS[:2]:
        assert server.requests and {request.query for request in server.requests if request.host == "127.0.0.1"} == {
            QUERY
        }


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options: dict[str, Any], kind: str, files: dict[str, bytes], serve: Serve, notes: Notes) -> None:
    use(notes, serve(files, FAILURES[kind]).url("x.ds"), storage_options=options)


def test_jars_and_netrc(files: dict[str, bytes], serve: Serve, notes: Notes) -> None:
    def setting(request: Request, answer: Next) -> Answer:
        return answer(request).having(Set_Cookie=f"session={MARK}; Path=/")

    netrc = Path(os.environ["HOME"], ".netrc")
    netrc.write_text(f"machine 127.0.0.1 login me password {MARK}\n")
    netrc.chmod(0o600)
    for kind in ("none", "503"):
        use(
            notes,
            serve(files, FAILURES[kind], setting).url("x.ds"),
            storage_options={"cookies": http.cookiejar.CookieJar()},
        )


@pytest.mark.parametrize(
    "proxy", ["http://me:{mark}@localhost:1", "http://me:{mark}/x@h:1", "nonsense://{mark}@h", "http://me@{mark}@h"]
)
def test_proxies(proxy: str, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.format(mark=MARK))
    use(notes, "http://files.invalid/x.ds")


def test_journals_and_records(files: dict[str, bytes], serve: Serve, notes: Notes, tmp_path: Path) -> None:
    server = serve(files)
    addresses = [
        server.url(f"{name}?{QUERY}").replace("//", f"//me:{MARK}@") for name in ("x.ds", "bad.nc", "absent.ds")
    ]
    addresses.append(f"http://me:{MARK}/x@127.0.0.1:{server.port}/z.ds")
    for jobs in (1, 2):
        records = ds.convert_many(
            addresses, tmp_path / str(jobs), to="json", jobs=jobs, storage_options={"token": MARK}
        )
        notes.add(records, *records)
        assert [record.status for record in records] == ["converted", "failed", "failed", "failed"]
    for path in tmp_path.rglob("*"):
        notes.add(path, path.read_bytes() if path.is_file() else "")


def test_an_engine(files: dict[str, bytes], serve: Serve, notes: Notes) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    address = serve(files).url(f"x.ds?{QUERY}").replace("//", f"//me:{MARK}@")
    with xarray.open_dataset(
        address, engine="ds", chunks={}, backend_kwargs={"storage_options": {"token": MARK}}
    ) as opened:
        notes.add(opened, opened.encoding, opened["x"].encoding, opened["x"].data, dict(opened["x"].data.dask))
        assert MARK.encode() in pickle.dumps(opened)  # another process reads with it
        assert np.array_equal(pickle.loads(pickle.dumps(opened))["x"], np.arange(20_000.0))


@pytest.mark.parametrize(
    ("address", "options"),
    [
        (
            "s3://bucket/x.ds",
            {"key": f"{MARK}1", "secret": f"{MARK}/2", "endpoint_url": f"http://localhost:1/?{QUERY}"},
        ),
        ("s3://bucket/x.ds", {"secret": MARK, "nonsense": MARK}),
        (f"s3://{MARK}:{MARK}/{MARK}@bucket/x.ds", {}),
        ("gs://bucket/x.ds", {"token": {"private_key": MARK}}),
        ("gs://bucket/x.ds", {"token": MARK}),
        ("az://bucket/x.ds", {"connection_string": f"AccountName=me;AccountKey={MARK}"}),
        ("az://bucket/x.ds", {"account_name": "me", "sas_token": f"?sig={MARK}", "endpoint": "http://localhost:1"}),
        ("az://bucket/x.ds", {"account_name": "me", "account_key": MARK, "endpoint": "http://localhost:1"}),
    ],
)
def test_buckets(address: str, options: dict[str, Any], notes: Notes) -> None:
    pytest.importorskip("obstore")
    with ds.remote(retries=0, timeout=2):
        use(notes, address, storage_options=options)


def test_a_bucket_without_rights(bucket: Bucket, files: dict[str, bytes], notes: Notes) -> None:
    pytest.importorskip("obstore")
    bucket.put("x.ds", files["x.ds"])
    logging.getLogger().setLevel(logging.WARNING)  # the server logs requests, in this process
    options = {"key": bucket.key_id, "secret": MARK, "token": MARK, "endpoint_url": bucket.endpoint}
    use(notes, "s3://bucket/x.ds", storage_options=options)


@pytest.mark.parametrize(
    ("address", "options"),
    [
        (f"ftp://me:{MARK}@localhost:1/x.ds", {}),
        (f"ftp://me:{MARK}/x@localhost:1/x.ds", {}),
        (f"zip://x.ds::https://me:{MARK}@localhost:1/p.zip?{QUERY}", {}),
        (f"simplecache::http://localhost:1/x.ds?{QUERY}", {"http": {"headers": {"X-Key": MARK}}}),
        (f"nonsense://me:{MARK}@localhost/x.ds", {"password": MARK}),
        ("memory://x.ds", {"password": MARK}),
    ],
)
def test_other_file_systems(address: str, options: dict[str, Any], notes: Notes) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    logging.getLogger("fsspec").setLevel(logging.INFO)  # which logs what it requests
    with ds.remote(retries=0, timeout=2):
        use(notes, address, storage_options=options)


class Failing:
    """A store whose errors have everything in them."""

    def __init__(self) -> None:
        self.config = {"secret_access_key": MARK, "region": "north"}

    def get(self, path: str, *, options: Any = None) -> Any:
        try:
            raise RuntimeError(f"GET http://me:{MARK}@host/x?X-Signature={MARK}")
        except RuntimeError as error:
            raise RuntimeError(f"north: {MARK} {path}\nDebug source: {MARK}") from error


def test_stores(files: dict[str, bytes], serve: Serve, notes: Notes) -> None:
    with pytest.raises(OSError, match=r"north: \.\.\. x\.ds") as error:
        ds.read("x.ds", store=Failing())
    notes.add_error(error.value)
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    system = fsspec.filesystem("http")
    logging.getLogger("fsspec").setLevel(logging.INFO)
    use(notes, serve(files).url(f"x.ds?{QUERY}"), store=system)
    use(notes, fsspec.open(serve(files).url(f"x.ds?{QUERY}")))


def test_paths(notes: Notes) -> None:
    for suffix in SUFFIXES:
        address = f"https://me:{MARK}@host/x{suffix}?{QUERY}"
        for path in (Path(address), address.encode()):
            for act in (ds.read, ds.open, ds.verify, lambda where: ds.write(where, {"x": [1]})):
                try:
                    notes.add(act(path))
                except (OSError, ds.DsError) as error:
                    notes.add_error(error)
