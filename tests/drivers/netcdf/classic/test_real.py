"""Real classic files are read as the library reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ....fetch_ncarg import VARIABLE, folder, netcdf_files
from .both import differences

GOLDEN = Path(__file__).parents[3] / "golden" / "netcdf"


def classic(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.read_bytes()[:3] == b"CDF"]


@pytest.mark.parametrize("path", classic(sorted(GOLDEN.glob("*.nc"))), ids=lambda path: path.name)
def test_a_golden_file(path: Path) -> None:
    assert differences(path) == []


FILES = classic(netcdf_files(folder())) if folder().is_dir() else []


@pytest.mark.skipif(not FILES, reason=f"no files in {folder()}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(folder()).as_posix())
def test_a_real_file(path: Path) -> None:
    assert differences(path) == []
