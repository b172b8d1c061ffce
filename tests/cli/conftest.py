"""Fixtures for tests of the command line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ds_format.cli import main

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"


class Result(NamedTuple):
    """The result of a run."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, in soft mode."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DS_MODE", raising=False)
    return tmp_path


@pytest.fixture
def ds(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in the working folder."""

    def run(*words: str) -> Result:
        capsys.readouterr()
        status = main(words)
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def base(folder: Path) -> str:
    """A file with `temperature` and `time` along `time`."""
    shutil.copy(GOLDEN / "inputs" / "base.ds", folder / "base.ds")
    return "base.ds"
