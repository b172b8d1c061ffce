"""Run a script in the working folder, and print as JSON what it made: datasets, arrays, numbers and files.

This file is run under this package and under the reference. Its output has the same form for both: metadata are
dimensions and attributes, and an array is masked if a value is missing.
"""

from __future__ import annotations

import json
import math
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

import ds_format

PROPERTIES = {".dims", ".time"}


def normal(value: Any) -> Any:
    """Return a value in JSON."""
    if isinstance(value, dict):
        if "." in value:
            return dataset(value)
        return {str(key): normal(value[key]) for key in sorted(value, key=str)}
    if value is np.ma.masked:
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        kind = {"U": "text", "S": "bytes", "O": "text"}.get(value.dtype.kind, value.dtype.newbyteorder("=").name)
        return [kind, list(value.shape), normal(value.tolist())]
    if isinstance(value, (list, tuple)):
        return [normal(item) for item in value]
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def dataset(d: dict[str, Any]) -> dict[str, Any]:
    """Return data, dimensions and attributes of each variable, and attributes of the dataset."""
    variables = {}
    for key in sorted(d.keys() - {"."}):
        data = d[key] if isinstance(d[key], (np.ndarray, np.generic)) or d[key] is None else np.array(d[key])
        entry = d["."].get(key, {})
        names = entry.get(".dims") or [f"{key}_{i + 1}" for i in range(np.ndim(data))]
        variables[key] = [normal(data), list(names), attributes(entry)]
    return {"variables": variables, "attributes": attributes(d["."].get(".", {}))}


def attributes(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what is an attribute, or a property that has a meaning for all."""
    kept = {key: value for key, value in entry.items() if not key.startswith(".") or key == ".time"}
    return {
        key: normal(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
        for key, value in sorted(kept.items())
    }


def netcdf(path: Path) -> Any:
    with netCDF4.Dataset(path) as file:
        found = {}
        for name, variable in sorted(file.variables.items()):
            attrs = sorted(variable.__dict__.items())
            told = {key: normal(np.asarray(value).tolist()) for key, value in attrs if key != "_FillValue"}
            found[name] = [normal(variable[...]), list(variable.dimensions), told]
        return [
            file.data_model,
            found,
            {key: normal(np.asarray(value).tolist()) for key, value in file.__dict__.items()},
        ]


def hdf5(path: Path) -> Any:
    with h5py.File(path) as file:
        return {name: [normal(item[...]), _own(item.attrs)] for name, item in sorted(file.items()) if not item.is_scale}


def _own(attrs: Any) -> dict[str, Any]:
    """Return attributes but those that tell of dimensions, for which there are two ways, and of what HDF5 lacks."""
    names = sorted(name for name in attrs if not name.startswith("DIMENSION_") and name != "ds_format")
    return {name: normal(np.asarray(attrs[name]).tolist()) for name in names}


def written(path: Path) -> Any:
    """Return what is in a file, as the library of its format says."""
    if path.suffix == ".nc":
        return netcdf(path)
    if path.suffix == ".h5":
        return hdf5(path)
    if path.suffix == ".json":
        return normal(json.loads(path.read_text()))
    if path.suffix == ".ds":
        return normal(dict(ds_format.read(str(path))))
    return path.read_bytes().decode()


def main(script: str) -> None:
    made = runpy.run_path(script, run_name="__main__")
    known = (types.ModuleType, types.FunctionType, type)
    values = {
        name: normal(value)
        for name, value in sorted(made.items())
        if not name.startswith("_") and name.islower() and not isinstance(value, known)
    }
    files = {str(path): written(path) for path in sorted(Path("out").iterdir())}
    json.dump({"values": values, "files": files}, sys.stdout, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
