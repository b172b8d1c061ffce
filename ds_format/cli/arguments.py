"""The words of a command line: the command, its options and its arguments; how a command declares what it takes.

An option that has a value has a *kind*, which checks the value and returns what commands use; see `Request.get`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.text import hint
from ..errors import is_address
from . import pst

Kind = Callable[[str, Any], Any]
"""The name of an option and its value → the value as commands take it."""

Index = int | list[int] | list[bool]
"""A position, which removes its dimension; a list of positions, or of which are selected, which keeps it."""


class UsageError(Exception):
    """Words that do not make up a command line."""


class ArgumentError(ValueError):
    """A word that is not what its place demands."""


def refused(what: str, message: str, value: Any) -> ArgumentError:
    """Return the error that the value of an option, or an argument, is not what is expected."""
    return ArgumentError(f"{what}: {message}, found {pst.encode([value], False)}")


def text(word: Any, what: str) -> str:
    """Return a word of a request that can only be a name. One that looks like a number is a name, too.

    Raises
    ------
    ArgumentError
        If it is an array or object.
    """
    if not isinstance(word, str):
        raise refused(what, "invalid type: expected a name", pst.value(word))
    return str(word)


def word(expected: str = "a name", *, none: bool = True) -> Kind:
    """Return the kind of text; `none` is the same as no option unless it is forbidden."""

    def read(name: str, value: Any) -> str | None:
        if not isinstance(value, str) and not (none and value is None):
            raise refused(name, f"invalid type: expected {expected}", value)
        return value

    return read


def integer(least: int | None = None, message: str = "") -> Kind:
    """Return the kind of integers from `least` on; `message` is what an error says."""

    def read(name: str, value: Any) -> int | None:
        if value is not None and type(value) is not int:
            raise refused(name, message or "invalid type: expected an integer", value)
        if value is not None and least is not None and value < least:
            raise refused(name, message or f"expected {least} or more", value)
        return value

    return read


def choice(*words: str) -> Kind:
    """Return the kind of text that is one of some words."""

    def read(name: str, value: Any) -> str:
        if str(value) not in words:  # 1.0 was read as a number
            raise refused(name, f"expected {' or '.join(words)}", value)
        return str(value)

    return read


def boolean(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise refused(name, "expected true or false", value)
    return value


def names(name: str, value: Any) -> list[str]:
    """Return a name or an array of names as a list."""
    value = unquoted(value)
    found = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str) for one in found):
        raise refused(name, "invalid type: expected a name or an array of names", value)
    return found


def pairs(form: str, read: Callable[[str, Any], Any]) -> Kind:
    """Return the kind of objects, of which there may be several in an array; `read` takes name and value of a pair."""

    def kind(name: str, value: Any) -> dict[str, Any]:
        value = unquoted(value)
        found = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(item, dict) for item in found):
            raise refused(name, f"invalid type: expected {form}", value)
        return {key: read(f"{name}: {key}", one) for item in found for key, one in item.items()}

    return kind


def bounds(*kinds: type) -> Kind:
    """Return the kind of two bounds, each of which is of one of some types, or None."""

    def read(what: str, value: Any) -> tuple[Any, Any]:
        fits = isinstance(value, list) and len(value) == 2
        if not fits or not all(bound is None or type(bound) in kinds for bound in value):
            raise refused(what, "invalid type: expected { A B }", value)
        low, high = value
        return low, high

    return read


def is_index(value: Any) -> bool:
    """Whether a value is an index: an integer, an array of integers or an array of booleans."""
    kinds = {type(position) for position in value} if isinstance(value, list) else {type(value)}
    return kinds <= {int} or (kinds == {bool} and isinstance(value, list))


def index(what: str, value: Any) -> Index:
    """Return positions along a dimension, which is the last word of `what`."""
    if not is_index(value):
        raise refused(what.rpartition(": ")[2], "expected an index or an array of indexes", value)
    found: Index = value
    return found


def _values(what: str, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    if not values or not all(type(item) in (int, float, str) for item in values):
        raise refused(what, "invalid type: expected a value or an array of values", value)
    return values[0] if len(values) == 1 else values


class Option(NamedTuple):
    """One option."""

    name: str
    about: str
    value: str = ""
    """What its value is called. Without one the option is a flag."""
    kind: Kind = word()
    """Of its value."""

    @property
    def label(self) -> str:
        """How it is written on a command line."""
        if self.value:
            return f"{self.name}: {self.value}"
        return ("-" if len(self.name) == 1 else "--") + self.name


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

_AT, _BETWEEN, _RANGE, _SEL = (
    *("{ VAR: VALUE... }", "{ VAR: { A B }... }", "{ DIM: { A B }... }", "{ DIM: INDEX... }"),
)
READ = (
    Option(
        "at",
        "Where variables of one dimension are nearest to these values; text is a time.",
        _AT,
        pairs(_AT, _values),
    ),
    Option(
        "between",
        "Where variables of one dimension are from A up to but without B; none is open.",
        _BETWEEN,
        pairs(_BETWEEN, bounds(int, float, str)),
    ),
    Option("range", "Positions from A up to but without B; none is open.", _RANGE, pairs(_RANGE, bounds(int))),
    Option(
        "sel",
        "These positions along dimensions: an integer, which removes the dimension, or { INTEGER... } each.",
        _SEL,
        pairs(_SEL, index),
    ),
)
"""Options of every command, too: which part of the data is read. Those that read no data ignore them."""

_TEXT = word("text", none=False)
WRITE = (
    Option("allow-empty", "Write the output even if a selector leaves nothing of a dimension."),
    Option("calendar", "Calendar of time variables, as the CF conventions call it.", "NAME", _TEXT),
    Option("time_units", "Units of time variables, as in 'days since 2000-01-01'.", "UNITS", _TEXT),
    Option("times", "For .csv, .tsv, .msgpack and .zds: iso writes times as text (2000-01-31T12:00:00).", "iso", _TEXT),
)
"""Options of every command, too: what is written, and how times are, except in ds files. Commands that write nothing
ignore them."""

FORMAT = Option("format", "The format of the input, whatever its suffix and content: netcdf, csv and so on.", "NAME")
"""Option of commands that read files of one format."""

ALIASES = {"json": "j"}
"""Other names of options."""

_KNOWN = {option.name: option for option in GENERAL}


class Request(NamedTuple):
    """What a command line asks for."""

    command: str
    """Empty if no word stands where a command does."""
    words: list[Any]
    """The arguments, as items of `pst.parse`. Objects are among them only if the command takes pairs."""
    options: dict[str, Any]
    """Values by name, as they were given; those of flags are True."""
    progress: Callable[[int, int], None] | None = None
    """To be called with the bytes done and the bytes in all, if someone watches."""
    known: Mapping[str, Option] = _KNOWN
    """The options that there are, by name."""

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        return bool(self.options.get(name))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of an option as its kind has it, or the default if it was not given.

        Raises
        ------
        ArgumentError
            If it is not of the form that the help of the option shows.
        """
        return self.known[name].kind(name, self.options[name]) if name in self.options else default

    def check(
        self,
        options: Iterable[Option],
        meant: Callable[[str, Any, Iterable[str]], str] = lambda name, _, names: hint(name, names),
    ) -> "Request":
        """Return this request with the options that there are: those of every command, and those of this one.

        Parameters
        ----------
        options : iterable of Option
        meant : callable
            Takes name and value of an unknown option, and the names that there are; returns what to add to the message.

        Raises
        ------
        UsageError
            If it has an option that is not among them.
        """
        known = {option.name: option for option in (*GENERAL, *options)}
        for name, value in self.options.items():
            if name not in known:
                raise UsageError(f'unrecognized option "{name}"{meant(name, value, known)}')
        return self._replace(known=known)

    def check_flags(self) -> None:
        """Raise `UsageError` for a flag that got a value other than true and false."""
        for option in self.known.values():
            value = self.options.get(option.name, True)
            if not option.value and not isinstance(value, bool) and option.name != "print-completion":
                about = ": the layout of ds files is called layout" if option.name == "version" else ""
                raise UsageError(f'the option "{option.name}" has no value, found {pst.encode([value], False)}{about}')

    def exactly(self, *what: str, lister: str = "") -> list[str]:
        """Return the arguments, which are names.

        Parameters
        ----------
        *what : str
            What they are called, the last one is the file.
        lister : str
            The command that lists what the first one may be.

        Raises
        ------
        UsageError
            If there are more or less.
        ArgumentError
            If one is an array or object.
        """
        self.check_count(len(what), len(what), lacks=what[0] if lister else "", lister=lister)
        return [text(word, name) for word, name in zip(self.words, what, strict=True)]

    def at_least(self, n: int, what: str = "argument", *, lacks: str = "", lister: str = "") -> list[str]:
        """Return the arguments, which are `n` names or more; see `check_count` and `exactly`."""
        self.check_count(n, lacks=lacks, lister=lister)
        return [text(word, what) for word in self.words]

    def optional(self, *what: str) -> tuple[list[str | None], str]:
        """Return the names before a file, None for each that is `none` or left out, and the file; see `exactly`."""
        self.check_count(1, len(what) + 1)
        *given, file = self.words
        found = [None if is_none(word) else text(word, name) for word, name in zip(given, what, strict=False)]
        return [*found, *(None for _ in what[len(found) :])], text(file, "INPUT")

    def check_count(self, least: int, most: int | None = None, *, lacks: str = "", lister: str = "") -> None:
        """Raise `UsageError` unless there are so many arguments.

        Parameters
        ----------
        least, most : int
        lacks : str
            What is missing where only a file is given, as `VAR`.
        lister : str
            The command that lists what there is of it.
        """
        n = len(self.words)
        if lacks and n == 1 and least > 1 and isinstance(file := self.words[0], str):
            if is_address(file) or os.path.exists(file):
                raise UsageError(
                    f"{lacks} is missing: found only the file {file}; `ds {lister} {file}` lists what it has"
                )
            raise UsageError(f"INPUT is missing: found only {file}, which is not a file")
        if n < least or (most is not None and n > most):
            raise UsageError("invalid number of arguments")


