"""Arrays of the ds format.

bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
"""
