"""`ds rename_dim`: rename dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops import dims, rename_dim_m
from . import changes, options
from .arguments import ArgumentError, Request, UsageError, is_none, text
from .commands import Command
from .patterns import Changer

COMMAND = Command(
    usage=("ds [OPTIONS] rename_dim OLD: NEW... [--] INPUT OUTPUT",),
    about="Writes the dataset of a file to another, with other names of dimensions. All are renamed at once, so that "
    "two can swap names. OUTPUT may be INPUT.",
    arguments=(
        ("OLD: NEW", "Name, or a pattern that matches one, and the name that takes its place."),
        ("INPUT", "The file to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=options.WRITTEN,
    examples=(
        ("Rename a dimension:", "ds rename_dim time: t data.ds output.ds"),
        ("Swap two:", "ds rename_dim lat: lon lon: lat data.ds output.ds"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    MissingError
        If none of the dimensions exists; if one does not, in strict mode.
    """
    rest, source, target = changes.files(request)
    if not rest or not all(isinstance(word, dict) for word in rest):
        raise UsageError("invalid number of arguments")
    pairs: dict[str, str | None] = {}
    for old, new in ((old, new) for word in rest for old, new in word.items()):
        if is_none(new):
            raise ArgumentError(f"{old}: invalid type: expected a name, found none")
        pairs[old] = text(new, old)
    d = changes.read(request, source)
    finder = Changer(source, request)
    names = dims(d, full=True)
    options.check_places([{old: new for old, new in pairs.items() if not finder.match(old, names)}], COMMAND)
    finder.settle(changes=bool(finder.find(list(pairs), names, "dimension")))
    with changes.about(source):
        rename_dim_m(d, finder.renaming(pairs, names, "dimension"))
    changes.write(request, target, d)
    return ()
