"""Small files are converted in one step, larger ones in blocks: to the same dataset, or with the same error."""

from __future__ import annotations

import contextlib
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import drivers
from ds_format.api import conversion

from .formats import FOR_OTHERS, SUFFIXES
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


@given(
    datasets(),
    st.sampled_from([suffix for suffix in SUFFIXES if suffix not in FOR_OTHERS]),
    st.sampled_from(["1.0", "2.0.1"]),
)
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


FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4")


def outcome(source: Path, target: Path, *, opened: bool) -> tuple[Any, list[str]]:
    """Return the bytes of what a file becomes, or the error, and the warnings; by a Source if it is `opened`."""
    driver = drivers.load(drivers.FORMATS["ds" if source.suffix == ".ds" else "netcdf"])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if opened:
            patch.setitem(drivers._loaded_by_suffix, source.suffix, driver._replace(read_small=None))
        try:
            ds.convert(source, target)
            found: Any = target.read_bytes()
        except ds.DsError as error:
            found = f"{type(error).__name__}: {error}"
            assert not target.exists()
    target.unlink(missing_ok=True)
    return found, [str(warning.message) for warning in caught]


@given(st.lists(st.tuples(datasets(), st.sampled_from(FORMATS)), min_size=1, max_size=4), st.data())
def test_small_netcdf_files_in_any_order_have_the_bytes_of_opened_ones(made: list[Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target, paths = Path(folder) / "x.ds", []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i, (dataset, format) in enumerate(made):
                path = Path(folder) / f"{i}.nc"
                with contextlib.suppress(ds.UnsupportedError):
                    ds.write(path, dataset, format=format)
                    paths.append(path)
        order = data.draw(st.lists(st.sampled_from(paths), max_size=8)) if paths else []
        found = [outcome(path, target, opened=False) for path in order]
        assert found == [outcome(path, target, opened=True) for path in order]


@given(datasets(), st.sampled_from([".ds", ".nc", ".json", ".csv"]), st.sampled_from(["1.0", "2.0.1"]))
def test_small_ds_files_become_the_bytes_of_opened_ones(dataset: dict[str, Any], suffix: str, version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.ds", Path(folder) / f"b{suffix}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ds.write(source, dataset, version=version)
            except ds.UnsupportedError:
                return
        assert outcome(source, target, opened=False) == outcome(source, target, opened=True)


def test_golden_netcdf_files_have_the_bytes_of_opened_ones(tmp_path: Path) -> None:
    paths = sorted(Path(__file__).with_name("golden").rglob("*.nc"))
    assert len(paths) > 10
    for path in paths:
        found = outcome(path, tmp_path / "x.ds", opened=False)
        assert found == outcome(path, tmp_path / "x.ds", opened=True), path


@pytest.mark.parametrize("n", [conversion.SMALL_SIZE // 8, conversion.SMALL_SIZE // 8 + 1])
def test_a_small_file_of_large_arrays_is_not_read_at_once(n: int, tmp_path: Path) -> None:
    ds.write(tmp_path / "x.nc", {"x": np.zeros(n), ".": {"x": {".dims": ["t"]}}}, compression="zlib")
    read = drivers.load(drivers.FORMATS["netcdf"]).read_small
    assert read is not None
    found = read(str(tmp_path / "x.nc"), conversion.SMALL_SIZE)
    assert isinstance(found, tuple) is (8 * n <= conversion.SMALL_SIZE)
    assert (tmp_path / "x.nc").stat().st_size < 8 * n


@pytest.mark.parametrize("format", [*FORMATS, None])
def test_damaged_small_files_have_the_same_errors(format: str | None, tmp_path: Path) -> None:
    suffix = ".nc" if format else ".ds"
    options: dict[str, Any] = {"format": format} if format else {}
    meta = {"x": {".dims": ["t"], "units": "m"}, "n": {".dims": ["t"], "_FillValue": np.int16(-1)}}
    ds.write(tmp_path / f"a{suffix}", {"x": np.arange(9.0), "n": np.arange(9, dtype="i2"), ".": meta}, **options)
    data = (tmp_path / f"a{suffix}").read_bytes()
    path, chance = tmp_path / f"b{suffix}", random.Random(1)
    for _ in range(200):
        damaged = bytearray(data)
        if chance.random() < 0.3:
            del damaged[chance.randrange(len(data)) :]
        else:
            damaged[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(damaged)
        assert outcome(path, tmp_path / "x.ds", opened=False) == outcome(path, tmp_path / "x.ds", opened=True)


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
