"""A file as two sources: by a codec of this package, and by the netCDF4 library. They must not differ."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ds_format.drivers import of_suffix, open_source
from ds_format.drivers.native import NativeSource
from ds_format.drivers.netcdf.source import NetCDFSource
from ds_format.errors import DsError

from ...same import same_data, same_value

BLOCK_SIZES = (1, 100, 10_000, 1 << 24)
MAX_N = 1000
"""Values of a variable that is read in tiny blocks and by many indexes."""


def differences(path: Path | str, seed: int = 0, other: Path | str | None = None) -> list[str]:
    """Return what differs between both ways to read a file, one line each; empty if nothing does.

    The library reads `other`, if it is given.
    """
    ours, our_warnings = _told(lambda: open_source(path, of_suffix(".nc")))
    theirs, their_warnings = _told(lambda: NetCDFSource(path if other is None else other))
    if isinstance(ours, str) or isinstance(theirs, str):
        return [] if ours == theirs else [f"open: {ours}, {theirs}"]
    try:
        found = [] if isinstance(ours, NativeSource) else ["read by the library"]
        found += _same("warnings", our_warnings, their_warnings)
        found += _metadata(ours.meta, theirs.meta)
        found += _same("faults", list(ours.faults), list(theirs.faults))
        for key in ours.meta:
            if key != "." and not found:
                found += _variables(ours, theirs, key, random.Random(seed))
        return found
    finally:
        ours.close()
        theirs.close()


def _told(what: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return a result, or the class of an error, and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = what()
        except DsError as error:
            result = type(error).__name__
    return result, [warning.category.__name__ + str(warning.message).partition(".nc")[2] for warning in caught]


def _same(where: str, one: Any, other: Any) -> list[str]:
    return [] if one == other else [f"{where}: {str(one)[:300]}, {str(other)[:300]}"]


def _metadata(ours: Any, theirs: Any) -> list[str]:
    found = _same("variables", list(ours), list(theirs))
    for key in ours.keys() & theirs.keys():
        found += _same(f"{key}: names", list(ours[key]), list(theirs[key]))
        if not same_value(ours[key], theirs[key]):
            found.append(f"{key}: {ours[key]}, {theirs[key]}")
    return found


def _variables(ours: Any, theirs: Any, key: str, rng: random.Random) -> list[str]:
    size = ours.meta[key][".size"]
    n = int(np.prod(size or [1]))
    found = _values(f"{key}: whole", lambda: ours.read(key), lambda: theirs.read(key))
    for budget in BLOCK_SIZES if n < MAX_N else BLOCK_SIZES[-1:]:
        found += _blocks(f"{key}: blocks of {budget}", ours, theirs, key, budget)
    for _ in range(6 if n < MAX_N else 1):
        index = tuple(_item(n, rng) for n in size or ())
        found += _values(f"{key}: {index}", partial(ours.read, key, index), partial(theirs.read, key, index))
    handle = ours.handle(key)
    found += _values(f"{key}: handle", partial(handle.read, index), partial(theirs.read, key, index))
    entry = theirs.meta[key]
    expected = None if size is None else tuple(size), entry[".type"], entry[".missing"]
    return found + _same(f"{key}: handle", (handle.shape, handle.type, handle.missing), expected)


def _item(n: int, rng: random.Random) -> Any:
    """Return a random item of a normalized index."""
    kind = rng.choice(["int", "range", "range", "array"] if n else ["range"])
    if kind == "int":
        return rng.randrange(n)
    if kind == "array":
        return np.array([rng.randrange(n) for _ in range(rng.randrange(1, 6))], np.int64)
    start = rng.randrange(n + 1)
    return range(n)[start : rng.randrange(start, n + 1) : rng.choice([1, 1, 1, 2, 5])]


def _values(where: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> list[str]:
    (one, our_warnings), (other, their_warnings) = _told(ours), _told(theirs)
    found = _same(f"{where}: warnings", our_warnings, their_warnings)
    return found + ([] if _is_same(one, other) else [f"{where}: {one!r}, {other!r}"])


def _blocks(where: str, ours: Any, theirs: Any, key: str, budget: int) -> list[str]:
    def joined(source: Any) -> Any:
        blocks = list(source.blocks(key, budget))
        if not all(block.ndim == max(len(source.meta[key][".size"] or ()), 0) for block in blocks):
            return "blocks of another rank"
        if not blocks:
            return None
        masked = np.ma.concatenate([np.ma.asarray(block).reshape(-1) for block in blocks])
        return masked if any(isinstance(block, np.ma.MaskedArray) for block in blocks) else masked.data

    return _values(where, lambda: joined(ours), lambda: joined(theirs))


def _is_same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)) and (one.dtype.str, one.shape) != (other.dtype.str, other.shape):
        return False
    if isinstance(one, np.ma.MaskedArray):
        # under the mask lies the value of the file
        is_filled = same_value(one.fill_value, other.fill_value)
        return is_filled and same_data(one, other) and same_data(one.data, other.data)
    return same_data(one, other) if isinstance(one, np.ndarray) else same_value(one, other)
