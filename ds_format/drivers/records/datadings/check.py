"""What is wrong with the files of a dataset, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ....base.progress import Progress
from ....datadings import format
from ....datadings.dataset_files import JOURNAL, current_name, hidden_name
from ....datadings.verify import verify
from ....kernels.files.presence import exists
from ...base import ERROR, WARNING, Problem, Report
from ..source import RecordSource
from . import companion_file
from .reading import SampleRecords

OPTIONAL = (format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5)
"""Files without which a dataset is read, too."""


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> RecordSource | None:
    """Check all files of a dataset but the companion.

    Returns
    -------
    RecordSource, optional
        If its variables are still to be read: this package wrote it, and there was no error.

    Raises
    ------
    OSError
        If there is no data file.
    """
    name = os.fsdecode(path)
    told: set[str] = set()
    has_errors = False
    for found in verify(name, progress=progress):
        is_absent = _is_absent(found.file)
        if is_absent and found.file in told:
            continue
        told.add(found.file)
        is_error = not is_absent and found.file != hidden_name(name, JOURNAL)
        has_errors |= is_error
        report(Problem(found.file, None, found.message, ERROR if is_error else WARNING))
    if has_errors or not exists(current_name(name, companion_file.SUFFIX)):
        return None
    return RecordSource(SampleRecords(name), skip_unsupported=True)


def _is_absent(path: str) -> bool:
    return path.endswith(OPTIONAL) and not exists(path)
