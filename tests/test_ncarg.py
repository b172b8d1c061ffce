"""Real files: those of Debian's libncarg-data go to other formats and come back, with nothing lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ds_format as ds
from ds_format.api.conversion import convert
from ds_format.testing import require_same

from .drivers.netcdf_compare import differences
from .fetch_ncarg import VARIABLE, folder, netcdf_files

ROOT = folder()
FILES = netcdf_files(ROOT) if ROOT.is_dir() else []
SMALL = sorted(FILES, key=lambda path: path.stat().st_size)[:20]
NETCDF4 = [path for path in FILES if path.suffix == ".nc" and path.read_bytes()[:4] == b"\x89HDF"]


if not FILES:
    pytest.skip(f"no files in {ROOT}: run tests/fetch_ncarg.py, or set {VARIABLE}", allow_module_level=True)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def linked(path: Path, folder: Path, suffix: str = ".nc") -> Path:
    """Return a link whose suffix tells the format; not all of the files have it."""
    link = folder / f"source{suffix}"
    os.symlink(path, link)
    return link


def test_the_collection_is_whole() -> None:
    assert len(FILES) == 95


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_real_file_comes_back(path: Path, tmp_path: Path) -> None:
    convert(linked(path, tmp_path), tmp_path / "a.ds")
    convert(tmp_path / "a.ds", tmp_path / "back.nc")
    assert differences(path, tmp_path / "back.nc") == []


@pytest.mark.parametrize("suffix", [".h5", ".json", ".zarr"])
@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_a_real_file_goes_through_other_formats(path: Path, suffix: str, tmp_path: Path) -> None:
    source = linked(path, tmp_path)
    convert(source, tmp_path / f"a{suffix}")
    convert(tmp_path / f"a{suffix}", tmp_path / "a.ds")
    require_same(ds.read(source), ds.read(tmp_path / "a.ds"))


@pytest.mark.parametrize("path", NETCDF4, ids=name_of)
def test_both_drivers_read_the_same(path: Path, tmp_path: Path) -> None:
    require_same(ds.read(linked(path, tmp_path)), ds.read(linked(path, tmp_path, ".h5")))


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_a_real_file_comes_back_from_hdf5(path: Path, tmp_path: Path) -> None:
    convert(linked(path, tmp_path), tmp_path / "a.h5")
    convert(tmp_path / "a.h5", tmp_path / "back.nc")
    assert differences(path, tmp_path / "back.nc", storage=False) == []
