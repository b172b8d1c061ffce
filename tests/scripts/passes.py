"""Satellite passes, as retrieval programs read them: one time at a time, with plain dictionaries of metadata."""

# mypy: ignore-errors

import os

import numpy as np

import ds_format as ds

VARS = ["time", "lat", "backscatter", "flag"]
META = {
    "time": {".dims": ["time"], "standard_name": "time", "units": "days since -4713-11-24 12:00 UTC"},
    "lat": {".dims": ["time"], "standard_name": "latitude", "units": "degrees_north"},
    "profile": {".dims": ["time", "level"], "long_name": "backscattering", "units": "sr-1 km-1"},
    ".": {"title": "Profiles", "version": np.int32(2)},
}

os.makedirs("out", exist_ok=True)
whole = ds.read("passes/2010/a.nc", VARS, jd=True, full=True)
n, m = ds.size(whole, "backscatter")
kept = []
for i in range(n):
    one = ds.read("passes/2010/a.nc", VARS, sel={"time": i}, jd=True)
    if one["flag"] != 0:
        continue
    o = {"time": np.array([one["time"]]), "lat": np.array([one["lat"]]), "profile": np.array([one["backscatter"] * 2])}
    o["."] = META
    kept.append(o)
profiles = ds.op.merge(kept, "time")
ds.to_netcdf("out/profiles.nc", profiles)
ds.write("out/profiles.json", {"lat": profiles["lat"], ".": {"lat": META["lat"], ".": {}}})

found = [os.path.relpath(str(x["filename"])) for x in ds.readdir("passes", ["lat"], recursive=True, warnings=[])]
dd = ds.readdir("passes", VARS, recursive=True, parallel=True, njobs=2, warnings=[], jd=True)
shapes = [ds.size(x, "backscatter") for x in dd]
for x in dd:
    ds.rm(x, "filename")
merged = ds.merge(dd, "time")
order = np.argsort(merged["time"])
for key in ("time", "lat", "flag"):
    merged[key] = merged[key][order]
merged["backscatter"] = merged["backscatter"][order, :]
merged["."]["."]["history"] = "sorted"
attributes = ds.attrs(merged, "backscatter")
ds.apply(merged, lambda x: x.sum(), dims="level", vars=["backscatter"])
ds.type(merged, "flag", "int16")
ds.write("out/sums.ds", merged)
parts = [ds.var(x, "profile") for x in ds.split(ds.read("out/profiles.nc", ["profile"]), ["level"])]

with ds.with_mode("strict"):
    try:
        ds.attr(merged, "nothing", var="lat")
    except NameError as e:
        message = str(e)
present = [ds.require(merged, "var", name) for name in ("lat", "longitude")]
pattern = ds.findall(merged, "var", "*a*")
