"""The words of a command line: which is the command, which are options, which its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from . import pst
from .commands import COMMANDS, DEFAULT, Command, Option

GENERAL = (
    Option("F", "Take names as they stand, not as patterns."),
    Option("help", "Print help on ds or on a command."),
    Option("j", "Print JSON instead of PST."),
    Option("m", "Moderate: names that do not exist are warned about."),
    Option("noindent", "Print each value on one line."),
    Option("q", "Quiet: no progress bar."),
    Option("s", "Strict: a name that does not exist is an error."),
    Option("t", "Soft: names that do not exist are ignored."),
    Option("v", "Verbose: print where in the program an error occurred."),
    Option("version", "Print the version."),
)
"""Options of every command."""

READ = (
    Option(
        "sel", "Read only these positions along dimensions: an integer or { INTEGER... } each.", "{ DIM: INDEX... }"
    ),
)
"""Options of every command, too; those that read no data ignore them."""


class UsageError(Exception):
    """Words that do not make up a command line."""


class ArgumentError(ValueError):
    """A word that is not what its place demands."""


class Request(NamedTuple):
    """What a command line asks for."""

    command: str
    """The first word that is the name of a command; empty if none is."""
    words: list[Any]
    """The arguments, as items of `pst.parse`. Objects are among them only if the command takes pairs."""
    options: dict[str, Any]
    """Values by name; those of flags are True."""
    progress: Callable[[int, int], None] | None = None
    """To be called with the bytes done and the bytes in all, if someone watches."""


def read(argv: Sequence[str]) -> Request:
    """Sort the words of a command line, the name of the program left out.

    Raises
    ------
    RecursionError
        If brackets are nested hundreds deep.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    items = pst.parse(argv[:end])
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    items = [*items, *argv[end + 1 :]]
    place = next((i for i, item in enumerate(items) if isinstance(item, str) and item in COMMANDS), -1)
    command = str(items[place]) if place >= 0 else ""
    takes_pairs = COMMANDS[command or DEFAULT].pairs
    words: list[Any] = []
    options: dict[str, Any] = {}
    for i, item in enumerate(items):
        if not isinstance(item, dict):
            words += [] if i == place else [item]
        elif not takes_pairs or i < place or i == len(items) - 1:
            options.update(item)
        else:
            options.update((key, value) for key, value in item.items() if value is True)
            pairs = {key: value for key, value in item.items() if value is not True}
            words += [pairs] if pairs else []
    return Request(command, words, {name: pst.value(value) for name, value in options.items()})


def check(options: Iterable[str], command: Command) -> None:
    """Raise `UsageError` for an option that the command does not know."""
    known = {option.name for option in (*GENERAL, *READ, *command.options)}
    for name in options:
        if name not in known:
            raise UsageError(f'unrecognized option "{name}"')


def text(word: Any, what: str) -> str:
    """Return a word of a request that can only be a name. One that looks like a number is a name, too.

    Raises
    ------
    ArgumentError
        If it is an array or object.
    """
    if not isinstance(word, str):
        raise ArgumentError(f"{what}: invalid type: expected a name, found {pst.encode([pst.value(word)], False)}")
    return str(word)


def names(value: Any, what: str) -> list[str]:
    """Return the value of an option that takes a name or an array of names.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    found = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(name, str) for name in found):
        raise ArgumentError(
            f"{what}: invalid type: expected a name or an array of names, found {pst.encode(value, False)}"
        )
    return found
