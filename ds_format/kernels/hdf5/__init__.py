"""HDF5 files: metadata, indexes of chunks, and values.

objects   the bytes of a file → records of its objects
alike     whether the records of two files say the same
unread    the checksums of structures that reading does not need
segments  the bytes of a file that were read, the ranges that are missing, and faults
types     datatypes → records
values    attributes and filters
indexes   an index of chunks → the position of each chunk
strings   references into the global heap → strings
small     all variables of a small file in memory → arrays
large     chunks of a large variable → their places in an array
szip      bytes of the filter szip → values
compose   objects → the bytes of a file
chunks    bytes of a chunk → values: the filters "shuffle" and LZF; rounding before compression

Declarations:

known         structures at positions of a file, and the faults in them
lookup3       the checksum of metadata
headers       object headers
spaces        dataspaces
datasets      layouts and fill values
links         links of a group
heaps         fractal heaps
trees         B-trees of version 2
collections   collections of the global heap
btree1        chunks that an index lists; B-trees of version 1
composed      a file that is composed; collections of the global heap that are written
placing       values of a chunk → their positions in an array
"""
