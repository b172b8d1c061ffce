"""`ds diff`: what differs between two datasets."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from ..api.differing import compare, is_one_file, opened, rule_of
from ..comparison.datasets import DiffOptions
from ..comparison.records import lines
from . import options, pst
from .arguments import ArgumentError, Request, count, names, text
from .commands import Command, Ended, Option
from .output import Text
from .patterns import Finder

SAME, DIFFERENT = 0, 1
"""Exit statuses; that of trouble is in the table of commands."""

COMMAND = Command(
    usage=("ds diff [OPTIONS] [--] A B",),
    about="Compares two datasets of any formats, and prints a line for each difference: dimensions, variables that "
    "only one has, types, attributes, missing values, and values: how many differ, where first, and by how much at "
    "most. Prints nothing if they are the same. The exit status is 0 if they are, 1 if they differ, and 2 if there was "
    "trouble. NaN is the same as NaN. Packed numbers are unpacked. With -q only the status tells.",
    arguments=(
        ("A, B", "Files of any formats, or folders of stores."),
    ),
    options=(
        Option("atol", "Numbers are the same that differ by no more than this. 0 by default.", "NUMBER"),
        Option("header", "Compare dimensions, variables, types and attributes, but no values."),
        Option("ignore", "Leave out these attributes: a name, a pattern or { NAME... }. '*' is all.", "ATTRS"),
        Option("raw", "Compare packed numbers as they are stored."),
        Option(
            "rtol",
            "Numbers are the same that differ by no more than this times the one in B, plus atol. 0 by default.",
            "NUMBER",
        ),
        options.SKIP_UNSUPPORTED,
        Option("values", "Compare values alone: neither attributes, nor names of dimensions, nor types of numbers."),
        Option("variables", "Only these: a name, a pattern or { NAME... }.", "VARS"),
    ),
    examples=(
        ("Has a copy in another format all of it?", "ds diff data.nc data.ds"),
        ("Two runs of a model, within tolerances:", "ds diff run1.nc run2.nc rtol: 1e-5 atol: 0.01 ignore: history"),
        ("A variable at the first time, as JSON:", "ds diff -j run1.nc run2.nc variables: pressure sel: '{ time: 0 }'"),
    ),
    status="0 if both are the same, 1 if they differ, 2 after an error, which is one line on stderr.",
)  # fmt: skip


def run(request: Request) -> Iterator[Any]:
    """Yield a line for each difference, and one about all; with `-j` one object.

    Raises
    ------
    Ended
        At the end, if something differs.
    DsError, OSError
        If a file cannot be read.
    MissingError
        If no variable has a name that is asked for.
    """
    count(request, 2, 2)
    paths = [text(word, name) for word, name in zip(request.words, "AB", strict=True)]
    asked = request.options
    if asked.get("header") and asked.get("values"):
        raise ArgumentError("--header and --values exclude each other: without both, all is compared")
    wanted = names(asked.get("variables"), "variables")
    finder = Finder(" ".join(paths), request)
    how = DiffOptions(
        rule_of(_number(request, "rtol"), _number(request, "atol")),
        header=not asked.get("values"),
        values=not asked.get("header"),
        ignore=tuple(names(asked.get("ignore"), "ignore")),
        first=bool(asked.get("q")),
        is_one_file=is_one_file(*paths),
        progress=request.progress,
    )
    unpack, skips = not asked.get("raw"), bool(asked.get("skip-unsupported"))
    with opened(paths[0], unpack, skips) as a, opened(paths[1], unpack, skips) as b:

        def choose(known: list[str]) -> list[str]:
            return [name for pattern in wanted for name in finder.require(pattern, known, "variable")]

        found = compare(a, b, choose if wanted else None, options.reading(request), how)
    if not asked.get("q"):
        if asked.get("j"):
            yield {"a": paths[0], "b": paths[1], **found.report()}
        else:
            yield from map(Text, lines(found, found.variables))
    if found:
        raise Ended(DIFFERENT)


def _number(request: Request, name: str) -> float:
    value = request.options.get(name, 0)
    if type(value) not in (int, float) or not value >= 0:
        raise ArgumentError(f"{name}: expected a number of 0 or more, found {pst.encode([value], False)}")
    return float(value) if value <= sys.float_info.max else math.inf
