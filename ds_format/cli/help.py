"""What `--help` prints, and what the manual pages tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import drivers
from . import commands
from .arguments import GENERAL, READ, WRITE

USAGE = ("ds [CMD] [OPTIONS] [ARGS]", "ds --help [CMD]", "ds --version")

_WIDTH = 80
_NARROW = 24
"""Columns that a name takes at most before its explanation moves to the next line."""

_ABOUT = (
    (
        "The suffix of a file tells its format. The command is the first word, or the one behind a file; without one, "
        "ds lists the variables of a file."
    ),
    (
        "Arguments are written in PST: a word is text, a number, true, false or none; { A B } is an array; KEY: VALUE "
        "a pair. Each argument that the shell passes is one word, blanks included. Text that looks like something else "
        "takes quotes that the shell has to leave in place, as in '\"5\"'; \\\\ is a backslash; all that follows -- is "
        "text as it stands. zsh wants quotes around braces, '{' A B '}'; for options one pair of quotes does, "
        "'{ X: 0 }'. Names of variables are patterns with *, ? and [...]."
    ),
)

_TASKS = (
    ("All on one screen", "ds info data.nc"),
    ("Names, types, dimensions", "ds -l data.nc"),
    ("Attributes of a variable", "ds attrs temperature data.nc"),
    ("Values, side by side", "ds cat -h time temperature data.nc"),
    ("Least, greatest, mean ...", "ds stats temperature data.nc"),
    ("A picture in the terminal", "ds plot temperature data.nc"),
    ("Convert a file", "ds select data.nc copy.ds"),
    ("The same, one variable", "ds select temperature data.nc t.ds"),
    ("Convert all of a folder", "ds convert archive out"),
    ("What differs, if anything", "ds diff data.nc data.ds"),
    ("Help on a command, with examples", "ds --help select"),
)
"""What somebody may want to do in the first minutes."""

_ENVIRONMENT = (
    (
        "DS_MODE",
        "What happens to names that do not exist: soft, moderate (the default) or strict, as by -t, -m and -s.",
    ),
)


class Page(NamedTuple):
    """The help on the program, or on a command."""

    name: str
    caption: str
    usage: Sequence[str]
    about: Sequence[str]
    """Paragraphs."""
    sections: dict[str, Sequence[tuple[str, str]]]
    """Heading → names and what they are."""
    examples: Sequence[tuple[str, str]]
    begins_with_examples: bool = False
    """Whether they stand above all else."""
    status: str = "0, or 1 after an error, which is one line on stderr."
    """What the exit status says."""


def general_page() -> Page:
    """Return the help on the program."""
    return Page(
        "ds",
        "Read, write and convert files of scientific data.",
        USAGE,
        _ABOUT,
        {
            **{
                f"Commands {group[0].lower()}{group[1:]}": [
                    (name, row.caption) for name, row in commands.COMMANDS.items() if row.group == group
                ]
                for group in commands.GROUPS
            },
            "Options": [(option.label, option.about) for option in GENERAL],
            "Options of reading": [(option.label, option.about) for option in READ],
            "Options of writing, but for ds files": [(option.label, option.about) for option in WRITE],
            "File formats, by suffix": [(one.name, " ".join(one.suffixes)) for one in drivers.all_formats().values()],
            "Environment variables": _ENVIRONMENT,
        },
        _TASKS,
        begins_with_examples=True,
    )


def command_page(name: str) -> Page:
    """Return the help on one command."""
    told, _ = commands.load(name)
    return Page(
        name,
        commands.COMMANDS[name].caption,
        told.usage,
        (told.about,),
        {"Arguments": told.arguments, "Options": [(option.label, option.about) for option in told.options]},
        told.examples,
        status=told.status or Page._field_defaults["status"],
    )


def general() -> str:
    """Return the help on the program as text."""
    return _text(general_page())


def command(name: str) -> str:
    """Return the help on one command as text."""
    return _text(command_page(name))


def usage(lines: Sequence[str]) -> str:
    """Return the `Usage:` lines."""
    return "Usage: " + "\n       ".join(lines) + "\n"


def _text(page: Page) -> str:
    head = [f"{page.name}: {page.caption}\n", usage(page.usage)]
    about = ["".join(f"{line}\n" for line in _wrap(text, _WIDTH)) for text in page.about]
    sections = [f"{title}:\n\n{_columns(rows)}" for title, rows in page.sections.items() if rows]
    if page.begins_with_examples:
        width = max(len(line) for _, line in page.examples)
        tasks = "".join(f"  {line:{width}}  {told}\n" for told, line in page.examples)
        first = [f"First steps:\n\n{tasks}", *sections[: len(commands.GROUPS)]]
        return "\n".join([*head, *first, *about, *sections[len(commands.GROUPS) :]])
    examples = "\n".join(f"  {told}\n    $ {line}\n" for told, line in page.examples)
    return "\n".join([*head, *about, *sections, f"Examples:\n\n{examples}"])


def _columns(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows if len(name) <= _NARROW)
    if all(name in commands.COMMANDS for name, _ in rows):
        width = max(map(len, commands.COMMANDS))  # groups of commands are columns of one table
    lines = []
    for name, about in rows:
        told = list(_wrap(about, _WIDTH - width - 4))
        lines += [f"  {name:{width}}  {told.pop(0)}" if len(name) <= width else f"  {name}"]
        lines += [f"  {'':{width}}  {line}" for line in told]
    return "".join(f"{line}\n" for line in lines)


def _wrap(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in _words(text):
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


def _words(text: str) -> Iterator[str]:
    """Yield what stays on one line: words, and arrays as a whole."""
    word = ""
    for part in text.split():
        word = f"{word} {part}" if word else part
        if word.count("{") == word.count("}"):
            yield word
            word = ""
