"""Files that have a wrong name: the message says what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import ds_format as ds
from ds_format.base import signatures

from .formats import rows

D = {"x": [1.0, 2.0], ".": {"x": {".dims": ["i"]}}}
KINDS = dict(
    rows(
        arrow="an Arrow file",
        binpickle="a BinPickle file",
        csv="text: ",
        datadings=None,  # has no signature
        ds="a ds file",
        hdf5="HDF5",
        json="JSON",
        netcdf="NetCDF-4",
        parquet="a Parquet file",
        zarr=None,  # a folder
        zds="a ZIP archive",
    )
)
SIGNED = [suffix for suffix in KINDS if suffix != ".csv"]
"""Of formats that are not any text."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", SIGNED)
def test_a_file_under_a_wrong_name(kind: str, suffix: str, tmp_path: Path) -> None:
    ds.write(tmp_path / f"right{kind}", D)
    path = (tmp_path / f"right{kind}").rename(tmp_path / f"wrong{suffix}")
    if kind == suffix or {kind, suffix} == {".nc", ".h5"}:
        assert ds.read(path)["x"].tolist() == [1.0, 2.0]
    elif (kind, suffix) == (".json", ".ds"):  # the layout of 2.0.1 begins with JSON, too
        with pytest.raises(ds.FormatError, match=r"wrong\.ds: "):
            ds.read(path)
    else:
        with pytest.raises(ds.FormatError, match=rf"wrong\{suffix}: (no|not) .*, but .*{KINDS[kind]}"):
            ds.read(path)


@pytest.mark.parametrize("suffix", SIGNED)
def test_an_empty_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"empty{suffix}"
    path.touch()
    with pytest.raises(ds.FormatError, match=rf"empty\{suffix}: the file is empty"):
        ds.read(path)


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (b"<HTML><body>", "an HTML page"),
        (b"  \n<!doctype html>", "an HTML page"),
        ("žluťoučký".encode() * 9, "text: 'žluťoučkýžluťouč'"),
        (b"a\0b", "b'a\\x00b'"),
        (bytes(100), "zeros"),
        (b"CDF\x01", "a classic NetCDF file"),
        (b"CDF\x02", "a classic NetCDF file (64-bit offset)"),
        (b"CDF\x05", "a classic NetCDF file (CDF-5)"),
    ],
)
def test_what_others_are(first: bytes, told: str) -> None:
    assert signatures.describe(first) == told


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ds.DriverError, match="a folder that is not a dataset in ds or Zarr or ZDS: expected a file"):
        ds.read(tmp_path)
