"""`ds dim`: print the size of a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import metadata
from .arguments import Request, count, text
from .commands import Command
from .patterns import Finder

COMMAND = Command(
    usage=("ds dim [OPTIONS] DIM [--] INPUT",),
    about="Prints how many positions a dimension has; 0 if there is no such dimension.",
    arguments=(
        ("DIM", "Name of a dimension, or a pattern that matches one."),
        ("INPUT", "The file."),
    ),
    options=(),
    examples=(
        ("How many times are in a file:", "ds dim time data.ds"),
        ("How many latitudes, by a pattern:", "ds dim 'lat*' data.nc"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield the size of the dimension; None if it is not known.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the dimension does not exist, in strict mode.
    """
    count(request, 2, 2, lacks="DIM", lister="dims")
    wanted, path = text(request.words[0], "DIM"), text(request.words[1], "INPUT")
    sizes = metadata.sizes(metadata.read(path).variables.values())
    name = Finder(path, request).find_one(wanted, sorted(sizes), "dimension")
    yield 0 if name is None else sizes[name]
