"""Writing: a CSV file as a Sink. Variables are written one after another, and rows have one value of each.

One warning at the end names the information that the file does not hold.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ...base.dtypes import TYPES, Type
from ...base.text import unescape
from ...body.target import naming
from ...codec.header import DTYPES, PRIVATE
from ...errors import UnsupportedError
from ...kernels.table.cells import Table
from ...kernels.table.lines import put_lines
from ...timeaxis import JD_CALENDAR, JD_UNITS, claims_time
from ..base import Metadata, warn
from ..sink import FileSink, count_payloads, typed_blocks
from ..spool import BlockPool
from ..strings import as_text
from ..tabular import TableColumns, quoted, shortened
from .source import DELIMITERS, DIMENSION, MARK, check_characters, delimiter_of

DELIMITER = ord("\t")
"""Where a column has no neighbours."""
TECHNICAL = PRIVATE | {".dims", ".size", ".type", ".netcdf", ".hdf5", DTYPES}
"""Properties that are no loss by themselves."""


class Losses:
    """Information that is lost, collected while variables are written.

    Parameters
    ----------
    meta : Metadata
        Without the units that are written.
    """

    def __init__(self, meta: Metadata, columns: TableColumns):
        self._columns = columns
        self._attributes = [quoted(key) for key in meta if key != "." and not TECHNICAL.issuperset(meta[key])]
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
            self._types.append(f"{quoted(key)} read as {read} instead of {written}")

    def add_numbers(self, key: str, array: Any) -> None:
        """Record NaN that lose their payload."""
        if count_payloads(array):
            self._payloads[quoted(key)] = None

    def add_texts(self, key: str, values: Any, mask: Any) -> None:
        """Record strings that are not read back unchanged."""
        texts = (values if mask is None else values[~mask]).tolist()
        if "" in texts:
            self._empty[quoted(key)] = None
        if max(map(len, texts), default=0) > csv.field_size_limit():
            self._long[quoted(key)] = None

    def message(self) -> str:
        """Return all losses in one line; empty if there are none."""
        out = []
        if self._times:
            advice = '`times: iso`, in Python `times="iso"`, writes dates'
            out.append(f"units of times ({shortened(self._times)}; {advice})")
        out += self._columns.losses()
        if self._attributes:
            out.append(f"attributes (of {shortened(self._attributes)})")
        if self._dims:
            out.append(f'names of dimensions ({shortened(self._dims)}, read as "{DIMENSION}")')
        if self._types:
            out.append(f"types ({shortened(self._types)})")
        if self._payloads:
            out.append(f"payloads of NaN (of {shortened(self._payloads)})")
        if self._empty:
            out.append(f"empty texts (of {shortened(self._empty)}, read as missing)")
        if self._long:
            out.append(f"texts of more than {csv.field_size_limit()} characters (of {shortened(self._long)}, not read)")
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
    return f"{quoted(key)}: {units}" + (f", calendar {calendar}" if isinstance(calendar, str) else "")


def _units(entry: Mapping[str, Any]) -> str:
    """Return the units of a variable that a table can have."""
    units = entry.get("units")
    return units if isinstance(units, str) and units.encode(errors="ignore").decode() == units else ""


class Column:
    """The type of a variable that is inferred from its cells when they are read.

    Parameters
    ----------
    type_name : str
        The ds type of its values.
    decimal : str
        The character before decimals.
    """

    def __init__(self, type_name: str, decimal: str):
        self._type = TYPES[type_name]
        self._point = ord(decimal)
        self._table = Table(1, DELIMITER, 1 << 62, self._point)

    def add(self, values: Any, mask: Any) -> None:
        """Add values, as `cells_of` returns them."""
        is_number = self._type.name != "bool" and not self._type.is_string
        if is_number and values.size:
            present = values if mask is None else values[~mask]
            # the largest and the smallest number decide
            values, mask = np.array([present.min(), present.max()] if present.size else [0], values.dtype), None
            if not present.size:
                mask = np.ones(1, np.bool_)
        for start, stop in itertools.pairwise([0, min(SAMPLE, values.size), values.size]):
            if self.type != "unicode" or not start:
                flags = [None if mask is None else mask[start:stop]]
                lines = put_lines([values[start:stop]], flags, stop - start, DELIMITER, point=self._point)
                self._table.infer(lines, False)

    @property
    def type(self) -> str:
        """The ds type of all cells so far."""
        return self._table.column(0)[0]


def cells_of(array: Any, ds_type: Type) -> tuple[Any, Any]:
    """Return the values of an array as they are written.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Any shape.
    ds_type : Type

    Returns
    -------
    values : (n,) ndarray
        Its type is one that `put_lines` knows.
    mask : (n,) ndarray or None

    Raises
    ------
    UnsupportedError
        If a string cannot be written in UTF-8.
    """
    if ds_type.is_string:
        data: Any = as_text(array, "strict")
    elif ds_type.name == "float16":
        data = np.ma.getdata(array).astype("f8")
    else:
        data = np.ma.getdata(array)
        code = f"{data.dtype.kind}8" if data.dtype.kind in "iu" else data.dtype.newbyteorder("=")
        data = data.astype(code, copy=False)
    mask = np.ma.getmask(array)
    values = np.ascontiguousarray(data).reshape(-1)
    return values, np.ascontiguousarray(mask).reshape(-1) if np.any(mask) else None


BLOCK_LENGTH = 1 << 14
"""Values in memory at once of each variable, while rows are made of them."""
CELLS_IN_MEMORY = 1 << 18
"""The same of all variables."""
SAMPLE = 64
"""Values of which the first ones usually show that a variable is text."""


class CsvSink(FileSink):
    r"""A CSV file being written; see `ds_format.drivers.base.Sink`.

    The values of each variable go to a temporary file, from which `commit` makes rows. Columns are in the order of the
    metadata. Lines end with `\r\n`. If all variables are scalars, there is one row. One `LossWarning` names all losses.

    Parameters
    ----------
    path : str, bytes or PathLike
    meta : Metadata
        Each variable with `.size`.
    delimiter : str, optional
        The separator of cells, one character of ASCII. By default a tab for the suffixes `.tsv` and `.tab`, a semicolon
        if the decimal is a comma, otherwise a comma.
    decimal : str
        The character before decimals: `.` or `,`.
    excel : bool
        Whether the file begins with a byte order mark, by which Excel knows UTF-8.
    units : bool
        Whether the attributes `units` that are text are in a line below the names.
    scalars : bool
        Whether variables without dimensions are columns, whose value is repeated. Otherwise they are left out.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If the file cannot be created.
    DriverError
        If `delimiter` or `decimal` are no such characters, or the same.
    UnsupportedError
        If a variable has no data, or not one dimension, or is not as long as the others.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        delimiter: str | None = None,
        decimal: str = ".",
        excel: bool = False,
        units: bool = False,
        scalars: bool = False,
        atomic: bool = True,
        durable: bool = False,
    ):
        super().__init__(path, meta, atomic=atomic, durable=durable)
        usual = delimiter_of(self.path, decimal)
        delimiter = usual if delimiter is None else delimiter
        check_characters(self.path, decimal, delimiter=delimiter)
        self._delimiter, self._decimal, self._mark = ord(delimiter), decimal, MARK if excel else b""
        self._columns = TableColumns.of(meta, scalars, "CSV", self.path)
        self._keys, self._n = self._columns.keys, self._columns.n
        if self._keys and unescape(self._keys[0]).startswith(MARK.decode()):
            name = unescape(self._keys[0])
            raise UnsupportedError("the first name begins with a byte order mark", path=self.path, variable=name)
        self._hints = {key: meta[key].get(".type") for key in self._keys}
        found = {key: text for key in self._keys if units and (text := _units(meta[key]))}
        self._units = [found.get(key, "") for key in self._keys] if units else None
        without = {key: {name: meta[key][name] for name in meta[key] if name != "units"} for key in found}
        self._losses = Losses({**meta, **without}, self._columns)
        self._cells: dict[str, Iterable[tuple[Any, Any]]] = {}
        # the name of one column does not tell which separator there would be
        self._others = DELIMITERS.encode() if len(self._keys) == 1 and delimiter != usual else b""
        self._step = max(1, min(BLOCK_LENGTH, CELLS_IN_MEMORY // max(1, len(self._keys))))
        self._file = open(self._create(), "wb")  # noqa: SIM115 - until commit
        with naming(self.path):
            self._pool = BlockPool(self._target.final)

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        if name in self._keys:
            self._cells[name] = self._pool.add(self._cells_of(name, blocks))

    def _cells_of(self, name: str, blocks: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the values of blocks as they are written, and their masks. Losses are recorded."""
        ds_type = TYPES.get(self._hints[name] or "") or TYPES["float64"]
        column: Column | None = None
        for array, ds_type in typed_blocks(blocks, self._hints[name]):
            if column is None:
                column = Column(ds_type.name, self._decimal)
            for start in range(0, array.size, self._step):
                part = array.reshape(-1)[start : start + self._step]
                values, mask = cells_of(part, ds_type)
                column.add(values, mask)
                if ds_type.is_string:
                    self._losses.add_texts(name, values, mask)
                else:
                    self._losses.add_numbers(name, part)
                yield values, mask
        self._losses.add_type(name, ds_type.name, "float64" if column is None else column.type)

    def _parts(self, key: str) -> Iterator[tuple[Any, Any]]:
        """Yield the values of all rows, and their masks, part by part."""
        if key not in self._columns.scalars:
            yield from self._cells[key]
            return
        for values, mask in self._cells[key]:
            for start in range(0, self._n, self._step):
                n = min(self._step, self._n - start)
                yield values.repeat(n), None if mask is None else mask.repeat(n)

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines of some rows after another."""
        parts = [self._parts(key) for key in self._keys]
        held = [next(part) for part in parts]
        done = 0
        while True:
            n = min(len(values) for values, _ in held)
            masks = [None if mask is None else mask[:n] for _, mask in held]
            values = [values[:n] for values, _ in held]
            yield put_lines(values, masks, n, self._delimiter, self._others, ord(self._decimal))
            done += n
            if done == self._n:
                return
            held = [
                next(part) if len(values) == n else (values[n:], None if mask is None else mask[n:])
                for part, (values, mask) in zip(parts, held, strict=True)
            ]

    def _line(self, texts: Iterable[str], quoted: bytes = b"") -> bytes:
        cells = [np.array([text], object) for text in texts]
        return put_lines(cells, [None] * len(cells), 1, self._delimiter, quoted)

    def _finish(self) -> None:
        self._file.write(self._mark)
        if self._keys:
            # reading must not take another character for the separator
            self._file.write(self._line(map(unescape, self._keys), DELIMITERS.encode()))
            if self._units is not None:
                self._file.write(self._line(self._units))
            if self._n:
                self._file.writelines(self._lines())
        self._pool.close()
        self._file.close()
        message = self._losses.message()
        if message:
            warn(message, self.path)

    def _close(self) -> None:
        self._pool.close()
        with contextlib.suppress(OSError):
            self._file.close()
