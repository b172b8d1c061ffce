"""Arrays of the ds format.

header, entry   the header line → what it says of each variable, and metadata
arrays          numbers of a small file → arrays
alike           metadata of files in a row, compared and merged
following       files in a row that differ in little but their values
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
