"""Common parts of the drivers for NetCDF, HDF5 and Zarr.

Below it are producers: the netCDF4 library, h5py, zarr and the codec of classic files::

    guard.py     calls of a library: one lock, errors
    catalog.py   the description of a file, and its variables as reading needs them
    kept.py      a file that stays open for its handles
    source.py    a file as a Source
    options.py   options of writing
    plan.py      metadata → variables of a file
    sink.py      a file as a Sink
"""
