"""NetCDF-4 files, without the netCDF4 library: what `ds_format.hdf5` says of them as a Source.

description  the objects of a file as the variables, dimensions and attributes that the library describes
source       a file as a Source, or read in one call, and its variables by their positions
recognition  whether an HDF5 file is netCDF-4

Which files are left to the library `source.opened` decides: those with something that is `ds_format.hdf5.Unusual`.
"""
