"""HDF5 files: a plain parser as oracle, makers of files, and damage."""
