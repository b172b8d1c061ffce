"""Chunks of HDF5 files.

chunks   bytes of a chunk, shuffled or not → values of an array
"""
