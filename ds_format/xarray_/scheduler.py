"""A running dask.distributed scheduler as an executor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from ..base.optional import library

TIMEOUT = 10
"""Seconds that a scheduler has to answer."""


@contextmanager
def executor(address: str) -> Iterator[Executor]:
    """Connect to a scheduler, and yield an executor that runs functions on its workers.

    Parameters
    ----------
    address : str
        As `tcp://host:8786`, or a path of a scheduler file.

    Raises
    ------
    DriverError
        If dask.distributed is not installed.
    OSError
        If no scheduler answers, or it cannot be an address.
    """
    distributed = library("distributed", "ds-format-cython[dask]")
    # dask would wait for a scheduler file for ever
    there = _address_in(address) if address.endswith(".json") else address
    label = address if there == address else f"{there} (of {address})"
    try:
        if not there.startswith("inproc:"):  # one in this process has no port
            distributed.comm.get_address_host_port(there)
    except (ValueError, TypeError):
        expected = "expected an address, as tcp://host:8786, or a scheduler file, as scheduler.json"
        raise OSError(f"scheduler: {label}: {expected}") from None
    try:
        client = distributed.Client(there, timeout=TIMEOUT, set_as_default=False)
    except OSError:
        raise OSError(f"scheduler: {label}: no answer within {TIMEOUT} seconds") from None
    with client:
        yield client.get_executor()


def _address_in(path: str) -> str:
    """Return the address of the scheduler that has written a file."""
    try:
        with open(path, encoding="utf-8") as file:
            address = json.load(file)["address"]
    except OSError as error:
        raise OSError(f"scheduler: {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        address = None
    if not isinstance(address, str):
        raise OSError(f'scheduler: {path}: expected a scheduler file of dask: JSON with the member "address"')
    return address
