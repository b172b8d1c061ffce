"""The companion `D.meta` of a data file D."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ....datadings import format, md5
from ....datadings.index import Index
from ....regular import open_binary
from ...ds.source import DsSource
from ...settings import setting
from .. import companion
from ..companion import Companion

SUFFIX = ".meta"


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
    return companion.opened(source, n, lambda own: _is_of(path, own, n, size), path)


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
    of_data = companion.record(found.axes, len(Index(target)), os.stat(target).st_size, found.meta, md5=digest)
    with contextlib.closing(found.source):
        companion.create(target + SUFFIX, found.meta, of_data, found.source).commit()


def _is_of(path: str, own: Any, n: int, size: int) -> bool:
    """Return whether a companion belongs to n samples of so many bytes in all."""
    if not companion.is_record(own, n, size):
        return False
    try:
        with open_binary(path + format.MD5) as file:
            known = md5.decode(file.read()).digests.get(os.path.basename(path))
    except FileNotFoundError:
        return True
    return known is None or known == setting(own, "md5", str)
