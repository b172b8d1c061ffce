"""What was written, read back and compared with what was to be written.

A ds file holds all: values bit by bit, masks, types, dimensions and attributes. Of other formats values, masks and
dimensions are compared, and attributes that are there. Types may be others, and what a format does not hold its Sink
has said. Tables of text have no dimensions, and of one of which something was said values are not compared either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import drivers
from ...dataset import META, attrs, dims
from ...drivers.base import Source
from ...errors import DsError, IntegrityError
from ...names import unescape
from ...subset import Subset, open_subset

DATE_ERROR = 1e-6
"""Days by which Julian dates may differ that were written in other units."""

_PROPERTIES = (".size", ".type", ".dims", ".missing", ".records")


def compare(part: Subset, written: str, *, jd: bool = False, lossy: bool = False) -> None:
    """Check that a file holds what it was made of.

    Parameters
    ----------
    part : Subset
        What it was made of.
    written : str
        The file.
    jd : bool
        Whether times were read as Julian dates.
    lossy : bool
        Whether it was said already that the file does not hold everything.

    Raises
    ------
    IntegrityError
        If something differs.
    """
    driver = drivers.find(written)
    exact, shaped = driver is drivers.DRIVERS["ds"], driver is not drivers.DRIVERS["csv"]
    with open_subset(written, jd=jd and not exact, driver=driver) as back:
        for key, entry in part.meta.items():
            found = back.meta.get(key)
            name = None if key == META else unescape(key)
            try:
                if found is None:
                    if not lossy and (exact or entry.get(".size") is not None):
                        raise IntegrityError("it is not there when the file is read back")
                    continue
                _compare_attributes(attrs(entry), attrs(found), exact=exact)
                if key != META:
                    if shaped:
                        _compare_shape(key, entry, found, (".size", ".type") if exact else (".size",))
                    if shaped or not lossy:
                        _compare_values(part, back, key, exact=exact)
            except DsError as error:
                raise error.at(path=written, variable=name)


def _compare_attributes(given: Mapping[str, Any], found: Mapping[str, Any], *, exact: bool) -> None:
    for name, value in given.items():
        if name.startswith(".") and (name in _PROPERTIES or not exact):
            continue
        if name not in found:
            if exact:
                raise IntegrityError(f'attribute "{name}" is not there when the file is read back')
        elif not (_same if exact else _alike)(value, found[name]):
            raise IntegrityError(f'attribute "{name}": read back {found[name]!r}, expected {value!r}')


def _same(left: Any, right: Any) -> bool:
    """Whether two attributes are the same: type and value, NaN included."""
    if isinstance(left, (list, tuple, np.ndarray)) and isinstance(right, (list, tuple, np.ndarray)):
        kinds = [getattr(one, "dtype", None) for one in (left, right)]
        return kinds[0] == kinds[1] and len(left) == len(right) and all(map(_same, left, right))
    return (type(left) is type(right) and left == right) or _alike_numbers(left, right)


def _alike(left: Any, right: Any) -> bool:
    """Whether two attributes have the same value, whatever its type."""
    if isinstance(left, (list, tuple, np.ndarray)) or isinstance(right, (list, tuple, np.ndarray)):
        ours, theirs = (list(one) if isinstance(one, (list, tuple, np.ndarray)) else [one] for one in (left, right))
        return len(ours) == len(theirs) and all(map(_alike, ours, theirs))
    if isinstance(left, (str, bytes)) or isinstance(right, (str, bytes)):
        return str(left) == str(right) or type(left) is not type(right)
    return bool(left == right) or _alike_numbers(left, right)


def _alike_numbers(left: Any, right: Any) -> bool:
    try:
        return bool(left == right or (left != left and right != right))
    except ValueError:
        return False


def _compare_shape(key: str, given: Mapping[str, Any], found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if given.get(name) != found.get(name) and given.get(".size") is not None:
            raise IntegrityError(f"{name}: read back {found.get(name)}, expected {given.get(name)}")
    n = len(given.get(".size") or ())
    ours, theirs = list(dims(key, given, n)), list(dims(key, found, n))
    if ours != theirs:
        raise IntegrityError(f".dims: read back {theirs}, expected {ours}")


def _compare_values(part: Source, back: Source, key: str, *, exact: bool) -> None:
    """Compare two variables piece by piece: they are cut into blocks in different ways."""
    is_date = part.meta[key].get(".time") is True and not exact
    ours, theirs = _flat(part.blocks(key)), _flat(back.blocks(key))
    left = right = np.empty(0)
    done = 0
    while True:
        left = next(ours, left) if not left.size else left
        right = next(theirs, right) if not right.size else right
        n = min(left.size, right.size)
        if not n:
            break
        differs = _differing(left[:n], right[:n], exact=exact, is_date=is_date)
        if differs is not None:
            raise IntegrityError(f"value {done + differs} differs when the file is read back")
        left, right, done = left[n:], right[n:], done + n
    if left.size or right.size:
        raise IntegrityError(f"found {'fewer' if left.size else 'more'} values when the file is read back")


def _flat(blocks: Iterable[Any]) -> Iterator[Any]:
    return (block.reshape(-1) for block in blocks if block.size)


def _differing(left: Any, right: Any, *, exact: bool, is_date: bool) -> int | None:
    """Return the position of the first value that differs."""
    masked = np.ma.getmaskarray(left)
    differs: NDArray[np.bool_] = masked != np.ma.getmaskarray(right)
    ours, theirs = np.ma.getdata(left), np.ma.getdata(right)
    if ours.dtype.kind in "OSU" or theirs.dtype.kind in "OSU":
        pairs = zip(ours.tolist(), theirs.tolist(), masked.tolist(), strict=True)
        differs |= np.fromiter((not hidden and not _alike(a, b) for a, b, hidden in pairs), np.bool_, ours.size)
    elif exact and ours.dtype == theirs.dtype:
        bits = np.dtype(f"u{ours.itemsize}")
        differs |= (ours.view(bits) != theirs.view(bits)) & ~masked
    elif is_date:
        differs |= ~np.isclose(ours, theirs, rtol=0, atol=DATE_ERROR, equal_nan=True) & ~masked
    else:
        nan = (ours != ours) & (theirs != theirs)
        differs |= (ours != theirs) & ~nan & ~masked
    found = np.flatnonzero(differs)
    return next(itertools.islice(found.tolist(), 1), None) if found.size else None
