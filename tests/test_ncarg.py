"""Real files: all NetCDF files of Debian's libncarg-data go to ds and come back, with nothing lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ds_format.conversion import convert

from .drivers.netcdf_compare import differences
from .fetch_ncarg import VARIABLE, folder, netcdf_files

ROOT = folder()
FILES = netcdf_files(ROOT) if ROOT.is_dir() else []


if not FILES:
    pytest.skip(f"no files in {ROOT}: run tests/fetch_ncarg.py, or set {VARIABLE}", allow_module_level=True)


def test_the_collection_is_whole() -> None:
    assert len(FILES) == 95


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_real_file_comes_back(path: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.nc"
    # the suffix tells the format, and not all of them have it
    os.symlink(path, source)
    convert(source, tmp_path / "a.ds")
    convert(tmp_path / "a.ds", tmp_path / "back.nc")
    assert differences(path, tmp_path / "back.nc") == []
