"""Consecutive small ds files: which files are alike, and how their values are decoded; see `drivers.alike`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ...base.dtypes import NETCDF
from ...body import Location
from ...body.body import MemoryBody
from ...codec.decode import Decoder
from ...codec.header import DTYPES as DTYPES_PROPERTY
from ...codec.layout import locate
from ...codec.line import Header, find_end, header_of, parse, parse_usual
from ...datasets import META, as_array
from ...errors import DsError
from ...kernels.ds.arrays import append_arrays, put_arrays
from ...kernels.header.header import Header as Compiled, differing
from ...kernels.header.memory import are_alike, merge_entries
from ...kernels.header.parser import Model
from ...model.marks import StoredMarks
from ...model.merge_plan import DECIDING
from ...model.settings import drop_stored_marks
from ..alike import Constant, StackedValues
from ..base import Metadata, SmallFiles
from .whole import KINDS, WHOLE_SIZE, decode_variable, digest, from_held, read_headers, typed

DECIDING_HERE = frozenset((*DECIDING, DTYPES_PROPERTY))
"""Includes `.dtypes`, so that attributes can be converted once, at the end."""
LAST_MEMBER = b', ".": '
"""The bytes before the attributes of the dataset, if these are the last member of a header."""


class DsRow:
    """Consecutive small ds files; see `drivers.base.FileRow`.

    A file is added if its header is the same up to the attributes of the dataset. It is also added if it has the same
    variables, and `are_alike` is true for their metadata.

    Parameters
    ----------
    path : str
        The first file.
    held : bytearray
        Its bytes.

    Raises
    ------
    FormatError
        If the header is invalid.
    """

    def __init__(self, path: Location, held: bytearray):
        try:
            self._header, self.entries = parse(held, find_end(held, whole=True))
        except DsError as error:
            raise error.at(path=path)
        self._missing = _missing(self._header)
        self._known: list[Any] = []
        # of all files, whose `.netcdf` is the same
        found = {key: StoredMarks.of(entry) for key, entry in self.entries.items() if NETCDF in entry and key != META}
        self._marks = {key: marks for key, marks in found.items() if marks is not None}

    def start(
        self,
        path: Location,
        held: bytearray,
        stacks: Mapping[str, StackedValues],
        wanted: Collection[str],
        once: Mapping[str, Constant],
    ) -> dict[str, Any]:
        """Add the values of the first file; see `drivers.base.FileRow`."""
        self._stacks = stacks
        compiled, body = self._header.compiled, self._header.body
        self._choose(wanted)
        self._append(path, held, compiled, body)
        self._choose([key for key in wanted if key not in once])
        self._once = dict(once)
        self._expect(held)
        self._last = self.entries[META].copy()
        self._line = bytes(memoryview(held)[:body]).ljust(body, b"\n")  # the file may end in it
        self._model = None if compiled is None else self._model_of(held, body)
        self._followed = compiled
        return self._last

    def _choose(self, wanted: Collection[str]) -> None:
        """Set the variables whose values are added, by the kernel and otherwise."""
        stacks = [self._stacks.get(key) if key in wanted else None for key in self._header.keys]
        self._columns = [
            None if stack is None or key in self._marks else stack.column
            for key, stack in zip(self._header.keys, stacks, strict=True)
        ]
        self._others = [i for i, stack in enumerate(stacks) if stack is not None and self._columns[i] is None]

    def _expect(self, data: bytearray) -> None:
        """Keep the bytes of those variables that are compared with the first file."""
        header, n = self._header, len(self._header.keys)
        is_known = bool(self._once) and _is_sure(header.compiled, data, header.body)
        self._first = header.compiled if is_known else None
        self._expected: list[bytes | None] = [None] * n
        if self._first is not None:
            body = MemoryBody("", data, header.body, lends=True)
            for key, var in read_headers(header, body, self._once).items():
                end = Decoder(var, locate(var, body.size), body).end
                self._expected[header.keys.index(key)] = bytes(data[header.body + var.offset : header.body + end])

    def _model_of(self, data: bytearray, body: int) -> Model:
        """Return what the header of the next file is compared with."""
        line = bytes(memoryview(data)[:body])
        last = line.rfind(LAST_MEMBER) + len(LAST_MEMBER)
        return Model(line, last if last >= len(LAST_MEMBER) else 0, self._last)

    def take(self, path: Location, held: bytearray) -> dict[str, Any] | None:
        """Add a file; see `drivers.base.FileRow`."""
        if self._model is not None:
            own = self._model.match(held, self.entries[META])
            if own is not None:
                self._add(path, held, self._followed, self._model.body)
                return own
        if self._header.compiled is None:
            if not held.startswith(self._line):
                return None
            self._add(path, held, None, self._header.body)
            return self._last
        new = parse_usual(held, None, None, self._known)
        if new is None or new[0].keys != self._header.keys:
            self._known.clear()
            return None
        header, entries = new
        before = {key: self.entries[key] for key in entries}
        if not are_alike(before, entries, DECIDING_HERE):
            self._known.clear()
            return None
        try:
            self._add(path, held, header, header.body)
        except DsError:
            self._known.clear()
            raise
        self._last = entries.pop(META)  # which `AlikeFiles` merges
        if entries:
            del before[META]
            merge_entries(before, entries)
        missing = header.missing()
        if missing != self._missing:
            self._missing = [one or other for one, other in zip(self._missing, missing, strict=True)]
        # variables of other sizes make all headers differ, which one that was parsed shows
        is_moved = self._followed is None or not header.has_offsets_of(self._followed)
        self._model = None if is_moved else self._model_of(held, header.body)
        self._followed = header
        return self._last

    def _add(self, path: Location, data: bytearray, header: Compiled | None, body: int) -> None:
        """Add a file by a header, as of `_decode`."""
        self._append(path, data, header, body)
        if self._once:
            self._compare(path, data, header, body)

    def _append(self, path: Location, data: bytearray, header: Compiled | None, body: int) -> None:
        """Add all requested values of a file, or none."""
        try:
            arrays = self._decode(data, header, body, self._others) if self._others else {}
            left = self._append_arrays(data, header, body)
            if left:
                arrays |= self._decode(data, header, body, left)
                # of later files neither, as their values have to follow these
                self._columns = [None if i in left else column for i, column in enumerate(self._columns)]
                self._others += left
                self._append_arrays(data, header, body)
        except DsError as error:
            raise error.at(path=path)
        for key, array in arrays.items():
            self._stacks[key].append(array)

    def _append_arrays(self, data: bytearray, header: Compiled | None, body: int) -> list[int]:
        """Add the values that the kernel makes, and return no positions, or return those of others."""
        if header is not None:
            return append_arrays(header, KINDS, data, body, self._columns)
        return [i for i, column in enumerate(self._columns) if column is not None]

    def _compare(self, path: Location, data: bytearray, header: Compiled | None, body: int) -> None:
        """Compare the variables of which only the first value is kept."""
        if header is not None and self._first is not None and _is_sure(header, data, body):
            numbers = differing(self._first, self._expected, header, data, body)
        else:
            numbers = [i for i, key in enumerate(self._header.keys) if key in self._once]
        try:
            arrays = self._decode(data, header, body, numbers)
        except DsError as error:
            raise error.at(path=path)
        for key, array in arrays.items():
            if self._once[key].compare(path, array):
                del self._once[key]
                self._expected[self._header.keys.index(key)] = None

    def _decode(self, data: bytearray, found: Compiled | None, body: int, numbers: list[int]) -> dict[str, Any]:
        """Return the arrays of those variables that have data.

        Parameters
        ----------
        data : bytearray
            The whole file.
        found : Header or None
            Its header, or one that differs only in attributes of the dataset; None: that of the first file.
        body : int
            Start of its body, in bytes.
        numbers : list of int
            Positions of the variables in the header.
        """
        arrays: dict[str, Any] = {}
        if found is not None and _is_sure(found, data, body):
            keys, _ = put_arrays(found, KINDS, data, body, False, arrays, numbers) if numbers else ([], [])
        else:
            keys = [self._header.keys[i] for i in numbers]
        if keys:
            header = self._header if found is None else header_of(found)
            block = MemoryBody("", data, body, lends=True)
            for key, var in read_headers(header, block, keys).items():
                arrays[key] = decode_variable(header.version, key, var, block, strings=False)
        arrays = {
            key: array if isinstance(array, np.ndarray) and array is not np.ma.masked else as_array(array)
            for key, array in arrays.items()
            if array is not None
        }
        for key in self._marks.keys() & arrays.keys():
            self._marks[key].restore(arrays[key])
        return arrays

    def typed(self, entries: Metadata) -> Metadata:
        """Convert attributes to their NumPy types, in place."""
        drop_stored_marks(entries)
        return typed(self._header, entries)

    def missing(self) -> dict[str, bool]:
        """Return whether values may be missing in any file, for each variable."""
        return dict(zip(self._header.keys, self._missing, strict=True))


def _is_sure(header: Compiled | None, data: bytearray, body: int) -> bool:
    """Return whether the offsets of a header hold for a file, whose body starts there."""
    return header is not None and not header.is_doubtful_in(len(data) - body)


def _missing(header: Header) -> list[bool]:
    if header.compiled is not None:
        return header.compiled.missing()
    return [var is None or var.missing for var in (header.variables[key].var for key in header.keys)]


SMALL = SmallFiles(WHOLE_SIZE, lambda path, content: content, digest, from_held, DsRow)
"""The bytes of a small ds file represent it in memory."""
