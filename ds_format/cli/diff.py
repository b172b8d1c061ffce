"""`ds diff`: print the differences between two datasets."""

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
    """Return a number of 0 or more as a float; infinity if it is too large for one."""
    if type(value) not in (int, float) or not value >= 0:
        raise refused(name, "expected a number of 0 or more", value)
    return float(value) if value <= sys.float_info.max else math.inf


def run(request: Request) -> Iterator[Any]:
    """Yield a line for each difference, and a summary; with `-j` one object.

    Raises
    ------
    Finished
        At the end, if the datasets differ.
    DsError, OSError
        If a file cannot be read.
    MissingError
        If a requested variable does not exist.
    """
    paths = request.exactly("A", "B")
    if request.flag("header") and request.flag("values"):
        raise ArgumentError("--header and --values exclude each other: use neither to compare everything")
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
        about="Compares two datasets of any formats, and prints a line for each difference in dimensions, variables, "
        "types, attributes, missing values and values. For values, it prints how many differ, the first position, and "
        "the maximum difference. Prints nothing if the datasets are equal. The exit status is 0 if they are equal, 1 "
        "if they differ, and 2 after an error. NaN equals NaN. Packed numbers are unpacked. -q prints nothing.",
        arguments=(("A, B", "Files of any formats, or folders of stores."),),
        options=(
            Option("atol", "Absolute tolerance for numbers. 0 by default.", "NUMBER", tolerance),
            Option("header", "Compare dimensions, variables, types and attributes, without values."),
            Option("ignore", "Ignore these attributes: a name, a pattern or { NAME... }. '*' is all.", "ATTRS", names),
            Option("raw", "Compare packed numbers as they are stored."),
            Option(
                "rtol",
                "Relative tolerance: numbers may differ by atol plus this factor times the number in B. 0 by default.",
                "NUMBER",
                tolerance,
            ),
            SKIP_UNSUPPORTED,
            Option("values", "Compare only values, without attributes, names of dimensions and types of numbers."),
            Option("variables", "Compare only these: a name, a pattern or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("Compare a file with a copy in another format:", "ds diff data.nc data.ds"),
            (
                "Compare two model runs with tolerances:",
                "ds diff run1.nc run2.nc rtol: 1e-5 atol: 0.01 ignore: history",
            ),
            (
                "Compare one variable at the first time, as JSON:",
                "ds diff -j run1.nc run2.nc variables: pressure sel: '{ time: 0 }'",
            ),
        ),
        status="0 if both are equal, 1 if they differ, 2 after an error, which is printed as one line on stderr.",
        run=run,
    ),
}
