"""A part of a file as a `Source` of its own: selected variables and positions, unpacked, with Julian dates."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from .. import drivers, timeaxis
from ..base import modes
from ..base.once import OnDemand, once
from ..base.text import keys_of, unescape
from ..body import Closing, Opened, path_text
from ..body.body import Body
from ..codec.decode import Strings
from ..codec.stored import Stored
from ..datasets import META, as_array, as_masked, attrs, dims
from ..drivers.base import BLOCK_SIZE, Entries, Handle, Metadata, Source, block_slices, value_size
from ..errors import DsError, UnsupportedError
from ..model import packing
from ..model.conventions import with_parents
from ..model.index import Index, as_slice, normalize, shape_of, take
from ..model.selection import ALL, Selection, resolve

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class FileObject(Protocol):
    """A file that is open for reading bytes, from which a dataset is read as from a path."""

    def read(self, size: int = ..., /) -> bytes:
        """Return bytes."""
        ...


Input = Path | FileObject | bytearray | memoryview
"""A file to read: a path, an address, an open file, or its bytes."""


def open_subset(
    path: Path,
    selection: Selection = ALL,
    *,
    unpack: bool | None = False,
    masked: bool = False,
    skip_unsupported: bool = False,
    structured: bool = False,
    format: drivers.Format | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Subset:
    """Open a part of a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    selection : Selection
        Everything by default. Julian dates are read at once. A variable that cannot be converted stays, with a warning.
    unpack : bool or None
        Unpack packed numbers on reading, and remove the attributes of packing. None unpacks where this is the
        convention of the file that they are from.
    masked : bool
        Return numbers as masked arrays if the format does so. Julian dates are never masked for this reason.
    skip_unsupported, structured : bool
        Leave out variables that the ds model cannot hold, with a warning, or read those of compound types as structured
        arrays, if the format can have such variables.
    format, reading : Format, dict, optional
        The format, instead of that of the suffix, and options of the user for it, such as `decimal`, which are checked.
    **options
        As `drivers.open_source`.

    Raises
    ------
    OSError, DriverError, FormatError
        If the file cannot be read.
    IndexError, UnsupportedError, MissingError
        As `ds_format.model.selection.resolve`.
    """
    path = drivers.located(path)
    format = drivers.find_existing(path) if format is None else format
    options |= drivers.checked_reading(format, path, reading or {})
    can_skip = "skip_unsupported" in format.options
    options["skip_unsupported"] = skip_unsupported and can_skip
    options["structured"] = structured and "structured" in format.options
    try:
        source = drivers.open_source(path, format, **options)
    except UnsupportedError as error:
        raise _told_of_skipping(error, can_skip)
    try:
        return Subset(source, path, selection, unpack, masked and format.masks, can_skip)
    except BaseException:
        source.close()
        raise


class Subset(Closing, Opened):
    """A `Source` of a part of another `Source`; see `open_subset`.

    Attributes
    ----------
    meta : Metadata
        Metadata of the selected variables, with `.dims` and `.size` of the part.
    faults : mapping
        Key → error, for variables that cannot be read.
    source : Source
        The whole file.
    can_skip : bool
        Whether the format has the option `skip_unsupported`.
    """

    asked: Collection[str] | None = None
    """Keys of the selected variables, in the order of the request; None: all. `_wanted` has the order of the file."""
    _wanted: list[str] | None = None
    _indexes: Mapping[str, tuple[Index, ...]] = MappingProxyType({})
    """Key → index, for variables of which only a part is selected."""
    _dates: Mapping[str, Any] = MappingProxyType({})
    """Julian dates of variables of time, by their keys."""

    def __init__(
        self,
        source: Source,
        path: Path,
        selection: Selection,
        unpack: bool | None,
        masked: bool = False,
        can_skip: bool = False,
    ):
        self.source = source
        self.path = path_text(path)
        self.can_skip = can_skip
        self._unpack = unpack
        self._masked = masked
        if selection.variables is not None or selection.jd or selection.has_positions:
            self._take(selection)

    def _take(self, selection: Selection) -> None:
        """Apply a selection of variables and positions."""
        try:
            sel = self._resolve(selection) if selection.has_positions else {}
            if selection.variables is not None:
                self.asked = self._found(selection.variables)
                self._wanted = [key for key in self.source.meta if key in self.asked]
            if sel:
                self._indexes = self._select(sel)
            if selection.jd:
                self._dates = self._read_dates()
        except DsError as error:
            raise error.at(path=self.path)

    @once
    def meta(self) -> Metadata:
        """Metadata of the selected variables, with `.dims` and `.size` of the part."""
        meta = {key: self._entry(key) for key in self._keys()}
        meta[META] = dict(self.source.meta.get(META, {}))
        return meta

    @property
    def entries(self) -> Entries:
        """The same as `meta`, created on access if the source does so."""
        meta = self.source.meta
        return OnDemand(meta, self._entry) if type(meta) is OnDemand and self._wanted is None else self.meta

    @once
    def faults(self) -> Mapping[str, DsError]:
        """Key → error, for selected variables that cannot be read."""
        return {key: fault for key, fault in self.source.faults.items() if self.asked is None or key in self.asked}

    @once
    def _packed(self) -> Mapping[str, Mapping[str, Any]]:
        """Key → metadata of packing, for variables that are unpacked on reading."""
        entries = packing.entries_to_unpack(self.source.meta, self._unpack)
        return (
            {key: entries[key] for key in self._keys() if key in entries and key not in self._dates} if entries else {}
        )

    def _keys(self) -> list[str]:
        """Return the keys of the selected variables, in the order of the file."""
        return [key for key in self.source.meta if key != META] if self._wanted is None else self._wanted

    def _found(self, variables: str | Iterable[str]) -> dict[str, None]:
        """Return the keys of the named variables that exist."""
        say_missing(self.path, wanted := keys_of(variables), self.source.meta)
        return {key: None for key in wanted if key != META and key in self.source.meta}

    def _select(self, sel: Mapping[str, Any]) -> dict[str, tuple[Index, ...]]:
        """Return the index of each variable that has a dimension with a selector."""
        indexes = {}
        for key in self._keys():
            entry = self.source.meta[key]
            size = entry.get(".size")
            names = dims(key, entry, len(size or ()))
            if size is None or sel.keys().isdisjoint(names):
                continue
            try:
                indexes[key] = normalize(tuple(sel.get(name, slice(None)) for name in names), size, names)
            except IndexError as error:
                raise IndexError(f'{self.path}: variable "{unescape(key)}": {error}') from None
        return indexes

    def _read_dates(self) -> dict[str, Any]:
        """Return the Julian dates of each variable of time."""
        dates = {}
        for key in self._keys():
            found = self._julian(key, self._indexes.get(key))
            if found is not None:
                dates[key] = found
        return dates

    def _entry(self, key: str) -> dict[str, Any]:
        """Return the metadata of a variable of the part."""
        entry = dict(self.source.meta[key])
        index = self._indexes.get(key)
        if index is not None:
            names = dims(key, entry, len(index))
            entry[".dims"] = [name for name, item in zip(names, index, strict=True) if not isinstance(item, int)]
            entry[".size"] = list(shape_of(index))
        if key in self._dates:
            return _julian_meta(entry)
        return packing.unpacked_meta({**self._packed[key], **entry}) if key in self._packed else entry

    def _resolve(self, selection: Selection) -> dict[str, Any]:
        """Return one index per dimension. `at` and `between` are compared with Julian dates, if times become these.

        Text stays a date of the file's calendar.
        """
        meta, dates = {**self.source.meta}, {}
        if selection.jd:
            for key in keys_of([*(selection.at or ()), *(selection.between or ())]):
                if key in self.source.meta and (found := self._julian(key, None)) is not None:
                    entry = with_parents(self.source.meta)[key]
                    own = timeaxis.dated_julian(entry["units"], entry.get("calendar"))
                    meta[key], dates[key] = {**_julian_meta(meta[key]), **own}, found

        def values(key: str) -> Any:
            return dates[key] if key in dates else self.source.read(key)

        return resolve(selection, meta, values, self.path)

    def _julian(self, key: str, index: tuple[Index, ...] | None) -> Any:
        """Read a variable as Julian dates. Return None if it is not a time, or cannot be converted."""
        entry = with_parents(self.source.meta)[key]
        attributes = attrs(entry)
        if entry.get(".size") is None or not timeaxis.claims_time(attributes):
            return None
        values = self.source.read(key, index)
        try:
            plain = packing.unpack(values, entry) if _is_packed(entry) else values
            return timeaxis.to_julian(plain, attributes["units"], attributes.get("calendar"))
        except UnsupportedError as error:
            warnings.warn(f"{error.at(path=self.path, variable=unescape(key))}; it stays as it is", stacklevel=6)
            return None

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable of the part, or a part of that."""
        if name in self._dates:
            part = self._dates[name] if index is None else take(as_array(self._dates[name]), index)
            return part if np.ndim(part) or isinstance(part, np.ma.MaskedArray) else part[()]
        values = self.source.read(name, self._index_of(name, index))
        if name in self._packed:
            values = packing.unpack(values, self._packed[name])
        return as_masked(values) if self._masked else values

    def read_strings(self, name: str) -> Strings | None:
        """Return the bytes of a variable of strings; None if only a part is selected, or the source has none."""
        find = None if name in self._indexes else getattr(self.source, "read_strings", None)
        return None if find is None else find(name)

    def announce(self, reads: Mapping[str, tuple[Any, ...] | None]) -> None:
        """Announce variables, or parts of them, that will be read: if the file is far, their bytes come together.

        Parameters
        ----------
        reads : dict
            Key → index, as for `read`.
        """
        if hasattr(self.source, "announce"):
            stored = {key: index for key, index in reads.items() if key not in self._dates}
            self.source.announce({key: self._index_of(key, index) for key, index in stored.items()})

    def _index_of(self, name: str, index: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """Convert an index into the part to an index into the whole variable."""
        chosen = self._indexes.get(name)
        if chosen is None or index is None:
            return index if chosen is None else chosen
        parts = iter(index)
        return tuple(item if isinstance(item, int) else _pick(item, next(parts)) for item in chosen)

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable of the part as consecutive blocks of full rank."""
        blocks = self._stored_blocks(name, budget)
        if name in self._packed:
            blocks = map(partial(packing.unpack, attrs=self._packed[name]), blocks)
        return map(as_masked, blocks) if self._masked and name not in self._dates else blocks

    def _stored_blocks(self, name: str, budget: int) -> Iterator[Any]:
        if name in self._dates:
            dates = as_array(self._dates[name])
            if dates.size:
                yield dates
            return
        chosen = self._indexes.get(name)
        if chosen is None:
            stored, read = item_size(self.source.meta[name]), item_size(self.meta[name])
            yield from self.source.blocks(name, max(budget * stored // read, 1))
            return
        for block in block_slices(shape_of(chosen), item_size(self.meta[name]), budget):
            parts = iter(block)
            index = tuple(item if isinstance(item, int) else item[next(parts)] for item in chosen)
            yield as_array(self.source.read(name, index))

    def stored(self, name: str) -> Stored | None:
        """Return where and how a variable is stored, if all of it is selected and its format has this information."""
        changed = name in self._dates or name in self._packed or name in self._indexes
        if changed or not hasattr(self.source, "stored"):
            return None
        stored: Stored | None = self.source.stored(name)
        return stored

    def section(self, stored: Stored) -> Body:
        """Return the bytes of a variable in the file, as `stored` returned it."""
        section: Body = self.source.section(stored)  # type: ignore[attr-defined]
        return section

    def handle(self, name: str) -> Handle:
        """Return a picklable reference to a variable; see `Source.handle`.

        Raises
        ------
        UnsupportedError
            If only a part of the variable is selected, or values are changed on reading.
        """
        if name in self._dates or name in self._packed or name in self._indexes:
            message = "only whole variables have a handle, with values as they are stored: open it with unpack=False"
            raise UnsupportedError(message, path=self.path, variable=unescape(name))
        return self.source.handle(name)

    def part(self, selection: Selection) -> Subset:
        """Return a part of this part. It can be used until this one is closed. Errors are those of `open_subset`."""
        return Subset(self, self.path, selection, False, can_skip=self.can_skip)

    @contextlib.contextmanager
    def telling_of_skipping(self) -> Iterator[None]:
        """Add to an `UnsupportedError` how to leave the variable out."""
        try:
            yield
        except UnsupportedError as error:
            raise _told_of_skipping(error, self.can_skip)

    def close(self) -> None:
        """Close the file."""
        self.source.close()


SKIPPING = "; `--skip-unsupported` leaves it out (in Python `skip_unsupported=True`)"


def _told_of_skipping(error: UnsupportedError, can_skip: bool) -> UnsupportedError:
    """Return the error with a hint how to leave the variable out, if the format can do so."""
    if can_skip and SKIPPING not in error.message:
        error.message += SKIPPING
    return error


JULIAN = {".time": True, ".type": "float64", "units": timeaxis.JD_UNITS, "calendar": timeaxis.JD_CALENDAR}
"""Metadata of a variable of Julian dates (ds-format documentation 5.0, time variables)."""


def _is_packed(entry: Mapping[str, Any]) -> bool:
    return packing.is_packed(entry, entry.get(".type"))


def _julian_meta(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**(packing.unpacked_meta(entry) if _is_packed(entry) else entry), **JULIAN}


def _pick(item: Any, wanted: Any) -> Any:
    """Select from the positions of one item of an index."""
    if isinstance(item, range) and isinstance(wanted, np.ndarray):
        return item.start + item.step * wanted
    if isinstance(wanted, range):
        if isinstance(item, range):
            return item[as_slice(wanted)]
        return item[np.array(wanted, np.int64)]
    return int(item[wanted]) if isinstance(wanted, int) else item[wanted]


def say_missing(path: Path, keys: Iterable[str], found: Mapping[str, Any]) -> None:
    """Report keys that a file does not have, as the mode demands: silently, as a warning, or as an error."""
    for key in keys:
        if key not in found or key == META:
            name, known = unescape(key), [unescape(other) for other in found if other != META]
            modes.missing(f'variable "{name}" not found', path=path_text(path), meant=(name, known))


def item_size(entry: Mapping[str, Any]) -> int:
    """Return the size of one value in memory, in bytes; an estimate for strings."""
    return value_size(entry.get(".type"))


def memory_size(entry: Mapping[str, Any]) -> int:
    """Return the size of a variable in memory, in bytes; an estimate for strings."""
    return item_size(entry) * math.prod(entry.get(".size") or ())
