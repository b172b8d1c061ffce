"""System calls for files on POSIX. On other operating systems, `portable` replaces them.

files      files in one call: whole ones, or the first bytes
batch      many small files in one call
ranges     ranges of open files: read, written, copied, reserved
directory  the directory of a ZIP archive, and the headers of its members
member     small members of a known ZIP archive, which stays open, in one call
names      checks of paths, which raise errors other than a missing file; temporary names
portable   the functions of `files`, `batch`, `member` and `ranges` for other operating systems

Declaration: `system` (paths and errors).
"""

import os

if os.name != "posix":  # on POSIX, each module is imported on first use
    from . import (
        portable as batch,  # noqa: F401
        portable as files,  # noqa: F401
        portable as member,  # noqa: F401
        portable as ranges,  # noqa: F401
    )
