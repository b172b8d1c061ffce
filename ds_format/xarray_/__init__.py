"""xarray and dask: the only room that imports them.

What missing values are in either direction is said in `docs/xarray.md`.

entrypoint   the engine "ds", which xarray finds by its entry point; the rest is imported when a file is opened
engine       files and their groups → datasets of xarray
reading      metadata and what reads variables → a dataset of xarray, whose variables are read when they are indexed
coders       how masked values are shown, strings, objects and times, and what xarray's coders refuse
storage      how a file of NetCDF or HDF5 stored variables ↔ encoding
many         many files → one dataset of xarray
combining    datasets of xarray, one of each file → one, for `preprocess` and `join`; which files are read by one task
writing      objects of xarray → files of any format, and datasets; trees → one dataset, in which names say the group
encoding     a dataset of xarray → metadata and data, each variable by way of xarray's coders
parallel     arrays of dask → one ds file, without a lock
scheduler    a running scheduler of dask.distributed as an executor
"""

import importlib

try:
    importlib.import_module("xarray")
except ImportError as error:
    if error.name != "xarray":
        raise
    message = "xarray is not installed: pip install 'ds-format-cython[xarray]', or [dask] for dask, too"
    raise ImportError(message, name="xarray") from None
