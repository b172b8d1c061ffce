"""`ds plot`: draw a variable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..base.progress import Advance, Progress
from ..base.text import escape, unescape
from ..dataset import META
from ..drivers.base import BLOCK_SIZE, Source
from ..errors import DsError
from ..show import making, picture, terminal
from ..show.scene import Line, Look
from ..views.subset import item_size, memory_size, open_subset
from . import pst
from .arguments import ArgumentError, Command, Option, Request, bounds, refused, text, unquoted
from .lookup import ONE_VARIABLE, Finder
from .select_ import reading

COLUMNS, ROWS = 80, 24
"""Of a terminal that does not say."""
AROUND = 6
"""Rows that the drawing leaves for labels and the prompt."""
MOST_ROWS = 24
LARGEST = sys.float_info.max
COASTLINES = Option(
    "coastlines",
    "Draw coastlines into a picture, or say why not. By default maps of longitude and latitude have them where their "
    "outlines are installed; `coastlines: false` leaves them out.",
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
    pattern, path = request.exactly("VAR", "INPUT", lister="ls")
    look = _look(request, target)
    columns, lines = shutil.get_terminal_size((COLUMNS, ROWS))
    rows = max(min(lines - AROUND, MOST_ROWS), 4)
    sizes = (picture.N_LINE, picture.N_X, picture.N_Y) if target else (columns, columns, 4 * rows)
    with open_subset(path, unpack=True) as whole:
        keys = [key for key in whole.meta if key != META]
        finder = Finder(path, request)
        found = finder.require(pattern, sorted(map(unescape, keys)), "variable")
        key = escape(finder.only(found, pattern, "variable"))
        names = [key, *making.names_of(key, whole.meta)]
        part = whole.part(reading(request, variables=[*map(unescape, names)]))
        chosen = _chosen(request, whole.meta[key])
        try:
            source: Any = _ReportingSource(part, request.progress)
            drawn = making.make(source, key, *sizes, chosen=chosen, file=os.path.basename(path))
        except DsError as error:
            raise error.at(path=path)
    if isinstance(drawn, Line) and drawn.y.kind == "time" and "limits" in request.options:
        raise ArgumentError("limits: times have none")
    if target:
        picture.save(drawn, target, look)
    else:
        unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        pst.put([terminal.render(drawn, columns, rows, unicode=unicode, look=look)])
    return ()


def limits(name: str, value: Any) -> tuple[float | None, float | None]:
    """Return two numbers, the lower one first; None is open."""
    given = unquoted(value)
    low, high = bounds(int, float)(name, given)
    if any(end is not None and not abs(end) <= LARGEST for end in (low, high)):
        raise refused(name, "invalid type: expected { A B }", given)
    if low is not None and high is not None and low >= high:
        raise ArgumentError(f"{name}: expected the lower one first, found {{ {low:.6g} {high:.6g} }}")
    return None if low is None else float(low), None if high is None else float(high)


def _look(request: Request, target: str | None) -> Look:
    """Return what of the drawing the request chooses."""
    for name in ("colormap", "coastlines"):
        if target is None and request.options.get(name):
            raise ArgumentError(f"{name}: only pictures have them: expected -o with the name of one")
    colormap = request.get("colormap")
    low, high = request.get("limits", (None, None))
    return Look(low, high, colormap, request.options.get("coastlines"))


def _chosen(request: Request, entry: Mapping[str, Any]) -> dict[str, int]:
    """Return the positions along dimensions of a variable that `sel` selects, one of each, counted from the start."""
    sizes = dict(zip(entry.get(".dims") or (), entry.get(".size") or (), strict=False))
    sel = reading(request).sel or {}
    return {dim: i % sizes[dim] for dim, i in sel.items() if isinstance(i, int) and sizes.get(dim)}


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


class _ReportingSource:
    """A source that reports how far the blocks of a variable have been read."""

    def __init__(self, source: Source, progress: Progress | None):
        self._source, self._progress = source, progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks."""
        entry = self._source.meta[name]
        advance = Advance(self._progress, memory_size(entry))
        return advance.over_arrays(self._source.blocks(name, budget), item_size(entry))


COMMANDS = {
    "plot": Command(
        usage=("ds plot [OPTIONS] VAR [--] INPUT [-o OUTPUT]",),
        about="Draws a variable of one dimension as a line, of two as a map, in the terminal or into a picture. "
        "Variables named like the dimensions give the axes, or longitudes and latitudes along both dimensions; times "
        "become dates, in any calendar; packed numbers are unpacked. What is missing stays blank, and where a time "
        "series has a gap its line is broken. Of large variables so much is drawn as can be seen. Pictures need "
        "matplotlib: pip install 'ds-format-cython[plot]'; coastlines need outlines: 'ds-format-cython[maps]'.",
        arguments=ONE_VARIABLE,
        options=(
            COASTLINES,
            Option(
                "colormap",
                "Colours of a map in a picture, as matplotlib calls them. By default viridis; RdBu_r, with zero in its "
                "middle, if values reach far to both sides of zero.",
                "NAME",
            ),
            Option(
                "limits",
                "Values from which to which colours, or the axis of a line, go; none is open. By default from the "
                "least to the greatest value of a map, but that of the middle 98 percent if the others are far away; "
                "arrows at the bar tell that there are values beyond.",
                "{ A B }",
                limits,
            ),
            Option(
                "o", "Draw into this file: a .png, .pdf, .svg or other picture. -o OUTPUT means the same.", "OUTPUT"
            ),
        ),
        examples=(
            ("A line in the terminal:", "ds plot temperature data.ds"),
            ("One time of a variable as a map:", "ds plot pressure data.nc sel: '{ time: 0 }' -o map.png"),
            (
                "A line, with a range of values:",
                "ds plot temperature data.nc limits: '{ 260 310 }' -o line.png",
            ),
        ),
        run=run,
    ),
}
