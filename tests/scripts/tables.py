"""Station tables: CSV in, joined, cleaned and written in every format."""

# mypy: ignore-errors

import os

import numpy as np

import ds_format as ds

os.makedirs("out", exist_ok=True)
dd = []
for year in (2019, 2020):
    d = ds.read(f"tables/{year}.csv")
    ds.rename_m(d, {"temp": "temperature", "rr": "rain"})
    ds.rename_dim(d, "i", "day")
    ds.attrs(d, "temperature", {"units": "celsius", "valid": [-50, 50]})
    d["."]["rain"]["units"] = "mm"
    ds.var(d, "year", np.full(ds.dim(d, "day"), year, np.int32))
    ds.dims(d, "year", ["day"])
    dd.append(d)
columns = ds.vars(dd[0])
types = {name: ds.type(dd[0], name) for name in columns}

both = ds.merge(dd, "day")
ds.attr(both, "title", "Two years")
dims = ds.dims(both)
total = float(np.ma.sum(both["rain"]))
dry = np.ma.filled(both["rain"] == 0, False)
n_dry = int(np.sum(dry))

ds.write("out/both.ds", both)
ds.write("out/both.nc", {key: both[key] for key in both if key != "station"})
ds.write("out/numbers.h5", {key: both[key] for key in ("temperature", "year", ".")})
ds.write("out/both.tsv", {"rain": both["rain"], "temperature": both["temperature"], "year": both["year"]})

again = ds.read("out/both.ds", ["temperature", "station"], sel={"day": np.arange(0, 24, 2)})
cold = ds.read("out/both.ds", ["temperature", "year"], sel={"day": np.asarray(both["temperature"]) < 0})
last = ds.read("out/both.ds", sel={"day": -1})
wide = ds.read("out/both.tsv")
deep = ds.read("out/numbers.h5")
for name in ds.vars(deep):
    ds.rm_attr(deep, "DIMENSION_LABELS", name)
stacked = ds.merge([ds.read("tables/2019.csv", ["rr"]), ds.read("tables/2020.csv", ["rr"])], "year")
ds.validate(both)
