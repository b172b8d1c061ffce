"""Recorded runs of the command of ds-format, and what they are compared with."""

from __future__ import annotations

import contextlib
import io
from typing import Any, NamedTuple

import numpy as np

from ds_format.cli import main
from ds_format.datasets import dims

from ..same import same_data, same_value


class Result(NamedTuple):
    """The result of a run."""

    status: int
    out: str
    err: str


def run(words: list[str]) -> Result:
    """Run a command line in the working folder; bytes that are not UTF-8 are shown as they are in Python's literals."""
    raw = io.BytesIO()
    out, err = io.TextIOWrapper(raw, "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
        out.flush()
    return Result(status, raw.getvalue().decode("utf-8", "backslashreplace"), err.getvalue())


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Compare two datasets by data, dimensions and attributes."""
    assert sorted(ours) == sorted(theirs)
    for key in theirs:
        assert same_data(ours[key], theirs[key]) if key != "." else True, (key, ours[key], theirs[key])
    for key in theirs["."]:
        found, given = plain(key, ours), plain(key, theirs)
        assert same_value(found, given), (key, found, given)


def plain(key: str, dataset: dict[str, Any]) -> dict[str, Any]:
    """Return attributes and dimensions, those that are generated too."""
    entry = dataset["."].get(key, {})
    ndim = np.ndim(dataset[key]) if key != "." else 0
    attributes = {name: value for name, value in sorted(entry.items()) if not name.startswith(".")}
    return {**attributes, ".dims": dims(key, entry, ndim)}
