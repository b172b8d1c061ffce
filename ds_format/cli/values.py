"""Commands that print values: `cat` and `stats`."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import timeaxis
from ..base.progress import Advance
from ..base.text import unescape
from ..datasets import META, attrs, dims
from ..drivers.base import BLOCK_SIZE, Source, check_faults
from ..errors import UnsupportedError
from ..model.stats import n_passes, summarize
from ..views.subset import item_size, open_subset
from .arguments import ArgumentError, Command, Option, Request
from .lookup import ONE_VARIABLE, Finder
from .pst import as_lists, in_type
from .select_ import reading


def cat(request: Request) -> Iterator[Any]:
    """Yield a list of names, then a list of values for each row; a single name and values for one variable.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    ArgumentError
        If the dimensions of the variables differ.
    MissingError
        For a variable that does not exist.
    """
    *patterns, path = request.names("VAR... INPUT", lister="ls")
    with open_subset(path, reading(request), unpack=True) as source:
        keys = {unescape(key): key for key in source.meta if key != META}
        finder = Finder(path, request)
        names = [name for pattern in patterns for name in finder.require(pattern, sorted(keys), "variable")]
        if not names:
            return
        _check_dimensions(names, keys, source, path)
        as_dates = timeaxis.to_iso if request.flag("h") else timeaxis.to_julian if request.flag("jd") else None
        # output that scrolls over a terminal is progress enough
        advance = Advance(None if sys.stdout.isatty() else request.progress)
        rows = _rows([keys[name] for name in names], source, as_dates, path, advance)
        first = [*itertools.islice(rows, 1)]  # print no heading if the data cannot be read
        heading = [] if request.flag("n") else [names]
        for row in itertools.chain(heading, first, rows):
            yield row if len(names) > 1 else row[0]


def _check_dimensions(names: Sequence[str], keys: dict[str, str], source: Source, path: str) -> None:
    """Raise if variables with data differ in their dimensions."""
    shapes = {}
    for name in names:
        entry = source.meta[keys[name]]
        size = entry.get(".size")
        if size is not None:
            shapes[name] = [*dims(keys[name], entry, len(size)), *size]
    for name, shape in shapes.items():
        first, expected = next(iter(shapes.items()))
        if shape != expected:
            raise ArgumentError(f'{path}: incompatible dimensions: variables "{first}" and "{name}"')


def _rows(
    keys: Sequence[str], source: Source, as_dates: Callable[..., Any] | None, path: str, advance: Advance
) -> Iterator[list[Any]]:
    """Yield the values of all variables at each position along the first dimension; None for one without data."""
    entries = {key: source.meta[key] for key in keys}
    full = [key for key, entry in entries.items() if entry.get(".size") is not None]
    check_faults(source.faults, keys)
    if not full:
        return
    shape = entries[full[0]][".size"]
    convert = {key: _converter(source, key, as_dates, path) for key in full}
    if not shape:
        values = {key: as_lists(convert[key](source.read(key))) for key in full}
        yield [values.get(key) for key in keys]
        return
    row_size = sum(item_size(entries[key]) for key in full) * math.prod(shape[1:])
    step = max(BLOCK_SIZE // max(row_size, 1), 1)
    advance.total = shape[0] * row_size
    for start in range(0, shape[0], step):
        index = (range(start, min(start + step, shape[0])), *(range(n) for n in shape[1:]))
        columns = {key: as_lists(convert[key](source.read(key, index))) for key in full}
        for i in range(len(index[0])):
            yield [columns[key][i] if key in columns else None for key in keys]
        advance.add(len(index[0]) * row_size)


def _converter(source: Source, key: str, as_dates: Callable[..., Any] | None, path: str) -> Callable[[Any], Any]:
    """Return a function that converts values of a time variable to dates, and returns other values unchanged."""
    attributes = attrs(source.meta[key])
    if as_dates is None or not timeaxis.is_time(attributes):
        return lambda values: values
    has_warned = False

    def dates(values: Any) -> Any:
        nonlocal has_warned
        try:
            return as_dates(values, attributes["units"], attributes.get("calendar"))
        except UnsupportedError as error:
            if not has_warned:
                warnings.warn(f"{error.at(path=path, variable=unescape(key))}; its numbers are printed", stacklevel=2)
            has_warned = True
            return values

    return dates


def stats(request: Request) -> Iterator[Any]:
    """Yield the statistics by name. Without data, yield nothing, or None with `-j`.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    ArgumentError
        If the values are strings.
    MissingError
        If the variable does not exist, except in soft mode.
    """
    found = _summary(request)
    if found is not None or request.flag("j"):
        yield found


def _summary(request: Request) -> dict[str, Any] | None:
    pattern, path = request.exactly("VAR", "INPUT", lister="ls")
    with open_subset(path, reading(request), unpack=True) as source:
        keys = {unescape(key): key for key in source.meta if key != META}
        name = Finder(path, request).find_one(pattern, sorted(keys), "variable")
        if name is None:
            return None
        key = keys[name]
        check_faults(source.faults, [key])
        entry = source.meta[key]
        size = entry.get(".size")
        if size is None or 0 in size:
            return None
        if entry.get(".type") in ("str", "unicode"):
            raise ArgumentError(f'{path}: variable "{name}": statistics need numbers, found strings')
        width = item_size(entry)
        n_bytes = width * math.prod(size)
        advance = Advance(request.progress, n_bytes * n_passes(n_bytes, width))
        found = vars(summarize(lambda: advance.over_arrays(source.blocks(key), width), n_bytes))
        ends = {
            end: in_type(found[end], entry.get(".type")) for end in ("min", "max")
        }  # values of the variable, the others are computed
        return {**found, **ends}


COMMANDS = {
    "cat": Command(
        usage=("ds cat [OPTIONS] VAR... [--] INPUT",),
        about="Prints the names of the variables on a line, then a line for each position along the first dimension. "
        "A missing value is none, or an empty line if it is alone on the line. Packed numbers are unpacked. All "
        "variables must have the same dimensions.",
        arguments=(
            ("VAR", "Name of a variable, or a pattern of names."),
            ("INPUT", "The file."),
        ),
        options=(
            Option("h", "Print times as ISO 8601 text, rounded to seconds. Dates are in the calendar of the file."),
            Option("jd", "Print times as Julian dates."),
            Option("n", "Do not print the line of names."),
        ),
        examples=(
            ("Two variables side by side:", "ds cat time temperature data.ds"),
            ("Times as readable text:", "ds cat -h time data.ds"),
            ("The first time only, as JSON:", "ds cat -j temperature data.ds sel: '{ time: 0 }'"),
            ("Values where time is 1 or more:", "ds cat temperature data.ds between: '{ time: { 1 none } }'"),
        ),
        run=cat,
    ),
    "stats": Command(
        usage=("ds stats [OPTIONS] VAR [--] INPUT",),
        about="Prints the number of values that are not missing, their minimum, maximum, mean, median and standard "
        "deviation, and the intervals that contain the middle 68, 95 and 99 %. NaN counts as a value, but is ignored "
        "otherwise. Booleans are 0 and 1. Packed numbers are unpacked. Results are exact, and the file may be larger "
        "than memory.",
        arguments=ONE_VARIABLE,
        options=(),
        examples=(
            ("Statistics of a variable:", "ds stats temperature data.ds"),
            ("At the first time only:", "ds stats temperature data.ds sel: '{ time: 0 }'"),
        ),
        run=stats,
    ),
}
