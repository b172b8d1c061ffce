"""Fixtures for tests of converting many files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format

from ...cli.conftest import folder

__all__ = ["folder"]

Make = Callable[..., list[str]]


@pytest.fixture
def make(folder: Path) -> Make:
    """Makes small files, which differ in their values."""

    def write(*names: str) -> list[str]:
        for i, name in enumerate(names):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            options: dict[str, Any] = {"format": "NETCDF3_CLASSIC"} if name.endswith(".nc") else {}
            ds_format.write(name, dataset(i), **options)
        return list(names)

    return write


def dataset(i: int = 0) -> dict[str, object]:
    """A dataset with a missing value."""
    x = np.ma.array([i, 1.5, 2.5, np.nan], mask=[False, False, True, False])
    return {"x": x, "n": np.int32(i), ".": {"x": {".dims": ["t"], "units": "m"}, ".": {"title": f"file {i}"}}}


def names(folder: str | Path) -> list[str]:
    """Return all that is in a folder but the journal, hidden files included."""
    top = Path(folder)
    return sorted(
        p.relative_to(top).as_posix() for p in top.rglob("*") if not p.is_dir() and p.name != ".ds-convert.jsonl"
    )
