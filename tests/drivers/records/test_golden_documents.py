"""Stores of other programs, whole and broken ones, as datasets."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path

import pytest

import ds_format as ds
from ds_format.drivers.records.zds import find_value
from tests.zds import golden


@pytest.mark.filterwarnings("ignore::ds_format.zds.faults.ZdsWarning")
@pytest.mark.parametrize("name", golden.WHOLE)
def test_whole_stores(name: str, tmp_path: Path) -> None:
    path = golden.copy(name, tmp_path)
    collections = golden.expected(name)["collections"]
    with ds.open(path) as file:
        for collection in collections:
            expected = list(golden.documents(name, collection).values())
            start = f"{collection}/" if len(collections) > 1 else ""
            names = [key for key in file if key.startswith(start)]
            assert bool(names) == bool(expected)
            for key in names:
                if 0 not in (file[key].shape or (0,)):
                    found = [find_value(document, tuple(key.removeprefix(start).split("/"))) for document in expected]
                    assert file[key][:].tolist() == found, key


@pytest.mark.parametrize("name", golden.CORRUPT)
def test_broken_stores(name: str, tmp_path: Path) -> None:
    """They are read with a warning or not at all, by an error; nothing else happens."""
    path = golden.copy(f"corrupt/{name}", tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ds.DsError), ds.open(path) as file:
            for key in file:
                if file[key].shape is not None:
                    assert file[key][:].shape == file[key].shape
    assert sorted(tmp_path.rglob("*")) == before
