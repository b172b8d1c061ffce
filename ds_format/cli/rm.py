"""`ds rm`: remove variables or attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from ..ops import rm, rm_attr, vars
from . import changes, options
from .arguments import ArgumentError, Request, UsageError, is_none, texts
from .commands import Command
from .patterns import Changer

COMMAND = Command(
    usage=("ds rm [OPTIONS] VAR [--] INPUT OUTPUT", "ds rm [OPTIONS] VAR ATTR [--] INPUT OUTPUT"),
    about="Writes the dataset of a file to another, without some variables or attributes. OUTPUT may be INPUT.",
    arguments=(
        ("VAR", "Name of a variable, a pattern of names, or { VAR... }. With ATTR, none is the dataset."),
        ("ATTR", "Name of an attribute to remove, a pattern of names, or { ATTR... }."),
        ("INPUT", "The file to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=options.WRITTEN,
    examples=(
        ("Remove two variables:", "ds rm '{' temperature pressure '}' data.ds output.ds"),
        ("Remove an attribute of all variables:", "ds rm '*' long_name data.ds output.ds"),
        ("Remove an attribute of the dataset:", "ds rm none title data.ds output.ds"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    MissingError
        If none of the variables or attributes exists; if one does not, in strict mode.
    """
    rest, source, target = changes.files(request)
    if len(rest) not in (1, 2):
        raise UsageError("invalid number of arguments")
    wanted = None if is_none(rest[0]) else texts(rest[0], "VAR")
    attributes = None if len(rest) < 2 or is_none(rest[1]) else texts(rest[1], "ATTR")
    if wanted is None and attributes is None:
        raise ArgumentError("VAR: none is the dataset, of which only attributes can be removed")
    d = changes.read(request, source)
    finder = Changer(source, request)
    found: list[Any] = [None] if wanted is None else finder.find(wanted, vars(d, full=True), "variable")
    if attributes is None:
        for name in dict.fromkeys(found):
            rm(d, name)
        n_removed = len(found)
    else:
        known = changes.attributes(d, found)
        removed = dict.fromkeys(finder.find(attributes, sorted({*itertools.chain(*known.values())}), "attribute"))
        for name, names in known.items():
            for attribute in removed:
                if attribute in names:
                    rm_attr(d, attribute, name)
        n_removed = len(removed)
    finder.settle(changes=n_removed > 0)
    changes.write(request, target, d)
    return ()
