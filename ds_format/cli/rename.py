"""`ds rename`: rename variables or attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from ..ops import rename_attr_m, rename_m, vars
from . import changes, options
from .arguments import Request, UsageError, is_none, name_or_none, texts
from .commands import Command
from .patterns import Changer

COMMAND = Command(
    usage=(
        "ds [OPTIONS] rename OLD: NEW... [--] INPUT OUTPUT",
        "ds [OPTIONS] rename VAR OLD: NEW... [--] INPUT OUTPUT",
        "ds [OPTIONS] rename { VAR OLD: NEW... }... [--] INPUT OUTPUT",
    ),
    about="Writes the dataset of a file to another, with other names of variables, or, behind VAR or in braces, of "
    "attributes. All are renamed at once, so that two can swap names. OUTPUT may be INPUT.",
    arguments=(
        ("VAR", "Variable whose attributes are renamed: a name, a pattern, or { VAR... }; none is the dataset."),
        (
            "OLD: NEW",
            (
                "Name, or a pattern that matches one, and the name that takes its place; none removes. "
                "A dimension that is called as the variable is renamed, too, and attributes that name the variable "
                "follow, as coordinates and bounds."
            ),
        ),
        ("INPUT", "The file to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=options.WRITTEN,
    examples=(
        ("Rename two variables:", "ds rename temperature: t pressure: p data.ds output.ds"),
        ("Rename an attribute of a variable:", "ds rename temperature long_name: description data.ds output.ds"),
        ("Remove an attribute of the dataset:", "ds rename none title: none data.ds output.ds"),
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
    variables, attributes = _wanted(rest)
    d = changes.read(request, source)
    finder = Changer(source, request)
    n_renamed = 0
    for pairs in variables:
        every = vars(d, full=True)
        options.check_places([{old: new for old, new in pairs.items() if not finder.match(old, every)}], COMMAND)
        n_renamed += len(finder.find(list(pairs), every, "variable"))
        with changes.about(source):
            rename_m(d, finder.renaming(pairs, every, "variable"))
    for wanted, pairs in attributes:
        found: list[Any] = [None] if wanted is None else finder.find(wanted, vars(d, full=True), "variable")
        known = changes.attributes(d, found)
        n_renamed += len(finder.find(list(pairs), sorted({*itertools.chain(*known.values())}), "attribute"))
        for name, names in known.items():
            with changes.about(source):
                rename_attr_m(d, finder.renaming(pairs, names, "attribute"), name)
    finder.settle(changes=n_renamed > 0)
    changes.write(request, target, d)
    return ()


Attributes = list[tuple[list[str] | None, dict[str, str | None]]]


def _wanted(words: Sequence[Any]) -> tuple[list[dict[str, str | None]], Attributes]:
    """Return `OLD: NEW` of variables, and those of attributes with the variables that have them."""
    first = words[0] if words else {}
    if isinstance(first, dict):
        if not all(isinstance(word, dict) for word in words):
            raise UsageError("expected only OLD: NEW before the files, or VAR first")
        return [_pairs(words)] if words else [], []
    groups = [words] if not isinstance(first, list) or not any(isinstance(item, dict) for item in first) else words
    found: Attributes = []
    for group in groups:
        if not isinstance(group, (list, tuple)) or len(group) < 2 or not all(isinstance(i, dict) for i in group[1:]):
            raise UsageError("invalid number of arguments")
        found.append((None if is_none(group[0]) else texts(group[0], "VAR"), _pairs(group[1:])))
    return [], found


def _pairs(words: Iterable[dict[str, Any]]) -> dict[str, str | None]:
    return {old: name_or_none(new, old) for word in words for old, new in word.items()}
