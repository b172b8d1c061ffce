"""Pickle and buffers → object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...kernels.pickle.machine import run
from . import registry
from .host import Host

PER_BYTE = 256
"""Bytes of memory that one byte of a pickle may need: the opcode of an empty set makes 216."""
LEAST = 1 << 20
"""Bytes that any pickle may need."""


def load(pickle: Any, buffers: Iterable[Any] = (), *, budget: int | None = None) -> Any:
    """Return the object of a pickle, without running code that the pickle names.

    Parameters
    ----------
    pickle : buffer
        The pickle, of protocol 4 or 5.
    buffers : iterable of bytes, bytearray, memoryview, PickleBuffer or Postponed
        What was out of band, in order. Arrays share memory with them, and are read-only if they are. Of those that
        `postponable` allows, a stand-in will do, and there will be one for the array.
    budget : int, optional
        Bytes that objects may take, buffers not counted. It is never more than in proportion to the size of the pickle.

    Returns
    -------
    object
        What was pickled; arrays that were in band keep the byte order that they had.

    Raises
    ------
    UnsafeError
        If it has anything that no handler is known for; the message names it, and says how to go on.
    FormatError
        If it is damaged; the message says at which byte.

    Examples
    --------
    >>> import pickle
    >>> import numpy as np
    >>> from ds_format.binpickle import machine
    >>> buffers = []
    >>> data = pickle.dumps({"x": np.arange(3)}, 5, buffer_callback=buffers.append)
    >>> machine.load(data, buffers)
    {'x': array([0, 1, 2])}
    >>> machine.load(pickle.dumps(print))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ds_format.errors.UnsafeError: pickle, byte 30: builtins.print is not loaded, since it could run code that ...
    """
    size = memoryview(pickle).nbytes
    most = LEAST + PER_BYTE * size
    return run(pickle, iter(buffers), registry.CALLS, Host(), most if budget is None else min(budget, most))
