"""The ds format: bytes ↔ arrays. Nothing here opens a file or knows a dataset.

From low to high:

filters     encoded bytes ↔ bytes: one table for chunks of HDF5, BinPickle and ZIP archives
header      every constant of the format, and the entry of one variable in the header ↔ `VarHeader`
line        version line and JSON line ↔ all entries and attributes, at once or when they are asked for
stored      how numbers lie in a file, in one piece or in chunks
layout      `VarHeader` and the size of the body → where mask and values lie; every check the header alone decides
slab_reading  `Stored` and the body of the file → slabs
attributes  attributes ↔ JSON, with NumPy types kept
decode      `VarHeader` and a body → array or masked array, whole or in part
encode      array or masked array → type and buffers
legacy      files of older writers that say wrong things about right bytes

The way of a masked `int16` variable from file to array: `header` reads `VarHeader(int16, (3,), offset 0, missing)`;
`layout` finds the mask at byte 0 of the body and the values from byte 1 on; `decode` counts the bits of the mask,
2 values are present and must fit; the kernels put them at their places.
"""
