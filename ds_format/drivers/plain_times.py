"""Time variables of formats that have no times of their own: numbers, with units and calendar as attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..names import unescape
from .base import Metadata
from .times import PROPERTY, as_written, blocks_as_written, is_time, time_coding


class PlainTimes:
    """What becomes of time variables: by default they stay Julian dates, known by their property `.time`.

    Parameters
    ----------
    meta : Metadata
    units, calendar : str, optional
        What to write them in; see `drivers.times.time_coding`.

    Attributes
    ----------
    meta : Metadata
        As it is written.
    """

    def __init__(self, meta: Metadata, units: str | None, calendar: str | None):
        self.meta = meta
        self._coding = time_coding(units, calendar)
        self._keys: set[str] = set()
        if not self._coding.is_julian:
            self._keys = {key for key, entry in meta.items() if key != "." and is_time(entry)}
            self.meta = as_written(meta, self._coding)
            for key in self._keys:
                # what is written are no Julian dates any more
                del self.meta[key][PROPERTY]

    def blocks(self, key: str, blocks: Iterable[Any]) -> Iterable[Any]:
        """Return the blocks of a variable as they are written.

        Raises
        ------
        UnsupportedError
            If a date has no place in the calendar, or the units are not understood.
        """
        return blocks_as_written(blocks, self._coding, unescape(key)) if key in self._keys else blocks
