"""What is measured of objects in BinPickle files in other processes: with binpickle, or else with this package."""

from __future__ import annotations

import gc
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PARTS = 8
"""Arrays that the values are in."""


def objects_package() -> str:
    """Return the package that has objects in files in this environment."""
    try:
        importlib.import_module("binpickle")
    except ImportError:
        return "ds_format.binpickle"
    return "binpickle"


def arrays(n: int) -> dict[str, Any]:
    """Return n distinct values in a dict of arrays."""
    values = np.random.default_rng(1).random(n // PARTS * PARTS).reshape(PARTS, -1)
    return {f"x{i}": values[i].copy() for i in range(PARTS)}


def objects_dump(path: str, n: int) -> tuple[float, int]:
    """Write arrays; the result is the size of the file."""
    made = arrays(n)
    dump = importlib.import_module(objects_package()).dump
    gc.collect()
    start = time.perf_counter()
    dump(made, path, codec=None)
    return time.perf_counter() - start, os.path.getsize(path)


def objects_load(path: str) -> tuple[float, int]:
    """Read what a file has; the result is the size of its smallest array."""
    load = importlib.import_module(objects_package()).load
    gc.collect()
    start = time.perf_counter()
    found = load(path)
    return time.perf_counter() - start, min(array.size for array in found.values())


VERBS: dict[str, Callable[..., Any]] = {verb.__name__: verb for verb in (objects_package, objects_dump, objects_load)}
