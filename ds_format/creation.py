"""A file of any format being written: its options are checked, and times become what they ask for, here for all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import drivers
from .conventions import parents_bounds
from .drivers.base import Metadata, Sink
from .errors import DsError, UnsupportedError
from .names import unescape
from .subset import Path
from .timeaxis import JD_CALENDAR, JD_UNITS, from_julian


@contextlib.contextmanager
def created(path: Path, meta: Metadata, driver: drivers.Driver | None = None, **options: Any) -> Iterator[Sink]:
    """Create a file that is whole after the block, and absent if that raises; see `create_sink`."""
    sink = create_sink(path, meta, driver, **options)
    try:
        yield sink
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def create_sink(path: Path, meta: Metadata, driver: drivers.Driver | None = None, **options: Any) -> Sink:
    """Create a file to write to.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Of the dataset. Variables of time, those with a true `.time`, are given as Julian dates.
    driver : Driver, optional
        Instead of the one that the suffix tells.
    **options
        `time_units` and `calendar`, as in CF: what variables of time are written in, by default Julian dates in the
        proleptic Gregorian calendar. The others go to the driver.

    Raises
    ------
    OSError
        If the file cannot be created.
    DriverError
        If there is no driver, or the format has no such option.
    UnsupportedError
        If the format cannot hold the dataset.
    """
    driver = drivers.find(path) if driver is None else driver
    given = drivers.creation_options(driver, path, options)
    units, calendar = given.pop("time_units", JD_UNITS), given.pop("calendar", JD_CALENDAR)
    create = drivers.load(driver).create
    is_julian = (units, calendar) == (JD_UNITS, JD_CALENDAR)
    times = {key for key, entry in meta.items() if key != "." and entry.get(".time") is True}
    bounds = {key for parent in times for key in parents_bounds(meta[parent]) if key in meta and key != "."} - times
    times |= {key for key in bounds if meta[key].get("units") is None and meta[key].get(".size") is not None}
    if not times or (is_julian and not driver.dates):
        sink: Sink = create(path, meta, **given)
        return sink
    meta = {**meta, **{key: _as_written(meta[key], units, calendar, is_julian=is_julian) for key in times}}
    sink = create(path, meta, **given)
    return sink if is_julian else _TimeSink(sink, times, units, calendar, os.fsdecode(path))


def _as_written(entry: Mapping[str, Any], units: str, calendar: str, *, is_julian: bool) -> dict[str, Any]:
    """Return the metadata of a variable of time as a file has them."""
    written = {**entry, "units": units, "calendar": calendar}
    if ".time" not in entry:  # bounds, whose units and calendar are those of their coordinate
        written = dict(entry)
    if not is_julian:
        written.pop(".time", None)
        written[".type"] = "float64"
    return written


class _TimeSink:
    """A Sink that takes Julian dates, of a file that counts time in another way."""

    def __init__(self, sink: Sink, times: set[str], units: str, calendar: str, path: str):
        self._sink = sink
        self._times = times
        self._coding = (units, calendar)
        self._path = path
        self.commit = sink.commit
        self.abort = sink.abort

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """See `Sink.write`."""
        self._sink.write(name, self._coded(name, blocks) if name in self._times else blocks)

    def _coded(self, name: str, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield Julian dates (days) in the units of the file; masks stay."""
        for block in blocks:
            try:
                if np.asarray(np.ma.getdata(block)).dtype.kind not in "fiu":
                    raise UnsupportedError("found values that are no numbers, expected Julian dates")
                yield from_julian(block, *self._coding)
            except DsError as error:
                raise error.at(path=self._path, variable=unescape(name))
