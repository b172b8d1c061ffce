"""Header lines of the ds format.

parser   a line → metadata, and what it says of each variable
header   what a header says, and the members of its entries
memory   entries of the headers before, so that only what is new is read; metadata of files in a row
"""
