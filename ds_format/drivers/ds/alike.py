"""Small files in a row whose headers differ in nothing that decides how they are merged, as one."""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Sequence
from typing import Any

import numpy as np

from ...base.dtypes import TYPES
from ...body.body import MemoryBody
from ...codec.attributes import from_json
from ...codec.decode import DTYPES
from ...codec.header import DTYPES as DTYPES_PROPERTY
from ...codec.line import KNOWN, Header, compiled, decompiled, find_end, parse
from ...dataset import META, as_array, dims
from ...errors import DsError
from ...kernels.ds.following import Model, append_numbers
from ...kernels.header.alike import are_alike, merge_entries
from ...kernels.header.header import Header as Compiled
from ...model.merge_plan import DECIDING, size_along
from ..base import Metadata
from .variables import decode_variable, read_headers, typed
from .whole import WHOLE_SIZE, digest, from_held, held

__all__ = ["WHOLE_SIZE", "AlikeFiles", "digest", "from_held", "held"]


class Column:
    """Values that are collected file by file.

    Parameters
    ----------
    type_name : str or None
        The ds type; None: it shows with the first values.
    size : sequence of int
        The shape in one file.

    Attributes
    ----------
    numbers : bytearray or None
        What plain numbers may be appended to, in native byte order; None: the values are of another type.
    """

    __slots__ = ("_dtype", "_flags", "_size", "_strings", "numbers")

    def __init__(self, type_name: str | None, size: Sequence[int]):
        ds_type = TYPES.get(type_name or "")
        self._size = size
        self._dtype = None if ds_type is None else DTYPES[ds_type.code]
        self._flags = bytearray()  # as many as there are values up to the last missing one
        self._strings: list[Any] | None = [] if ds_type is not None and ds_type.is_string else None
        self.numbers = bytearray() if self._strings is None else None

    def append(self, array: Any) -> None:
        """Append the values of a file: an array or MaskedArray, in native byte order."""
        if self._dtype is None:
            self._dtype = array.dtype
        mask = np.ma.getmask(array)
        if mask is not np.ma.nomask:
            self._flags.extend(bytes(self._count() - len(self._flags)))
            self._flags += mask.tobytes()
        values = np.ma.getdata(array)
        if self._strings is not None:
            self._strings += values.reshape(-1).tolist()
        elif self.numbers is not None:
            self.numbers += values.tobytes()

    def _count(self) -> int:
        if self._strings is not None:
            return len(self._strings)
        return len(self.numbers or b"") // (1 if self._dtype is None else self._dtype.itemsize)

    def stack(self, count: int) -> Any:
        """Return the values of `count` files as an array or MaskedArray of shape (count, *size).

        Nothing can be appended afterwards: it may be a view.
        """
        if self._strings is not None:
            values = np.empty(len(self._strings), object)
            values[:] = self._strings
        else:
            values = np.frombuffer(self.numbers or b"", self._dtype)
        shape = (count, *self._size)
        if not self._flags:
            return values.reshape(shape)
        self._flags.extend(bytes(values.size - len(self._flags)))
        return np.ma.MaskedArray(values.reshape(shape), np.frombuffer(self._flags, np.bool_).reshape(shape), copy=False)


SIZES = [ds_type.size if ds_type.is_number else 0 for ds_type in KNOWN]
"""Bytes of a number, by the numbers that kernels know the types by; 0: no number."""
DECIDING_HERE = frozenset((*DECIDING, DTYPES_PROPERTY))
"""`.dtypes`, too, so that attributes get their types once, at the end."""
LAST_MEMBER = b', ".": '
"""What stands before the attributes of the dataset, where these are the last member of a header."""


