"""Write datasets, and objects of xarray if xarray is loaded."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .. import drivers
from ..body import path_text
from ..datasets import Dataset
from ..errors import UnsupportedError
from ..views.subset import Path
from . import files

if TYPE_CHECKING:
    from .options import Writable, WriteOptions


def write(
    filename: Path | Writable,
    d: Any,
    *,
    encoding: Any = None,
    unlimited_dims: Any = None,
    compute: bool = True,
    mask: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **options: Unpack[WriteOptions],
) -> Any:
    """Write a dataset to a file of any supported format.

    Writing is atomic: the new file replaces an existing one when it is complete. If an error occurs, the existing file
    is left untouched. A file for an address is written to the folder for temporary files first, and then uploaded once.
    A file object gets exactly the bytes of the file, after these are complete, from its position on.

    Parameters
    ----------
    filename : str, bytes, PathLike or file object
        A path, or an address such as `s3://bucket/x.ds`. The suffix determines the format. `bytes` are a path. Web
        servers are read only.
    d : dict, pandas.DataFrame, pandas.Series, xarray.Dataset, xarray.DataArray or xarray.DataTree
        A dict has key → data, and `"."` → metadata; see `ds_format.Dataset`. Values of datetime64 and timedelta64, and
        datetimes of Python and pandas, become integers with the coarsest `units` that hold them exactly, or are
        converted to the `units` and `calendar` in the metadata. A value that is a DataArray keeps its dimensions,
        attributes and coordinates; metadata in the dict have priority. Objects of xarray are encoded by the
        CF conventions, as their `encoding` says; null becomes missing if there is a `_FillValue`. Dask arrays are
        written to ds files in parallel, by dask's scheduler, and to other formats block by block. The columns of a data
        frame of pandas, and an index that does more than counting the rows, are variables of one dimension, which is
        called like the index, or `i`.
    encoding : dict, optional
        Name of a variable → how it is stored in a NetCDF file, with the keys of xarray: `{"x": {"zlib": True,
        "complevel": 4, "chunksizes": (1, 100)}}`, and `digits` and `bits` as below. It has priority over options for
        the whole file. For objects of xarray: the encoding of the variable, instead of its own, for any format. For a
        DataTree a dict by group.
    unlimited_dims : str or iterable of str, optional
        For objects of xarray: dimensions that are unlimited in NetCDF and HDF5 files, instead of those in the
        `encoding`. For a DataTree a dict by group.
    compute : bool
        For objects of xarray: False returns a `dask.delayed` object. Nothing is written before you compute it.
    mask : bool
        For objects of xarray: make NaN in dask arrays of floats missing in a ds file, if there is a `_FillValue`. The
        arrays are computed first for this. By default NaN stays NaN.
    storage_options : dict, optional
        As for `ds_format.read`.
    store : object, optional
        The store that gets the file, if `filename` is a path in one: a store of obstore, or of another library with its
        method `put`, or a file system of fsspec.
    **options
        Options of the format. The most common ones are:

        format : str
            The format, if the name of the file does not tell it: a name such as "netcdf", or a suffix such as "tsv". Or
            the format of a NetCDF file: `NETCDF4`, `NETCDF4_CLASSIC`, `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET` or
            `NETCDF3_64BIT_DATA`.
        atomic : bool
            False creates the file, which must not exist yet, and writes to it directly. Not for samples, documents and
            file objects.
        durable : bool
            Flush the file and its folder to the disk.
        time_units, calendar : str
            Units and calendar for Julian dates: variables with `.time: true`. Not for ds files.
        times : {"iso"}
            Write all times as text in ISO 8601. For CSV files, samples and documents.
        decimal, delimiter : str
            The characters before decimals, "." or ",", and between the cells of a CSV file.
        excel : bool
            Write a CSV file for Excel: with a byte order mark, and times as dates that it knows.
        scalars, units : bool
            Repeat scalars in all rows of a CSV file, and write the attributes `units` as its second line.
        version : {"1.0", "2.0.1"}
            Version of the ds format.
        checksum : bool
            Add checksums of the header and of each variable to a ds file. `ds_format.verify` and `ds_format.read` with
            `verify=True` compare them.
        widen : bool
            Write float16 as float32, for programs that lack this type. For ds files, and for NetCDF files, where it is
            an error otherwise.
        compression : str
            For NetCDF files: `zlib`, `zstd`, `bzip2`, `szip`, `blosc_lz`, `blosc_lz4`, `blosc_lz4hc`, `blosc_zlib`,
            `blosc_zstd`, or `none`. For HDF5 files: `gzip` or `lzf`. For Zarr stores: `zstd` (the default), `gzip`,
            `blosc_lz4`, `blosc_lz4hc`, `blosc_zlib`, `blosc_zstd`, or `none`. For Parquet files: `zstd` (the default),
            `snappy`, `gzip`, `brotli`, `lz4` or `none`. For Arrow files: `none` (the default), `lz4` or `zstd`.
        level : int
            Level of compression: for `zlib` 1 to 9, by default 4. Level 1 is the fastest, and almost as small.
        shuffle : bool
            False compresses without the filter "shuffle", which makes most files smaller. For NetCDF files.
        chunks : dict
            Name of a dimension → length of the chunks of a NetCDF file or a Zarr store.
        shards : dict
            Name of a dimension → length of the shards of a Zarr store, which are files with several chunks.
        digits, bits : int
            Round floats of a NetCDF file to this number of significant decimal digits, or bits of their significands.
            Rounded floats compress better. Coordinates are not rounded.

    Returns
    -------
    None or dask.delayed.Delayed
        A `Delayed` object with `compute=False`.

    Raises
    ------
    OSError
        If the file cannot be written. FileExistsError with `atomic=False`, if it exists.
    DriverError
        If the format is unknown, does not have an option, or consists of several files, which cannot be uploaded
        together.
    UnsupportedError, ValueError
        If the format cannot hold the dataset, or the metadata do not match the data.

    Examples
    --------
    >>> import ds_format as ds
    >>> rain = {"rain": [0.0, None, 2.5], ".": {"rain": {".dims": ["day"], "units": "mm"}}}
    >>> ds.write("rain.ds", rain)
    >>> ds.read("rain.ds")["rain"].tolist()
    [0.0, None, 2.5]
    >>> ds.write("rain.csv", {"rain": [0.0, None, 2.5]})
    >>> ds.read("rain.csv")["rain"].tolist()
    [0.0, None, 2.5]
    """
    path: Any = filename
    if type(filename) is not str or "://" in filename or storage_options is not None or store is not None:
        path = drivers.located(filename, storage_options, store)
    kind = type(d)
    if kind is not dict and kind is not Dataset and is_xarray(d):
        from ..xarray_ import writing

        asked = {"encoding": encoding, "unlimited_dims": unlimited_dims, "compute": compute, "mask": mask}
        return writing.write(path, d, **asked, **options)
    if kind is not dict and kind is not Dataset and (is_frame(d) or hasattr(d, "__arrow_c_stream__")):
        from ..tables.arrow import from_arrow
        from ..tables.frames import from_pandas

        try:
            d = from_pandas(d) if is_frame(d) else from_arrow(d)
        except UnsupportedError as error:
            raise error.at(path=path_text(path))
    if unlimited_dims is not None or not compute or mask:
        given = {"unlimited_dims": unlimited_dims is not None, "compute": not compute, "mask": mask}
        name = next(name for name, is_given in given.items() if is_given)
        message = f"the option `{name}` is one for objects of xarray, found an object of type {kind.__name__}"
        raise UnsupportedError(message, path=path_text(path))
    try:
        d = without_xarray(d)
    except UnsupportedError as error:
        raise error.at(path=path_text(path))
    given = {} if encoding is None else {"encoding": encoding}
    try:
        return files.write(path, d, **given, **options)
    except NotADirectoryError:
        if (member := drivers.located(path)) is path:
            raise
        return files.write(member, d, **given, **options)  # raises the error for a member of a pack


def without_xarray(d: Any) -> Any:
    """Return a dataset without objects of xarray; see `xarray_.writing.with_coordinates`."""
    xarray = sys.modules.get("xarray")
    if xarray is None or not isinstance(d, dict):
        return d
    objects = (xarray.DataArray, xarray.Variable, xarray.Dataset, xarray.DataTree)
    if not any(isinstance(value, objects) for value in d.values() if value.__class__ is not np.ndarray):
        return d
    from ..xarray_ import writing

    return writing.with_coordinates(d)


def is_frame(d: Any) -> bool:
    """Whether an object is a data frame of pandas, or a column of one."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(d, (pandas.DataFrame, pandas.Series))


def is_xarray(d: Any) -> bool:
    """Whether an object is one of xarray's. If so, xarray is loaded."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(d, (xarray.Dataset, xarray.DataArray, xarray.DataTree))
