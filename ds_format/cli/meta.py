"""`ds meta`: print the metadata of a file or of a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import drivers
from ..base.names import unescape
from ..drivers import ds_header
from .arguments import Request, count, name_or_none, text
from .commands import Command
from .patterns import Finder

COMMAND = Command(
    usage=("ds meta [OPTIONS] [VAR] [--] INPUT",),
    about="Prints what the header of a file says: attributes, and properties, whose names begin with a dot. "
    "For a ds file these are all that it has, also where data begin and how they are stored.",
    arguments=(
        (
            "VAR",
            "Name of a variable, or a pattern that matches one; . is the dataset. Without it, or none: everything.",
        ),
        ("INPUT", "The file."),
    ),
    options=(),
    examples=(
        ("All metadata of a file, as JSON:", "ds meta -j data.ds"),
        ("Those of a variable:", "ds meta temperature data.ds"),
        ("Attributes of the dataset:", "ds meta . data.ds"),
    ),
)

SHOWN = (".dims", ".size", ".type", ".time")
"""Properties of variables in files that are no ds files; others are about how they are stored."""


def run(request: Request) -> Iterator[Any]:
    """Yield the metadata by key, or those of one variable with sorted keys.

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
    entries = _entries(path)
    if variable is None:
        yield dict(sorted(entries.items()))
        return
    keys = {unescape(key): key for key in entries if key != "."}
    key: str | None = "."
    if variable != ".":
        name = Finder(path, request).find_one(variable, sorted(keys), "variable")
        key = None if name is None else keys[name]
    entry = {} if key is None else entries.get(key, {})
    yield dict(sorted(entry.items()))


def _entries(path: str) -> dict[str, dict[str, Any]]:
    """Return the metadata as they are in a ds file, or what is known of the variables of another."""
    if drivers.find_existing(path).name == "ds":
        return ds_header.entries(path)
    entries = {}
    for key, entry in drivers.meta(path).items():
        attributes = {name: value for name, value in entry.items() if not name.startswith(".")}
        entries[key] = {**attributes, **{name: entry[name] for name in SHOWN if name in entry}}
    if not entries.get("."):
        entries.pop(".", None)
    return entries
