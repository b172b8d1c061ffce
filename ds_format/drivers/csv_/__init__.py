"""CSV and TSV: a table with one row of names, whose columns are variables of one dimension `i`.

::

    time, temperature
    1, 16.0
    (2,)

Cells are separated by commas (`.csv`) or tabs (`.tsv`, `.tab`), or another character, and quoted as in RFC 4180. An
empty cell is a missing value. The type of a column is inferred from its cells, see `ds_format.drivers.csv_.source`.
"""

from __future__ import annotations

from typing import Any

from .sink import CsvSink as create
from .source import CsvSource as open

__all__ = ["create", "open", "title"]


def title(source: Any) -> str:
    """Return the usual name of the format of an open file."""
    return "TSV" if source.delimiter == "\t" else "CSV"
