"""Fixtures for tests of many files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ds_format.drivers.ds import alike
from ds_format.many import reading

from .files_as_one import SIZES, make, write


@pytest.fixture(params=["batch", "whole", "large"])
def paths(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that are read together, one by one, and by parts."""
    monkeypatch.setattr(reading, "BATCH", 3)
    if request.param != "batch":
        monkeypatch.setattr(reading, "SMALL_SIZE", 8)
    if request.param == "large":
        monkeypatch.setattr(alike, "SMALL", alike.SMALL._replace(size=8))
    return write(tmp_path, *(make(i, n) for i, n in enumerate(SIZES)))
