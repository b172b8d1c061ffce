"""Cells ↔ values: of which type a column is, and what each cell of it says.

A column is of integers if all its cells are, else of floats if all are numbers, else of text. Numbers are what Python
takes for them (blanks around them, signs, leading zeros, `1e5`, `nan`, `inf`), but no underscores and no digits other
than ASCII, which stand in names more often than in numbers. Integers are int64, or uint64 if that holds them, or else
text: no digit is lost. Empty cells say nothing; a column that has no others is int64, and one without rows float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.dtypes import Type
from ..strings import as_text

DTYPES = {"int64": "i8", "uint64": "u8", "float64": "f8", "unicode": "O"}
"""The types of columns, with their NumPy codes."""


class Column:
    """What the cells of a column, given part by part, tell of its type.

    Attributes
    ----------
    missing : bool
        Whether a cell is empty.
    """

    def __init__(self) -> None:
        self.missing = False
        self._kind: type = int
        self._low = 0
        self._high = 0
        self._n = 0

    def add(self, cells: Sequence[str]) -> None:
        """Look at the next cells."""
        self._n += len(cells)
        if "" in cells:
            self.missing = True
            cells = [cell for cell in cells if cell]
        if not cells or self._kind is str:
            return
        text = "".join(cells)
        if not text.isascii() or "_" in text:
            self._kind = str
            return
        if self._kind is int:
            try:
                integers = list(map(int, cells))
                self._low = min(self._low, min(integers))
                self._high = max(self._high, max(integers))
                return
            except ValueError:
                self._kind = float
        try:
            list(map(float, cells))
        except ValueError:
            self._kind = str

    @property
    def type(self) -> str:
        """The ds type of all cells so far."""
        if not self._n:
            return "float64"
        if self._kind is not int:
            return "float64" if self._kind is float else "unicode"
        if self._low >= -(1 << 63) and self._high < 1 << 63:
            return "int64"
        return "uint64" if self._low >= 0 and self._high < 1 << 64 else "unicode"


def values_of(cells: Sequence[str], type_name: str) -> Any:
    """Return the values of cells of a column of known type.

    Returns
    -------
    ndarray or MaskedArray
        (n,) values; masked if a cell is empty.

    Raises
    ------
    ValueError
        If a cell is not of the type.
    """
    mask = None
    if "" in cells:
        mask = np.array([not cell for cell in cells])
    if type_name == "unicode":
        values = np.array(cells, object)
    else:
        if mask is not None:
            cells = [cell or "0" for cell in cells]
        number: Any = float if type_name == "float64" else int
        try:
            values = np.array(list(map(number, cells)), DTYPES[type_name])
        except OverflowError as error:
            raise ValueError(str(error)) from None
    return values if mask is None else np.ma.MaskedArray(values, mask, copy=False)


def cells_of(array: Any, ds_type: Type) -> list[str]:
    """Return the cells that say the values of an array.

    Parameters
    ----------
    array : ndarray or MaskedArray
        (n,) values.
    ds_type : Type

    Raises
    ------
    UnsupportedError
        If a string cannot be written in UTF-8.
    """
    if ds_type.is_string:
        return [text or "" for text in as_text(array, "strict").tolist()]
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    # NumPy knows the shortest text of a single-precision number, Python that of all others
    cells: list[str] = data.astype("U").tolist() if ds_type.name == "float32" else list(map(str, data.tolist()))
    if mask is not np.ma.nomask:
        for i in np.flatnonzero(mask).tolist():
            cells[i] = ""
    return cells
