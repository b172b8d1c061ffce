"""Web servers that lie: the result is right, or an error that names the file. Nothing hangs, or takes much memory."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

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
