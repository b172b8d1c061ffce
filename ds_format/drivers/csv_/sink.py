"""Writing: a CSV file as a Sink. Variables are written one after another, and rows have one value of each.

One warning at the end names the information that the file does not hold.
"""

from __future__ import annotations

import contextlib
import csv
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import unescape
from ...body.target import naming
from ...codec.header import DTYPES, PRIVATE
from ...errors import DriverError, DsError, UnsupportedError
from ...timeaxis import JD_CALENDAR, JD_UNITS, claims_time
from ..base import BLOCK_SIZE, Metadata, warn
from ..sink import FileSink, count_payloads, typed_blocks
from .source import DIMENSION, CellColumn, cells_of, delimiter_of

SHOWN = 5
"""Names in a list of them."""
TECHNICAL = PRIVATE | {".dims", ".size", ".type", ".netcdf", ".hdf5", DTYPES}
"""Properties that are no loss by themselves."""


class Losses:
    """Information that is lost, collected while variables are written."""

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
        """Record the type of a variable, and the one inferred from its cells."""
        if read != written:
            self._types.append(f"{_quoted(key)} read as {read} instead of {written}")

    def add_numbers(self, key: str, array: Any) -> None:
        """Record NaN that lose their payload."""
        if count_payloads(array):
            self._payloads[_quoted(key)] = None

    def add_texts(self, key: str, array: Any, cells: list[str]) -> None:
        """Record strings that are not read back unchanged."""
        if cells.count("") > np.count_nonzero(np.ma.getmaskarray(array)):
            self._empty[_quoted(key)] = None
        if max(map(len, cells), default=0) > csv.field_size_limit():
            self._long[_quoted(key)] = None

    def message(self) -> str:
        """Return all losses in one line; empty if there are none."""
        out = []
        if self._times:
            advice = '`times: iso`, in Python `times="iso"`, writes dates'
            out.append(f"units of times ({_listed(self._times)}; {advice})")
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


BLOCK_LENGTH = 1 << 14
"""Values made text at once."""
CELLS_IN_MEMORY = 1 << 18
"""Cells in memory while rows are made of columns."""


class CsvSink(FileSink):
    r"""A CSV file being written; see `ds_format.drivers.base.Sink`.

    The cells of each variable go to a temporary file, from which `commit` makes rows. Columns are sorted by name, as
    ds-format 5.0.2 writes them. Lines end with `\r\n`. One `LossWarning` names all losses.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    delimiter : str, optional
        The separator of cells, one character. By default a tab for the suffixes `.tsv` and `.tab`, otherwise a comma.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    DriverError
        If `delimiter` is neither a comma nor a tab.
    UnsupportedError
        If a variable has no data, or not one dimension, or is not as long as the others.
    """

    def __init__(
        self, path: Any, meta: Metadata, *, delimiter: str | None = None, atomic: bool = True, durable: bool = False
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        if delimiter not in (None, ",", "\t"):
            raise DriverError(f"delimiter: found {delimiter!r}, expected a comma or a tab", path=self.path)
        self._delimiter = delimiter or delimiter_of(self.path)
        self._keys = sorted((key for key in meta if key != "."), key=unescape)
        try:
            self._n = _check(self._keys, meta)
        except DsError as error:
            raise error.at(path=self.path)
        self._hints = {key: meta[key].get(".type") for key in self._keys}
        self._losses = Losses(meta)
        self._columns = {key: CellColumn() for key in self._keys}
        self._places: dict[str, list[int]] = {}
        self._step = max(1, CELLS_IN_MEMORY // max(1, len(self._keys)))
        # the ends of lines must not be translated
        self._file: IO[str] = open(self._create(), "w", encoding="utf-8", newline="")  # noqa: SIM115 - until commit
        with naming(self.path):
            folder = os.path.dirname(self._target.final) or "."
            self._spool = tempfile.SpooledTemporaryFile(BLOCK_SIZE, dir=folder)  # noqa: SIM115 - until commit

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        places: list[int] = []
        pending: list[str] = []
        ds_type = TYPES.get(self._hints[name] or "") or TYPES["float64"]
        for array, ds_type in typed_blocks(blocks, self._hints[name]):
            for start in range(0, array.size, BLOCK_LENGTH):
                part = array.reshape(-1)[start : start + BLOCK_LENGTH]
                cells = cells_of(part, ds_type)
                self._columns[name].add(cells)
                if ds_type.is_string:
                    self._losses.add_texts(name, part, cells)
                else:
                    self._losses.add_numbers(name, part)
                pending += cells
                while len(pending) >= self._step:
                    places.append(self._put(pending[: self._step]))
                    del pending[: self._step]
        if pending:
            places.append(self._put(pending))
        self._places[name] = places
        self._losses.add_type(name, ds_type.name, self._columns[name].type)

    def _put(self, cells: list[str]) -> int:
        place = self._spool.tell()
        with naming(self.path):
            # no other process can reach the file in between
            pickle.dump(cells, self._spool, protocol=5)
        return place

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for i in range(len(self._places[self._keys[0]])):
            columns = []
            for key in self._keys:
                self._spool.seek(self._places[key][i])
                columns.append(pickle.load(self._spool))
            yield from zip(*columns, strict=True)

    def _finish(self) -> None:
        writer = csv.writer(self._file, delimiter=self._delimiter)
        if self._keys:
            writer.writerow([unescape(key) for key in self._keys])
            writer.writerows(self._rows())
        self._spool.close()
        self._file.close()
        message = self._losses.message()
        if message:
            warn(message, self.path)

    def _close(self) -> None:
        self._spool.close()
        with contextlib.suppress(OSError):
            self._file.close()


def _check(keys: list[str], meta: Metadata) -> int:
    """Return the number of rows."""
    rows: dict[int, str] = {}
    for key in keys:
        name, size = unescape(key), meta[key].get(".size")
        if size is None:
            raise UnsupportedError("has no data, which CSV cannot represent", variable=name)
        if len(size) != 1:
            raise UnsupportedError(f"has {len(size)} dimensions, expected one (not supported in CSV)", variable=name)
        rows.setdefault(size[0], name)
        if len(rows) > 1:
            (n, other), (m, _) = rows.items()
            message = f'has {m} values, but "{other}" has {n}: all have one size (not supported in CSV)'
            raise UnsupportedError(message, variable=name)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise UnsupportedError("the name has surrogates, which are not characters", variable=name) from None
    if keys and unescape(keys[0]).startswith("\ufeff"):
        raise UnsupportedError("the first name begins with a byte order mark", variable=unescape(keys[0]))
    return next(iter(rows), 0)
