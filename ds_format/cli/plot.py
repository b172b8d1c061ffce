"""`ds plot`: draw a variable."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..base.progress import Advance, Progress
from ..base.text import escape, unescape
from ..datasets import META
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
"""Size of a terminal that does not report it."""
AROUND = 6
"""Rows reserved for labels and the prompt."""
MOST_ROWS = 24
LARGEST = sys.float_info.max
COASTLINES = Option(
    "coastlines",
    "Draw coastlines into a picture, or fail if this is impossible. By default, maps of longitude and latitude have "
    "coastlines if the outlines are installed. `coastlines: false` omits them.",
)


def run(request: Request) -> Iterable[Any]:
    """Draw the variable; there is nothing else to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or the variable cannot be drawn.
    ArgumentError
        If an option is invalid, or matplotlib is not installed.
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
        raise ArgumentError("limits: not possible for values that are times")
    if target:
        picture.save(drawn, target, look)
    else:
        unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        pst.put([terminal.render(drawn, columns, rows, unicode=unicode, look=look)])
    return ()


def limits(name: str, value: Any) -> tuple[float | None, float | None]:
    """Return two numbers in ascending order; None is open."""
    given = unquoted(value)
    low, high = bounds(int, float)(name, given)
    if any(end is not None and not abs(end) <= LARGEST for end in (low, high)):
        raise refused(name, "invalid type: expected { A B }", given)
    if low is not None and high is not None and low >= high:
        raise ArgumentError(f"{name}: expected the lower limit first, found {{ {low:.6g} {high:.6g} }}")
    return None if low is None else float(low), None if high is None else float(high)


def _look(request: Request, target: str | None) -> Look:
    """Return the choices of the request for the drawing."""
    for name in ("colormap", "coastlines"):
        if target is None and request.options.get(name):
            raise ArgumentError(f"{name}: only possible for a picture: add -o OUTPUT")
    colormap = request.get("colormap")
    low, high = request.get("limits", (None, None))
    return Look(low, high, colormap, request.options.get("coastlines"))


def _chosen(request: Request, entry: Mapping[str, Any]) -> dict[str, int]:
    """Return the single positions that `sel` selects along dimensions of a variable, counted from the start."""
    sizes = dict(zip(entry.get(".dims") or (), entry.get(".size") or (), strict=False))
    sel = reading(request).sel or {}
    return {dim: i % sizes[dim] for dim, i in sel.items() if isinstance(i, int) and sizes.get(dim)}


def _target(request: Request) -> tuple[Request, str | None]:
    """Return a request without its picture, and the picture: `o: OUTPUT`, or the word after `-o`.

    The position of a flag is unknown. The picture is the first or last word, if it has the suffix of a picture.
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
    raise ArgumentError(f"-o: expected the name of a picture with one of the suffixes {' '.join(picture.SUFFIXES)}")


class _ReportingSource:
    """A source that reports progress while the blocks of a variable are read."""

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
        about="Draws a variable with one dimension as a line, or with two dimensions as a map, in the terminal or "
        "into a picture. Axes are the variables named like the dimensions, or longitudes and latitudes along both "
        "dimensions. Times become dates in any calendar, and packed numbers are unpacked. Missing values stay blank, "
        "and a line is broken at gaps of a time series. Large variables are reduced to the resolution of the drawing. "
        "Pictures need matplotlib: pip install 'ds-format-cython[plot]'. Coastlines need outlines: pip install "
        "'ds-format-cython[maps]'.",
        arguments=ONE_VARIABLE,
        options=(
            COASTLINES,
            Option(
                "colormap",
                "Colour map of matplotlib for a map in a picture. By default viridis, or RdBu_r centred at zero if "
                "values are far from zero on both sides.",
                "NAME",
            ),
            Option(
                "limits",
                "Limits of the colours of a map, or of the axis of a line; none is open. By default the minimum and "
                "maximum, or the middle 98 percent of the values of a map if the others are far away. Arrows at the "
                "colour bar show that there are values beyond.",
                "{ A B }",
                limits,
            ),
            Option(
                "o",
                "Draw into this picture: .png, .pdf, .svg or another format. The same as -o OUTPUT.",
                "OUTPUT",
                may_be_flag=True,
            ),
        ),
        examples=(
            ("A line in the terminal:", "ds plot temperature data.ds"),
            ("One time of a variable as a map:", "ds plot pressure data.nc sel: '{ time: 0 }' -o map.png"),
            (
                "A line with limits of its axis:",
                "ds plot temperature data.nc limits: '{ 260 310 }' -o line.png",
            ),
        ),
        run=run,
    ),
}
