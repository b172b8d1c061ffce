"""Old data and the new ones that follow them along a dimension: which records are kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import drivers, timeaxis
from ..api.buffers import dumps
from ..base.text import escape
from ..body import Location, path_text
from ..body.remote.addresses import HandedAddress
from ..datasets import META, as_array, dims
from ..errors import MissingError, UnsupportedError
from ..model.constants import short_text
from ..model.merge_plan import MergeInput, converted, plan_merge, size_along
from ..model.selection import ALL, Selection
from ..views.subset import Subset, open_subset

TOLERANCE = 1e-12
"""Relative tolerance for equal values of a coordinate after a conversion of units."""
N_NAMED = 3
"""Number of values that a message names."""


class Additions:
    """Old data, the new data that follow them, and which of their records are kept.

    Parameters
    ----------
    old : str or None
        The file or series; None: it does not exist.
    d : object
        The new data, or a list of them; see `ds_format.append`.
    dim : str
    duplicates : {"error", "last"}

    Attributes
    ----------
    paths : list of str or Address
        The old data first.
    selections : dict
        Path → the part that is kept, unless it is everything.
    first_replaced : int or None
        Position of the first old record that is replaced; None: there is none.
    is_sorted : bool
        Whether the coordinate of the dimension increases strictly over all data.

    Raises
    ------
    MissingError
        If new data do not have the dimension.
    UnsupportedError
        If a value of the coordinate exists already, unless `duplicates` is "last".
    """

    def __init__(self, old: str | None, d: Any, dim: str, duplicates: str):
        new = [_input(one) for one in (d if isinstance(d, (list, tuple)) else [d])]
        self.paths: list[Location] = [*([] if old is None else [old]), *new]
        self.selections: dict[Location, Selection] = {}
        self.first_replaced: int | None = None
        self.is_sorted = False
        found = [_coordinate(path, dim, is_new=path is not old) for path in self.paths]
        coordinates = [one for one in found if one is not None]
        if not found or len(coordinates) < len(found):
            return
        [plan], meta = plan_merge([one.input for one in coordinates], dim, jd=None)
        each = [
            np.atleast_1d(as_array(converted(plan, part, one.values)))
            for one, part in zip(coordinates, plan.parts, strict=True)
        ]
        values: Any = np.ma.concatenate(each)  # type: ignore[no-untyped-call]
        data = np.ma.getdata(values)
        self.is_sorted = not np.ma.is_masked(values) and bool((data[1:] > data[:-1]).all())
        replaced = np.zeros(len(values), np.bool_) if self.is_sorted else _replaced(values, list(map(len, each)))
        if not replaced.any():
            return
        if duplicates == "error":
            raise _exist(data[replaced], meta[escape(dim)], dim, path_text(self.paths[0]))
        if len(set(self.paths)) < len(self.paths):
            raise UnsupportedError("found the same file twice", path=path_text(self.paths[0]))
        ends = np.cumsum(list(map(len, each)))
        for path, gone in zip(self.paths, np.split(replaced, ends[:-1]), strict=True):
            if gone.any():
                self.selections[path] = Selection(sel={dim: np.flatnonzero(~gone)})
                if path is old:
                    self.first_replaced = int(gone.argmax())

    def selection(self, path: Location) -> Selection:
        """Return the part of a file that is kept."""
        return self.selections.get(path, ALL)

    def open(self, path: Location) -> Subset:
        """Open this part."""
        return open_subset(path, self.selection(path))


class _Coordinate(NamedTuple):
    """The coordinate of the dimension in one dataset."""

    input: MergeInput
    values: Any


def _coordinate(path: Location, dim: str, *, is_new: bool) -> _Coordinate | None:
    """Read the coordinate of a dimension; None if there is none."""
    key = escape(dim)
    with open_subset(path) as found:
        if is_new and size_along(found.meta, dim) is None:
            raise MissingError(f'dimension "{dim}" not found', path=path_text(path))
        entry = found.meta.get(key, {})
        size = entry.get(".size")
        if size is None or len(size) != 1 or dims(key, entry, 1) != [dim]:
            return None
        return _Coordinate(MergeInput({key: entry, META: {}}, name=path_text(path)), found.read(key))


def _replaced(values: Any, lengths: Sequence[int]) -> NDArray[np.bool_]:
    """Return for each value of a coordinate whether a later dataset has it, too."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    replaced = np.zeros(len(values), np.bool_)
    valid = np.flatnonzero(~np.ma.getmaskarray(values))
    if not valid.size:
        return replaced
    order = valid[np.argsort(np.ma.getdata(values)[valid], kind="stable")]
    ordered = np.ma.getdata(values)[order]
    if ordered.dtype.kind == "f":
        is_same = np.diff(ordered) <= TOLERANCE * np.maximum(1, abs(ordered[1:]))
    else:
        is_same = np.asarray(ordered[1:] == ordered[:-1], np.bool_)
    starts = np.flatnonzero(np.concatenate([[True], ~is_same]))
    last = np.maximum.reduceat(owners[order], starts)
    replaced[order] = owners[order] < np.repeat(last, np.diff(starts, append=len(order)))
    return replaced


def _exist(values: Any, entry: Mapping[str, Any], dim: str, path: str) -> UnsupportedError:
    """Return the error of values that exist already."""
    found = np.unique(values)
    texts = [short_text(value) for value in found[:N_NAMED]]
    if timeaxis.is_time(entry):
        with contextlib.suppress(UnsupportedError):
            texts = timeaxis.to_iso(found[:N_NAMED], entry["units"], entry.get("calendar")).tolist()
    texts += ["..."] if len(found) > N_NAMED else []
    verb = "value exists" if len(found) == 1 else "values exist"
    message = f"{len(found)} of the new {verb} already: {', '.join(texts)}; `duplicates: last` replaces the old records"
    return UnsupportedError(message, path=path, variable=dim)


def _input(one: Any) -> Location:
    """Return new data as a file: a path, an address, or the bytes of a dataset in memory."""
    if isinstance(one, (str, bytes, os.PathLike)):
        return drivers.located_each([one])[0]
    return HandedAddress(memoryview(dumps(one)), "the new data")
