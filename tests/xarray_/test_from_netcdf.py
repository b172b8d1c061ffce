"""What xarray reads of NetCDF files goes into ds files as `ds select` puts it there, and comes back to xarray."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import FORMATS, open_source
from tests.fetch_ncarg import VARIABLE, folder, netcdf_files

xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")

from ds_format.xarray_.encoding import encode  # noqa: E402
from tests.xarray_ import nc_files  # noqa: E402

# xarray says of some files that their coding is odd
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = folder()
REAL = [path for path in netcdf_files(ROOT) if path.stat().st_size < 3_000_000] if ROOT.is_dir() else []
RAW = {"mask_and_scale": False, "decode_times": False}
ENCODED = (
    *("dtype", "_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar", "chunksizes"),
    "unlimited_dims",
)
LOST = {"fill", "strings"}
"""Settings of `.netcdf` that xarray does not tell of."""
ADDED = {"coordinates", "calendar", "dtype"}
"""Attributes that xarray adds."""
SHAPES = {".dims", ".size"}


def generated(tmp_path: Path) -> Path:
    path = tmp_path / "generated.nc"
    nc_files.make(path)
    return path


def same(one: Any, two: Any) -> bool:
    try:
        return bool(np.array_equal(np.asarray(one), np.asarray(two), equal_nan=True))
    except TypeError:
        return bool(one == two)


def check_as_selected(path: Path, **options: Any) -> None:
    """Compare what a dataset of xarray is coded as with what this package reads of the file."""
    try:
        opened = xr.open_dataset(path, engine="netcdf4", **options)
    except (OSError, ValueError) as error:
        pytest.skip(f"xarray cannot open it: {error}")
    with opened, closing(open_source(path, FORMATS["netcdf"])) as source:
        bounds = {variable.attrs.get("bounds") for variable in opened.variables.values()}
        meta, arrays = encode(opened)
        for key, array in arrays.items():
            entry, expected = meta[key], source.meta[key]
            stacked = entry[".size"] == expected[".size"]
            record = expected.get(".netcdf", {})
            for name in (entry.keys() | expected.keys()) - {".missing", ".netcdf"}:
                if name in SHAPES and not stacked:
                    assert record["char"]  # xarray joins characters of a dimension only if nothing else has it
                    continue
                told = name in expected and name in entry and same(entry[name], expected[name])
                assert (
                    told
                    or (name in ADDED and name not in expected)
                    or (key in bounds and name in ("units", "calendar") and name not in entry)
                ), (key, name, entry.get(name), expected.get(name))
            found = {**entry.get(".netcdf", {})}
            for name in (found.keys() | record.keys()) - LOST:
                assert found.get(name) == record.get(name) or name == "char", (key, name)
            if not stacked:
                continue
            values = source.read(key)
            is_filled = record.get("fill") == "default"
            mask = np.ma.getmaskarray(values)
            if not options and "_FillValue" in entry and values.dtype.kind == "f":
                mask |= np.isnan(np.ma.getdata(values))  # xarray does not tell NaN from what is missing
            assert np.array_equal(np.ma.getmaskarray(array), mask) or (is_filled and not np.ma.is_masked(array)), key
            one, two = np.ma.getdata(array)[~mask], np.ma.getdata(values)[~mask]
            assert one.dtype == two.dtype or one.dtype.kind == "O"
            assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f"), key


def check_there_and_back(path: Path, to: Path, **options: Any) -> None:
    """Compare a dataset of xarray with what comes back from a ds file."""
    try:
        opened = xr.open_dataset(path, engine="netcdf4", **options)
    except (OSError, ValueError) as error:
        pytest.skip(f"xarray cannot open it: {error}")
    with opened:
        ds.write(to, opened)
        found = xr.open_dataset(to, engine="ds", **options)
        xr.testing.assert_identical(found, opened)
        for name, variable in opened.variables.items():
            for key in ENCODED:
                one, two = variable.encoding.get(key), found[name].encoding.get(key)
                assert same(one, two) or (key == "dtype" and found[name].dtype.kind in "OSU"), (name, key, one, two)
        assert opened.encoding.get("unlimited_dims") == found.encoding["unlimited_dims"]


@pytest.mark.parametrize("options", [{}, RAW], ids=["decoded", "raw"])
class TestGenerated:
    def test_as_selected(self, tmp_path: Path, options: dict[str, Any]) -> None:
        check_as_selected(generated(tmp_path), **options)

    def test_there_and_back(self, tmp_path: Path, options: dict[str, Any]) -> None:
        check_there_and_back(generated(tmp_path), tmp_path / "a.ds", **options)


@pytest.mark.skipif(not REAL, reason=f"no files in {ROOT}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.parametrize("options", [{}, RAW], ids=["decoded", "raw"])
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
class TestReal:
    def test_as_selected(self, path: Path, options: dict[str, Any]) -> None:
        check_as_selected(path, **options)

    def test_there_and_back(self, path: Path, tmp_path: Path, options: dict[str, Any]) -> None:
        check_there_and_back(path, tmp_path / "a.ds", **options)
