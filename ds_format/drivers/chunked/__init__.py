"""Values of HDF5 files, netCDF-4 among them, read in threads where their library inflates in one.

The library tells where the chunks of a variable are; they are read by position, inflated and put to their places while
no lock is held. Everything that is not certain here is left to the library.

filters   how a chunk was written → how its bytes are decoded
index     a dataset of the library, a slab → the chunks that it crosses, and where they are in the file
opened    a file of the library: which slabs are worth it; chunks → an array, in several threads
"""

from __future__ import annotations

from .opened import Chunks, SlabReader

__all__ = ["Chunks", "SlabReader"]
