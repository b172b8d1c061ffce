"""What others would write: netCDF4, and the system calls as Python has them."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

NetCDF: Any = netCDF4.Dataset


def write_netcdf(path: str | Path, data: Mapping[str, Any], format: str = "NETCDF4", **options: Any) -> None:
    """Write a dataset as one would with netCDF4: dimensions, variables with their attributes, values.

    Parameters
    ----------
    path : str or Path
    data : dict
    format : str
    **options
        For `createVariable`.
    """
    meta = data["."]
    with NetCDF(path, "w", format=format) as file:
        for name, array in data.items():
            if name == ".":
                continue
            attributes = dict(meta[name])
            dims = attributes.pop(".dims")
            if array.dtype.kind == "U" and format != "NETCDF4":
                array, dims = _characters(array), [*dims, f"string{array.dtype.itemsize // 4}"]
            for dim, n in zip(dims, array.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, n)
            kind = str if array.dtype.kind in "OTU" else "i1" if array.dtype.kind == "b" else array.dtype
            endian = "big" if array.dtype.byteorder == ">" else "native"
            fill = attributes.pop("_FillValue", None)
            variable = file.createVariable(name, kind, dims, endian=endian, fill_value=fill, **options)
            variable.set_auto_scale("scale_factor" not in attributes)  # packed numbers are packed already
            for key, value in attributes.items():
                if key == "valid_range":
                    value = np.asarray(value, array.dtype)  # else the library ignores it, and warns
                variable.setncattr(key, value)
            variable[...] = array.view("i1") if array.dtype.kind == "b" else array
        for key, value in meta["."].items():
            file.setncattr(key, value)


def _characters(array: Any) -> Any:
    """Return ASCII texts with a dimension more, for their characters."""
    encoded = np.ascontiguousarray(np.strings.encode(array))
    return encoded.reshape((*array.shape, 1)).view("S1")


def read_netcdf(path: str | Path) -> dict[str, Any]:
    """Read all variables of a file, with the masks that netCDF4 makes by default; no attributes."""
    with NetCDF(path) as file:
        return {name: variable[...] for name, variable in file.variables.items()}


def read_netcdf_part(path: str | Path, name: str, index: Any = ...) -> Any:
    """Read one variable of a file, or a part of it."""
    with NetCDF(path) as file:
        return file.variables[name][index]


def duckdb() -> Any:
    """Return DuckDB, or None if it is not installed."""
    try:
        return importlib.import_module("duckdb")
    except ImportError:
        return None


def zippy(folder: Path | None) -> Any:
    """Return the pure Python store of ZDS's reference program, which lies in a folder; None if there is none."""
    if folder is None:
        return None
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module("zippy").FastZDSStore


def read_bare(path: str) -> bytes:
    """Read a file as bytes."""
    fd = os.open(path, os.O_RDONLY)
    data = os.read(fd, os.fstat(fd).st_size)
    os.close(fd)
    return data


def write_bare(path: str, buffers: Sequence[Any]) -> None:
    """Write a file that does not exist yet."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.writev(fd, buffers)
    os.close(fd)


def write_bare_renamed(path: str, temporary: str, buffers: Sequence[Any]) -> None:
    """Write a file under another name, and rename it."""
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.writev(fd, buffers)
    os.close(fd)
    os.rename(temporary, path)


def body_of(path: str | Path) -> int:
    """Return where the body of a ds-1.0 file starts: behind two lines."""
    with open(path, "rb") as file:
        return len(file.readline()) + len(file.readline())


def offset_of(path: str | Path, name: str) -> int:
    """Return where the values of a variable without missing ones start in a ds-1.0 file."""
    with open(path, "rb") as file:
        file.readline()
        entries = json.loads(file.readline())
        return file.tell() + int(entries[name][".offset"])


def read_range(path: str | Path, offset: int, size: int) -> bytes:
    """Read bytes from the middle of a file."""
    fd = os.open(path, os.O_RDONLY)
    data = os.pread(fd, size, offset)
    os.close(fd)
    return data


def from_file(path: str | Path, offset: int, shape: Sequence[int], dtype: Any = "<f8") -> Any:
    """Read an array with `np.fromfile`."""
    return np.fromfile(path, dtype, int(np.prod(shape)), offset=offset).reshape(shape)
