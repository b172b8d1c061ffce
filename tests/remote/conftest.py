"""Servers on the loopback interface."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .server import Server

if TYPE_CHECKING:
    from .bucket import Bucket, Moto

ENVIRONMENT = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
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
    reason = "needs moto, flask and flask-cors, of the dependency group optional"
    module = pytest.importorskip("tests.remote.bucket", reason=reason, exc_type=ImportError)
    server = module.Moto()
    yield server
    server.close()


@pytest.fixture
def bucket(moto: Moto) -> Bucket:
    """Return an empty bucket of S3."""
    return moto.bucket()
