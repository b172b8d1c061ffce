"""Programs that keep a dataset with its metadata: how each writes one, reads it or a part of it, and opens it."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .data import Data, of_arrays, stored
from .peers import NetCDF, write_netcdf
from .ways import H5NETCDF, JSON_NPY, NETCDF, NPZ, XARRAY

Names = Sequence[str] | None
"""Of variables; None: all."""


def itself(value: Any) -> Any:
    """Return the value."""
    return value


class Program(NamedTuple):
    """One program, used as its documentation says."""

    name: str
    suffix: str
    """Of its files."""
    write: Callable[[str, Any], object]
    """Write what `made` returned to a path."""
    read: Callable[[str, Names], Any]
    """Read values and attributes of variables, and attributes of the dataset."""
    open: Callable[[str], object]
    """Open a file, and close it."""
    writing: str = ""
    """How it writes, and so on."""
    reading: str = ""
    opening: str = ""
    share: int = 1
    """It takes long, and so does the work of one file of so many."""
    made: Callable[[Data], Any] = stored
    """What it writes, of a dataset; not timed."""
    value: Callable[[Any], Data] = itself
    """The dataset in what it read, of which `data.settled` makes one form; not timed."""


def programs() -> list[Program]:
    """Return those that are installed."""
    optional = {"h5netcdf": _h5netcdf, "xarray": _xarray}
    installed = [make() for module, make in optional.items() if importlib.util.find_spec(module) is not None]
    return [WITH_NETCDF4, *installed, NPZ_FILES, _JSON_NPY]


def arrays_of(data: Data) -> dict[str, Any]:
    """Return the arrays of a dataset, without its metadata."""
    return {name: array for name, array in data.items() if name != "."}


def split_scalars(data: Data) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of a table, and what has one value, as JSON has it."""
    arrays = arrays_of(data)
    scalars = {name: arrays.pop(name).item() for name in list(arrays) if arrays[name].ndim == 0}
    return arrays, scalars


def split_metadata(entry: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the dimensions of a variable, and its attributes."""
    return list(entry[".dims"]), {key: value for key, value in entry.items() if key != ".dims"}


def _content(file: Any, names: Names, attributes: Callable[[Any], Mapping[str, Any]]) -> Data:
    """Return variables of a NetCDF file, and all that is said of them."""
    variables = {name: file.variables[name] for name in (file.variables if names is None else names)}
    meta = {name: {".dims": variable.dimensions, **attributes(variable)} for name, variable in variables.items()}
    return {**{name: variable[...] for name, variable in variables.items()}, ".": {**meta, ".": attributes(file)}}


def read_netcdf(path: str, names: Names = None) -> Data:
    """Read variables and attributes of a file with netCDF4, with the masks that it makes by default."""
    with NetCDF(path) as file:
        return _content(file, names, lambda owner: owner.__dict__)


WITH_NETCDF4 = Program(NETCDF, ".nc", write_netcdf, read_netcdf, lambda path: NetCDF(path).close(), share=10)


def _h5netcdf() -> Program:
    library: Any = importlib.import_module("h5netcdf")

    def write(path: str, data: Data) -> None:
        meta = data["."]
        with library.File(path, "w") as file:
            for name, array in arrays_of(data).items():
                dims, attributes = split_metadata(meta[name])
                for dim, n in zip(dims, array.shape, strict=True):
                    if dim not in file.dimensions:
                        file.dimensions[dim] = n
                fill = attributes.pop("_FillValue", None)
                variable = file.create_variable(name, dims, data=for_hdf5(array), fillvalue=fill)
                for key, value in attributes.items():
                    variable.attrs[key] = value
            for key, value in meta["."].items():
                file.attrs[key] = value

    def read(path: str, names: Names = None) -> Data:
        with library.File(path, "r") as file:
            return _content(file, names, lambda owner: dict(owner.attrs))

    def open_(path: str) -> None:
        library.File(path, "r").close()

    return Program(H5NETCDF, ".h5", write, read, open_, reading="numbers as they are stored", share=40)


def _xarray() -> Program:
    library: Any = importlib.import_module("xarray")

    def made(data: Data) -> Any:
        data = stored(data)
        meta = data["."]
        variables = {}
        for name, array in arrays_of(data).items():
            dims, attributes = split_metadata(meta[name])
            variables[name] = (dims, array, attributes)
        return library.Dataset(variables, attrs=meta["."])

    def opened(path: str) -> Any:
        return library.open_dataset(path, decode_times=False)

    def read(path: str, names: Names = None) -> Any:
        with opened(path) as file:
            if names is None:
                return file.load()
            return file[names].drop_vars(list(file.coords)).load()  # they come along otherwise

    def value(found: Any) -> Data:
        meta = {name: {".dims": found[name].dims, **found[name].attrs} for name in found.variables}
        return of_arrays({name: found[name].values for name in meta}, {**meta, ".": found.attrs})

    return Program(
        XARRAY,
        ".xarray.nc",
        lambda path, dataset: dataset.to_netcdf(path),
        read,
        lambda path: opened(path).close(),
        writing="Dataset.to_netcdf",
        reading="open_dataset(path, decode_times=False).load()",
        opening="open_dataset(path, decode_times=False)",
        share=40,
        made=made,
        value=value,
    )


def for_hdf5(array: Any) -> Any:
    """Return an array as h5py takes it."""
    text = importlib.import_module("h5py").string_dtype()
    return array.astype({"b": "i1", "U": text}.get(array.dtype.kind, array.dtype), copy=False)


def _write_npz(path: str, data: Data) -> None:
    text = np.frombuffer(json.dumps(data["."]).encode(), np.uint8)
    members: dict[str, Any] = {**data, ".": text}
    np.savez(path, **members)


def _read_npz(path: str, names: Names = None) -> Data:
    with np.load(path) as file:
        wanted = [name for name in file.files if name != "."] if names is None else names
        return of_arrays({name: file[name] for name in wanted}, json.loads(file["."].tobytes()))


NPZ_FILES = Program(
    NPZ,
    ".npz",
    _write_npz,
    _read_npz,
    lambda path: np.load(path).close(),
    writing="np.savez, metadata as a member of JSON",
    reading="np.load, json.loads of a member",
    opening="np.load",
    share=10,
)


def _table(path: str) -> str:
    return str(Path(path).with_suffix(".npy"))


def _write_json_npy(path: str, data: Data) -> None:
    arrays, scalars = split_scalars(data)
    table = np.empty(next(iter(arrays.values())).shape, [(name, array.dtype) for name, array in arrays.items()])
    for name, array in arrays.items():
        table[name] = array
    with open(path, "w", encoding="utf-8") as file:
        json.dump([data["."], scalars], file)
    np.save(_table(path), table)


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _read_json_npy(path: str, names: Names = None) -> Data:
    (meta, scalars), table = _read_json(path), np.load(_table(path))
    found = {name: table[name] for name in (table.dtype.names if names is None else names)}
    return of_arrays(found | scalars if names is None else found, meta)


_JSON_NPY = Program(
    JSON_NPY,
    ".json",
    _write_json_npy,
    _read_json_npy,
    _read_json,
    writing="json.dump, np.save of one table with a field for each variable",
    reading="json.load, np.load",
    opening="json.load",
    share=4,
)
