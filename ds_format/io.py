"""Reading and writing files, under the name that this has in ds-format 5.0.2."""

from __future__ import annotations

from .files import read
from .many.folders import index, readdir
from .writing import write

__all__ = ["index", "read", "readdir", "write"]
