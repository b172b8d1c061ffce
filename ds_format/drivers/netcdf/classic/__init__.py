"""Classic NetCDF files, without the netCDF4 library: what `ds_format.classic` says of them as a Source.

recalled what a header says as metadata, where files before it said the same
source   a file as a Source, or read in one call, and its variables by their positions
sink     a file being written
check    what is wrong with a file beyond its variables, and where its variables end

Which files are left to the library `source.opened` decides: those whose header is `ds_format.classic.Unusual`.
"""
