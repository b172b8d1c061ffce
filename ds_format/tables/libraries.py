"""The libraries of this room, imported on first use, and what is checked of all tables.

It is a file of its own, because it does not know datasets: containers, which do not either, use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.optional import library
from ..errors import UnsupportedError

EXTRA = "ds-format-cython[tables]"
"""The package to install for tables."""


def pyarrow(use: str, module: str = "pyarrow") -> Any:
    """Return pyarrow, or a module of it.

    Raises
    ------
    DriverError
        If it is not installed. The message names the use and the extra.
    """
    return library(module, EXTRA, use)


def duckdb() -> Any:
    """Return DuckDB.

    Raises
    ------
    DriverError
        If it is not installed. The message names the extra.
    """
    return library("duckdb", EXTRA, "SQL")


def check_names(names: Sequence[str]) -> None:
    """Raise an UnsupportedError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UnsupportedError(f'found two columns "{twice}"')
