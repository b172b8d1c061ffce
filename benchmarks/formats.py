"""Other formats that keep arrays with their metadata, each used as its documentation says."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ds_format as ds

from .data import Data, of_arrays
from .peers import NetCDF, write_netcdf
from .programs import (
    NPZ_FILES,
    WITH_NETCDF4,
    Names,
    Program,
    arrays_of,
    for_hdf5,
    itself,
    split_metadata,
    split_scalars,
)
from .ways import FEATHER, H5PY, NETCDF, NETCDF_ZLIB, NPZ, OURS, PARQUET, SAFETENSORS, ZARR

Array = Any


class Format(NamedTuple):
    """A program, and how it reads a part of a large array."""

    program: Program
    part: Callable[[str, str, int], Array]
    """Path, name and i → the i-th item along the first axis; reads as few bytes as the format allows."""
    how: str = ""
    """How it reads the part."""


def formats() -> dict[str, Format]:
    """Return those that are installed, ds first, by their names."""
    found = {OURS: _OURS, NETCDF: Format(WITH_NETCDF4._replace(share=100), _netcdf_part)}
    optional: Mapping[str, tuple[str, Callable[[], Format]]] = {
        ZARR: ("zarr", _zarr),
        SAFETENSORS: ("safetensors", _safetensors),
        PARQUET: ("pyarrow", _parquet),
        FEATHER: ("pyarrow", _feather),
        H5PY: ("h5py", _h5py),
    }
    for name, (module, make) in optional.items():
        if importlib.util.find_spec(module) is not None:
            found[name] = make()
    return found | {NPZ: Format(NPZ_FILES._replace(share=20), _npz_part, "np.load reads the whole array")}


def size_of(path: str | Path) -> int:
    """Return the bytes that a file, or a folder with all its files, takes on the disk."""
    every = [Path(path), *Path(path).rglob("*")]
    return sum(each.stat().st_blocks * 512 for each in every if each.is_file())


def _ds_part(path: str, name: str, i: int) -> Array:
    with ds.open(path) as file:
        return file[name][i]


OUR_PROGRAM = Program(
    OURS,
    ".ds",
    ds.write,
    lambda path, names: ds.read(path, variables=names),
    lambda path: ds.open(path).close(),
    writing="ds.write",
    reading="ds.read",
    made=itself,
)
_OURS = Format(OUR_PROGRAM, _ds_part, "ds.open(path)[name][i]")


def _netcdf_part(path: str, name: str, i: int) -> Array:
    with NetCDF(path) as file:
        return file.variables[name][i]


def write_deflated(path: str, data: Data) -> None:
    """Write a NetCDF file as one would to save space: zlib of level 4 with shuffle."""
    write_netcdf(path, data, zlib=True, complevel=4)


COMPRESSED = Format(
    WITH_NETCDF4._replace(name=NETCDF_ZLIB, write=write_deflated, writing="zlib=True, complevel=4"), _netcdf_part
)
"""NetCDF as archives have it."""


def _zarr() -> Format:
    library: Any = importlib.import_module("zarr")

    def write(path: str, data: Data) -> None:
        meta = data["."]
        group = library.create_group(path, attributes=meta["."])
        for name, array in arrays_of(data).items():
            dims, attributes = split_metadata(meta[name])
            chunks = array.shape if array.ndim < 2 else (1, *array.shape[1:])
            dtype = str if array.dtype.kind == "U" else array.dtype
            made = group.create_array(
                name, shape=array.shape, dtype=dtype, chunks=chunks, dimension_names=dims, attributes=attributes
            )
            made[...] = array

    def read(path: str, names: Names = None) -> Data:
        group = library.open_group(path, mode="r")
        found = dict(group.arrays()) if names is None else {name: group[name] for name in names}
        meta = {
            name: {".dims": list(array.metadata.dimension_names or []), **array.attrs.asdict()}
            for name, array in found.items()
        }
        return of_arrays({name: array[...] for name, array in found.items()}, {**meta, ".": group.attrs.asdict()})

    def part(path: str, name: str, i: int) -> Array:
        return library.open_array(path, path=name, mode="r")[i]

    program = Program(
        ZARR,
        ".zarr",
        write,
        read,
        lambda path: library.open_group(path, mode="r"),
        writing="create_group, create_array; its default compression, zstd",
        reading="open_group",
        share=200,
    )
    return Format(program, part, "open_array(path)[i]")


def _safetensors() -> Format:
    library: Any = importlib.import_module("safetensors")
    numpy: Any = importlib.import_module("safetensors.numpy")

    def write(path: str, data: Data) -> None:
        arrays = arrays_of(data)
        texts = {name: arrays.pop(name).tolist() for name in list(arrays) if arrays[name].dtype.kind == "U"}
        numpy.save_file(arrays, path, {"metadata": json.dumps([data["."], texts])})

    def read(path: str, names: Names = None) -> Data:
        with library.safe_open(path, framework="np") as file:
            found = {name: file.get_tensor(name) for name in (file.keys() if names is None else names)}
            meta, texts = json.loads(file.metadata()["metadata"])
            return of_arrays(found | texts if names is None else found, meta)

    def part(path: str, name: str, i: int) -> Array:
        with library.safe_open(path, framework="np") as file:
            return file.get_slice(name)[i]

    def opened(path: str) -> None:
        with library.safe_open(path, framework="np"):
            pass

    program = Program(
        SAFETENSORS,
        ".safetensors",
        write,
        read,
        opened,
        writing="save_file, metadata as JSON text",
        reading="safe_open, get_tensor",
        share=10,
    )
    return Format(program, part, "safe_open, get_slice(name)[i]")


def _table(data: Data) -> Any:
    """Return an Arrow table: a column for each variable, scalars and metadata as JSON; a large array is one column."""
    pa: Any = importlib.import_module("pyarrow")
    found, scalars = split_scalars(data)
    columns = {name: pa.array(array.ravel()) for name, array in found.items()}
    shapes = {name: array.shape for name, array in found.items()}
    text = json.dumps({"shapes": shapes, "scalars": scalars, "meta": data["."]})
    return pa.table(columns).replace_schema_metadata({"metadata": text})


def _dataset(table: Any, names: Names) -> Data:
    """Return the dataset of an Arrow table, with its scalars if all variables were read."""
    metadata = json.loads(table.schema.metadata[b"metadata"])
    found = {
        name: column.to_numpy().reshape(metadata["shapes"][name])
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return of_arrays(found | metadata["scalars"] if names is None else found, metadata["meta"])


def _rows(data: Data) -> int:
    """Return the values of one item along the first axis: the rows that one group of rows gets."""
    shape = next(iter(arrays_of(data).values())).shape
    return int(np.prod(shape[1:])) if len(shape) > 1 else shape[0]


def _parquet() -> Format:
    library: Any = importlib.import_module("pyarrow.parquet")

    def write(path: str, data: Data) -> None:
        library.write_table(_table(data), path, row_group_size=_rows(data))

    def part(path: str, name: str, i: int) -> Array:
        with library.ParquetFile(path) as file:
            shape = json.loads(file.schema_arrow.metadata[b"metadata"])["shapes"][name]
            return file.read_row_group(i, [name]).column(0).to_numpy().reshape(shape[1:])

    program = Program(
        PARQUET,
        ".parquet",
        write,
        lambda path, names: _dataset(library.read_table(path, columns=names), names),
        library.read_schema,
        writing="write_table, a column for each variable; its default compression, snappy",
        reading="read_table",
        share=20,
    )
    return Format(program, part, "read_row_group(i): the array was written as one column, a group of rows a field")


def _feather() -> Format:
    library: Any = importlib.import_module("pyarrow.feather")
    pa: Any = importlib.import_module("pyarrow")

    def write(path: str, data: Data) -> None:
        library.write_feather(_table(data), path, chunksize=_rows(data), compression="uncompressed")

    def part(path: str, name: str, i: int) -> Array:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            shape = json.loads(file.schema.metadata[b"metadata"])["shapes"][name]
            return file.get_batch(i).column(name).to_numpy().reshape(shape[1:])

    program = Program(
        FEATHER,
        ".feather",
        write,
        lambda path, names: _dataset(library.read_table(path, columns=names), names),
        lambda path: library.read_table(path, columns=[]),
        writing="write_feather, a column for each variable, uncompressed",
        reading="read_table",
        share=20,
    )
    return Format(program, part, "ipc.open_file of a map, get_batch(i)")


def _h5py() -> Format:
    library: Any = importlib.import_module("h5py")

    def write(path: str, data: Data) -> None:
        meta = data["."]
        with library.File(path, "w") as file:
            for name, array in arrays_of(data).items():
                dims, attributes = split_metadata(meta[name])
                dataset = file.create_dataset(name, data=for_hdf5(array))
                dataset.attrs.update({**attributes, "dims": dims})
            file.attrs.update(meta["."])

    def read(path: str, names: Names = None) -> Data:
        with library.File(path, "r") as file:
            found = {name: file[name] for name in (file if names is None else names)}
            meta = {}
            for name, dataset in found.items():
                attributes = dict(dataset.attrs)
                meta[name] = {".dims": list(attributes.pop("dims")), **attributes}
            meta["."] = dict(file.attrs)
            return of_arrays({name: dataset[...] for name, dataset in found.items()}, meta)

    def part(path: str, name: str, i: int) -> Array:
        with library.File(path, "r") as file:
            return file[name][i]

    program = Program(H5PY, ".h5py.h5", write, read, lambda path: library.File(path, "r").close(), share=100)
    return Format(program, part)


def _npz_part(path: str, name: str, i: int) -> Array:
    with np.load(path) as file:
        return file[name][i]
