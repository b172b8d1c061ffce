"""Datasets and arrays of the ds format.

plain          small files of numbers → datasets; NumPy types of attributes; check for datasets of plain arrays
compose        arrays and metadata → the bytes of a file
values         masks and their bits; present values ↔ their positions in an array
strings        length-prefixed strings ↔ Python strings
numpy_strings  length-prefixed strings ↔ NumPy's StringDType
"""
