"""Words of a command line → command, options and arguments; how a command declares its arguments and options.

An option with a value has a *kind*, which checks the value and converts it for the command; see `Request.get`.
"""

import os
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.dtypes import TYPES
from ..base.text import hint
from ..errors import is_address, plain_name, plain_path
from . import pst

Kind = Callable[[str, Any], Any]
"""The name of an option and its value → the converted value."""

Index = int | list[int] | list[bool]
"""A position, which removes its dimension; or a list of positions or booleans, which keeps it."""


TYPE_NAMES = ", ".join((*(name for name, row in TYPES.items() if not row.is_string), "str (bytes) or unicode (text)"))
"""The types of variables, in words."""


class UsageError(Exception):
    """An invalid command line."""


class ArgumentError(ValueError):
    """An invalid argument or value of an option."""


def refused(what: str, message: str, value: Any) -> ArgumentError:
    """Return the error for an invalid argument or value of an option."""
    return ArgumentError(f"{what}: {message}, found {pst.encode([value], False)}")


def text(word: Any, what: str) -> str:
    """Return an argument that is a name. Words that look like numbers are names, too.

    Raises
    ------
    ArgumentError
        If it is an array or object.
    """
    if not isinstance(word, str):
        raise refused(what, "invalid type: expected a name", pst.value(word))
    return str(word)


def word(expected: str = "a name", *, none: bool = True) -> Kind:
    """Return the kind of text. With `none=True` the value `none` is allowed, and the same as no option."""

    def read(name: str, value: Any) -> str | None:
        if not isinstance(value, str) and not (none and value is None):
            raise refused(name, f"invalid type: expected {expected}", value)
        return value

    return read


def integer(least: int | None = None, message: str = "") -> Kind:
    """Return the kind of integers of at least `least`; `message` is the error message."""

    def read(name: str, value: Any) -> int | None:
        if value is not None and type(value) is not int:
            raise refused(name, message or "invalid type: expected an integer", value)
        if value is not None and least is not None and value < least:
            raise refused(name, message or f"expected {least} or more", value)
        return value

    return read


def choice(*words: str) -> Kind:
    """Return the kind of text that is one of `words`."""

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
    """Return the kind of one object or an array of objects; `read` converts the value of each pair."""

    def kind(name: str, value: Any) -> dict[str, Any]:
        value = unquoted(value)
        found = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(item, dict) for item in found):
            raise refused(name, f"invalid type: expected {form}", value)
        return {key: read(f"{name}: {key}", one) for item in found for key, one in item.items()}

    return kind


def bounds(*kinds: type) -> Kind:
    """Return the kind of an array of two bounds, each None or one of the types in `kinds`."""

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
    """Return positions along a dimension, whose name is the last word of `what`."""
    if not is_index(value):
        raise refused(what.rpartition(": ")[2], "expected an index or an array of indexes", value)
    found: Index = value
    return found


