"""Objects of xarray → datasets, and files of any format."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .. import drivers
from ..api import files
from ..api.creation import created
from ..dataset import META, Dataset
from ..drivers.base import Metadata
from ..errors import DsError, UnsupportedError
from ..views.subset import Path
from .flattening import encode_any

Objects = xr.Dataset | xr.DataArray | xr.DataTree


def from_xarray(x: Objects) -> Dataset:
    """Return an object of xarray as a dataset, with all of its data in memory.

    Parameters
    ----------
    x : xarray.Dataset, xarray.DataArray or xarray.DataTree
        Times, packed numbers and so on are coded by the CF conventions, as its `encoding` says. Groups of a tree are
        `g/` before names. A DataArray without a name becomes the variable that `xarray.open_dataarray` expects.

    Returns
    -------
    Dataset
        As `read` has it from a file that was written from this.

    Raises
    ------
    UnsupportedError
        If ds cannot hold a variable or an attribute, which is named.
    NotImplementedError
        If a variable is an index of several levels.

    Examples
    --------
    >>> times = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")
    >>> d = from_xarray(xr.Dataset({"rain": ("time", [0.5, 2.0])}, {"time": times}))
    >>> d["time"], d["."]["time"]["units"]
    (array([0, 1]), 'days since 2000-01-01 00:00:00')
    """
    meta, arrays = encode_any(x, mask=True)
    return _dataset(meta, arrays)


def write(
    path: Path,
    x: Objects,
    *,
    encoding: Mapping[Any, Any] | None = None,
    unlimited_dims: Any = None,
    compute: bool = True,
    mask: bool = False,
    mode: str = "w",
    **options: Any,
) -> Any:
    """Write an object of xarray to a file of any format; see `ds_format.write`.

    Parameters
    ----------
    path : str, bytes or PathLike
    x : xarray.Dataset, xarray.DataArray or xarray.DataTree
    encoding, unlimited_dims, compute, mask
        As `ds_format.write`.
    mode : {"w"}
        Nothing else: a file is written once.
    **options
        Of the format.

    Returns
    -------
    None or dask.delayed.Delayed

    Raises
    ------
    UnsupportedError
        If the format cannot hold it, before a byte is written.
    OSError, DriverError
        As `ds_format.write`.
    """
    try:
        return _write(path, x, encoding, unlimited_dims, compute, mask, mode, options)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))


def _write(
    path: Path,
    x: Objects,
    encoding: Mapping[Any, Any] | None,
    unlimited_dims: Any,
    compute: bool,
    mask: bool,
    mode: str,
    options: Mapping[str, Any],
) -> Any:
    if mode != "w":
        what = "to append does not apply, since a file is written once" if mode == "a" else "there is no such mode"
        raise UnsupportedError(f'mode: found {mode!r}, expected "w": {what}')
    format = drivers.find(path)
    path = path if compute else os.path.abspath(os.fsdecode(path))  # who computes it may be in another folder
    is_ds = format.name == "ds"
    # only in a ds file masks have to be known beforehand
    meta, arrays = encode_any(x, encoding, unlimited_dims, mask or not is_ds)
    given = drivers.creation_options(format, path, options)
    if not any(map(_is_chunked, arrays.values())):
        whole = functools.partial(files.write, path, _dataset(meta, arrays), **given)
        return whole() if compute else _chunked().later(whole)
    if is_ds and given.pop("atomic", True):
        parallel = importlib.import_module(".parallel", __package__)
        return parallel.write(path, meta, arrays, compute=compute, **given)
    blockwise = functools.partial(_write_blocks, path, format, meta, arrays, given)
    return blockwise() if compute else _chunked().later(blockwise)


def _write_blocks(
    path: Path, format: drivers.Format, meta: Metadata, arrays: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Write arrays of dask one after another, of which no more than a row of chunks is in memory."""
    with created(path, meta, format, **options) as sink:
        for key, array in arrays.items():
            sink.write(key, _blocks(array))


def _blocks(array: Any) -> Iterator[Any]:
    if _is_chunked(array):
        yield from _chunked().rows(array)
    elif array is not None and array.size:
        yield array


def _dataset(meta: Metadata, arrays: Mapping[str, Any]) -> Dataset:
    """Return a dataset with its data in memory."""
    dataset = Dataset()
    for key, array in arrays.items():
        values = array.compute() if _is_chunked(array) else array
        if values is None:
            dataset[key] = None
            continue
        masked = isinstance(values, np.ma.MaskedArray)
        if masked and not values.mask.any():
            values, masked = values.data, False
        dataset[key] = values if masked or np.ndim(values) else np.asarray(values)[()]
    dataset[META] = {
        key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in meta.items()
    }
    return dataset


def _is_chunked(array: Any) -> bool:
    return array is not None and not isinstance(array, np.ndarray)


def _chunked() -> Any:
    """Return the module that knows dask."""
    return importlib.import_module(".chunked", __package__)
