"""Suggestions for a wrong command line. Imported only if it has no command, or a mistake."""

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
"""Similarity of an unknown command to an existing one, from 0 to 1, above which it is suggested.

It is lower than for variables because there are few commands."""


def check(request: Request) -> None:
    """Check that a command line without a command lists variables: the last word is a file, the others are variables.

    The first word may be a misspelt variable, unless it is similar to a command or another word is also a file.

    Raises
    ------
    UsageError
        If not, because then the command is misspelt.
    DsError, OSError
        If the file cannot be read.
    """
    *wanted, path = (str(word) for word in request.words)
    first = wanted[0] if wanted else path
    variables: list[str] = []
    about = ""
    if os.path.exists(path):
        finder = Finder(path, request)
        variables = list(lookup.read(path).variables) if wanted else []
        unknown = [word for word in wanted if not finder.match(word, variables)]
        is_command = first in unknown and (hint(first, COMMANDS) or any(map(os.path.isfile, unknown)))
        if not wanted or (len(unknown) < len(wanted) and not is_command):
            return
        about = f", and no variable of {path}"
    elif is_address(path) or (not hint(first, COMMANDS) and drivers.is_known(path)):
        return  # the list reports that this file does not exist
    raise unknown_command(first, about, variables)


def of_option(name: str, value: Any, known: Iterable[str], words: Sequence[Any]) -> str:
    """Return a suggestion to append to the message about an unknown option.

    Parameters
    ----------
    name : str
    value : object
        True for a flag.
    known : iterable of str
        The existing options.
    words : sequence
        The arguments of the command line. If a file among them has a dimension of this name, `sel` is suggested.
    """
    if value is True:
        return hint(name, known)
    positions = value if isinstance(value, list) else [value]
    is_index = bool(positions) and all(type(position) is int for position in positions)
    if name in _dimensions(words) or (is_index and not hint(name, known)):
        return f": did you mean {'sel' if is_index else 'at'}: {{ {name}: {pst.encode([value], False)} }}?"
    return hint(name, known)


def _dimensions(words: Sequence[Any]) -> set[str]:
    """Return the names of the dimensions of all files among `words`."""
    found: set[str] = set()
    for word in words:
        if isinstance(word, str) and os.path.isfile(word):
            with contextlib.suppress(Exception):  # the option is the error to report
                found.update(lookup.sizes_in(word))
    return found


def asking_for_help(request: Request) -> Request | None:
    """Return `ds help`, `ds help COMMAND` and `ds -h` as a request for help; None for any other command line.

    `ds help FILE` lists a variable of this name.

    Raises
    ------
    UsageError
        If COMMAND does not exist.
    """
    words = [str(word) for word in request.words]
    is_help = words[0] == "help" if words else "h" in request.options
    if not is_help or len(words) > 2 or (len(words) == 2 and os.path.exists(words[1])):
        return None
    *_, name = ("", *words[1:])
    if name == "help":
        name = ""
    if name and name not in COMMANDS:
        raise unknown_command(name)
    return Request(name, [], {"help": True})


def check_help(request: Request) -> None:
    """Raise `UsageError` if `--help` is about a single word that is neither a command nor a file."""
    if not request.command and len(request.words) == 1 and not os.path.exists(name := str(request.words[0])):
        raise unknown_command(name)


def unknown_command(name: str, about: str = "", others: Iterable[str] = ()) -> UsageError:
    """Return the error for a command that does not exist; `others` are names to suggest, too."""
    meant = hint(name, [*COMMANDS, *others]) or hint(name, COMMANDS, LEAST_LIKE)
    return UsageError(f'unknown command "{name}"{about}{meant}')
