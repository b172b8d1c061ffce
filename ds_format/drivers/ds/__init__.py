"""The ds driver: a ds file ↔ arrays and metadata.

header      the header of a file, without NumPy
whole       whole variables; a small file in one read
parts       parts of a variable: the bytes that an index needs, and their values; masks are read once
source      variables, parts and blocks of any file; picklable handles of variables
alike       consecutive small files that are alike, as one
composing   a dataset → header and buffers; its metadata alone → header
sink        writing a file from blocks
shared      a file that several processes write
checksums   the trailer with checksums
check       faults of a file other than those of its variables
"""
