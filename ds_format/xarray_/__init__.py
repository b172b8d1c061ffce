"""xarray and dask: the only modules that import them.

`docs/xarray.md` explains how missing values are represented in either direction.

entrypoint   the engine "ds", which xarray finds by its entry point; the rest is imported when a file is opened
engine       files and their groups → datasets of xarray
reading      metadata and readers of variables → a dataset of xarray, whose variables are read on indexing
coders       masked values, strings, objects and times in xarray, and data that its coders refuse
storage      storage settings of NetCDF and HDF5 files ↔ encoding
many         many files → one dataset of xarray
combining    datasets of xarray, one of each file → one, for `preprocess` and `join`; files that one task reads
writing      objects of xarray → files of any format, and datasets; trees → one dataset, with groups in the names
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
