"""`ds dims`: print the dimensions of a file or of a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import metadata
from .arguments import Request, count, name_or_none, text
from .commands import Command, Option
from .patterns import Finder

COMMAND = Command(
    usage=("ds dims [OPTIONS] [VAR] [--] INPUT",),
    about="Prints the names of all dimensions, sorted, or those of a variable in their order.",
    arguments=(
        ("VAR", "Name of a variable, or a pattern that matches one. Without it, or none: all dimensions."),
        ("INPUT", "The file."),
    ),
    options=(
        Option("size", "The same as -z."),
        Option("z", "Print the size of each dimension, too, in the order in which variables have them."),
    ),
    examples=(
        ("Dimensions of a file with their sizes:", "ds dims -z data.ds"),
        ("Dimensions of a variable:", "ds dims temperature data.ds"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield a list of names, or a dict name → size.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, in strict mode.
    """
    count(request, 1, 2)
    *wanted, path = request.words
    path = text(path, "INPUT")
    variable = name_or_none(wanted[0], "VAR") if wanted else None
    entries = metadata.read(path).variables
    if variable is None:
        sizes = metadata.sizes(entries.values())
        names = sorted(sizes)
    else:
        name = Finder(path, request).find_one(variable, list(entries), "variable")
        chosen = [] if name is None else [entries[name]]
        sizes = metadata.sizes(chosen)
        names = [dim for entry in chosen for dim in entry[".dims"]]
    yield sizes if request.options.get("z") or request.options.get("size") else names
