"""`ds vrt`: GDAL, or NumPy by the numbers of the description, reads the same values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

from ds_format.api import files
from ds_format.cli.vrt import TYPES

if TYPE_CHECKING:
    from .conftest import Run

DTYPES = {name: code for code, name in TYPES.items()}
META = {
    "lat": {".dims": ["lat"], "units": "degrees_north"},
    "lon": {".dims": ["lon"], "units": "degrees_east"},
    "x": {".dims": ["t", "lat", "lon"], "units": "K"},
}


def grid(code: str, **attributes: Any) -> dict[str, Any]:
    x = np.arange(24).reshape(2, 3, 4).astype(code)
    meta = {**META, "x": {**META["x"], **attributes}}
    return {"x": x, "lat": np.array([60.0, 50.0, 40.0]), "lon": np.arange(4.0), ".": meta}


def bands(made: Element, folder: Path) -> Any:
    """Return the values of all bands, by the numbers of a description."""
    shape = [int(made.get(f"raster{axis}Size", "")) for axis in "YX"]
    found = []
    for band in made.iterfind("VRTRasterBand"):
        text = {each.tag: each.text or "" for each in band}
        data = (folder / text["SourceFilename"]).read_bytes()
        dtype = np.dtype({"MSB": ">", "LSB": "<"}[text["ByteOrder"]] + DTYPES[band.get("dataType", "")])
        steps = [int(text["LineOffset"]), int(text["PixelOffset"])]
        found.append(np.ndarray(shape, dtype, data, int(text["ImageOffset"]), steps))
    return np.array(found)


@pytest.mark.parametrize("code", TYPES)
def test_each_type_of_a_ds_file(code: str, ds: Run, folder: Path) -> None:
    files.write("a.ds", grid(code))
    status, out, err = ds("vrt", "x", "a.ds")
    assert (status, err) == (0, "")
    made = fromstring(out)
    assert np.array_equal(bands(made, folder), files.read("a.ds")["x"])
    assert [one.findtext("Description") for one in made.iterfind("VRTRasterBand")] == ["x t=0", "x t=1"]
    assert made.findtext("GeoTransform") == "-0.5, 1.0, 0.0, 65.0, 0.0, -10.0"
    assert made.findtext("SRS") == "EPSG:4326"


@pytest.mark.parametrize("unlimited", [[], ["t"]], ids=["fixed", "records"])
def test_classic_files(unlimited: list[str], ds: Run, folder: Path) -> None:
    d = grid("i2", scale_factor=0.5, add_offset=1.0, _FillValue=np.int16(55))
    d["other"], d["."]["other"] = np.zeros((2, 3), "f8"), {".dims": ["t", "lat"]}
    d["."]["."] = {".netcdf": {"format": "NETCDF3_CLASSIC", "unlimited": unlimited}}
    files.write("a.nc", d)
    (folder / "in").mkdir()
    shutil.move("a.nc", "in/a.nc")
    assert ds("vrt", "x", "in/a.nc", "x.vrt") == (0, "", "")
    made = fromstring(Path("x.vrt").read_text())
    assert np.array_equal(bands(made, folder), d["x"])
    band = next(made.iterfind("VRTRasterBand"))
    told = {name: band.findtext(name) for name in ("NoDataValue", "Scale", "Offset", "UnitType", "SourceFilename")}
    assert told == {"NoDataValue": "55", "Scale": "0.5", "Offset": "1.0", "UnitType": "K", "SourceFilename": "in/a.nc"}


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_gdal_reads_it(suffix: str, ds: Run, folder: Path) -> None:
    program = shutil.which("gdal_translate")
    if program is None:
        pytest.skip("needs gdal_translate (Debian: gdal-bin)")
    d = grid("f4")
    options: Any = {} if suffix == "ds" else {"format": "NETCDF3_CLASSIC"}
    files.write(f"a.{suffix}", d, **options)
    assert ds("vrt", "x", f"a.{suffix}", "x.vrt").status == 0
    subprocess.run([program, "-q", "-of", "ENVI", "x.vrt", "x.bin"], check=True, timeout=60)
    assert np.fromfile("x.bin", "<f4").tolist() == d["x"].reshape(-1).tolist()


def test_irregular_coordinates_have_no_place(ds: Run, folder: Path) -> None:
    d = grid("f4")
    d["lat"][0] = 70.0
    files.write("a.ds", d)
    assert fromstring(ds("vrt", "x", "a.ds").out).find("GeoTransform") is None


def test_refused(ds: Run, folder: Path) -> None:
    d = grid("f4")
    d["gaps"] = np.ma.MaskedArray(d["x"], d["x"] > 3)
    d["flags"], d["half"], d["row"] = d["x"] > 3, d["x"].astype("f2"), d["lat"]
    d["text"] = np.array([["a", "b"]], object)
    files.write("a.ds", d)
    assert "rows of values have no fixed length" in ds("vrt", "gaps", "a.ds").err
    for name in ("flags", "half", "row", "text"):
        status, out, err = ds("vrt", name, "a.ds")
        assert (status, out) == (1, "") and f'a.ds: variable "{name}": found ' in err
    files.write("a.nc", grid("f4"))
    assert "values may be compressed or in chunks" in ds("vrt", "x", "a.nc").err
    (folder / "out").mkdir()
    assert "expected the folder of a.ds, or one above" in ds("vrt", "x", "a.ds", "out/x.vrt").err
    files.write("cut.nc", {"x": d["x"]}, format="NETCDF3_CLASSIC")
    Path("cut.nc").write_bytes(Path("cut.nc").read_bytes()[:-80])
    status, out, err = ds("vrt", "x", "cut.nc", "x.vrt")
    assert (status, out, Path("x.vrt").exists()) == (1, "", False)
    assert err.startswith('ds vrt: cut.nc: variable "x": found ')
