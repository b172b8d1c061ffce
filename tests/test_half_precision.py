"""Variables of float16: in all formats but NetCDF, which lacks it, and widened for programs that do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.api.creation import WIDER, create_sink
from ds_format.base.dtypes import TYPES
from ds_format.base.exact import NARROW
from ds_format.cli import main, pst
from ds_format.cli.select_ import WIDEN
from ds_format.drivers import BUILT_IN
from ds_format.drivers.hdf5 import sink as hdf5_sink
from ds_format.drivers.library import plan

from .formats import rows

X = np.ma.MaskedArray(np.array([1.5, 2, 65504, 6e-8], "f2"), [False, True, False, False])
DATASET: dict[str, Any] = {
    "x": X,
    ".": {"x": {".dims": ["t"], "_FillValue": np.float16(-9), "valid_max": np.float16(1), "scale": np.float16(2)}},
}
WIDE = X.astype("f4")


def test_what_is_said_of_types_elsewhere_follows_the_table() -> None:
    """A type that is added to the table is missing in none of these; the walk in CONTRIBUTING.md names them."""
    sized = {name: row for name, row in TYPES.items() if not row.is_string}
    assert pst._NARROW.keys() == NARROW
    assert hdf5_sink.WIDER.keys() == {name for name, row in sized.items() if row.size <= plan.SMALL}
    for narrow, wide in WIDER.items():
        for text in (WIDEN.about, ds.write.__doc__, create_sink.__doc__):
            assert f"rite {narrow} as {wide}" in str(text).replace("writes", "write")
    document = (Path(__file__).parents[1] / "docs" / "format.md").read_text()
    (row,) = re.findall(r"^\| `\.type` \|.*$", document, re.MULTILINE)
    for name in {*TYPES} - {"int16", "int32", "uint16", "uint32"}:  # which the dots stand for
        assert f"`{name}`" in row and f"`{name}`" in str(ds.type.__doc__)


def test_every_number_is_a_row_of_every_exact_format(tmp_path: Path) -> None:
    every = np.arange(1 << 16, dtype="u2").view("f2")
    finite = every[np.isfinite(every)]
    for suffix, _ in rows(**dict.fromkeys(BUILT_IN, True) | {"csv": None, "netcdf": None}):
        path = tmp_path / f"a{suffix}"
        masked = np.ma.MaskedArray(finite, finite == 7)
        ds.write(path, {"x": masked, ".": {"x": {".dims": ["t"]}}})
        found = ds.read(path)["x"]
        assert found.dtype == "f2"
        assert np.ma.getdata(found)[~masked.mask].tobytes() == finite[~masked.mask].tobytes()
        assert np.ma.getmaskarray(found).tolist() == masked.mask.tolist()


def test_hdf5_files_with_all_numbers_mark_missing_ones_in_a_wider_type(tmp_path: Path) -> None:
    every = np.arange(1 << 16, dtype="u2").view("f2")
    values = np.append(every[np.isfinite(every)], np.float16(0))
    masked = np.ma.MaskedArray(values, np.arange(values.size) == values.size - 1)
    ds.write(tmp_path / "a.h5", {"x": masked})
    found = ds.read(tmp_path / "a.h5")["x"]
    assert found.dtype == "f2"
    assert found.mask.tolist() == masked.mask.tolist()
    assert found[:-1].data.tobytes() == values[:-1].tobytes()


@pytest.mark.parametrize("suffix", [".nc", ".nc4", ".nc3"])
def test_netcdf_refuses_it_by_name_and_writes_it_wider(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    with pytest.raises(ds.UnsupportedError, match=rf'a{suffix}: variable "x": NetCDF has no type float16.*widen'):
        ds.write(path, DATASET)
    assert not path.exists()
    for format in ("NETCDF3_CLASSIC", "NETCDF4_CLASSIC", "NETCDF4"):
        with pytest.warns(ds.LossWarning, match='attribute "scale" is written as float64'):
            ds.write(path, DATASET, widen=True, format=format)
        with netCDF4.Dataset(path) as file:
            assert file["x"].dtype == "f4"
            assert file["x"]._FillValue == file["x"].dtype.type(-9)
        assert ds.read(path)["x"].tolist() == WIDE.tolist()


def test_ds_files_are_wider_on_request(tmp_path: Path) -> None:
    for widen, dtype in ((True, "f4"), (False, "f2")):
        ds.write(tmp_path / "a.ds", DATASET, widen=widen)
        for found in (ds.read(tmp_path / "a.ds"), ds.loads(ds.dumps(DATASET, widen=widen))):
            assert found["x"].dtype == dtype
            assert found["x"].tolist() == X.tolist()
            assert type(found["."]["x"]["_FillValue"]) is np.dtype(dtype).type
            assert type(found["."]["x"]["scale"]) is np.float16


def test_the_option_of_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(tmp_path / "a.ds")
    ds.write(source, {"x": X, ".": {"x": {".dims": ["t"]}}})
    for words in (
        ["select", "--widen", source, "b.nc"],
        ["convert", "--widen", "--verify", source, "b.nc"],
        ["select", source, "--widen", "b.ds"],
    ):
        target = str(tmp_path / words.pop())
        assert main([*words, target]) == 0, capsys.readouterr().err
        assert ds.read(target)["x"].dtype == "f4"
        Path(target).unlink()
    capsys.readouterr()
    assert main(["select", "--widen", source, str(tmp_path / "b.csv")]) == 1
    assert 'the format csv has no option "widen"' in capsys.readouterr().err
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize("suffix", [".ds", ".h5"])
def test_files_join_as_other_floats_do(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}{suffix}" for i in range(3)]
    for i, path in enumerate(paths):
        ds.write(path, {"x": np.array([i, i + 0.5], "f2"), ".": {"x": {".dims": ["t"]}}})
    found = ds.read_many(paths, dim="t")["x"]
    assert found.dtype == "f2"
    assert found.tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    ds.write(paths[1], {"x": np.array([0.1], "f8"), ".": {"x": {".dims": ["t"]}}})
    found = ds.read_many(paths, dim="t")["x"]
    assert found.dtype == "f8"
    assert found.tolist() == [0, 0.5, 0.1, 2, 2.5]
