"""The words of a command line: which is the command, which are options, which its arguments."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.wording import hint
from ..errors import is_address
from . import pst
from .commands import COMMANDS, DEFAULT, Option

GENERAL = (
    Option("F", "Take names as they stand, not as patterns."),
    Option("help", "Print help on ds or on a command."),
    Option("j", "Print JSON instead of PST."),
    Option("json", "The same as -j."),
    Option("m", "Moderate: names that do not exist are warned about. This is so by default."),
    Option("noindent", "Print each value on one line."),
    Option("print-completion", "Print a script that completes words on the command line: for bash, zsh or tcsh."),
    Option("q", "Quiet: no progress bar."),
    Option("s", "Strict: a name that does not exist is an error."),
    Option("t", "Soft: nothing is said of names that do not exist, unless nothing is left to do."),
    Option("v", "Verbose: print where in the program an error occurred."),
    Option("version", "Print the version."),
)
"""Options of every command."""

READ = (
    Option("at", "Where variables of one dimension are nearest to these values; text is a time.", "{ VAR: VALUE... }"),
    Option(
        "between",
        "Where variables of one dimension are from A up to but without B; none is open.",
        "{ VAR: { A B }... }",
    ),
    Option("range", "Positions from A up to but without B; none is open.", "{ DIM: { A B }... }"),
    Option(
        "sel",
        "These positions along dimensions: an integer, which removes the dimension, or { INTEGER... } each.",
        "{ DIM: INDEX... }",
    ),
)
"""Options of every command, too: which part of the data is read. Those that read no data ignore them."""

WRITE = (
    Option("allow-empty", "Write the output even if a selector leaves nothing of a dimension."),
    Option("calendar", "Calendar of time variables, as the CF conventions call it.", "NAME"),
    Option("time_units", "Units of time variables, as in 'days since 2000-01-01'.", "UNITS"),
    Option("times", "For .csv, .tsv, .msgpack and .zds: iso writes times as text (2000-01-31T12:00:00).", "iso"),
)
"""Options of every command, too: what is written, and how times are, except in ds files. Commands that write nothing
ignore them."""

FORMAT = Option("format", "The format of the input, whatever its suffix and content: netcdf, csv and so on.", "NAME")
"""Option of commands that read files of one format."""

ALIASES = {"json": "j"}
"""Other names of options."""


class UsageError(Exception):
    """Words that do not make up a command line."""


class ArgumentError(ValueError):
    """A word that is not what its place demands."""


class Request(NamedTuple):
    """What a command line asks for."""

    command: str
    """Empty if no word stands where a command does."""
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
    place = _place_of_command(items)
    items = [*items, *argv[end + 1 :]]
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
    return Request(command, words, {ALIASES.get(name, name): pst.value(value) for name, value in options.items()})


def _place_of_command(items: Sequence[Any]) -> int:
    """Return where the command stands: first, behind options or one file that exists; -1 if it does not."""
    words = [(i, item) for i, item in enumerate(items) if not isinstance(item, dict)]
    for i, item in words[:2]:
        if isinstance(item, str) and item in COMMANDS:
            return i
        if not isinstance(item, str) or not os.path.exists(item):
            break
    return -1


def check(
    options: Mapping[str, Any],
    known: Iterable[Option],
    meant: Callable[[str, Any, list[str]], str] = lambda name, _, names: hint(name, names),
) -> None:
    """Raise `UsageError` for an option that is neither among those of a command nor a general one.

    Parameters
    ----------
    options : dict
        Name → value.
    known : iterable of Option
    meant : callable
        Takes name and value of an unknown option, and the names that there are; returns what to add to the message.
    """
    names = [option.name for option in (*GENERAL, *known)]
    for name, value in options.items():
        if name not in names:
            raise UsageError(f'unrecognized option "{name}"{meant(name, value, names)}')


def check_flags(options: Mapping[str, Any], known: Iterable[Option]) -> None:
    """Raise `UsageError` for a flag that got a value other than true and false."""
    for option in (*GENERAL, *known):
        value = options.get(option.name, True)
        if not option.value and not isinstance(value, bool) and option.name != "print-completion":
            about = ": the layout of ds files is called layout" if option.name == "version" else ""
            raise UsageError(f'the option "{option.name}" has no value, found {pst.encode([value], False)}{about}')


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


def read_format(request: Request) -> str | None:
    """Return the name of the format of the input, if the request has one.

    Raises
    ------
    ArgumentError
        If it is no text.
    """
    found = request.options.get(FORMAT.name)
    return None if found is None else text(found, FORMAT.name)


def names(value: Any, what: str) -> list[str]:
    """Return the value of an option that takes a name or an array of names.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    value = unquoted(value)
    found = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(name, str) for name in found):
        raise ArgumentError(
            f"{what}: invalid type: expected a name or an array of names, found {pst.encode(value, False)}"
        )
    return found


def unquoted(value: Any) -> Any:
    """Return the value of an option; of one word in braces, `'{ A B }'`, what they hold.

    They are in quotes because some shells take braces for their own.
    """
    return pst.decode_text(value) if isinstance(value, str) and value.startswith("{") else value


def is_none(word: Any) -> bool:
    """Whether a word of a request is the bare word `none`."""
    return isinstance(word, pst.Bare) and word == "none"


def name_or_none(word: Any, what: str) -> str | None:
    """Return the name that a word is, or None if it is the bare word `none`; see `text`."""
    return None if is_none(word) else text(word, what)


def texts(word: Any, what: str) -> list[str]:
    """Return the names that a word of a request is: an array of names, or one.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    return [text(item, what) for item in word] if isinstance(word, list) else [text(word, what)]


def count(request: Request, least: int, most: int | None = None, *, lacks: str = "", lister: str = "") -> None:
    """Raise `UsageError` unless a command line has so many arguments.

    Parameters
    ----------
    request : Request
    least, most : int
    lacks : str
        What is missing where only a file is given, as `VAR`.
    lister : str
        The command that lists what there is of it.
    """
    n = len(request.words)
    if lacks and n == 1 and least > 1 and isinstance(file := request.words[0], str):
        if is_address(file) or os.path.exists(file):
            raise UsageError(f"{lacks} is missing: found only the file {file}; `ds {lister} {file}` lists what it has")
        raise UsageError(f"INPUT is missing: found only {file}, which is not a file")
    if n < least or (most is not None and n > most):
        raise UsageError("invalid number of arguments")
