"""Real netCDF-4 files are read with and without the library, to the same values."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from ds_format.drivers import netcdf
from ds_format.drivers.netcdf.chunks import NetCDFChunks
from ds_format.drivers.netcdf.source import NetCDFSource

from ...fetch_ncarg import VARIABLE, folder, netcdf_files
from ...same import same_data
from .files import both, whole

pytest.importorskip("h5py")

GOLDEN = Path(__file__).parents[2] / "golden" / "netcdf"


def netcdf4(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.read_bytes()[:4] == b"\x89HDF"]


REAL = netcdf4(netcdf_files(folder())) if folder().is_dir() else []


def check(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Hold all variables equal to those of the library, and return how many slabs were read without it."""
    n = 0
    with contextlib.closing(netcdf.open(path, skip_unsupported=True)) as source:
        assert isinstance(source, NetCDFSource)
        keys = [key for key in source.meta if key != "." and source.meta[key][".size"] is not None]
        ours = {key: source.read(key) for key in keys}
        for key in keys:
            variable = source._variable(key)
            if variable.kind == "number" and variable.shape is not None and 0 not in variable.shape:
                found, expected = both(netcdf, path, key, whole(variable.shape))
                if found is not None:
                    n += 1
                    assert found.dtype == expected.dtype
                    assert found.tobytes() == expected.tobytes()
    with monkeypatch.context() as patch:
        patch.setattr(NetCDFChunks, "prepare", lambda *args: None)
        with contextlib.closing(netcdf.open(path, skip_unsupported=True)) as source:
            for key in keys:
                expected = source.read(key)
                assert type(ours[key]) is type(expected)
                assert same_data(ours[key], expected), key
    return n


@pytest.mark.filterwarnings("ignore")
def test_golden_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(check(path, monkeypatch) for path in netcdf4(sorted(GOLDEN.glob("*.nc")))) > 0


@pytest.mark.skipif(not REAL, reason=f"no files in {folder()}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.filterwarnings("ignore")
def test_real_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(check(path, monkeypatch) for path in REAL) > 0
