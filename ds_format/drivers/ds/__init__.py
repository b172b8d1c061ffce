"""The ds driver: a ds file ↔ arrays and metadata.

whole       a dataset in one go: small files in one read, any in one write
alike       small files that are merged alike, as one
source      variables, parts and blocks of any file; handles of variables, which travel
variables   which variables a file has, and how each is decoded
partial     a part of a variable: which bytes it needs
composing   a dataset, or its metadata alone → header and buffers
sink        a file from blocks
shared      a file that several processes write
checksums   the trailer with checksums
check       what is wrong with a file beyond its variables
"""
