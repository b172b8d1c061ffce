"""`ds ls`: list the variables of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.names import escape
from . import metadata
from .arguments import Request, count, names, text
from .commands import Command, Option
from .patterns import Finder, not_found

COMMAND = Command(
    usage=("ds [ls] [OPTIONS] [VAR]... [--] INPUT",),
    about="Prints one line for each variable, sorted by name. Only the header of the file is read.",
    arguments=(
        ("VAR", "Name of a variable, or a pattern of names. Without any, all variables are listed."),
        ("INPUT", "The file."),
    ),
    options=(
        Option("a", "Print the values of these attributes behind each name: a name or { NAME... }.", "ATTRS"),
        Option("l", "Print the sizes of dimensions on a line before, and type and dimensions behind each name."),
    ),
    examples=(
        ("Names of all variables:", "ds data.ds"),
        ("Types and dimensions:", "ds ls -l data.ds"),
        ("Units of the variables that begin with t:", "ds ls 't*' data.ds a: units"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield the name of each variable, or a list of it and what is asked for; before them the sizes of dimensions.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        For a variable that does not exist, in strict mode.
    """
    count(request, 1)
    *wanted, path = (text(word, "argument") for word in request.words)
    attributes = names(request.options.get("a"), "a")
    long = bool(request.options.get("l"))
    entries = metadata.read(path).variables
    finder = Finder(path, request)
    listed = list(entries)
    if wanted:
        listed = finder.find(wanted, listed, "variable")
    known = sorted({name for entry in entries.values() for name in metadata.attributes(entry)})
    for attribute in attributes:
        if attribute not in known:
            finder.miss(not_found(attribute, known, "attribute", path))
    if long:
        yield metadata.sizes(entries[name] for name in sorted({*listed}))
    for name in listed:
        entry = entries[name]
        facts = [entry[".type"], entry[".dims"]] if long else []
        facts += [entry.get(escape(attribute)) for attribute in attributes]
        yield [name, *facts] if facts else name
