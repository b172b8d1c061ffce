"""Chunks of HDF5 files: bytes that were shuffled, checksums, and where values of a chunk belong.

place      bytes of a chunk → values of an array
checksum   the checksum of Fletcher
"""
