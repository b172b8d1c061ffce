"""Values of HDF5 files, netCDF-4 among them, read in threads where their library inflates in one.

The library tells where the chunks of a variable are; they are read by position, inflated and put to their places while
nobody holds a lock. Whatever is not known here for certain is left to the library.

filters   how a chunk was written → how its bytes are decoded
layout    a dataset of the library → what is known of it, or that the library shall read it
index     a slab → the chunks that it crosses, and where they lie in the file
reading   these → an array, in several threads
opened    a file of the library, and which slabs are worth it
"""

from __future__ import annotations

from .opened import Chunks, Reading

__all__ = ["Chunks", "Reading"]
