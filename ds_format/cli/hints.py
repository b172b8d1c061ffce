"""What a wrong command line may have meant. Imported only for one without a command, or with a mistake."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from .. import drivers
from ..base.text import hint
from ..errors import is_address
from . import lookup, pst
from .arguments import Request, UsageError
from .commands import COMMANDS
from .lookup import Finder

LEAST_LIKE = 0.55
"""How like a command an unknown one has to be, from 0 to 1: there are few, so less will do than for variables."""


def check(request: Request) -> None:
    """Check that a command line without a command lists variables: its last word is a file, the others are variables.

    The first word may be a misspelt variable, unless it is like a command or another word is a file, too.

    Raises
    ------
    UsageError
        If not, so that the command must be a mistake.
    DsError, OSError
        If the file cannot be read.
    """
    *wanted, path = (str(word) for word in request.words)
    first = wanted[0] if wanted else path
    names: list[str] = list(COMMANDS)
    about = ""
    if os.path.exists(path):
        finder = Finder(path, request)
        variables = list(lookup.read(path).variables) if wanted else []
        unknown = [word for word in wanted if not finder.match(word, variables)]
        is_command = first in unknown and (hint(first, COMMANDS) or any(map(os.path.isfile, unknown)))
        if not wanted or (len(unknown) < len(wanted) and not is_command):
            return
        names += variables
        about = f", and no variable of {path}"
    elif is_address(path) or (not hint(first, COMMANDS) and drivers.is_known(path)):
        return  # the list reports that this file does not exist
    meant = hint(first, names) or hint(first, COMMANDS, LEAST_LIKE)
    raise UsageError(f'unknown command "{first}"{about}{meant}')


def of_option(name: str, value: Any, known: Iterable[str], words: Sequence[Any]) -> str:
    """Return what to add to the message that there is no such option.

    Parameters
    ----------
    name : str
    value : object
        True for a flag.
    known : iterable of str
        The options that there are.
    words : sequence
        The arguments of the command line: their files may have a dimension of this name.
    """
    if value is True:
        return hint(name, known)
    positions = value if isinstance(value, list) else [value]
    is_index = bool(positions) and all(type(position) is int for position in positions)
    if name in _dimensions(words) or (is_index and not hint(name, known)):
        return f": did you mean {'sel' if is_index else 'at'}: {{ {name}: {pst.encode([value], False)} }}?"
    return hint(name, known)


def _dimensions(words: Sequence[Any]) -> set[str]:
    """Return the names of the dimensions of all files among some words."""
    found: set[str] = set()
    for word in words:
        if isinstance(word, str) and os.path.isfile(word):
            with contextlib.suppress(Exception):  # the option is what is wrong
                found.update(lookup.sizes_in(word))
    return found


def asking_for_help(request: Request) -> Request | None:
    """Return `ds help`, `ds help COMMAND` and `ds -h` as a request for help; None for any other command line."""
    words = [str(word) for word in request.words]
    is_help = words[0] == "help" if words else "h" in request.options
    if not is_help or len(words) > 2 or (len(words) == 2 and words[1] not in COMMANDS):
        return None
    return Request(words[1] if len(words) == 2 else "", [], {"help": True})
