"""`ds info`: what is in files, on one screen.

::

    facts.py       a file → what its header says, as data
    containers.py  the same of samples, documents and objects
    formats.py     which format it is, precisely
    values.py      values of attributes as text
    layout.py      facts → lines, made of pieces that have a role
    wrapping.py    pieces → lines of some width
    colours.py     lines → text, with colours on a terminal
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from ...base import messages
from ...base.wording import on_one_line
from ...errors import DsError
from .. import output
from ..arguments import FORMAT, Request, count, read_format, text
from ..commands import Command, Option
from . import colours, facts, layout

COMMAND = Command(
    usage=("ds info [OPTIONS] [--] FILE...",),
    about="Prints what is in each file: its format and size, dimensions and which of them are unlimited, coordinates "
    "and variables with type, dimensions, size in bytes and attributes, and the attributes of the dataset. Of samples, "
    "documents and pickled objects it tells how many there are, and what they look like. Only headers are read where "
    "the format has one. Long values are cut, and of files with many variables each has one line; -l prints all. On a "
    "terminal there are colours, if the library rich is installed (pip install 'ds-format-cython[rich]'), unless "
    "NO_COLOR is set or TERM is dumb.",
    arguments=(("FILE", "A file of any format, or the folder of a store of documents."),),
    options=(
        Option("l", "Print all variables, and all attributes as they are, each on a line of its own."),
        FORMAT,
    ),
    examples=(
        ("What is in a file:", "ds info data.nc"),
        ("The same as JSON:", "ds info -j data.nc"),
        ("All attributes as they are:", "ds info -l data.nc"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Print what is in the files; with `-j` yield an object for each.

    Raises
    ------
    DsError, OSError
        If the file cannot be read; of several, at the end.
    """
    count(request, 1)
    paths = [text(word, "FILE") for word in request.words]
    as_json = bool(request.options.get("j"))
    format = read_format(request)
    failed = 0
    for i, path in enumerate(paths):
        try:
            found = facts.of(path, format)
        except (DsError, OSError) as error:
            if len(paths) == 1:
                raise
            failed += 1
            told = messages.with_meant(error)
            _say(told)
            if as_json:
                yield {"path": path, "error": told}
            continue
        if as_json:
            yield {**found, "object": found["object"].as_json()} if "object" in found else found
        else:
            _print(found, i > 0, is_long=bool(request.options.get("l")))
    if failed:
        raise DsError(f"{failed} of {len(paths)} files failed")


def _print(found: dict[str, Any], is_next: bool, *, is_long: bool) -> None:
    is_coloured = colours.wanted(sys.stdout)
    lines = layout.lines(found, layout.columns(sys.stdout), is_long=is_long)
    if is_next:
        lines.insert(0, [])
    output.put((f"{line}\n" for line in colours.texts(lines, is_coloured)), as_is=is_coloured)


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        print(on_one_line(f"ds info: {message}"), file=sys.stderr)
