"""Header lines of the ds format.

parser           a line → metadata, and what it says of each variable (header)
entry            the same of one member of an entry; properties: the names of those that say how values are stored
memory           entries of the headers before (template), so that only what is new is read
alike            metadata of files in a row, compared and merged
attributes       attributes → their text
attribute_types  numbers of a header → NumPy scalars and arrays
"""
