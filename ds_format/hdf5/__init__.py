"""HDF5 files, netCDF-4 among them: bytes → where values are → arrays. Nothing here opens a file or knows a dataset."""
