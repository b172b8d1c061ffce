"""Kernels and declarations that several formats share.

checksums   Adler-32 and Fletcher-32

Declarations:

words    loads, stores and byte swaps of words at any address
utf8     check of UTF-8
output   a buffer that grows at its end
cursor   a position in a message, with checks of the end
"""
