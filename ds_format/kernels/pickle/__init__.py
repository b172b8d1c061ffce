"""Pickles, and the checksum of their buffers.

stack     the stack and the memo of a pickle, within a budget of memory
machine   opcodes of a pickle → objects, without importing or running anything
adler     the checksum of zlib
"""
