"""Scenes for the tests, made from datasets by way of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ds_format as ds
from ds_format.base.text import escape
from ds_format.show import making
from ds_format.views.subset import open_subset


def make(folder: Path, dataset: dict[str, Any], name: str, limits: tuple[int, int, int] = (100, 50, 20)) -> Any:
    """Return the scene of one variable of a dataset."""
    path = folder / "x.ds"
    ds.write(path, dataset)
    with open_subset(path, unpack=True) as source:
        return making.make(source, escape(name), *limits)
