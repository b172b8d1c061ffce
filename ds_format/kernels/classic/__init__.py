"""Classic NetCDF files: headers, and big-endian numbers.

header     a usual header → its content, completely checked; variables are remembered for the next files
arrays     a variable of a file in memory → an array
slabs      a part of a variable of an open file → an array; POSIX only
compose    definitions, and values of a small file → the bytes of the header or file
portable   the same on other operating systems
"""

import os

if os.name != "posix":
    from . import portable as slabs  # noqa: F401
