"""Headers and arrays of the ds format.

parser          the header line → metadata, and what it says of each variable (header)
entry           the same of one member of an entry
memory          entries of the headers before (template), so that only what is new is read
arrays          numbers of a small file → arrays
small           both in one call
alike           metadata of files in a row, compared and merged
following       files in a row that differ in little but their values
compose         arrays and metadata → the bytes of a file
attributes      attributes → text of a header
plain           whether a dataset is of plain arrays that its metadata fit
attribute_types numbers of a header → NumPy scalars and arrays
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
