"""The output of `--help`, and the manual pages ds(1) and ds-COMMAND(1).

`python -m ds_format.cli.help FOLDER` writes the manual pages. `make man` writes those in the folder `man` of the
repository.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import drivers
from .._version import __version__
from ..base.text import aligned
from . import commands
from .arguments import GENERAL, READ, WRITE, Option

USAGE = ("ds [CMD] [OPTIONS] [ARGS]", "ds --help [CMD]", "ds --version")

_WIDTH = 80
_NARROW = 24
"""Width of a name above which its explanation starts on the next line."""

_PST = (
    "Notation (PST): text as it is, numbers 5 1.5e3, true false none, an array { 0 -1 }, a pair units: K, pairs in "
    "braces { time: 0 }, a flag -j."
)
"""The notation of arguments, in two lines of a terminal."""

_ABOUT = (
    (
        "The suffix of a file determines its format. The command is the first word, or the word after a file. Without "
        "a command, ds lists the variables of a file."
    ),
    _PST,
    (
        "Each argument that the shell passes is one word, even with blanks. Text that looks like a number or another "
        "value needs two pairs of quotes, as in '\"5\"', because the shell removes one. \\\\ is a backslash. "
        "Everything after -- is literal text. zsh needs quotes around braces, '{' A B '}'. For options, one pair of "
        "quotes is enough, '{ X: 0 }'. Names of variables are patterns with *, ? and [...]."
    ),
)

_TASKS = (
    ("Overview of a file", "ds info data.nc"),
    ("Names, types, dimensions", "ds -l data.nc"),
    ("Attributes of a variable", "ds attrs temperature data.nc"),
    ("Values, side by side", "ds cat -h time temperature data.nc"),
    ("Minimum, maximum, mean ...", "ds stats temperature data.nc"),
    ("Plot in the terminal", "ds plot temperature data.nc"),
    ("Convert a file", "ds convert data.nc copy.ds"),
    ("Convert one variable", "ds select temperature data.nc t.ds"),
    ("Convert a folder", "ds convert archive out"),
    ("Compare two files", "ds diff data.nc data.ds"),
    ("Help on a command, with examples", "ds --help select"),
)
"""Tasks of a new user."""

_ENVIRONMENT = (
    (
        "DS_MODE",
        "How to handle names that do not exist: soft, moderate (the default) or strict, as -t, -m and -s do.",
    ),
    (
        "DS_FORMAT_ISOLATE",
        "1: the C libraries netCDF and HDF5 read files in other processes, so that a crash is an error of the file.",
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
    """Heading → rows of name and explanation."""
    examples: Sequence[tuple[str, str]]
    begins_with_examples: bool = False
    """Whether the examples come before everything else."""
    status: str = "0, or 1 after an error, which is printed as one line on stderr."
    """Meaning of the exit status."""


def page_of(name: str = "") -> Page:
    """Return the help on the program, or on a command."""
    return _page_of_command(name) if name else _general_page()


def _general_page() -> Page:
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
            "Options": _rows(GENERAL),
            "Options of reading": _rows(READ),
            "Options of writing": _rows(WRITE),
            "File formats, by suffix": [(one.name, " ".join(one.suffixes)) for one in drivers.all_formats().values()],
            "Environment variables": _ENVIRONMENT,
        },
        _TASKS,
        begins_with_examples=True,
    )


def _page_of_command(name: str) -> Page:
    command, row = commands.load(name), commands.COMMANDS[name]
    sections = {
        "Arguments": command.arguments,
        "Options": _rows(command.options),
        "Options of reading": _rows(READ) if row.reads_parts else (),
        "Options of writing": _rows(WRITE) if row.writes_times else (),
    }
    is_structured = any("{" in label or ":" in label for rows in sections.values() for label, _ in rows)
    return Page(
        name,
        row.caption,
        command.usage,
        (command.about, _PST) if is_structured else (command.about,),
        sections,
        command.examples,
        status=command.status or Page._field_defaults["status"],
    )


def _rows(options: Sequence[Option]) -> list[tuple[str, str]]:
    return [(option.label, option.about) for option in options]


def usage(lines: Sequence[str]) -> str:
    """Return the `Usage:` lines."""
    return "Usage: " + "\n       ".join(lines) + "\n"


def text(name: str = "") -> str:
    """Return the help on the program, or on a command, as text."""
    page = page_of(name)
    head = [f"{page.name}: {page.caption}\n", usage(page.usage)]
    about = ["".join(f"{line}\n" for line in _wrap(paragraph, _WIDTH)) for paragraph in page.about]
    sections = [f"{title}:\n\n{_columns(rows)}" for title, rows in page.sections.items() if rows]
    if page.begins_with_examples:
        rows = aligned([(line, aim) for aim, line in page.examples])
        tasks = "".join(f"  {'  '.join(row).rstrip()}\n" for row in rows)
        first = [f"First steps:\n\n{tasks}", *sections[: len(commands.GROUPS)]]
        return "\n".join([*head, *first, *about, *sections[len(commands.GROUPS) :]])
    examples = "\n".join(f"  {told}\n    $ {line}\n" for told, line in page.examples)
    return "\n".join([*head, *about, *sections, f"Examples:\n\n{examples}"])


def _columns(rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in rows if len(name) <= _NARROW), default=4)
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
    """Yield units that are not broken across lines: words and arrays."""
    word = ""
    for part in text.split():
        word = f"{word} {part}" if word else part
        if word.count("{") == word.count("}"):
            yield word
            word = ""


def manual_pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the roff of each page."""
    names = [f"ds-{name}" for name in commands.COMMANDS]
    yield "ds.1", roff(page_of(), "ds", names)
    for name in commands.COMMANDS:
        title = f"ds-{name}"
        others = ["ds", *(other for other in names if other != title)]
        yield f"{title}.1", roff(page_of(name), title, others)


