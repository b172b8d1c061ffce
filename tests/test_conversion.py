"""Small files are converted in one step, larger ones in blocks: to the same dataset, or with the same error."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.api import conversion

from .same import same_data, same_value
from .strategies import datasets


def converted(source: Path, target: Path, *, in_blocks: bool, **options: Any) -> tuple[Any, list[str]]:
    """Return what a file becomes, or the error, and the warnings."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if in_blocks:
            patch.setattr(conversion, "SMALL_SIZE", -1)
        try:
            ds.convert(source, target, **options)
            found: Any = ds.read(target, unpack=False)
        except ds.DsError as error:
            found = str(error)
            assert not target.exists()
    return found, [str(warning.message) for warning in caught]


@given(datasets(), st.sampled_from([".nc", ".h5", ".json", ".bpk", ".ds"]), st.sampled_from(["1.0", "2.0.1"]))
def test_in_one_step_as_in_blocks(dataset: dict[str, Any], suffix: str, version: str) -> None:
    if suffix == ".h5":
        pytest.importorskip("h5py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / f"a{suffix}", Path(folder) / "b.ds"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ds.write(source, dataset)
            except ds.UnsupportedError:
                return
        ours, told = converted(source, target, in_blocks=False, version=version)
        target.unlink(missing_ok=True)
        theirs, expected = converted(source, target, in_blocks=True, version=version)
    assert told == expected
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours.keys() == theirs.keys()
    assert all(same_data(ours[key], theirs[key]) for key in ours if key != ".")
    assert same_value(ours["."], theirs["."])


def test_progress_of_a_small_file(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", {"x": [1.5, 2.5], "nothing": None})
    told: list[tuple[int, int]] = []
    ds.convert(tmp_path / "a.ds", tmp_path / "b.ds", progress=lambda *both: told.append(both))
    assert told == [(16, 16)]


@pytest.mark.parametrize("suffix", ["nc", "json"])
def test_units_of_time_need_no_jd(tmp_path: Path, suffix: str) -> None:
    meta = {"time": {".dims": ["time"], "units": "days since 2000-01-01"}}
    ds.write(tmp_path / "a.ds", {"time": np.arange(2.0), ".": meta})
    target = tmp_path / f"b.{suffix}"
    ds.convert(tmp_path / "a.ds", target, time_units="hours since 2000-01-01", calendar="standard")
    assert ds.read(target)["time"].tolist() == [0, 24]
    ds.convert_many(tmp_path / "a.ds", tmp_path / "out", to=suffix, time_units="hours since 2000-01-01", verify=True)
    assert ds.read(tmp_path / "out" / f"a.{suffix}")["time"].tolist() == [0, 24]
