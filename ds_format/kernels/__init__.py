"""Compiled loops and system calls: buffers in, buffers out. Each folder serves one format or purpose.

files       system calls for files
ds          datasets and arrays of the ds format
header      header lines of the ds format
classic     classic NetCDF files
netcdf      datasets for NetCDF files of any format
json        JSON
table       tables of text: CSV and TSV
msgpack     messages of msgpack
datadings   hashes and keys of datadings
zds         collections of ZDS
pickle      pickles
hdf5        chunks of HDF5 files
common      checksums, and declarations that several folders share
"""
