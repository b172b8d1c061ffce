"""`ds stats`: print statistics of a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.names import unescape
from ..base.progress import Advance
from ..dataset import META
from ..drivers.base import check_faults
from ..model.stats import n_passes, summarize
from ..views.subset import item_size, open_subset
from . import options
from .arguments import ArgumentError, Request, count, text
from .commands import Command
from .output import in_type
from .patterns import ONE_VARIABLE, Finder

COMMAND = Command(
    usage=("ds stats [OPTIONS] VAR [--] INPUT",),
    about="Prints the number of values that are not missing, their least and greatest, mean, median and standard "
    "deviation, and between which values the middle 68, 95 and 99 % lie. NaN counts only as a value. Booleans are 0 "
    "and 1; packed numbers are unpacked. All is exact, and the file may be larger than memory.",
    arguments=ONE_VARIABLE,
    options=(),
    examples=(
        ("Statistics of a variable:", "ds stats temperature data.ds"),
        ("At the first time only:", "ds stats temperature data.ds sel: '{ time: 0 }'"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield the statistics by name; nothing, or with `-j` None, if there are no data.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    ArgumentError
        If the values are strings.
    MissingError
        If the variable does not exist, in strict mode.
    """
    count(request, 2, 2, lacks="VAR", lister="ls")
    found = _summary(request)
    if found is not None or request.options.get("j"):
        yield found


def _summary(request: Request) -> dict[str, Any] | None:
    wanted, path = text(request.words[0], "VAR"), text(request.words[1], "INPUT")
    with open_subset(path, options.reading(request), unpack=True) as source:
        keys = {unescape(key): key for key in source.meta if key != META}
        name = Finder(path, request).find_one(wanted, sorted(keys), "variable")
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
        n_bytes = item_size(entry)
        for n in size:
            n_bytes *= n
        width = item_size(entry)
        advance = Advance(request.progress, n_bytes * n_passes(n_bytes, width))
        found = vars(summarize(lambda: advance.over_arrays(source.blocks(key), width), n_bytes))
        ends = {end: in_type(found[end], entry.get(".type")) for end in ("min", "max")}  # values, the rest is computed
        return {**found, **ends}
