"""What of a ds file is settled before its data are there: room for the header, and where numbers are going to lie."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...codec.header import ALIGNMENT, VarHeader
from ...codec.line import build
from ...dtypes import TYPES
from ..base import Metadata
from .entries import dataset_entry, entry_of, header_key

LARGEST = (1 << 63) - 1
"""Stands for an offset or a length that is not known yet: no number takes more digits."""


class Plan:
    """A header that comes first in the file, but is known last.

    Room for it is left, and what it does not need is filled with spaces.

    Parameters
    ----------
    meta : Metadata
        Each variable with `.size`, and `.type` unless it has no data.
    version : str
        Of the format: `1.0` or `2.0.1`.

    Attributes
    ----------
    body : int
        Start of the body, in bytes from the start of the file.

    Raises
    ------
    UnsupportedError
        If the header cannot hold the metadata; the message names variable and attribute.
    """

    def __init__(self, meta: Metadata, version: str):
        self.meta = meta
        self.version = version
        self.body = len(self._build({key: self._largest(key) for key in meta if key != "."}))

    def _largest(self, key: str) -> VarHeader:
        size = self.meta[key].get(".size")
        shape = None if size is None else tuple(size)
        ds_type = TYPES.get(self.meta[key].get(".type") or "unicode", TYPES["unicode"])
        return VarHeader(ds_type, shape, LARGEST, LARGEST, False, False)

    def _build(self, variables: Mapping[str, VarHeader], room: int = 0) -> bytes:
        entries = {}
        for key, var in variables.items():
            entries[header_key(key, self.version)] = entry_of(key, self.meta[key], var, self.version)
        return build(entries, dataset_entry(self.meta.get(".", {}), self.version), self.version, room)

    def header(self, variables: Mapping[str, VarHeader]) -> bytes:
        """Return the first `body` bytes of the file, of all variables in any order."""
        return self._build({key: variables[key] for key in self.meta if key != "."}, room=self.body)

    def place(self, name: str, type_name: str, end: int) -> VarHeader:
        """Return where numbers or booleans without a mask lie behind what a file has already.

        Parameters
        ----------
        name : str
            Key of a variable with `.size`.
        type_name : str
        end : int
            Of what is there or planned already, in bytes from the start of the file.
        """
        ds_type = TYPES[type_name]
        size = tuple(self.meta[name][".size"])
        start = end + -end % ALIGNMENT
        length = (math.prod(size) * ds_type.bits + 7) // 8
        return VarHeader(ds_type, size, start - self.body, length, not ds_type.ordered)

    def end(self, var: VarHeader) -> int:
        """Return where a variable ends, in bytes from the start of the file."""
        return self.body + var.offset + var.length
