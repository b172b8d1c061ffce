"""Arrays of the ds format.

header, entry   the header line → what it says of each variable, and metadata
arrays          numbers of a small file → arrays
compose         arrays and metadata → the bytes of a file
attributes      attributes → text of a header
plain           whether a dataset is of plain arrays that its metadata fit
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
