"""Libraries that not everybody has."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import DriverError


def library(name: str, extra: str) -> Any:
    """Import a library.

    Parameters
    ----------
    name : str
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    DriverError
        If it is not installed; it names the extra.

    Examples
    --------
    >>> from ds_format.zds.tables.optional import library
    >>> library("json", "json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DriverError(f"cannot import {error.name}: pip install 'ds-format-cython[{extra}]'") from None