class AlikeFiles:
    """Whole small files which have the same variables, alike in all that decides how they are merged.

    What is wanted of a file is taken as it comes; then nothing is kept of it. See `drivers.small.AlikeFiles`.

    Parameters
    ----------
    path : str
        The first file.
    held : bytearray
        Its bytes.
    keys : container of str, optional
        Which variables to read; all by default.
    dim : str, optional
        Dimension along which files are joined: of variables without it those of the first file are enough.
    attributes : collection of str, optional
        Keys of attributes of the dataset of which the values of each file are wanted.

    Attributes
    ----------
    paths : list of str
    noted : list of dict
        What each file has of these attributes.

    Raises
    ------
    FormatError
        If the header is wrong, or a variable that is wanted.
    """

    def __init__(
        self,
        path: str,
        held: bytearray,
        keys: Container[str] | None = None,
        dim: str | None = None,
        attributes: Collection[str] = (),
    ):
        self.paths: list[str] = []
        self.noted: list[dict[str, Any]] = []
        self._attributes = attributes
        self._last: dict[str, Any] = {}
        """Attributes of the dataset in the file before."""
        self._last_noted: dict[str, Any] = {}
        try:
            self._header, self._meta = parse(held, find_end(held, whole=True))
        except DsError as error:
            raise error.at(path=path)
        header = self._header
        self._missing = _missing(header)
        self._first = {key: entry.copy() for key, entry in self._meta.items()}
        self._wanted = [key for key in header.keys if keys is None or key in keys]
        entries = {key: self._meta[key] for key in self._wanted}
        self._columns = {
            key: Column(entry[".type"], entry[".size"]) for key, entry in entries.items() if entry[".size"] is not None
        }
        self._choose()
        self._take(path, held, header.compiled)
        self._once: list[str] = []
        if dim is not None and size_along(entries, dim) is not None:
            self._once = [key for key in self._columns if dim not in self._dims(key)]
            self._wanted = [key for key in self._wanted if key not in self._once]
            self._choose()
        own = self._meta[META].copy()
        self._follow(held, header.compiled, own)
        self._note(own)

    def _dims(self, key: str) -> list[str]:
        return dims(key, self._meta[key], len(self._meta[key][".size"]))

    def _follow(self, data: bytearray, found: Compiled | None, own: dict[str, Any]) -> None:
        """Let the next file follow this one, whose attributes of the dataset are `own`."""
        size = self._header.body if found is None else found.body
        self._line = bytes(memoryview(data)[:size]).ljust(size, b"\n")  # the first one may end with the file
        last = self._line.rfind(LAST_MEMBER) + len(LAST_MEMBER)
        self._model = None
        if found is not None and not found.is_doubtful and not self._others:
            self._model = Model(self._line, last if last >= len(LAST_MEMBER) else 0, found, own)

    def _choose(self) -> None:
        """Set of which variables values are taken in either way."""
        rooms = {key: self._columns[key].numbers for key in self._wanted if key in self._columns}
        self._rooms = [rooms.get(key) for key in self._header.keys]
        self._others = [key for key, room in rooms.items() if room is None]

    def add(self, path: str, held: bytearray) -> bool:
        """Take one more file, if it is alike.

        Raises
        ------
        FormatError
            If it is, but damaged; then nothing of it has been taken.
        """
        if self._model is not None:
            own = self._model.take(held, SIZES, self._rooms, self._meta[META])
            if own is not None:
                self.paths.append(path)
                self._note(own)
                return True
        if self._header.compiled is None:
            if not held.startswith(self._line):
                return False
            self._take(path, held, None)
            self._note(self._last)
            return True
        new = compiled(held)
        if new is None or new[0].keys != self._header.keys:
            return False
        found, meta = new
        if not are_alike(self._meta, meta, DECIDING_HERE):
            return False
        self._take(path, held, found)
        own = meta[META]
        merge_entries(self._meta, meta)
        missing = found.missing()
        if missing != self._missing:
            self._missing = [one or other for one, other in zip(self._missing, missing, strict=True)]
        self._follow(held, found, own)
        self._note(own)
        return True

    def _note(self, own: dict[str, Any]) -> None:
        """Let the attributes of the dataset in a file override those before, and note those that are asked for."""
        if own is not self._last:
            known = self._meta[META]
            for key in self._attributes:
                if key not in own:
                    known.pop(key, None)  # a file without it does not have that of the file before
            known.update(own)
            self._last = own
            noted = {key: own[key] for key in self._attributes if key in own}
            if noted and DTYPES_PROPERTY in self._first[META]:
                noted = from_json({**noted, DTYPES_PROPERTY: self._first[META][DTYPES_PROPERTY]})
            self._last_noted = noted
        if self._attributes:
            self.noted.append(self._last_noted)

    def _take(self, path: str, data: bytearray, found: Compiled | None) -> None:
        """Take what is wanted of a file, all or nothing, by its compiled header; None: by the header of the first."""
        plain = None if found is None or found.is_doubtful else found
        try:
            arrays = self._decode(data, found, self._wanted if plain is None else self._others)
            if plain is not None and (left := append_numbers(plain, data, SIZES, self._rooms)):
                arrays.update(self._decode(data, found, [plain.keys[i] for i in left]))
                rooms = [None if i in left else room for i, room in enumerate(self._rooms)]
                append_numbers(plain, data, SIZES, rooms)
        except DsError as error:
            raise error.at(path=path)
        for key, array in arrays.items():
            self._columns[key].append(array)
        self.paths.append(path)

    def _decode(self, data: bytearray, found: Compiled | None, keys: Collection[str]) -> dict[str, Any]:
        """Return the arrays of those of the variables that have data."""
        if not keys:
            return {}
        header = self._header if found is None else decompiled(found)
        body = MemoryBody("", data, header.body, lends=True)
        variables = read_headers(header, body, keys).items()
        return {
            key: as_array(decode_variable(header.version, key, var, body, strings=False))
            for key, var in variables
            if var.size is not None
        }

    @functools.cached_property
    def meta(self) -> Metadata:
        """Of all of them, once there are no more to add."""
        typed(self._header, self._meta)
        for key, missing in zip(self._header.keys, self._missing, strict=True):
            self._meta[key][".missing"] = missing
        return self._meta

    @functools.cached_property
    def first(self) -> Metadata:
        """Of the first of them."""
        return typed(self._header, self._first)

    def read(self, key: str) -> Any:
        """Return one variable of all files, or of the first alone, as an array or MaskedArray of shape (count, *shape).

        Once, since it is given away.
        """
        return self._columns.pop(key).stack(1 if key in self._once else len(self.paths))


def _missing(header: Header) -> list[bool]:
    if header.compiled is not None:
        return header.compiled.missing()
    return [var is None or var.missing for var in (header.variables[key].var for key in header.keys)]
