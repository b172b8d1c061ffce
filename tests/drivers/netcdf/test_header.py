"""The metadata from the header alone equal those of an open file, and need no NumPy."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.base.dtypes import TypedNumbers
from ds_format.cli import main
from ds_format.drivers.netcdf import header, opening
from ds_format.errors import DsError

from ...classic import files as classic_files
from ...hdf5 import drawn
from ...hdf5.files import MAKERS, each
from .classic.generated import files as generated

NEEDS_MORE = ("types", "ncgen", "compound", "filter_", "szip", "composed")
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


CLASSIC = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def make_classic(path: Path, format: str) -> None:
    """Write a classic file of the library with attributes of all types that it can have."""
    codes = ["i1", "i2", "i4", "f4", "f8", *(["u1", "u2", "u4", "i8", "u8"] if format == CLASSIC[2] else [])]
    with netCDF4.Dataset(path, "w", format=cast("Any", format)) as file:
        file.createDimension("t", None)
        file.createDimension("n", 3)
        file.createDimension("letters", 4)
        file.createDimension("unused", 2)
        file.setncatts({"title": "ž", "empty": "", "nothing": np.zeros(0, "f4")})
        file.createVariable("text", "S1", ("n", "letters"))
        for code in codes:
            low, high = (-1.5, np.nan) if code[0] == "f" else (np.iinfo(code).min, np.iinfo(code).max)
            for dims in ((), ("n",), ("t", "n")):
                fill = 5 if code == "i2" else None
                variable = file.createVariable(f"{code}_{len(dims)}", code, dims, fill_value=fill)
                variable.setncatts({"units": "m", "valid_range": np.array([low, high], code)})
                variable.setncatts({"flag": np.array(high, code), "add_offset": 0.1, "scale_factor": np.float32(0.1)})
        file["i2_1"].missing_value = np.array([-5, -6], "i2")
        file["f4_2"][0:2] = 1


@pytest.mark.parametrize("format", CLASSIC)
def test_the_header_of_a_classic_file_gives_the_same(tmp_path: Path, format: str) -> None:
    make_classic(tmp_path / "x.nc", format)
    assert check(tmp_path / "x.nc")
    found = header.meta(str(tmp_path / "x.nc"))
    assert found is not None and found["."][".netcdf"]["format"] == format


@given(st.integers(0, 2**32 - 1))
def test_random_classic_files(seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.nc")
        path.write_bytes(classic_files.encode(classic_files.drawn(Random(seed))))
        assert check(path)


@given(generated())
def test_classic_files_made_by_hand(file: classic_files.File) -> None:
    """Of those with unusual names, or with numbers that only NumPy compares, it gives nothing."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.nc")
        path.write_bytes(classic_files.encode(file))
        names = [*(name for name, _ in file.dimensions), *(each.name for each in file.variables)]
        attributes = [file.attributes, *(each.attributes for each in file.variables)]
        names += [each.name for row in attributes for each in row]
        is_enough = check(path)
        assert is_enough <= all(map(bytes.isascii, names))


def test_classic_headers_that_need_more(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    make_classic(path, CLASSIC[0])
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("text", "ž")
    assert header.meta(str(path)) is None
    with ds.open(path) as opened:
        assert "ž" in opened


def test_a_classic_file_whose_values_were_cut(tmp_path: Path) -> None:
    make_classic(tmp_path / "x.nc", CLASSIC[0])
    (tmp_path / "x.nc").write_bytes((tmp_path / "x.nc").read_bytes()[:-20])
    assert check(tmp_path / "x.nc")


@pytest.mark.parametrize("cut", [20, 700, 3000])
def test_damage_is_left_to_opening(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.nc"
    MAKERS["report"].make(path)
    path.write_bytes(path.read_bytes()[:cut])
    assert header.meta(str(path)) is None
    with pytest.raises(DsError):
        ds.open(path)


@pytest.mark.parametrize("cut", [20, 700, 1500])
def test_damaged_classic_headers(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.nc"
    make_classic(path, CLASSIC[0])
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
@pytest.mark.parametrize("name", ["report_unlimited_zlib", "many_attributes", "groups", *CLASSIC])
def test_commands_load_no_numpy(tmp_path: Path, words: list[str], name: str) -> None:
    path = tmp_path / "x.nc"
    if name in CLASSIC:
        make_classic(path, name)
    else:
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
