"""HDF5: datasets, groups, attributes, dimension scales, and what NetCDF-4 makes of them.

A dataset of this package that is written to such a file comes back as it was. `docs/hdf5.md` says what becomes what.
"""

from __future__ import annotations

from .format import HDF5Warning
from .sink import HDF5Sink as create
from .source import HDF5Source as open

__all__ = ["HDF5Warning", "create", "open"]
