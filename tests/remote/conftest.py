"""Servers on the loopback interface."""

from __future__ import annotations

import contextlib
import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format as ds

from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket, Moto

ENVIRONMENT = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"),
    *("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
)
"""Variables of a user's environment that must not change what tests do."""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide settings and credentials of the user."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def check_interrupt(code: str, words: list[str], server: Server, requests: int, folder: Path) -> None:
    """Run a Python program, send SIGINT after so many requests to a server, and check that it ends by that.

    It may take half a minute, so requests of the program must have more time. `server` answers none of them.
    """
    # a shell lets programs in the background ignore the signal
    handling = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{handling}\n{code}", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        while len(server.requests) < requests and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in error and process.returncode != 0


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a `Server` with its parameters. All are closed after the test."""
    with contextlib.ExitStack() as servers:

        def start(*args: Any, **options: Any) -> Server:
            server = Server(*args, **options)
            servers.callback(server.close)
            started.append(server)
            return server

        started: list[Server] = []
        yield start
    assert [fault for server in started for fault in server.faults] == []


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    """Return moto's server."""
    module = importlib.import_module("tests.remote.bucket")  # `tests/conftest.py` skips what needs it without moto
    server = module.Moto()
    yield server
    server.close()


@pytest.fixture
def bucket(moto: Moto) -> Bucket:
    """Return an empty bucket of S3."""
    return moto.bucket()


def report(i: int, n: int = 3) -> dict[str, Any]:
    meta = {"time": {".dims": ["time"], "units": "days since 2000-01-01"}, "x": {".dims": ["time", "n"]}}
    return {"time": np.array([float(i)]), "x": np.arange(float(n))[None] + i, ".": meta}


def made(folder: Path, names: list[str], **options: Any) -> dict[str, bytes]:
    """Return files of which the one of number i begins with the time i."""
    for i, name in enumerate(names):
        ds.write(folder / name, report(i, **options))
    return {name: (folder / name).read_bytes() for name in names}


def urls(server: Server) -> list[str]:
    return [server.url(f"{name}?token=secret") for name in server.files]


def keys(bucket: Bucket) -> dict[str, str]:
    return {"key": bucket.key_id, "secret": bucket.secret, "endpoint_url": bucket.endpoint, "region": bucket.region}


CODE = """
import sys
import ds_format as ds
options = {{"anon": True, "endpoint": sys.argv[1].rpartition("/")[0]}}
with ds.remote(timeout=60):
    {call}
"""
