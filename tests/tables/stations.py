"""Reports of stations as files, and what a query of them must give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

N = 6
"""Files."""


def report(i: int) -> dict[str, Any]:
    """Return a report with i + 1 rows, with gaps, packed numbers, text, flags, scalars and attributes."""
    rows = np.arange(i + 1)
    return {
        "time": 24 * i + rows,
        "temperature": np.ma.MaskedArray(rows * 1.5 + i, rows % 3 == 1),
        "wind": (rows + 10 * i).astype("f4"),
        "weather": np.array([f"žluť {row % 2}" for row in rows], object),
        "is_checked": rows % 2 == 0,
        "station": f"st{i}",
        "latitude": -5.5 + i,
        "profile": np.zeros((i + 1, 2)),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2026-01-01"},
            **{name: {".dims": ["time"], "units": "1"} for name in ("temperature", "wind", "weather", "is_checked")},
            "profile": {".dims": ["time", "level"]},
            ".": {"height": 100 * i, "title": "reports", **({} if i % 2 else {"network": "a"})},
        },
    }


def write_all(folder: Path, suffix: str) -> list[str]:
    """Write all reports, and return their paths."""
    paths = [str(folder / f"r{i}.{suffix}") for i in range(N)]
    for i, path in enumerate(paths):
        ds.write(path, report(i))
    return paths


def rows(*names: str) -> list[tuple[Any, ...]]:
    """Return the rows of all reports, with the columns of these names."""
    found = []
    for i in range(N):
        data = {**report(i), "height": 100 * i, "network": None if i % 2 else "a"}
        columns = [
            np.ma.asanyarray(data[name]).tolist() if np.ndim(data[name]) else [data[name]] * (i + 1) for name in names
        ]
        found += list(zip(*columns, strict=True))
    return found
