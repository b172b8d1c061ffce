"""Datasets and arrays of the ds format.

small           a small file of numbers → a dataset (arrays)
plain           whether a dataset is of plain arrays that its metadata fit
compose         arrays and metadata → the bytes of a file
bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