def write_manual(folder: str) -> None:
    """Write all pages into a folder, which is created if missing.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, page in manual_pages():
        Path(folder, name).write_text(page, encoding="utf-8")


def roff(page: Page, title: str, others: list[str]) -> str:
    """Return a page as roff with the macros of man(7).

    Parameters
    ----------
    page : Page
    title : str
        Title of the manual page.
    others : list of str
        Manual pages to list under "SEE ALSO".
    """
    lines = [f'.TH {_escaped(title.upper())} 1 "" "ds_format {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"{_escaped(title)} \\- {_escaped(page.caption.rstrip('.'))}", ".SH SYNOPSIS"]
    for i, line in enumerate(page.usage):
        lines += [".br"] * (i > 0) + [_bold(line)]
    lines.append(".SH DESCRIPTION")
    for i, paragraph in enumerate(page.about):
        lines += [".PP"] * (i > 0) + [_escaped(paragraph)]
    for heading, rows in page.sections.items():
        lines += [f".SH {_escaped(heading.upper())}"] * bool(rows)
        for name, about in rows:
            lines += [".TP", _bold(name), _escaped(about)]
    lines.append(".SH EXAMPLES")
    for aim, line in page.examples:
        lines += [".PP", _escaped(aim), ".PP", ".RS 4", _bold(f"$ {line}"), ".RE"]
    lines += [".SH EXIT STATUS", _escaped(page.status), ".SH SEE ALSO"]
    lines.append(",\n".join(f"\\fB{_escaped(name)}\\fR(1)" for name in others))
    return "\n".join(lines) + "\n"


def _bold(text: str) -> str:
    return f"\\fB{_escaped(text)}\\fR"


def _escaped(text: str) -> str:
    """Return text with everything escaped that roff would interpret."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha")
    escaped = escaped.replace("`", "\\(ga").replace("~", "\\(ti").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    write_manual(sys.argv[1])
