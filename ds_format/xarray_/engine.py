"""A ds file → datasets of xarray, one for each group."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from xarray import Dataset, DataTree

from ..drivers.ds.source import DsSource
from ..errors import DsError, UnsupportedError
from . import groups, reading
from .refusals import refusal


def open_dataset(path: Any, options: reading.Options, group: str | None = None) -> Dataset:
    """Open one group of a file.

    Parameters
    ----------
    path : str or PathLike
    options : Options
    group : str, optional
        By default the root, that is the variables without a slash in their names.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If it is no ds file, or a damaged one.
    MissingError
        If it has no such group.
    """
    with _opened(path) as source:
        return _dataset(source, options, group)


def open_groups(path: Any, options: reading.Options, group: str | None = None) -> dict[str, Dataset]:
    """Open all groups of a file, or those in one group, each by its path; see `open_dataset`."""
    with _opened(path) as source:
        top = "/" + (group or "").strip("/")
        below = top.rstrip("/") + "/"
        wanted = [name for name in groups.paths(source.meta) if name == top or name.startswith(below)] or [top]
        return {"/" + name[len(below) :]: _dataset(source, options, name) for name in wanted}


def open_datatree(path: Any, options: reading.Options, group: str | None = None) -> DataTree:
    """Open all groups of a file as a tree; see `open_groups`.

    Raises
    ------
    UnsupportedError
        Also if a variable has the name of a group beside it, or a group one that a tree cannot have.
    """
    found = open_groups(path, options, group)
    try:
        return DataTree.from_dict(found)
    except (LookupError, ValueError) as error:
        message = f"its groups make no tree: {refusal(error)}; `open_groups` has them without one"
        raise UnsupportedError(message, path=os.fsdecode(path)) from error


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[DsSource]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f'the engine "ds" opens files by their paths: found {type(path).__name__}, expected str')
    source = DsSource(os.path.expanduser(path))
    try:
        yield source
    except DsError as error:
        raise error.at(path=source.path)
    finally:
        source.close()


def _dataset(source: DsSource, options: reading.Options, path: str | None) -> Dataset:
    found = groups.group(source.meta, path, source.path)
    opened = reading.dataset(found, source.handle, options, os.path.abspath(source.path))
    opened.encoding["source"] = source.path
    return opened
