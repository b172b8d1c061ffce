"""Arrays of the ds format.

header, entry   the header line → what it says of each variable, and metadata
arrays          numbers of a small file → arrays
attributes      numbers of a header → NumPy scalars and arrays
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
