"""From a folder of daily NetCDF files: a time series, monthly means, and a climatology of one place."""

# mypy: ignore-errors

import datetime as dt
import os

import numpy as np

import ds_format as ds

VARS = ["time", "lat", "lon", "temperature", "precipitation", "station"]


def months(jd):
    """Return year and month of Julian dates as one number."""
    start = dt.datetime(2000, 1, 1)
    dates = [start + dt.timedelta(days=float(x) - 2451544.5) for x in jd]
    return np.array([100 * date.year + date.month for date in dates])


os.makedirs("out", exist_ok=True)
warnings = []
d = ds.readdir("daily", variables=VARS, merge="time", jd=True, warnings=warnings)
unreadable = [message.split(":")[0] for message, _ in warnings]
del warnings
n_files = len(d["filename"])
sizes = ds.dims(d, size=True)
names = ds.vars(d)
first_day = d["time"][0]
mean_of_all = float(np.ma.mean(d["temperature"], dtype=np.float64))

ds.rm(d, "n")
ds.rm(d, "i")
ds.rm(d, "filename")
for name in ("lat", "lon", "station"):  # the same in all files
    ds.var(d, name, ds.var(d, name)[0])
    ds.dims(d, name, ds.dims(d, name)[1:])
ds.write("out/series.nc", d)
ds.write("out/series.ds", d)

means = ds.copy(d)
for name in ds.vars(means):
    if "time" not in ds.dims(means, name):
        ds.rm(means, name)
month = months(d["time"])
ds.group_by(means, "time", month, np.mean)
ds.var(means, "month", np.unique(month))
ds.dims(means, "month", ["time"])
ds.attrs(means, "month", {"long_name": "year and month"})
ds.rename_dim(means, "time", "month")
ds.attr(means, "title", "Monthly means")
ds.attr(means, "cell_methods", "time: mean", var="temperature")
ds.write("out/monthly.nc", means)

place = ds.copy(d)
ds.select(place, {"lon": 1}, at={"lat": 51.0}, between={"time": [first_day, first_day + 40]})
ds.rename(place, "temperature", "t2m")
ds.rename_attr(place, "long_name", "name", var="t2m")
ds.rm_attr(place, "history")
place_attrs = ds.attrs(place, "t2m")
warmest = float(np.max(place["t2m"]))
ds.write("out/place.nc", place, time_units="hours since 2001-01-01", calendar="standard")

winter = ds.read("out/series.ds", ["temperature", "time"], range_={"time": [0, 31]})
again = ds.read("out/place.nc")
back = ds.from_netcdf("out/series.nc", ["temperature"], sel={"time": 3})
