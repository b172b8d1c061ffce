"""Classic NetCDF files: headers, and big-endian numbers.

header     a header of the usual kind → what it says, all checks done; variables of those before are remembered
arrays     a variable of a file that is in memory → an array
slabs      a part of a variable of an open file → an array; POSIX only
portable   the same, elsewhere

Declarations: `items` (of a header, and where variables lie).
"""

import os

if os.name != "posix":
    from . import portable as slabs  # noqa: F401
