"""Compiled loops and system calls: buffers in, buffers out.

bits            flags and masks, eight to a byte
values          byte swap; present values to and from their places
strings         length-prefixed strings ↔ Python strings
numpy_strings   the same ↔ NumPy's StringDType
files           whole files and ranges of files
portable        what `files` does, on systems without its calls
"""

import os

if os.name == "posix":
    from . import files
else:
    from . import portable as files

__all__ = ["files"]
