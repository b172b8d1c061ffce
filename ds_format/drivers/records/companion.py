"""The companion of records: a ds file of the dataset without them.

The property `.records` of the dataset says which variables are records, and which data it belongs to::

    {"axes": {variable: axis}, "n": records, "size": bytes of the data, "missing": [variable, ...], ...}

The container adds a checksum of the data.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ...base.names import unescape
from ...base.wording import on_one_line
from ...dataset import META
from ...errors import DsError, FormatError
from ..base import Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource
from ..settings import names, setting

RECORDS = ".records"
"""The property of the dataset."""


class Companion(NamedTuple):
    """What is the same for all records."""

    source: DsSource
    """Open, of the variables that are no records."""
    meta: Metadata
    """Of the whole dataset."""
    axes: dict[str, int]
    """Variables that are records → the axis that these are along."""


def emptied(entry: dict[str, Any], axis: int) -> dict[str, Any]:
    """Return the metadata of a variable without its records."""
    size = list(entry[".size"])
    size[axis] = 0
    return {**entry, ".size": size}


def create(path: str, meta: Metadata, of_data: dict[str, Any], constants: DsSource, *, atomic: bool = True) -> DsSink:
    """Write a companion under a temporary name; `commit` gives it its own.

    Parameters
    ----------
    path : str
        Of the companion.
    meta : Metadata
        Of the whole dataset.
    of_data : dict
        The property `.records`; see `record`.
    constants : DsSource
        Has the variables that are no records.
    atomic : bool
        False: write it under its own name.
    """
    axes = of_data["axes"]
    without = {key: emptied(entry, axes[key]) if key in axes else entry for key, entry in meta.items()}
    without[META] = {**without.get(META, {}), RECORDS: of_data}
    sink = DsSink(path, without, atomic=atomic)
    try:
        for key, entry in meta.items():
            if key != META and key not in axes and entry.get(".size") is not None:
                sink.write(key, constants.blocks(key))
    except BaseException:
        sink.abort()
        raise
    return sink


def of_written(meta: Metadata, source: DsSource) -> Metadata:
    """Return metadata of a dataset with the types that its variables have in a file."""
    stored = source.meta
    found = {key: {**entry, ".type": stored[key].get(".type")} for key, entry in meta.items() if key != META}
    found[META] = meta.get(META, {})
    return found


def record(axes: dict[str, int], n: int, size: int, meta: Metadata, **checksum: str) -> dict[str, Any]:
    """Return the property `.records`.

    Parameters
    ----------
    axes : dict
        Variables that are records → the axis that these are along.
    n : int
        Records.
    size : int
        Bytes of the data.
    meta : Metadata
        With `.missing`.
    **checksum
        Of the data, by its name.
    """
    missing = [key for key in axes if meta[key].get(".missing")]
    return {"axes": axes, "n": n, "size": size, **checksum, "missing": missing}


def opened(source: DsSource, n: int, is_of: Callable[[Any], bool], data: str) -> Companion | None:
    """Return a companion, if it belongs to the data.

    Parameters
    ----------
    source : DsSource
        The companion; closed unless it is returned.
    n : int
        Records.
    is_of : callable
        Whether a property `.records` is that of the data.
    data : str
        Path of the data, for the warning that the companion belongs to others.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        own = source.meta.get(META, {}).get(RECORDS)
        if not is_of(own):
            message = f"{source.path}: belongs to other data than those of {data}, and is not used"
            warnings.warn(on_one_line(message), stacklevel=6)
            source.close()
            return None
        return Companion(source, *_metadata(source, own or {}, n))
    except BaseException as error:
        source.close()
        if isinstance(error, DsError):
            raise error.at(path=source.path)
        raise


def is_record(own: Any, n: int, size: int) -> bool:
    """Whether a property `.records` is that of so many records of so many bytes in all."""
    return (setting(own, "n", int), setting(own, "size", int)) == (n, size)


def _metadata(source: DsSource, own: dict[str, Any], n: int) -> tuple[Metadata, dict[str, int]]:
    """Return the metadata of the whole dataset, and the axes of its records."""
    axes: dict[str, int] = setting(own, "axes", dict) or {}
    missing = names(own, "missing")
    meta: Metadata = {}
    for key, entry in source.meta.items():
        meta[key] = dict(entry)
        if key in axes:
            try:
                full = _full_size(source, key, axes[key], n)
            except DsError as error:
                raise error.at(variable=unescape(key))
            if math.prod(full) > own["size"]:
                raise FormatError(
                    f".size: found {full}, which are more values than {own['size']} bytes of data hold",
                    variable=unescape(key),
                )
            meta[key].update({".size": full, ".missing": key in missing})
    for key in axes:
        if key not in meta:
            raise FormatError(f"{RECORDS}: there is no variable {key!r:.60}")
    meta.setdefault(META, {}).pop(RECORDS, None)
    return meta, axes


def _full_size(source: DsSource, key: str, axis: Any, n: int) -> list[int]:
    """Return the size of a variable with all records, which the companion has with none."""
    found = source.variable(key).size
    if type(axis) is not int or not found or not 0 <= axis < len(found) or found[axis]:
        raise FormatError(f"{RECORDS}: found the axis {axis!r:.60}, but .size {None if found is None else list(found)}")
    return [*found[:axis], n, *found[axis + 1 :]]
