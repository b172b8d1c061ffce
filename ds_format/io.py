"""Reading and writing files, under the name that this has in ds-format 5.0.2."""

from __future__ import annotations

from .api.files import read
from .api.writing import write
from .many.folders import index, readdir

__all__ = ["index", "read", "readdir", "write"]
