"""The check of a whole store."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

from ...base.progress import Advance, Progress
from ...errors import FormatError
from .. import format
from ..faults import ZdsWarning
from ..places import Folder, Place
from ..workspace import open_archive
from .collection import Counts, check_collection
from .findings import WARNING, Finding, Findings
from .metadata import check_store_file


class Report(NamedTuple):
    """What was found in a store.

    Attributes
    ----------
    findings : list of Finding
    counts : dict
        Counts by the name of the collection.
    """

    findings: list[Finding]
    counts: dict[str, Counts]


def examine(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Report:
    r"""Read all of a store, and tell what is wrong with it and what it has.

    Parameters
    ----------
    path, collection, strict, progress
        As for `validate`.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.validation import examine
    >>> os.makedirs("counted/collections/train/meta")
    >>> with open("counted/collections/train/meta/data.jsonl", "w") as file:
    ...     size = file.write('{"_id":"a","x":1}\n{"_id":"b"}\n{"_id":"a","x":2}\n')
    >>> examine("counted").counts
    {'train': Counts(documents=2, live=2, superseded=1, absent=0)}
    """
    findings = Findings()
    counts: dict[str, Counts] = {}
    advance = Advance(progress)
    with findings.of(os.fspath(path)):
        place = _open(os.fspath(path))
        try:
            there = place.collections()
            for name in there if collection is None else [collection]:
                if format.is_name(name):
                    with findings.of(place.path, name):
                        counts[name] = check_collection(place, name, findings, strict, advance)
                else:
                    findings.add(place.path, f"{name!r:.100} cannot be the name of a collection", collection=name)
            with findings.of(place.path):
                check_store_file(
                    place, {key: counts[key].documents if key in counts else None for key in there}, findings
                )
            _check_others(place, findings)
            for one in place.unused():
                findings.add(_path_of(place, one.name), one.error.message)
        finally:
            place.close()
    return Report(findings.listed(), counts)


def validate(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> list[Finding]:
    r"""Read all of a store, and tell everything that is wrong with it. Nothing is changed.

    Memory is bounded by the index of the largest collection and its longest line.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.
    collection : str, optional
        Look only into this one, and at the store as a whole; else into all.
    strict : bool
        Warn also of what is allowed, but not understood by all programs.
    progress : callable, optional
        Called with the bytes done and the bytes in all of the lines that have been found.

    Returns
    -------
    list of Finding
        Empty if all is well. Nothing about the store raises an error.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.validation import validate
    >>> os.makedirs("store/collections/train/meta")
    >>> with open("store/collections/train/meta/data.jsonl", "w") as file:
    ...     size = file.write('{"_id":"a","x":1}\n{"_id":"b","x":NaN}\n')
    >>> for finding in validate("store"):
    ...     print(finding)
    store/collections/train/meta/data.jsonl: line 2, byte 33: NaN and Infinity are not JSON
    """
    return examine(path, collection, strict=strict, progress=progress).findings


def _open(name: str) -> Place:
    """Open a store; what is wrong with it is asked for later.

    Raises
    ------
    FormatError
        If there is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)
        place: Place = Folder(name) if os.path.isdir(name) else open_archive(name)
    if not place.is_store():
        raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: no ZDS store", path=name)
    return place


def _path_of(place: Place, name: str) -> str:
    return f"{place.path}{'!' if place.kind == 'archive' else '/'}{name}"


def _check_others(place: Place, findings: Findings) -> None:
    """Check what is no file of the format: what was left over, and in archives, whether it can be read at all."""
    for name in place.names():
        last = name.rpartition("/")[2]
        path = _path_of(place, name)
        if last.endswith(".tmp"):
            findings.add(path, "left over from writing that was interrupted", severity=WARNING)
        elif last.startswith(format.TORN):
            findings.add(path, f"the torn end of {format.DATA}, which was cut off", severity=WARNING)
        elif place.kind == "archive" and not name.startswith(f"{format.COLLECTIONS}/"):
            with findings.of(path):
                region = place.open(name)
                for _ in region.blocks() if region else ():
                    pass
