"""Compiled loops and system calls: buffers in, buffers out. One folder for what each serves.

files       calls of the system
ds          datasets and arrays of the ds format
header      header lines of the ds format
classic     classic NetCDF files
json        JSON
msgpack     messages of msgpack
datadings   hashes and keys of datadings
zds         collections of ZDS
pickle      pickles
hdf5        chunks of HDF5 files
common      checksums, and declarations that several of them share
"""
