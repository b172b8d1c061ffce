"""Make `sample.nc`: two weeks of made-up weather, with the features of real files.

These are a record dimension and a time axis, packed and missing values, single precision, characters and strings, and
attributes of several types. Run `python examples/make_sample.py [PATH]`. The content is the same each time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

N_TIMES, N_LATS, N_LONS = 14, 5, 8
STATIONS = {"TRM": "Tromsø", "ZRH": "Zürich", "NRB": "Nairobi"}
NAME_SIZE = 8
FILL = np.int16(-32768)


def make(path: str | Path) -> None:
    """Write the file."""
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.setncatts({
            "Conventions": "CF-1.11",
            "title": "Sample of ds_format",
            "history": "made by examples/make_sample.py",
            "version": np.int16(1),
            "bounds": np.array([-60.0, 60.0], np.float32),
        })
        sizes = {"time": None, "lat": N_LATS, "lon": N_LONS, "station": len(STATIONS), "name": NAME_SIZE}
        for name, size in sizes.items():
            file.createDimension(name, size)
        _axes(file)
        _stations(file)
        _fields(file)


def _axes(file: Any) -> None:
    time = file.createVariable("time", "f8", "time", chunksizes=(N_TIMES,), fill_value=False)
    time.setncatts({"units": "hours since 2026-01-01 00:00:00", "calendar": "standard", "axis": "T"})
    time[:] = 12.0 + 24 * np.arange(N_TIMES)
    lat = file.createVariable("lat", "f4", "lat", fill_value=False)
    lat.setncatts({"units": "degrees_north", "standard_name": "latitude"})
    lat[:] = np.linspace(-60, 60, N_LATS)
    lon = file.createVariable("lon", "f4", "lon", fill_value=False)
    lon.setncatts({"units": "degrees_east", "standard_name": "longitude"})
    lon[:] = np.arange(N_LONS) * 45.0


def _stations(file: Any) -> None:
    code = file.createVariable("station_code", str, "station")
    code[:] = np.array(list(STATIONS), object)
    name = file.createVariable("station_name", "S1", ("station", "name"))
    name.long_name = "name, in UTF-8"
    padded = [text.encode().ljust(NAME_SIZE, b"\0") for text in STATIONS.values()]
    name[:] = np.array([list(text) for text in padded], np.uint8).view("S1")


def _fields(file: Any) -> None:
    day = np.arange(N_TIMES)
    packed = file.createVariable(
        "temperature", "i2", ("time", "station"), chunksizes=(N_TIMES, len(STATIONS)), fill_value=FILL
    )
    # the values below are those to store, packed already
    packed.set_auto_maskandscale(False)
    packed.setncatts({
        "units": "K",
        "long_name": "air temperature at 2 m",
        "scale_factor": np.float64(0.01),
        "add_offset": np.float64(273.15),
        "valid_range": np.array([-8000, 6000], np.int16),
    })
    values = (np.array([-400, 100, 2100]) + 50 * (day % 5)[:, None]).astype(np.int16)
    values[[3, 4, 11], [0, 0, 2]] = FILL
    packed[:] = values
    missing = np.float32(-9e33)
    pressure = file.createVariable(
        "pressure",
        "f4",
        ("time", "lat", "lon"),
        compression="zlib",
        chunksizes=(N_TIMES, N_LATS, N_LONS),
        fill_value=missing,
    )
    pressure.setncatts({"units": "hPa", "long_name": "air pressure at sea level"})
    # sums of fractions of powers of two: the same on every machine
    field = 1000 + day[:, None, None] / 4 - np.arange(N_LATS)[:, None] / 2 + np.arange(N_LONS) / 8
    field[5, 2, :4] = missing
    pressure[:] = field


if __name__ == "__main__":
    make(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("sample.nc"))
