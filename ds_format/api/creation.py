"""Create a file of any format: check its options, and encode values as the format can store them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from .. import drivers
from ..base.dtypes import TYPES
from ..base.text import unescape
from ..body import path_text
from ..datasets import META, as_array, attrs
from ..drivers.base import BLOCK_SIZE, Entries, Metadata, Sink, block_slices
from ..errors import DriverError, DsError, UnsupportedError
from ..model import packing
from ..model.conventions import parents_bounds, with_parents
from ..model.missing import VALUE_ATTRIBUTES
from ..timeaxis import JD_CALENDAR, JD_UNITS, claims_time, from_julian, to_iso
from ..timeaxis.units import decode
from ..views.subset import Path

CODED = ("times", "time_units", "calendar", "widen")
"""Options for the encoding of values. They are not passed to the format."""
WIDER = {"float16": "float32"}
"""Types that some programs lack, and those that hold their values."""
OF_TEXT = ("standard", "proleptic_gregorian", "tai")
"""Calendars in which readers of text expect present dates. Text of any other one keeps the attribute."""


@contextlib.contextmanager
def created(
    path: Path, meta: Metadata, known: drivers.Format | None = None, *, whole: Entries | None = None, **options: Any
) -> Iterator[Sink]:
    """Create a file. It is complete after the block, and is not created if the block raises; see `create_sink`."""
    sink = create_sink(path, meta, known, whole=whole, **options)
    try:
        yield sink
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def create_sink(
    path: Path, meta: Metadata, known: drivers.Format | None = None, *, whole: Entries | None = None, **options: Any
) -> Sink:
    """Create a file to write to.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Metadata of the dataset. Variables of time, those with `.time: true`, are written as Julian dates.
    known : Format, optional
        The format, instead of that of the suffix.
    whole : Entries, optional
        See `Coding`.
    **options
        `time_units` and `calendar`, as in CF: units and calendar for variables of time. By default these are Julian
        dates in the proleptic Gregorian calendar. `times="iso"` writes all times as text in ISO 8601. `widen=True`
        writes float16 as float32. All other options are passed to the format.

    Raises
    ------
    OSError
        If the file cannot be created.
    DriverError
        If the suffix is unknown, or the format does not have an option.
    UnsupportedError
        If the format cannot hold the dataset.
    """
    path = drivers.located(path)
    known = drivers.find_output(path, options) if known is None else known
    given = drivers.creation_options(known, path, options)
    how = {name: given.pop(name) for name in CODED if name in given}
    if given.get("excel"):
        how["excel"] = given.get("decimal", ".")
    try:
        coding = Coding(meta, known, whole, **how)
    except DsError as error:
        raise error.at(path=path_text(path))
    for fault in coding.unclear:
        warnings.warn(f"{fault.at(path=path_text(path))}; it stays as it is", stacklevel=5)
    sink = drivers.load(known).create(path, coding.meta, **given)
    return _CodedSink(sink, coding, path_text(path)) if coding.steps else sink


class Coding:
    """The encoding of variables for a format: unpacking, if the format cannot store the scale, and times.

    Parameters
    ----------
    meta : Metadata
        Metadata of the variables.
    format : Format
    whole : Entries, optional
        Metadata of the file that they are a part of. Bounds have packing, units and calendar from their coordinate,
        even if the part does not include it.
    times, time_units, calendar, widen : str or bool, optional
        As `create_sink`.
    excel : str, optional
        The character before fractions of seconds in times that Excel takes for times. They are text unless there are
        `time_units` or a `calendar`.

    Attributes
    ----------
    meta : Metadata
        Metadata of the variables as they are stored.
    steps : dict
        Key → the functions that are applied to blocks of a variable, one after another.
    unclear : list of DsError
        Reasons why times are not written as text.

    Raises
    ------
    DriverError
        If the options contradict each other.
    """

    def __init__(
        self,
        meta: Metadata,
        format: drivers.Format,
        whole: Entries | None = None,
        *,
        times: str | None = None,
        time_units: str | None = None,
        calendar: str | None = None,
        widen: bool | None = None,
        excel: str | None = None,
    ):
        self.meta = meta
        self.steps: dict[str, list[Callable[[Any], Any]]] = {}
        self.unclear: list[DsError] = []
        if format.unpack is not False:
            unpack = packing.unpack_decimal if format.is_table else packing.unpack
            for key, entry in packing.entries_to_unpack({**(whole or {}), **meta}, format.unpack).items():
                if key in meta:
                    self._add(key, packing.unpacked_meta(entry), partial(unpack, attrs=entry))
        if times is not None:
            check_times(times, time_units, calendar)
        if times is not None or (excel and time_units is None and calendar is None):
            self._write_as_text(whole or {}, str.maketrans("T.", f" {excel}") if excel else {})
        else:
            self._write_as_numbers(format, time_units or JD_UNITS, calendar or JD_CALENDAR)
        if widen:
            self._widen()

    def blocks(self, key: str, blocks: Iterable[Any], path: str | None = None) -> Iterator[Any]:
        """Yield blocks of a variable as they are stored.

        Parameters
        ----------
        key : str
        blocks : iterable
        path : str, optional
            The file, for messages.

        Raises
        ------
        DsError
            If values cannot be encoded. The message names the variable.
        """
        steps = self.steps.get(key, ())
        for block in _cut(blocks, self.meta[key]) if steps else blocks:
            try:
                for step in steps:
                    block = step(block)
            except DsError as error:
                raise error.at(path=path, variable=unescape(key))
            yield block

    def _add(self, key: str, entry: dict[str, Any], step: Callable[[Any], Any]) -> None:
        self.meta = {**self.meta, key: entry}
        self.steps.setdefault(key, []).append(step)

    def _julian(self) -> set[str]:
        """Return the keys of variables that are Julian dates, and of their bounds."""
        meta = self.meta
        times = {key for key, entry in meta.items() if key != META and entry.get(".time") is True}
        bounds = {key for parent in times for key in parents_bounds(meta[parent]) if key in meta and key != META}
        return times | {key for key in bounds if meta[key].get("units") is None and meta[key].get(".size") is not None}

    def _write_as_numbers(self, format: drivers.Format, units: str, calendar: str) -> None:
        is_julian = (units, calendar) == (JD_UNITS, JD_CALENDAR)
        if is_julian and not format.dates:
            return
        for key in self._julian():
            entry = dict(self.meta[key])
            if ".time" in entry:  # the units and calendar of bounds are those of their coordinate
                entry |= {"units": units, "calendar": calendar}
            if is_julian:
                self.meta = {**self.meta, key: entry}
                continue
            entry.pop(".time", None)
            self._add(key, {**entry, ".type": "float64"}, partial(_counted, units=units, calendar=calendar))

    def _write_as_text(self, whole: Entries, marks: Mapping[int, int]) -> None:
        julian = self._julian()
        parents = with_parents({**whole, **self.meta})
        for key, entry in list(self.meta.items()):
            ds_type = TYPES.get(entry.get(".type") or "")
            if key == META or entry.get(".size") is None or ds_type is None or ds_type.code[0] not in "iuf":
                continue
            attributes = attrs(parents[key])
            units, calendar = attributes.get("units"), attributes.get("calendar")
            if key in julian:
                units, calendar = JD_UNITS, JD_CALENDAR
            elif not claims_time(attributes):
                continue
            try:
                axis = decode(units, calendar)
            except UnsupportedError as error:
                self.unclear.append(error.at(variable=unescape(key)))
                continue
            dropped = {"units", ".time", *packing.OF_PACKED}
            if axis.calendar in OF_TEXT:
                dropped.add("calendar")
            stored = {name: value for name, value in entry.items() if name not in dropped}
            stored[".type"] = "unicode"
            if ds_type.code[0] == "f":
                stored[".missing"] = True  # NaN is no time
            self._add(key, stored, partial(_iso, units=units, calendar=calendar, marks=marks))

    def _widen(self) -> None:
        for key, entry in self.meta.items():
            name = WIDER.get(entry.get(".type") or "")
            if name is not None and entry.get(".size") is not None:
                widened = partial(_widened, dtype=np.dtype(TYPES[name].code))
                attributes = {each: widened(entry[each]) for each in VALUE_ATTRIBUTES if each in entry}
                self._add(key, {**entry, **attributes, ".type": name}, widened)


def check_times(times: str, time_units: str | None = None, calendar: str | None = None) -> None:
    """Check the options for the encoding of times.

    Raises
    ------
    DriverError
        If they contradict each other, or `times` is not supported.
    """
    if times != "iso":
        raise DriverError(f'times: found {times!r}, expected "iso"')
    if time_units is not None or calendar is not None:
        raise DriverError('times: "iso" writes text, which has no units: leave out time_units and calendar')


def _cut(blocks: Iterable[Any], entry: Mapping[str, Any]) -> Iterator[Any]:
    """Yield blocks of numbers in parts that, in the type of the metadata, are at most as large as a block."""
    size = TYPES[entry[".type"]].size
    for block in blocks:
        if block.size * size <= BLOCK_SIZE or entry[".type"] == "unicode":
            yield block
        else:
            yield from (block[slices] for slices in block_slices(block.shape, size, BLOCK_SIZE))


def _counted(block: Any, units: str, calendar: str) -> Any:
    """Return Julian dates (days) in other units. Masks are kept."""
    if np.asarray(np.ma.getdata(block)).dtype.kind not in "fiu":
        raise UnsupportedError("found values that are no numbers, expected Julian dates")
    return from_julian(block, units, calendar)


def _widened(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return floats of NumPy in a wider type, and anything else as it is. Masks are kept."""
    return value.astype(dtype) if isinstance(value, (np.floating, np.ndarray)) and value.dtype.kind == "f" else value


def _iso(block: Any, units: Any, calendar: Any, marks: Mapping[int, int]) -> Any:
    """Return times as text, with other characters for some; missing values and NaN are masked."""
    array = as_array(block)
    texts = to_iso(array.reshape(-1), units, calendar, fractions=True)
    if marks:
        data = np.ma.getdata(texts)
        data[:] = [text.translate(marks) for text in data]
    return texts.reshape(array.shape)


class _CodedSink:
    """A Sink that encodes the variables before it writes them."""

    def __init__(self, sink: Sink, coding: Coding, path: str):
        self._sink = sink
        self._coding = coding
        self._path = path
        self.commit = sink.commit
        self.abort = sink.abort

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """See `Sink.write`."""
        is_coded = name in self._coding.steps
        self._sink.write(name, self._coding.blocks(name, blocks, self._path) if is_coded else blocks)
