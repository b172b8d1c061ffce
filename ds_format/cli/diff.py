"""`ds diff`: what differs between two datasets."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from ..api.differing import compare, is_one_file, opened, rule_of
from ..comparison.datasets import DiffOptions
from ..comparison.records import lines
from .arguments import ArgumentError, Command, Finished, Option, Request, names, refused
from .lookup import Finder
from .pst import Text
from .select_ import SKIP_UNSUPPORTED, reading


def tolerance(name: str, value: Any) -> float:
    """Return a number of 0 or more, the largest float in place of what floats cannot hold."""
    if type(value) not in (int, float) or not value >= 0:
        raise refused(name, "expected a number of 0 or more", value)
    return float(value) if value <= sys.float_info.max else math.inf


def run(request: Request) -> Iterator[Any]:
    """Yield a line for each difference, and one about all; with `-j` one object.

    Raises
    ------
    Finished
        At the end, if something differs.
    DsError, OSError
        If a file cannot be read.
    MissingError
        If no variable has a name that is asked for.
    """
    paths = request.exactly("A", "B")
    if request.flag("header") and request.flag("values"):
        raise ArgumentError("--header and --values exclude each other: without both, all is compared")
    patterns = request.get("variables", [])
    finder = Finder(" ".join(paths), request)
    how = DiffOptions(
        rule_of(request.get("rtol", 0.0), request.get("atol", 0.0)),
        header=not request.flag("values"),
        values=not request.flag("header"),
        ignore=tuple(request.get("ignore", [])),
        first=request.flag("q"),
        is_one_file=is_one_file(*paths),
        progress=request.progress,
    )
    unpack, skips = not request.flag("raw"), request.flag("skip-unsupported")
    with opened(paths[0], unpack, skips) as a, opened(paths[1], unpack, skips) as b:

        def choose(known: list[str]) -> list[str]:
            return [name for pattern in patterns for name in finder.require(pattern, known, "variable")]

        found = compare(a, b, choose if patterns else None, reading(request), how)
    if not request.flag("q"):
        if request.flag("j"):
            yield {"a": paths[0], "b": paths[1], **found.report()}
        else:
            yield from map(Text, lines(found, found.variables))
    if found:
        raise Finished(1)


COMMANDS = {
    "diff": Command(
        usage=("ds diff [OPTIONS] [--] A B",),
        about="Compares two datasets of any formats, and prints a line for each difference: dimensions, variables "
        "that only one has, types, attributes, missing values, and values: how many differ, where first, and by how "
        "much at most. Prints nothing if they are the same. The exit status is 0 if they are, 1 if they differ, and 2 "
        "if there was trouble. NaN is the same as NaN. Packed numbers are unpacked. With -q only the status tells.",
        arguments=(("A, B", "Files of any formats, or folders of stores."),),
        options=(
            Option("atol", "Numbers are the same that differ by no more than this. 0 by default.", "NUMBER", tolerance),
            Option("header", "Compare dimensions, variables, types and attributes, but no values."),
            Option(
                "ignore", "Leave out these attributes: a name, a pattern or { NAME... }. '*' is all.", "ATTRS", names
            ),
            Option("raw", "Compare packed numbers as they are stored."),
            Option(
                "rtol",
                "Numbers are the same that differ by no more than this times the one in B, plus atol. 0 by default.",
                "NUMBER",
                tolerance,
            ),
            SKIP_UNSUPPORTED,
            Option(
                "values", "Compare values alone: neither attributes, nor names of dimensions, nor types of numbers."
            ),
            Option("variables", "Only these: a name, a pattern or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("Has a copy in another format all of it?", "ds diff data.nc data.ds"),
            (
                "Two runs of a model, within tolerances:",
                "ds diff run1.nc run2.nc rtol: 1e-5 atol: 0.01 ignore: history",
            ),
            (
                "A variable at the first time, as JSON:",
                "ds diff -j run1.nc run2.nc variables: pressure sel: '{ time: 0 }'",
            ),
        ),
        status="0 if both are the same, 1 if they differ, 2 after an error, which is one line on stderr.",
        run=run,
    ),
}
