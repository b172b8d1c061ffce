"""A running dask.distributed scheduler as an executor."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from ..errors import DriverError

TIMEOUT = 10
"""Seconds that a scheduler has to answer."""


@contextmanager
def executor(address: str) -> Iterator[Executor]:
    """Connect to a scheduler, and yield what has its workers do things.

    Parameters
    ----------
    address : str
        As `tcp://host:8786`, or a path of a scheduler file.

    Raises
    ------
    DriverError
        If dask.distributed is not installed.
    OSError
        If no scheduler answers.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        message = f"cannot import {error.name}: install distributed (extra dask: pip install 'ds-format-cython[dask]')"
        raise DriverError(message) from error
    how: dict[str, Any] = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = distributed.Client(**how, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise OSError(f"scheduler: {address}: {error}") from None
    with client:
        yield client.get_executor()
