"""Classic NetCDF files: headers, and big-endian numbers.

header     a header of the usual kind → what it says, all checks done; variables of those before are remembered
arrays     a variable of a file that is in memory → an array
slabs      a part of a variable of an open file → an array; POSIX only
portable   the same, elsewhere

Declarations: `items` (of a header), `places` (of variables), `seek` (some values among others), `filling` (of arrays).
"""

import os

if os.name != "posix":
    from . import portable as slabs  # noqa: F401
