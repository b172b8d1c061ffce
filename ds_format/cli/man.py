"""The manual pages ds(1) and ds-COMMAND(1), from what `--help` knows.

`python -m ds_format.cli.man FOLDER` writes them; the build of the package does so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from .._version import __version__
from . import commands
from . import help as explain
from .help import Page


def pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the roff of each page."""
    names = [f"ds-{name}" for name in commands.COMMANDS]
    yield "ds.1", render(explain.general_page(), "ds", names)
    for name in commands.COMMANDS:
        title = f"ds-{name}"
        others = ["ds", *(other for other in names if other != title)]
        yield f"{title}.1", render(explain.command_page(name), title, others)


def write(folder: str) -> None:
    """Write all pages into a folder, which is made if it does not exist.

    Raises
    ------
    OSError
        If that is not possible.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, roff in pages():
        Path(folder, name).write_text(roff, encoding="utf-8")


def render(page: Page, title: str, others: list[str]) -> str:
    """Return a page as roff with the macros of man(7).

    Parameters
    ----------
    page : Page
    title : str
        Of the manual page.
    others : list of str
        Manual pages to see.
    """
    lines = [f'.TH {_text(title.upper())} 1 "" "ds_format {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"{_text(title)} \\- {_text(page.caption.rstrip('.'))}", ".SH SYNOPSIS"]
    for i, usage in enumerate(page.usage):
        lines += [".br"] * (i > 0) + [_bold(usage)]
    lines.append(".SH DESCRIPTION")
    for i, paragraph in enumerate(page.about):
        lines += [".PP"] * (i > 0) + [_text(paragraph)]
    for heading, rows in page.sections.items():
        lines += [f".SH {_text(heading.upper())}"] * bool(rows)
        for name, about in rows:
            lines += [".TP", _bold(name), _text(about)]
    lines.append(".SH EXAMPLES")
    for told, line in page.examples:
        lines += [".PP", _text(told), ".PP", ".RS 4", _bold(f"$ {line}"), ".RE"]
    lines += [".SH EXIT STATUS", _text(page.status), ".SH SEE ALSO"]
    lines.append(",\n".join(f"\\fB{_text(name)}\\fR(1)" for name in others))
    return "\n".join(lines) + "\n"


def _bold(text: str) -> str:
    return f"\\fB{_text(text)}\\fR"


def _text(text: str) -> str:
    """Return text with what roff would take for commands escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha")
    escaped = escaped.replace("`", "\\(ga").replace("~", "\\(ti").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    write(sys.argv[1])