class Command(NamedTuple):
    """What a command takes, how its help explains that, and what runs it."""

    usage: tuple[str, ...]
    about: str
    arguments: tuple[tuple[str, str], ...]
    """What each is called, and what it is."""
    options: tuple[Option, ...]
    """Those that other commands lack."""
    examples: tuple[tuple[str, str], ...]
    """A task, and the command line that does it."""
    run: Callable[[Request], Iterable[Any]]
    """Takes a request, and returns what to print."""
    status: str = ""
    """What the exit status says, if that is not the usual."""

    @property
    def known(self) -> tuple[Option, ...]:
        """Its options, and those of reading and writing."""
        return (*READ, *WRITE, *self.options)


class Finished(Exception):
    """A command did all that it was asked for, and its exit status tells the result.

    Parameters
    ----------
    status : int
    """

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


def read(argv: Sequence[str], commands: Mapping[str, bool]) -> Request:
    """Sort the words of a command line, the name of the program left out.

    Parameters
    ----------
    argv : sequence of str
    commands : dict
        The name of each command → whether `KEY: VALUE` between its words are arguments: options of that form then
        are first or last.

    Raises
    ------
    RecursionError
        If brackets are nested hundreds deep.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    items = pst.parse(argv[:end])
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    place = _place_of_command(items, commands)
    items = [*items, *argv[end + 1 :]]
    command = str(items[place]) if place >= 0 else ""
    takes_pairs = commands.get(command, False)
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


def _place_of_command(items: Sequence[Any], commands: Iterable[str]) -> int:
    """Return where the command stands: first, behind options or one file that exists; -1 if it does not."""
    words = [(i, item) for i, item in enumerate(items) if not isinstance(item, dict)]
    for i, item in words[:2]:
        if isinstance(item, str) and item in commands:
            return i
        if not isinstance(item, str) or not os.path.exists(item):
            break
    return -1


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
