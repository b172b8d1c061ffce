"""Header lines of the ds format.

parser   a line → metadata, and the position and type of each variable
header   the parsed header, and the members of its entries
memory   entries of earlier headers, so that only differences are parsed; comparison of metadata of successive files
"""
