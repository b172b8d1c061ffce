"""What is wrong with a file, beyond what reading its variables finds."""

from __future__ import annotations

import os
from typing import Any

from ...base.progress import Progress
from ...binpickle.reader import BinPickleFile
from ...errors import DsError, UnsafeError
from ..base import ERROR, WARNING, Problem, Report
from .foreign import variables
from .source import BinPickleSource

TRUSTED = "trusted=True"
"""In the message of an `UnsafeError` about what is loaded with this option."""


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> BinPickleSource | None:
    """Compare all checksums, decode what is encoded, and make the object, without running code.

    A sound file that loads with `trusted=True` only has a warning.

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
                if isinstance(error, UnsafeError) and TRUSTED in error.message:
                    report(Problem(name, None, error.message, WARNING))
                else:
                    errors.append(error.message)
    for message in errors:
        report(Problem(name, None, message, ERROR))
    return BinPickleSource(name, skip_unsupported=True) if is_own else None
