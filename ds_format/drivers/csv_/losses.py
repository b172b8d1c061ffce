"""What of a dataset a CSV file does not hold, for one warning at its end."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...base.names import unescape
from ...codec.header import DTYPES, PRIVATE
from ...timeaxis import JD_CALENDAR, JD_UNITS, claims_time
from ..base import Metadata
from ..sink import count_payloads
from .source import DIMENSION

SHOWN = 5
"""Names in a list of them."""
TECHNICAL = PRIVATE | {".dims", ".size", ".type", ".netcdf", ".hdf5", DTYPES}
"""Properties that are no loss by themselves."""


class Losses:
    """What is lost, collected while variables are written."""

    def __init__(self, meta: Metadata):
        self._attributes = [_quoted(key) for key in meta if key != "." and not TECHNICAL.issuperset(meta[key])]
        if not TECHNICAL.issuperset(meta.get(".", {})):
            self._attributes.insert(0, "the dataset")
        self._times = [text for key in meta if key != "." and (text := _time(key, meta[key]))]
        dims = [dim for key in meta if key != "." for dim in meta[key].get(".dims") or ()]
        self._dims = [f'"{dim}"' for dim in dict.fromkeys(dims) if dim != DIMENSION]
        self._types: list[str] = []
        self._payloads: dict[str, None] = {}
        self._empty: dict[str, None] = {}
        self._long: dict[str, None] = {}

    def add_type(self, key: str, written: str, read: str) -> None:
        """Take note of the type of a variable, and the one that its cells tell."""
        if read != written:
            self._types.append(f"{_quoted(key)} read as {read} instead of {written}")

    def add_numbers(self, key: str, array: Any) -> None:
        """Take note of NaN that become the usual one."""
        if count_payloads(array):
            self._payloads[_quoted(key)] = None

    def add_texts(self, key: str, array: Any, cells: list[str]) -> None:
        """Take note of texts that do not come back."""
        if cells.count("") > np.count_nonzero(np.ma.getmaskarray(array)):
            self._empty[_quoted(key)] = None
        if max(map(len, cells), default=0) > csv.field_size_limit():
            self._long[_quoted(key)] = None

    def message(self) -> str:
        """Return what is lost in one line; empty if nothing is."""
        out = []
        if self._times:
            told = '`times: iso`, in Python `times="iso"`, writes dates'
            out.append(f"units of times ({_listed(self._times)}; {told})")
        if self._attributes:
            out.append(f"attributes (of {_listed(self._attributes)})")
        if self._dims:
            out.append(f'names of dimensions ({_listed(self._dims)}, read as "{DIMENSION}")')
        if self._types:
            out.append(f"types ({_listed(self._types)})")
        if self._payloads:
            out.append(f"payloads of NaN (of {_listed(self._payloads)})")
        if self._empty:
            out.append(f"empty texts (of {_listed(self._empty)}, read as missing)")
        if self._long:
            out.append(f"texts of more than {csv.field_size_limit()} characters (of {_listed(self._long)}, not read)")
        return f"CSV cannot hold {'; '.join(out)}" if out else ""


def _time(key: str, entry: Mapping[str, Any]) -> str:
    """Return the name of a variable of time with its units and calendar. Empty for other variables."""
    calendar = entry.get("calendar")
    if entry.get(".time") is True:
        units, calendar = JD_UNITS, JD_CALENDAR
    elif claims_time(entry):
        units = entry["units"]
    else:
        return ""
    return f"{_quoted(key)}: {units}" + (f", calendar {calendar}" if isinstance(calendar, str) else "")


def _quoted(key: str) -> str:
    return f'"{unescape(key)}"'


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    rest = len(every) - SHOWN
    return ", ".join(every[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
