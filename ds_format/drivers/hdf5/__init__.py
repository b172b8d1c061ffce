"""HDF5: datasets, groups, attributes, dimension scales, and the conventions of netCDF-4.

A dataset of this package that is written to an HDF5 file is read back unchanged. `docs/hdf5.md` has the mapping.
"""

from __future__ import annotations

from .format import HDF5Warning
from .sink import HDF5Sink as create
from .source import HDF5Source as open

__all__ = ["HDF5Warning", "create", "open"]
