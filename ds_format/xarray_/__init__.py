"""xarray and dask: the only room that imports them.

What missing values are in either direction is said in `docs/xarray.md`.

entrypoint   the engine "ds", which xarray finds by its entry point; the rest is imported when a file is opened
engine       files and their groups → datasets of xarray
reading      metadata and what reads variables → a dataset of xarray
missing      how masked values are shown
records      how a file of NetCDF or HDF5 stored variables ↔ encoding
many         many files → one dataset of xarray
combining    datasets of xarray, one of each file → one, for `preprocess` and `join`
chunks       which of them are read by one task
arrays       a variable that xarray reads when it indexes it
writing      objects of xarray → files of any format, and datasets
flattening   trees and single arrays → one dataset, in which names say the group
encoding     a dataset of xarray → metadata and data
coding       one variable on its way through xarray's coders, and what they cannot know of it
objects      strings and objects → values of one type, and where nothing is
storage      keys of encoding → how files of NetCDF and HDF5 store a variable
chunked      what writing does with arrays of dask
parallel     dask arrays → one ds file, without a lock
"""

import importlib

try:
    importlib.import_module("xarray")
except ImportError as error:
    if error.name != "xarray":
        raise
    message = "xarray is not installed: pip install 'ds-format-cython[xarray]', or [dask] for dask, too"
    raise ImportError(message, name="xarray") from None
