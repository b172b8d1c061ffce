"""The metadata from the header alone equal those of an open file, and need no NumPy."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.base.dtypes import TypedNumbers
from ds_format.cli import main
from ds_format.drivers.netcdf import header, opening
from ds_format.errors import DsError

from ...hdf5 import drawn
from ...hdf5.files import MAKERS, each

NEEDS_MORE = ("types", "ncgen", "compound", "filter_")
"""How the names of files begin that must be opened: with user-defined types, or filters of libraries."""


def exact(value: Any) -> Any:
    """Return something that is equal only for values of the same types, in the same order."""
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, np.generic | np.ndarray | TypedNumbers):
        return value.dtype.name, repr(value.tolist())
    return type(value), value


def check(path: Path) -> bool:
    """Return whether the header is enough; if so, it gives the same."""
    found = header.meta(str(path))
    if found is None:
        return False
    source: Any = opening.open(str(path))
    try:
        assert source.reader == ("", "") and not source.faults
        assert exact(found) == exact(dict(source.meta))
        assert header.title_of(found) == opening.title(source)
    finally:
        source.close()
    return True


@pytest.mark.parametrize("name", each(lambda maker: maker.is_netcdf))
def test_the_header_gives_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.nc"
    with warnings.catch_warnings(action="ignore"):
        MAKERS[name].make(path)
    assert check(path) is not (name.startswith(NEEDS_MORE) or MAKERS[name].reason is not None)


@given(st.integers(0, 2**32 - 1))
def test_random_files(seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.nc")
        with warnings.catch_warnings(action="ignore"):
            drawn.netcdf4(path, Random(seed))
        check(path)


@pytest.mark.parametrize("cut", [20, 700, 3000])
def test_damage_is_left_to_opening(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.nc"
    MAKERS["report"].make(path)
    path.write_bytes(path.read_bytes()[:cut])
    assert header.meta(str(path)) is None
    with pytest.raises(DsError):
        ds.open(path)


def test_numbers_that_only_numpy_compares(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("n", 2)
        variable = file.createVariable("x", "f4", ("n",))
        variable.missing_value = np.float64(0.5)
        file.createVariable("s", "f4", fill_value=1.0).missing_value = np.float32(2)
    assert header.meta(str(tmp_path / "x.nc")) is None
    with netCDF4.Dataset(tmp_path / "x.nc", "a") as file:
        file["x"].missing_value = np.float32(5)
    assert header.meta(str(tmp_path / "x.nc")) is None  # which of its numbers the scalar has, the header does not say
    with netCDF4.Dataset(tmp_path / "x.nc", "a") as file:
        file["s"].delncattr("missing_value")
    assert check(tmp_path / "x.nc")


@pytest.mark.parametrize("words", [["ls"], ["ls", "-l"], ["info"], ["info", "-j"], ["attrs"], ["meta"]])
@pytest.mark.parametrize("name", ["report_unlimited_zlib", "many_attributes", "groups"])
def test_commands_load_no_numpy(tmp_path: Path, words: list[str], name: str) -> None:
    path = tmp_path / "x.nc"
    MAKERS[name].make(path)
    code = f"import sys; from ds_format.cli import main; main({[*words, str(path)]}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"numpy", "dataclasses", "logging"} & set(done.stdout.splitlines()[-1].split())


def test_numbers_print_alike_in_all_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = np.array([0.1, 7119782000.0, 1e-7], "f4")
    data = {"x": np.arange(3.0), ".": {"x": {".dims": ["n"], "one": numbers[1], "several": numbers}}}
    shown = []
    for suffix in ("ds", "nc", "nc3", "h5"):
        options: dict[str, Any] = {"format": "NETCDF3_CLASSIC"} if suffix == "nc3" else {}
        ds.write(tmp_path / f"x.{suffix}", data, **options)
        main(["info", "-l", str(tmp_path / f"x.{suffix}")])
        shown.append([
            line.strip() for line in capsys.readouterr().out.splitlines() if "one:" in line or "several:" in line
        ])
    assert shown == [["one: 7119782000.0", "several: 0.1, 7119782000.0, 1e-07"]] * 4
