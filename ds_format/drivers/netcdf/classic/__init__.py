"""Classic NetCDF files, without the netCDF4 library: what `ds_format.classic` says of them as a Source.

values   slabs of a variable, from memory or from an open file
recalled what a header says as metadata, where files before it said the same
source   a file as a Source
small    a small file, from memory; small files in a row
handle   a variable to be read elsewhere
check    what is wrong with a file beyond its variables
ends     where the variables of a file end that is left to the library

Which files are left to the library `source.opened` decides: those whose header is `ds_format.classic.Unusual`.
"""
