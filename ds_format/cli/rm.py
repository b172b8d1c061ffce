"""`ds rm`: remove variables or attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops import attrs, rm, rm_attr, vars
from . import changes, patterns
from .arguments import ArgumentError, Request, UsageError, is_none, texts
from .commands import Command

COMMAND = Command(
    usage=("ds rm [OPTIONS] VAR [--] INPUT OUTPUT", "ds rm [OPTIONS] VAR ATTR [--] INPUT OUTPUT"),
    about="Writes the dataset of a file to another, without some variables or attributes. OUTPUT may be INPUT.",
    arguments=(
        ("VAR", "Name of a variable, a pattern of names, or { VAR... }. With ATTR, none is the dataset."),
        ("ATTR", "Name of an attribute to remove, a pattern of names, or { ATTR... }."),
        ("INPUT", "The file to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=(),
    examples=(
        ("Remove two variables:", "ds rm { temperature pressure } data.ds output.ds"),
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
        For a variable or attribute that does not exist, in strict mode.
    """
    rest, source, target = changes.files(request)
    if len(rest) not in (1, 2):
        raise UsageError("invalid number of arguments")
    wanted = None if is_none(rest[0]) else texts(rest[0], "VAR")
    attributes = None if len(rest) < 2 or is_none(rest[1]) else texts(rest[1], "ATTR")
    if wanted is None and attributes is None:
        raise ArgumentError("VAR: none is the dataset, of which only attributes can be removed")
    fixed = bool(request.options.get("F"))
    d = changes.read(request, source)
    found: list[Any] = [None]
    if wanted is not None:
        found = list(dict.fromkeys(patterns.find(wanted, vars(d, full=True), "variable", source, fixed=fixed)))
    for name in found:
        if attributes is None:
            rm(d, name)
            continue
        names = list(attrs(d, name) or ())
        for attribute in dict.fromkeys(patterns.find(attributes, names, "attribute", source, fixed=fixed)):
            rm_attr(d, attribute, name)
    changes.write(request, target, d)
    return ()
