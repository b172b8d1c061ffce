"""Kernels and declarations that several formats share.

checksums   Adler-32 and Fletcher-32

Declarations:

adler    the checksum Adler-32
inflate  zlib streams → bytes
deflate  parts of these streams, and blocks of short ones
filling  how values get into an array, and whether some values are among them
decimals decimal numbers ↔ doubles
numbers  numbers of attributes, of NumPy or of Python, which needs no NumPy
words    loads, stores and byte swaps of words at any address
utf8     check of UTF-8
output   a buffer that grows at its end
cursor   a position in a message, with checks of the end
"""
