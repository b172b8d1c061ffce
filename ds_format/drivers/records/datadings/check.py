"""What is wrong with the files of a dataset, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ....datadings import format, journal
from ....datadings.verify import verify
from ....kernels.files.presence import exists
from ...base import Fault
from . import beside

OPTIONAL = (format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5)
"""Files without which a dataset is read, too."""


def check(path: Any) -> tuple[list[Fault], bool]:
    """Check all files of a dataset but the companion.

    Returns
    -------
    list of Fault
    bool
        Whether its variables are still to be read: this package wrote it, and there was no error.

    Raises
    ------
    OSError
        If there is no data file.
    """
    name = os.fsdecode(path)
    faults: dict[str, Fault] = {}
    for i, found in enumerate(verify(name)):
        absent = _is_absent(found.file)
        is_error = not absent and found.file != journal.hidden(name, journal.JOURNAL)
        faults.setdefault(found.file if absent else str(i), Fault(found.file, found.message, is_error))
    is_own = exists(journal.place(name, beside.SUFFIX))
    return list(faults.values()), is_own and not any(fault.is_error for fault in faults.values())


def _is_absent(path: str) -> bool:
    return path.endswith(OPTIONAL) and not exists(path)
