"""What is wrong with a file, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ...advance import Progress
from ...binpickle.reader import BinPickleFile
from ...errors import DsError
from ..base import ERROR, Problem, Report
from .foreign import variables
from .source import BinPickleSource


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> BinPickleSource | None:
    """Compare all checksums, decode what is encoded, and make the object, without running code.

    Returns
    -------
    BinPickleSource, optional
        If its variables are still to be read: it is a dataset, and there was no error.

    Raises
    ------
    DsError, OSError
        If it is no BinPickle file, or cannot be read.
    """
    name = os.fsdecode(path)
    with BinPickleFile(name) as file:
        errors = file.find_errors(progress)
        is_own = False
        if not errors:
            try:
                is_own = variables(file.load_postponed()).is_own
            except DsError as error:
                errors.append(error.message)
    for message in errors:
        report(Problem(name, None, message, ERROR))
    return BinPickleSource(name, skip_unsupported=True) if is_own else None
