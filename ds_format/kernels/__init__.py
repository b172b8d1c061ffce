"""Compiled loops and system calls: buffers in, buffers out.

bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
files           whole files in one call
ranges          ranges of open files
portable        what `files` and `ranges` do, on systems without their calls
"""

import os

if os.name == "posix":
    from . import files, ranges
else:
    from . import portable as files  # type: ignore[no-redef]
    from . import portable as ranges  # type: ignore[no-redef]

__all__ = ["files", "ranges"]
