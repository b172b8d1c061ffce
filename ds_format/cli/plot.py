"""`ds plot`: draw a variable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from ..errors import DsError
from ..names import escape
from ..plotting import picture, scene, terminal
from ..subset import open_subset
from . import metadata, options, output
from .arguments import ArgumentError, Request, count, text
from .commands import Command, Option
from .patterns import ONE_VARIABLE, Finder
from .watched import Watched

COLUMNS, ROWS = 80, 24
"""Of a terminal that does not say."""
AROUND = 6
"""Rows that the drawing leaves for labels and the prompt."""
MOST_ROWS = 24

COMMAND = Command(
    usage=("ds plot [OPTIONS] VAR [--] INPUT [-o OUTPUT]",),
    about="Draws a variable of one dimension as a line, of two as a map, in the terminal or into a picture. Variables "
    "named like the dimensions give the axes, times as dates; packed numbers are unpacked. What is missing stays "
    "blank. Of large variables so much is drawn as can be seen. Pictures need matplotlib: pip install "
    "'ds-format-cython[plot]'.",
    arguments=ONE_VARIABLE,
    options=(
        Option("o", "Draw into this file: a .png, .pdf, .svg or other picture. -o OUTPUT means the same.", "OUTPUT"),
    ),
    examples=(
        ("A line in the terminal:", "ds plot temperature data.ds"),
        ("One time of a variable as a map:", "ds plot pressure data.nc sel: { time: 0 } -o map.png"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Draw; there is nothing else to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or the variable cannot be drawn.
    ArgumentError
        If an option is not what it should be, or matplotlib is not installed.
    MissingError
        If the variable does not exist.
    """
    request, target = _target(request)
    count(request, 2, 2)
    wanted, path = text(request.words[0], "VAR"), text(request.words[1], "INPUT")
    columns, lines = shutil.get_terminal_size((COLUMNS, ROWS))
    rows = max(min(lines - AROUND, MOST_ROWS), 4)
    limits = (picture.N_LINE, picture.N_X, picture.N_Y) if target else (columns, columns, 4 * rows)
    with open_subset(path, unpack=True) as whole:
        entries = metadata.contents(whole.meta).variables
        name = Finder(path, request).require_one(wanted, list(entries), "variable")
        names = [name, *(dim for dim in dict.fromkeys(entries[name][".dims"]) if dim in entries and dim != name)]
        part = whole.part(names, **options.reading(request), jd=True)
        try:
            drawn = scene.make(Watched(part, request.progress), escape(name), *limits)
        except DsError as error:
            raise error.at(path=path)
    if target:
        picture.save(drawn, target)
    else:
        unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        output.put([terminal.render(drawn, columns, rows, unicode=unicode)])
    return ()


def _target(request: Request) -> tuple[Request, str | None]:
    """Return a request without the picture that it names, and that picture: `o: OUTPUT`, or the word behind `-o`.

    A flag does not say behind which word it stood. Only the picture, first or last, has the suffix of one.
    """
    given = request.options.get("o")
    if given is None:
        return request, None
    if given is not True:
        if not isinstance(given, str):
            raise ArgumentError("o: invalid type: expected the name of a picture")
        return request, given
    for place in (-1, 0):
        word = request.words[place] if request.words else None
        if isinstance(word, str) and os.path.splitext(word)[1].lower() in picture.SUFFIXES:
            words = request.words[:-1] if place else request.words[1:]
            return request._replace(words=words), text(word, "OUTPUT")
    raise ArgumentError(f"-o: expected the name of a picture: one of {' '.join(picture.SUFFIXES)}")
