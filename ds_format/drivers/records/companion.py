"""The companion `D.meta` of a data file D: a ds file of the dataset without its records.

The property `.records` of the dataset says which variables are records, and which data it belongs to::

    {"axes": {variable: axis}, "n": records, "size": bytes of D, "md5": checksum of D, "missing": [variable, ...]}
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import Any, NamedTuple

from ...datadings import format, md5
from ...datadings.index import Index
from ...dataset import META
from ...errors import DsError, FormatError
from ..base import Metadata
from ..ds.sink import DsSink
from ..ds.source import DsSource
from ..settings import names, setting

SUFFIX = ".meta"
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


def create(path: str, meta: Metadata, of_data: dict[str, Any], constants: DsSource) -> DsSink:
    """Write a companion under a temporary name; `commit` gives it its own.

    Parameters
    ----------
    path : str
        Of the data file.
    meta : Metadata
        Of the whole dataset.
    of_data : dict
        The property `.records`; see `record`.
    constants : DsSource
        Has the variables that are no records.
    """
    axes = of_data["axes"]
    without = {key: emptied(entry, axes[key]) if key in axes else entry for key, entry in meta.items()}
    without[META] = {**without.get(META, {}), RECORDS: of_data}
    sink = DsSink(path + SUFFIX, without)
    try:
        for key, entry in meta.items():
            if key != META and key not in axes and entry.get(".size") is not None:
                sink.write(key, constants.blocks(key))
    except BaseException:
        sink.abort()
        raise
    return sink


def find(path: str, n: int, size: int) -> Companion | None:
    """Open the companion of a data file, if there is one that belongs to it.

    Parameters
    ----------
    path : str
        Of the data file.
    n : int
        Its samples.
    size : int
        Its bytes.

    Returns
    -------
    Companion or None
        None if there is none, or, with a warning, one of other data.

    Raises
    ------
    FormatError
        If it is damaged.
    """
    try:
        source = DsSource(path + SUFFIX)
    except FileNotFoundError:
        return None
    try:
        own = source.meta.get(META, {}).get(RECORDS)
        if not _is_of(path, own, n, size):
            warnings.warn(f"{path + SUFFIX}: belongs to other data than those of {path}, and is not used", stacklevel=5)
            source.close()
            return None
        return Companion(source, *_metadata(source, own or {}, n))
    except DsError as error:
        source.close()
        raise error.at(path=path + SUFFIX)


def carry(source: str, target: str) -> None:
    """Give a data file that has samples of another one the companion of that, if it has one.

    Parameters
    ----------
    source, target : str
        The data files.
    """
    if not os.path.exists(source + SUFFIX):
        return
    found = find(source, len(Index(source)), os.stat(source).st_size)
    if found is None:
        return
    with open(target + format.MD5, "rb") as file:
        digest = md5.decode(file.read()).digests[os.path.basename(target)]
    n = len(Index(target))
    missing = [key for key in found.axes if found.meta[key].get(".missing")]
    with contextlib.closing(found.source):
        create(
            target, found.meta, record(found.axes, n, os.stat(target).st_size, digest, missing), found.source
        ).commit()


def record(axes: dict[str, int], n: int, size: int, digest: str, missing: list[str]) -> dict[str, Any]:
    """Return the property `.records`."""
    return {"axes": axes, "n": n, "size": size, "md5": digest, "missing": missing}


def _is_of(path: str, own: Any, n: int, size: int) -> bool:
    """Return whether a companion belongs to n samples of so many bytes in all."""
    if (setting(own, "n", int), setting(own, "size", int)) != (n, size):
        return False
    try:
        with open(path + format.MD5, "rb") as file:
            known = md5.decode(file.read()).digests.get(os.path.basename(path))
    except FileNotFoundError:
        return True
    return known is None or known == setting(own, "md5", str)


def _metadata(source: DsSource, own: dict[str, Any], n: int) -> tuple[Metadata, dict[str, int]]:
    """Return the metadata of the whole dataset, and the axes of its records."""
    axes: dict[str, int] = setting(own, "axes", dict) or {}
    missing = names(own, "missing")
    meta: Metadata = {}
    for key, entry in source.meta.items():
        meta[key] = dict(entry)
        if key in axes:
            found = entry.get(".size")
            axis = axes[key]
            if type(axis) is not int or not found or not 0 <= axis < len(found) or found[axis]:
                raise FormatError(f"{RECORDS}: found the axis {axis} of {key!r:.60}, whose size is {found}")
            full = list(found)
            full[axis] = n
            meta[key].update({".size": full, ".missing": key in missing})
    for key in axes:
        if key not in meta:
            raise FormatError(f"{RECORDS}: there is no variable {key!r:.60}")
    meta.setdefault(META, {}).pop(RECORDS, None)
    return meta, axes
