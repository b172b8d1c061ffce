"""Calls of the system, on POSIX; elsewhere `portable` takes the place of those that it has.

files      files in one call: whole ones, or the first bytes
batch      many small files in one call
ranges     ranges of open files: read, written, copied, reserved
names      what is there under a name, without an error taken for an absent file; temporary names
portable   what `files`, `batch` and `ranges` do, on systems without their calls

Declaration: `system` (paths and errors).
"""

import os

if os.name != "posix":  # elsewhere each is imported when it is asked for
    from . import (
        portable as batch,  # noqa: F401
        portable as files,  # noqa: F401
        portable as ranges,  # noqa: F401
    )
