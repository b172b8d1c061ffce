"""The ds driver: a ds file ↔ arrays and metadata.

header      the header of a file, without NumPy
whole       whole variables, and a small file in one read
source      variables, parts and blocks of any file; handles of variables, which travel
alike       small files that are merged alike, as one
composing   a dataset, or its metadata alone → header and buffers
sink        a file from blocks
shared      a file that several processes write
checksums   the trailer with checksums
check       what is wrong with a file beyond its variables
"""
