"""Files that the scripts read, the same each time."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np

N_DAYS = 70


def make(folder: Path) -> None:
    """Make all of them in a folder."""
    _daily(folder / "daily")
    _passes(folder / "passes")
    _tables(folder / "tables")


def _daily(folder: Path) -> None:
    folder.mkdir()
    for day in range(0, N_DAYS, 7):
        random = np.random.default_rng(day)
        n = min(7, N_DAYS - day)
        with netCDF4.Dataset(folder / f"day{day:03}.nc", "w") as file:
            file.title = "Daily data"
            file.history = f"week {day // 7}"
            for name, size in (("time", None), ("lat", 3), ("lon", 4)):
                file.createDimension(name, size)
            time = file.createVariable("time", "f8", ("time",))
            time.units = "hours since 2001-01-01 00:00:00"
            time.calendar = "standard"
            time[:] = 24.0 * (day + np.arange(n)) + 12
            for name, values in (("lat", [50.0, 51.5, 53.0]), ("lon", [14.0, 15.0, 16.0, 17.0])):
                variable = file.createVariable(name, "f4", (name,))
                variable.units = {"lat": "degrees_north", "lon": "degrees_east"}[name]
                variable[:] = values
            temperature = file.createVariable("temperature", "f4", ("time", "lat", "lon"))
            temperature.long_name = "air temperature"
            temperature.units = "K"
            temperature[:] = random.integers(1000, 1200, (n, 3, 4)) / 4
            rain = file.createVariable("precipitation", "f8", ("time", "lat", "lon"))
            rain.units = "kg m-2 s-1"
            rain[:] = random.integers(0, 8, (n, 3, 4)) / 8
            station = file.createVariable("station", str, ("lat",))
            station[:] = np.array(["north", "middle", "south"], object)
    (folder / "notes.txt").write_text("not data\n")
    (folder / "zz_broken.nc").write_bytes(b"CDF\x01 this is no NetCDF file")


def _passes(folder: Path) -> None:
    for i, name in enumerate(("2010/a.nc", "2010/b.nc", "2011/a.nc")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(100 + i)
        n = 5 + i
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("time", n)
            file.createDimension("level", 6)
            time = file.createVariable("time", "f8", ("time",))
            time.units = "days since 2010-01-01"
            time[:] = 3 * (2 - i) + np.arange(n) / 16
            lat = file.createVariable("lat", "f8", ("time",))
            lat.units = "degrees_north"
            lat[:] = np.linspace(-60, 60, n)
            flag = file.createVariable("flag", "i4", ("time",))
            flag[:] = random.integers(0, 2, n)
            backscatter = file.createVariable("backscatter", "f8", ("time", "level"))
            backscatter.long_name = "attenuated backscatter"
            backscatter[:] = random.integers(0, 1024, (n, 6)) / 256


def _tables(folder: Path) -> None:
    folder.mkdir()
    for year in (2019, 2020):
        random = np.random.default_rng(year)
        lines = ["station,day,temp,rr"]
        for day in range(12):
            rain = "" if day % 5 == year % 5 else str(random.integers(0, 4) / 2)
            lines.append(f"P{day % 3},{day + 1},{random.integers(-100, 300) / 8},{rain}")
        (folder / f"{year}.csv").write_text("\r\n".join(lines) + "\r\n")
