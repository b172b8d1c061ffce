"""One file, one answer: all readers of a file say the same, except what a document lists."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
pytest.importorskip("netCDF4")

import ds_format as ds

from .fetch_ncarg import VARIABLE, folder, netcdf_files
from .one_answer import files, readers
from .one_answer.allowed import ALLOWED, DOCUMENTS, Allowed, unlisted
from .one_answer.comparing import Comparisons

# each reader may warn of odd files
pytestmark = pytest.mark.filterwarnings("ignore")

GOLDEN = Path(__file__).parent / "golden"
NETCDF_FILES = [*sorted((GOLDEN / "netcdf").glob("*.nc")), Path(__file__).parents[1] / "examples" / "sample.nc"]
DS_FILES = sorted(path for name in ("v1", "v2", "hand", "checksums") for path in (GOLDEN / "ds" / name).glob("*.ds"))
ROOT = folder()
REAL = [path for path in netcdf_files(ROOT) if path.stat().st_size < 150_000] if ROOT.is_dir() else []
QUICK, SLOW = 6, 40
"""Random files in all tests, and in slow tests."""
N_ROWS = 4
"""Tests of ds files, which share them."""


def check(path: Path, to: Path, seed: int = 0) -> None:
    """Compare all readers of a file. An error shows the first disagreements that no document allows."""
    compared = Comparisons()
    content = readers.compare(path, to, Random(seed), compared)
    assert compared.count
    found = unlisted(compared.found, content)
    assert not found, "\n".join([f"{path.name}: {len(found)} disagreements", *map(str, found[:20])])


def check_random(seed: int, to: Path) -> None:
    files.write(to / "x.nc", Random(seed))
    check(to / "x.nc", to, seed)


@pytest.mark.parametrize("seed", range(QUICK))
def test_random_files(seed: int, tmp_path: Path) -> None:
    check_random(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(QUICK, QUICK + SLOW))
def test_more_random_files(seed: int, tmp_path: Path) -> None:
    check_random(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", NETCDF_FILES, ids=lambda path: path.name)
def test_files_of_other_programs(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(N_ROWS))
def test_ds_files(start: int, tmp_path: Path) -> None:
    for path in DS_FILES[start::N_ROWS]:
        folder = tmp_path / f"{path.parent.name}-{path.stem}"
        folder.mkdir()
        check(path, folder)


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason=f"no files in {ROOT}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path)


def test_conversion_of_many_files_is_that_of_each(tmp_path: Path) -> None:
    paths = [tmp_path / f"{seed}.nc" for seed in range(QUICK)]
    for seed, path in enumerate(paths):
        files.write(path, Random(seed))
        ds.convert(path, tmp_path / f"{seed}.ds", skip_unsupported=True)
    results = ds.convert_many(paths, tmp_path / "many", jobs=1, skip_unsupported=True)
    assert [result.status for result in results] == ["converted"] * QUICK
    for seed in range(QUICK):
        assert (tmp_path / "many" / f"{seed}.ds").read_bytes() == (tmp_path / f"{seed}.ds").read_bytes()


@pytest.mark.parametrize("row", ALLOWED, ids=lambda row: row.sentence)
def test_documents_allow_the_differences(row: Allowed) -> None:
    assert row.sentence in re.sub(r"\s+", " ", (DOCUMENTS / row.page).read_text())
