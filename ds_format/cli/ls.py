"""`ds ls`: list the variables of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..names import escape
from . import metadata, patterns
from .arguments import Request, UsageError, names, text
from .commands import Command, Option

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
    if not request.words:
        raise UsageError("invalid number of arguments")
    *wanted, path = (text(word, "argument") for word in request.words)
    attributes = [escape(name) for name in names(request.options.get("a"), "a")]
    long = bool(request.options.get("l"))
    entries = metadata.variables(path)
    listed = list(entries)
    if wanted:
        listed = patterns.find(wanted, listed, "variable", path, fixed=bool(request.options.get("F")))
    if long:
        yield sizes(entries[name] for name in sorted({*listed}))
    for name in listed:
        entry = entries[name]
        facts = [entry[".type"], entry[".dims"]] if long else []
        facts += [entry.get(attribute) for attribute in attributes]
        yield [name, *facts] if facts else name


def sizes(entries: Iterable[dict[str, Any]]) -> dict[str, int | None]:
    """Return the size of each dimension of some variables, in order of appearance; None without data along it."""
    found: dict[str, int | None] = {}
    for entry in entries:
        size = entry[".size"]
        for i, dim in enumerate(entry[".dims"]):
            if found.get(dim) is None:
                found[dim] = None if size is None else size[i]
    return found
