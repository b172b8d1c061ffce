"""What is wrong with a store, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ....zds.faults import message_at
from ....zds.validation import validate
from ...base import Fault
from . import companion_member
from .reading import open_place

ERROR = "error"


def check(path: Any) -> tuple[list[Fault], bool]:
    """Check all files of a store but companions.

    Returns
    -------
    list of Fault
    bool
        Whether its variables are still to be read: this package wrote them, and there was no error.

    Raises
    ------
    OSError
        If there is no such file or folder.
    """
    name = os.fsdecode(path)
    os.stat(name)
    faults = [
        Fault(found.path, message_at(found.message, found.line, found.offset), found.severity == ERROR)
        for found in validate(name)
    ]
    if any(fault.is_error for fault in faults):
        return faults, False
    place = open_place(name)
    files = place.names()
    place.close()
    return faults, any(file.endswith("/" + companion_member.FILE) for file in files)
