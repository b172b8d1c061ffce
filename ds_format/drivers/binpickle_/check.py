"""What is wrong with a file, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ...binpickle.reader import BinPickleFile
from ...errors import DsError
from ..base import Fault
from .foreign import variables


def check(path: Any) -> tuple[list[Fault], bool]:
    """Compare all checksums, decode what is encoded, and make the object, without running code.

    Returns
    -------
    list of Fault
    bool
        Whether its variables are still to be read: it is a dataset, and there was no error.

    Raises
    ------
    DsError, OSError
        If it is no BinPickle file, or cannot be read.
    """
    name = os.fsdecode(path)
    with BinPickleFile(name) as file:
        faults = [Fault(name, message, True) for message in file.find_errors()]
        if faults:
            return faults, False
        try:
            is_own = variables(file.load_postponed()).is_own
        except DsError as error:
            return [Fault(name, error.message, True)], False
    return [], is_own
