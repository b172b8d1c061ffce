"""The location of a file that a user names: a path as text, or an address.

A plain path takes one comparison, and loads nothing that addresses need. Everything else is left to `body.locating`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..body import MEMBER_MARK, Address, Location, path_text


def located(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Do the same as `body.locating.located`, which a plain path does not load."""
    is_plain = type(path) is str and "://" not in path and MEMBER_MARK not in path
    if is_plain and storage_options is None and store is None:
        return path
    if storage_options is None and store is None:
        if type(path) is str and "://" not in path:
            return _locating().member_or_path(path)
        if isinstance(path, Address):
            return path
    return _locating().located(path, storage_options, store)


def pack_members(path: Any) -> list[str] | None:
    """Do the same as `body.locating.pack_members`, which other paths do not load."""
    return _locating().pack_members(path) if isinstance(path, str) and path.endswith(MEMBER_MARK[:-1]) else None


@functools.cache
def _locating() -> Any:
    """Return `body.locating`, imported once: an import statement takes time at each execution."""
    from ..body import locating

    return locating


def is_one_file(paths: Any) -> bool:
    """Return whether an argument is a single file, and not an iterable of files."""
    one = (str, bytes, os.PathLike, bytearray, memoryview)
    return isinstance(paths, one) or hasattr(paths, "read") or not isinstance(paths, Iterable)


def located_each(
    paths: Iterable[Any], storage_options: Mapping[str, Any] | None = None, store: Any = None
) -> list[Location]:
    """Return local paths as text, and everything else as addresses; parameters and errors as for `located`."""
    known: dict[str, bool] = {}  # a pack has many members
    has_options = storage_options is not None or store is not None
    found: list[Location] = []
    for path in paths:
        if type(path) is str and "://" not in path and not has_options:
            found.append(path if MEMBER_MARK not in path else _locating().member_or_path(path, known))
        else:
            one = located(path, storage_options, store)
            found.append(one if type(one) is str or isinstance(one, Address) else path_text(one))
    return found
