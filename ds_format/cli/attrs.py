"""`ds attrs`: print attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import metadata
from .arguments import Request, count, name_or_none, text
from .commands import Command
from .patterns import Finder

COMMAND = Command(
    usage=("ds attrs [OPTIONS] [VAR] [ATTR] [--] INPUT",),
    about="Prints the attributes of the dataset or of a variable, or the value of one of them.",
    arguments=(
        ("VAR", "Name of a variable, or a pattern that matches one. Without it, or none: the dataset."),
        ("ATTR", "Name of an attribute, or a pattern that matches one. Without it, or none: all attributes."),
        ("INPUT", "The file."),
    ),
    options=(),
    examples=(
        ("Attributes of the dataset:", "ds attrs data.ds"),
        ("Attributes of a variable:", "ds attrs temperature data.ds"),
        ("One of them, without quotes:", "ds attrs temperature units data.ds"),
        ("One of the dataset:", "ds attrs none title data.ds"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield all attributes as a dict, or the value of one; None if it does not exist.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        For a variable or attribute that does not exist, in strict mode.
    """
    count(request, 1, 3)
    *wanted, path = request.words
    names = [name_or_none(word, what) for word, what in zip(wanted, ("VAR", "ATTR"), strict=False)]
    variable, attribute = (*names, None, None)[:2]
    path = text(path, "INPUT")
    finder = Finder(path, request)
    found, entries = metadata.read(path)
    if variable is not None:
        name = finder.find_one(variable, list(entries), "variable")
        found = {} if name is None else metadata.attributes(entries[name])
    if attribute is None:
        yield found
        return
    key = finder.find_one(attribute, list(found), "attribute")
    yield None if key is None else found[key]
