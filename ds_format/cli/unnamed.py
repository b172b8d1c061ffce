"""A command line without a command lists the variables of a file, unless the command is misspelt."""

from __future__ import annotations

import os

from .. import drivers
from ..nearest import hint
from . import metadata
from .arguments import Request, UsageError
from .commands import COMMANDS
from .patterns import Finder


def check(request: Request) -> None:
    """Check that the last word is a file and, if there are others, that one of them is a variable of it.

    Raises
    ------
    UsageError
        If it is not, so that the command must be a mistake.
    DsError, OSError
        If the file cannot be read.
    """
    *wanted, path = (str(word) for word in request.words)
    first = wanted[0] if wanted else path
    names: list[str] = list(COMMANDS)
    about = ""
    if os.path.exists(path):
        finder = Finder(path, request)
        variables = list(metadata.read(path).variables) if wanted else []
        if not wanted or any(finder.match(word, variables) for word in wanted):
            return
        names += variables
        about = f", and no variable of {path}"
    elif not hint(first, COMMANDS) and drivers.is_known(path):
        return  # a file whose absence is told by the list
    raise UsageError(f'unknown command "{first}"{about}{hint(first, names)}')
