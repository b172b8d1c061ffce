"""Zarr: groups and arrays in a folder or at an address, versions 2 and 3, through the library zarr.

::

    stores.py       a folder or an address → a group of the library; its errors → those of this package
    attributes.py   attributes in JSON ↔ those of a dataset
    source.py       arrays → a Source
    sink.py         a Sink → arrays of version 3

The conventions are those of xarray. A dataset of this package is read back unchanged;
`docs/formats.md` lists the exceptions.
"""

from .sink import ZarrSink as create
from .source import ZarrSource as open

__all__ = ["create", "open"]
