"""The ds format: bytes ↔ arrays. No module here opens a file or knows a dataset.

From low to high:

filters     encoded bytes ↔ bytes: one table for chunks of HDF5, BinPickle and ZIP archives
pipeline    a chunk of an HDF5 file ↔ the bytes of its values, through several filters
header      all constants of the format, and the entry of one variable in the header ↔ `VarHeader`
line        version line and JSON line ↔ all entries and attributes
stored      positions of numbers in a file, contiguous or in chunks
layout      `VarHeader` and the size of the body → positions of mask and values, checked against the size
slab_reading  `Stored` and the body of the file → slabs
attributes  attributes ↔ JSON, with their NumPy types
decode      `VarHeader` and a body → array or masked array, whole or in part
encode      array or masked array → type and buffers
legacy      files of older writers whose header describes valid bytes wrongly

A masked `int16` variable is read in four steps. `header` reads `VarHeader(int16, (3,), offset 0, missing)`. `layout`
computes that the mask is at byte 0 of the body, and that the values begin at byte 1. `decode` counts the bits of the
mask, and checks that the 2 present values fit into the body. Kernels copy these values to their positions.
"""
