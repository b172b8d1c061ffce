"""`ds size`: print the size of a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import metadata, patterns
from .arguments import Request
from .commands import Command

COMMAND = Command(
    usage=("ds size [OPTIONS] VAR [--] INPUT",),
    about="Prints how many positions each dimension of a variable has: { } for a scalar, an empty line for a "
    "variable without data.",
    arguments=patterns.ONE_VARIABLE,
    options=(),
    examples=(
        ("Size of a variable:", "ds size temperature data.ds"),
        ("As JSON on one line, for a script:", "ds size -j --noindent pressure data.nc"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield the list of sizes; None if there are no data.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, in strict mode.
    """
    yield metadata.of_one(request).get(".size")
