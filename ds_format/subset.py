"""A part of a file, seen as a file: some variables, some positions along dimensions, as Julian dates and unpacked."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from . import drivers, modes, packing, timeaxis
from .dataset import META, as_array, as_masked, attrs, dims
from .drivers.base import BLOCK_SIZE, Metadata, Source, StoredNumbers, block_slices
from .dtypes import TYPES
from .errors import DsError, UnsupportedError
from .names import escape, unescape
from .opened import Opened
from .selection import Index, as_slice, normalize, resolve, shape_of, take

STRING_SIZE = 128
"""Bytes of memory that a string is reckoned to take."""
Selector = Mapping[str, Any] | None
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def open_subset(
    path: Path,
    variables: str | Iterable[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    range_: Mapping[str, Any] | None = None,
    at: Mapping[str, Any] | None = None,
    between: Mapping[str, Any] | None = None,
    jd: bool = False,
    *,
    unpack: bool | None = False,
    masked: bool = False,
    skip_unsupported: bool = False,
    **options: Any,
) -> Subset:
    """Open a part of a file.

    Parameters
    ----------
    path : str, bytes or PathLike
    variables : str or iterable of str, optional
        Names; all by default.
    sel, range_, at, between
        As `ds_format.selection.resolve`.
    jd : bool
        Whether variables of time become Julian dates. These are read at once; one that cannot be converted stays as it
        is, with a warning.
    unpack : bool or None
        Whether packed numbers become what they stand for when they are read. The attributes that tell of packing leave.
        None: where that is the convention of the file which they are from.
    masked : bool
        Whether numbers are masked arrays where the driver says that this is expected; Julian dates are not.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, where the driver knows such.
    **options
        As `drivers.open_source`.

    Raises
    ------
    OSError, DriverError, FormatError
        If the file cannot be read.
    IndexError, UnsupportedError, MissingError
        As `ds_format.selection.resolve`.
    """
    driver = options.pop("driver", None) or drivers.find_existing(path)
    can_skip = "skip_unsupported" in driver.options
    with _telling_of_skipping(can_skip):
        source = drivers.open_source(path, driver, skip_unsupported=skip_unsupported and can_skip, **options)
    try:
        selectors = (sel, range_, at, between)
        return Subset(source, path, variables, selectors, jd, unpack, masked and driver.masks, can_skip)
    except BaseException:
        source.close()
        raise


class Subset(Opened):
    """A `Source` of a part of another; see `open_subset`.

    Attributes
    ----------
    meta : Metadata
        Of the variables that are wanted, with `.dims` and `.size` of the part.
    faults : mapping
        Why one of them cannot be had, by its key.
    source : Source
        The whole.
    can_skip : bool
        Whether the driver knows `skip_unsupported`.
    """

    def __init__(
        self,
        source: Source,
        path: Path,
        variables: str | Iterable[str] | None,
        selectors: tuple[Selector, Selector, Selector, Selector],
        jd: bool,
        unpack: bool | None,
        masked: bool = False,
        can_skip: bool = False,
    ):
        self.source = source
        self.path = os.fsdecode(path)
        self.meta: Metadata = {}
        self._indexes: dict[str, tuple[Index, ...] | None] = {}
        self._dates: dict[str, Any] = {}
        self._packed: set[str] = set()
        self._masked = masked
        self.can_skip = can_skip
        try:
            self._take(variables, selectors, jd, unpack)
        except DsError as error:
            raise error.at(path=self.path)
        self.faults = {key: fault for key, fault in source.faults.items() if key in self.meta}

    def _take(
        self,
        variables: str | Iterable[str] | None,
        selectors: tuple[Selector, Selector, Selector, Selector],
        jd: bool,
        unpack: bool | None,
    ) -> None:
        """Find out what is wanted of which variables."""
        sel = self._resolve(selectors, jd) if any(selectors) else {}
        for key in self._keys(variables):
            index, self.meta[key] = self._select(key, sel)
            self._indexes[key] = index
            if jd and (dates := self._julian(key, index)) is not None:
                self._dates[key] = dates
                self.meta[key] = _julian_meta(self.meta[key])
            elif packing.is_unpacked_by(unpack, self.meta[key]):
                self._packed.add(key)
                self.meta[key] = packing.unpacked_meta(self.meta[key])
        self.meta[META] = dict(self.source.meta.get(META, {}))

    def _keys(self, variables: str | Iterable[str] | None) -> list[str]:
        every = [key for key in self.source.meta if key != META]
        if variables is None:
            return every
        wanted = keys_of(variables)
        say_missing(self.path, wanted, self.source.meta)
        return [key for key in every if key in wanted]

    def _select(self, key: str, sel: Mapping[str, Any]) -> tuple[tuple[Index, ...] | None, dict[str, Any]]:
        """Return the index of a variable, None for the whole of it, and the metadata of what it selects."""
        entry = self.source.meta[key]
        size = entry.get(".size")
        names = dims(key, entry, len(size or ()))
        if size is None or sel.keys().isdisjoint(names):
            return None, dict(entry)
        try:
            index = normalize(tuple(sel.get(name, slice(None)) for name in names), size, names)
        except IndexError as error:
            raise IndexError(f'{self.path}: variable "{unescape(key)}": {error}') from None
        kept = [name for name, item in zip(names, index, strict=True) if not isinstance(item, int)]
        return index, {**entry, ".dims": kept, ".size": list(shape_of(index))}

    def _resolve(self, selectors: tuple[Selector, Selector, Selector, Selector], jd: bool) -> dict[str, Any]:
        """Return one index per dimension; values are looked for among Julian dates, if these are wanted."""
        dates = {}
        if jd:
            for key in keys_of([*(selectors[2] or ()), *(selectors[3] or ())]):
                if key in self.source.meta and (found := self._julian(key, None)) is not None:
                    dates[key] = found
        meta = {key: _julian_meta(entry) if key in dates else entry for key, entry in self.source.meta.items()}

        def values(key: str) -> Any:
            return dates[key] if key in dates else self.source.read(key)

        return resolve(*selectors, meta, values, self.path)

    def _julian(self, key: str, index: tuple[Index, ...] | None) -> Any:
        """Read a variable as Julian dates; None if it is no time, or one that cannot be converted."""
        entry = self.source.meta[key]
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
            values = packing.unpack(values, self.source.meta[name])
        return as_masked(values) if self._masked else values

    def _index_of(self, name: str, index: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """Return the index into the whole of an index into the part."""
        chosen = self._indexes[name]
        if chosen is None or index is None:
            return index if chosen is None else chosen
        parts = iter(index)
        return tuple(item if isinstance(item, int) else _pick(item, next(parts)) for item in chosen)

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable of the part as consecutive blocks of full rank."""
        blocks = self._stored_blocks(name, budget)
        if name in self._packed:
            blocks = map(partial(packing.unpack, attrs=self.source.meta[name]), blocks)
        return map(as_masked, blocks) if self._masked and name not in self._dates else blocks

    def _stored_blocks(self, name: str, budget: int) -> Iterator[Any]:
        if name in self._dates:
            dates = as_array(self._dates[name])
            if dates.size:
                yield dates
            return
        chosen = self._indexes[name]
        if chosen is None:
            stored, read = item_size(self.source.meta[name]), item_size(self.meta[name])
            yield from self.source.blocks(name, max(budget * stored // read, 1))
            return
        for block in block_slices(shape_of(chosen), item_size(self.meta[name]), budget):
            parts = iter(block)
            index = tuple(item if isinstance(item, int) else item[next(parts)] for item in chosen)
            yield as_array(self.source.read(name, index))

    def stored(self, name: str) -> StoredNumbers | None:
        """Return where a variable lies in the file, if all of it is wanted, and the driver can tell."""
        changed = name in self._dates or name in self._packed or self._indexes[name] is not None
        if changed or not hasattr(self.source, "stored"):
            return None
        place: StoredNumbers | None = self.source.stored(name)
        return place

    def part(
        self,
        variables: str | Iterable[str] | None,
        sel: Selector = None,
        range_: Selector = None,
        at: Selector = None,
        between: Selector = None,
        jd: bool = False,
    ) -> Subset:
        """Return a part of this one; parameters and errors as `open_subset`. It is open as long as this one is."""
        return Subset(self, self.path, variables, (sel, range_, at, between), jd, False, can_skip=self.can_skip)

    def telling_of_skipping(self) -> contextlib.AbstractContextManager[None]:
        """Add to errors about what ds cannot hold how to leave it out."""
        return _telling_of_skipping(self.can_skip)

    def close(self) -> None:
        """Release the file."""
        self.source.close()

    def __enter__(self) -> Subset:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


SKIPPING = "; `--skip-unsupported` leaves it out (in Python `skip_unsupported=True`)"


@contextlib.contextmanager
def _telling_of_skipping(can_skip: bool) -> Iterator[None]:
    try:
        yield
    except UnsupportedError as error:
        if can_skip and SKIPPING not in error.message:
            error.message += SKIPPING
        raise


JULIAN = {".time": True, ".type": "float64", "units": timeaxis.JD_UNITS, "calendar": timeaxis.JD_CALENDAR}
"""Metadata of a variable of Julian dates (ds-format documentation 5.0, time variables)."""


def _is_packed(entry: Mapping[str, Any]) -> bool:
    return packing.is_packed(entry, entry.get(".type"))


def _julian_meta(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**(packing.unpacked_meta(entry) if _is_packed(entry) else entry), **JULIAN}


def _pick(item: Any, wanted: Any) -> Any:
    """Return the positions of one item of an index that an index into these selects."""
    if isinstance(item, range) and isinstance(wanted, np.ndarray):
        return item.start + item.step * wanted
    if isinstance(wanted, range):
        if isinstance(item, range):
            return item[as_slice(wanted)]
        return item[np.array(wanted, np.int64)]
    return int(item[wanted]) if isinstance(wanted, int) else item[wanted]


def keys_of(variables: str | Iterable[str]) -> dict[str, None]:
    """Return the keys of variables, each once, in their order."""
    if isinstance(variables, str):
        return {escape(variables): None}
    return dict.fromkeys(map(escape, variables))


def say_missing(path: Path, keys: Iterable[str], found: Mapping[str, Any]) -> None:
    """Say by the mode which keys are not among those of a file."""
    for key in keys:
        if key not in found or key == META:
            name, known = unescape(key), [unescape(other) for other in found if other != META]
            modes.missing(f'variable "{name}" not found', path=os.fsdecode(path), meant=(name, known))


def item_size(entry: Mapping[str, Any]) -> int:
    """Return the bytes of memory that one value of a variable takes, or is reckoned to."""
    ds_type = TYPES.get(entry.get(".type") or "")
    return 8 if ds_type is None else STRING_SIZE if ds_type.is_string else max(ds_type.size, 1)