def _values(what: str, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    if not values or not all(type(item) in (int, float, str) for item in values):
        raise refused(what, "invalid type: expected a value or an array of values", value)
    return values[0] if len(values) == 1 else values


def check_local(words: Iterable[Any]) -> None:
    """Check that no argument is an address, for commands that change files in place, or make several.

    Raises
    ------
    ArgumentError
        If one is.
    """
    for word in words:
        if isinstance(word, str) and is_address(word):
            raise ArgumentError(f"{plain_name(word)}: this command works on local files only: copy the file first")


class Option(NamedTuple):
    """One option."""

    name: str
    about: str
    value: str = ""
    """Placeholder of its value in the help. If empty, the option is a flag."""
    kind: Kind = word()
    """Checks and converts its value."""
    may_be_flag: bool = False
    """Whether the option is also allowed without a value."""

    @property
    def label(self) -> str:
        """The option as written on a command line."""
        if self.value:
            return f"{self.name}: {self.value}"
        return ("-" if len(self.name) == 1 else "--") + self.name


GENERAL = (
    Option("F", "Take names literally, not as patterns."),
    Option("help", "Print help on ds or on a command."),
    Option("j", "Print JSON instead of PST."),
    Option("json", "The same as -j."),
    Option("m", "Moderate (the default): warn about names that do not exist."),
    Option("noindent", "Print each value on one line."),
    Option("print-completion", "Print a script that completes command lines in bash, zsh, fish or tcsh."),
    Option("q", "Quiet: no progress bar."),
    Option("s", "Strict: fail if a name does not exist."),
    Option("t", "Soft: ignore missing names silently. Fail only if none remain."),
    Option("v", "Verbose: print the Python traceback of an error."),
    Option("version", "Print the version."),
)
"""Options of every command."""

_AT, _BETWEEN, _RANGE, _SEL = (
    *("{ VAR: VALUE... }", "{ VAR: { A B }... }", "{ DIM: { A B }... }", "{ DIM: INDEX... }"),
)
READ = (
    Option(
        "at",
        "Select the positions where one-dimensional variables are nearest to VALUE. Text is a time, as "
        "2000-01-31T12:00, in the calendar of the file.",
        _AT,
        pairs(_AT, _values),
    ),
    Option(
        "between",
        "Select the positions where one-dimensional variables are in the interval from A to B, without B; none is "
        "open. Text is a time, as for at.",
        _BETWEEN,
        pairs(_BETWEEN, bounds(int, float, str)),
    ),
    Option("range", "Select positions from A to B, without B; none is open.", _RANGE, pairs(_RANGE, bounds(int))),
    Option(
        "sel",
        "Select positions along dimensions. An integer removes the dimension, { INTEGER... } keeps it.",
        _SEL,
        pairs(_SEL, index),
    ),
)
"""Options of every command that select a part of the data. Commands that read no data ignore them."""

_TEXT = word("text", none=False)
WRITE = (
    Option("allow-empty", "Write the output even if a selection leaves a dimension empty."),
    Option("calendar", "Convert times to this calendar of the CF conventions. Not for ds files.", "CALENDAR", _TEXT),
    Option(
        "time_units", "Convert times to these units, as in 'days since 2000-01-01'. Not for ds files.", "UNITS", _TEXT
    ),
    Option(
        "times",
        "For tables, .msgpack and .zds: write times as text (2000-01-31T12:00:00).",
        "iso",
        _TEXT,
    ),
)
"""Options of every command about writing. Commands that write nothing ignore them."""

FORMAT = Option("format", "Read the input as netcdf, csv or another format, whatever its suffix and content.", "FORMAT")
"""Option of commands that read files of one format."""

ALIASES = {"json": "j"}
"""Other names of options."""

_GENERAL_BY_NAME = {option.name: option for option in GENERAL}


class Request(NamedTuple):
    """A parsed command line."""

    command: str
    """Empty if the command line names none."""
    words: list[Any]
    """The arguments, as items of `pst.parse`. Objects are among them only if the command takes pairs."""
    options: dict[str, Any]
    """Values by name, unconverted; flags are True."""
    progress: Callable[[int, int], None] | None = None
    """Called with the number of bytes processed, and their total; None if no progress is shown."""
    known_options: Mapping[str, Option] = _GENERAL_BY_NAME
    """The existing options by name."""

    def flag(self, name: str) -> bool:
        """Return whether a flag is set."""
        return bool(self.options.get(name))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the converted value of an option, or the default if it was not given.

        Raises
        ------
        ArgumentError
            If its form differs from the one that its help shows.
        """
        return self.known_options[name].kind(name, self.options[name]) if name in self.options else default

    def check(
        self,
        options: Iterable[Option],
        meant: Callable[[str, Any, Iterable[str]], str] = lambda name, _, names: hint(name, names),
    ) -> "Request":
        """Return this request with its existing options: the general ones, and those of the command.

        Parameters
        ----------
        options : iterable of Option
        meant : callable
            Takes name and value of an unknown option, and all names; returns a suggestion for the message.

        Raises
        ------
        UsageError
            If it has an unknown option, or an option lacks its value.
        """
        known = {option.name: option for option in (*GENERAL, *options)}
        for name, value in self.options.items():
            if name not in known:
                raise UsageError(f'unrecognized option "{name}"{meant(name, value, known)}')
            option = known[name]
            if value is True and option.value and option.kind is not boolean and not option.may_be_flag:
                raise UsageError(f'the option "{name}" needs a value: write `{option.label}`')
        return self._replace(known_options=known)

    def check_flags(self) -> None:
        """Raise `UsageError` for a flag that got a value other than true and false."""
        for option in self.known_options.values():
            value = self.options.get(option.name, True)
            if not option.value and not isinstance(value, bool) and option.name != "print-completion":
                about = ": to set the layout of a ds file use `layout`" if option.name == "version" else ""
                raise UsageError(
                    f'the option "{option.name}" takes no value, found {pst.encode([value], False)}{about}'
                )

    def exactly(self, *what: str, lister: str = "") -> list[str]:
        """Return the arguments, which are names.

        Parameters
        ----------
        *what : str
            Their placeholders; the last one is the file.
        lister : str
            The command that lists possible names for the first one.

        Raises
        ------
        UsageError
            If the number of arguments differs.
        ArgumentError
            If one is an array or object.
        """
        self.check_words(" ".join(what), lister=lister)
        return [text(word, name) for word, name in zip(self.words, what, strict=True)]

    def names(self, form: str, *, lister: str = "") -> list[str]:
        """Return the arguments, which are names, as many as `form` allows; see `check_words` and `exactly`."""
        self.check_words(form, lister=lister)
        what = "argument" if " " in form else form.removesuffix("...")
        return [text(word, what) for word in self.words]

    def optional(self, *what: str) -> tuple[list[str | None], str]:
        """Return the names before a file, None for each that is `none` or left out, and the file; see `exactly`."""
        self.check_words("".join(f"[{name}] " for name in what) + "INPUT")
        *given, file = self.words
        found = [None if is_none(word) else text(word, name) for word, name in zip(given, what, strict=False)]
        return [*found, *(None for _ in what[len(found) :])], text(file, "INPUT")

    def check_words(self, form: str, *, lister: str = "") -> None:
        """Raise `UsageError` if the number of arguments is wrong. The message names those that are missing.

        Parameters
        ----------
        form : str
            Placeholders as in the help: `[VAR] INPUT`, `VAR... INPUT`, `DIM [INPUT]... OUTPUT`.
        lister : str
            The command that lists possible names for the first one, before a file.
        """
        places = _PLACEHOLDERS.findall(form)
        required = [place.removesuffix("...") for place in places if place[0] != "["]
        n = len(self.words)
        if lister and n == 1 and isinstance(file := self.words[0], str):
            if is_address(file) or os.path.exists(file):
                name = shown(file)
                raise UsageError(
                    f"{required[0]} is missing: found only the file {name}; `ds {lister} {name}` lists possible names"
                )
            raise UsageError(f"INPUT is missing: found only {file}, which is not a file")
        if n < len(required):
            raise lacking(required[n:], self.words)
        if "..." not in form and n > len(places):
            raise UsageError(f"found {n} arguments, expected {'at most ' * ('[' in form)}{form}")


_PLACEHOLDERS = re.compile(r"\[[^]]*\](?:\.\.\.)?|\S+")


def shown(word: Any) -> Any:
    """Return a word for messages: an address without password and token."""
    return plain_path(word) if isinstance(word, str) and is_address(word) else word


def lacking(what: Sequence[str], words: Sequence[Any]) -> UsageError:
    """Return the error for missing arguments, of which only `words` were found."""
    found = pst.encode([shown(pst.value(word)) for word in words], False)
    about = f": found only {found}" if words else ""
    return UsageError(f"{' and '.join(what)} {'is' if len(what) == 1 else 'are'} missing{about}")


class Command(NamedTuple):
    """Arguments and options of a command, its help, and the function that runs it."""

    usage: tuple[str, ...]
    about: str
    arguments: tuple[tuple[str, str], ...]
    """Placeholder and explanation of each."""
    options: tuple[Option, ...]
    """Options that not every command has."""
    examples: tuple[tuple[str, str], ...]
    """Pairs of a task and a command line."""
    run: Callable[[Request], Iterable[Any]]
    """Takes a request, and returns the items to print."""
    status: str = ""
    """Meaning of the exit status, if it differs from other commands."""

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Its options, and those of reading and writing."""
        return (*READ, *WRITE, *self.options)


class Finished(Exception):
    """A command succeeded, and reports its result as the exit status.

    Parameters
    ----------
    status : int
    """

    def __init__(self, status: int):
        super().__init__(status)
        self.status = status


def read(argv: Sequence[str], commands: Mapping[str, bool], ends: Container[str] = ()) -> Request:
    """Parse a command line without the name of the program.

    Parameters
    ----------
    argv : sequence of str
    commands : dict
        The name of each command → whether `KEY: VALUE` between its words can be arguments. If so, they are among the
        words of the request, and the command decides.
    ends : container of str
        Commands whose last `KEY: VALUE` can be an argument, too.

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
        elif not takes_pairs or i < place or (i == len(items) - 1 and command not in ends):
            options.update(item)
        else:
            options.update((key, value) for key, value in item.items() if value is True)
            pairs = {key: value for key, value in item.items() if value is not True}
            words += [pairs] if pairs else []
    return Request(command, words, {ALIASES.get(name, name): pst.value(value) for name, value in options.items()})


def _place_of_command(items: Sequence[Any], commands: Iterable[str]) -> int:
    """Return the position of the command: first, after options or after one existing file; -1 if there is none."""
    words = [(i, item) for i, item in enumerate(items) if not isinstance(item, dict)]
    for i, item in words[:2]:
        if isinstance(item, str) and item in commands:
            return i
        if not isinstance(item, str) or not os.path.exists(item):
            break
    return -1


def unquoted(value: Any) -> Any:
    """Return the value of an option; parse the content of a single word in braces, `'{ A B }'`.

    Such words are in quotes because some shells interpret braces.
    """
    return pst.decode_text(value) if isinstance(value, str) and value.startswith("{") else value


def is_none(word: Any) -> bool:
    """Whether an argument is the bare word `none`."""
    return isinstance(word, pst.Bare) and word == "none"


def name_or_none(word: Any, what: str) -> str | None:
    """Return an argument that is a name, or None for the bare word `none`; see `text`."""
    return None if is_none(word) else text(word, what)


def texts(word: Any, what: str) -> list[str]:
    """Return an argument that is a name or an array of names, as a list.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    return [text(item, what) for item in word] if isinstance(word, list) else [text(word, what)]
