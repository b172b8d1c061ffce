"""Calls of the system, on POSIX; elsewhere `portable` takes the place of those that it has.

opening    a small file, or the first bytes of a larger one, in one call
files      whole files in one call
batch      many small files in one call
ranges     ranges of open files
regions    regions of a file that are written at once, or by several processes
fetch      one of the pieces of an open file
vectors    buffers, written in one call
presence   what stands under a name, without an error taken for an absent file
portable   what `files`, `batch`, `opening`, `ranges` and `regions` do, on systems without their calls

Declarations: `system` (paths and errors), `hidden` (names of what is being written).
"""

import os

if os.name != "posix":  # elsewhere each is imported when it is asked for
    from . import portable as batch  # noqa: F401
    from . import portable as files  # noqa: F401
    from . import portable as opening  # noqa: F401
    from . import portable as ranges  # noqa: F401
    from . import portable as regions  # noqa: F401
