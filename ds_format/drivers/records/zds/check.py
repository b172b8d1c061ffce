"""What is wrong with a store, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ....base.progress import Progress
from ....zds.faults import message_at
from ....zds.validation import validate
from ...base import ERROR, Problem, Report, Source
from . import companion_member
from .opening import open
from .reading import open_place


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> Source | None:
    """Check all files of a store but companions.

    Returns
    -------
    Source, optional
        If its variables are still to be read: this package wrote them, and there was no error.

    Raises
    ------
    OSError
        If there is no such file or folder.
    """
    name = os.fsdecode(path)
    os.stat(name)
    has_errors = False
    for found in validate(name, progress=progress):
        has_errors |= found.severity == ERROR
        report(Problem(found.path, None, message_at(found.message, found.line, found.offset), found.severity))
    if has_errors:
        return None
    place = open_place(name)
    files = place.names()
    place.close()
    return (
        open(name, skip_unsupported=True) if any(file.endswith("/" + companion_member.FILE) for file in files) else None
    )
