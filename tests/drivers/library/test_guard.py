"""What is told of files that a library cannot open."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import pytest

import ds_format as ds

h5py = pytest.importorskip("h5py", reason="h5py writes the superblocks")


@pytest.mark.parametrize("suffix", ["nc", "h5"])
@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
def test_an_interrupted_copy_is_told_with_both_sizes(suffix: str, libver: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    with h5py.File(path, "w", libver=libver) as file:
        file["x"] = range(1000)
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(whole // 2)
    message = rf"a\.{suffix}: superblock: found {whole // 2} bytes in the file, expected {whole}: perhaps"
    with pytest.raises(ds.TruncatedError, match=message):
        ds.open(path)
    [problem] = ds.verify(path)
    assert "perhaps a copy was interrupted" in problem.message


def test_the_superblock_of_version_1(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="earliest") as file:
        file["x"] = range(1000)
    data = (tmp_path / "a.h5").read_bytes()
    assert data[8] == 0
    data = data[:8] + b"\1" + data[9:24] + b"\x20\0\0\0" + data[24:]  # four bytes more, and then addresses
    (tmp_path / "a.h5").write_bytes(data[:1500])
    with pytest.raises(ds.TruncatedError, match=f"found 1500 bytes in the file, expected {len(data) - 4}"):
        ds.open(tmp_path / "a.h5")


def test_what_is_damaged_but_whole_is_left_to_the_library(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("n", 3)
        file.createVariable("x", "f8", "n")[:] = 1
    data = bytearray((tmp_path / "a.nc").read_bytes())
    data[36:44] = b"\xff" * 8
    (tmp_path / "a.nc").write_bytes(data)
    with pytest.raises(ds.FormatError, match=r"a\.nc: NetCDF: ") as caught:
        ds.open(tmp_path / "a.nc")
    assert not isinstance(caught.value, ds.TruncatedError)
