"""`ds type`: print the type of a variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import metadata, patterns
from .arguments import Request
from .commands import Command

COMMAND = Command(
    usage=("ds type [OPTIONS] VAR [--] INPUT",),
    about="Prints the type of the values of a variable: float32, float64, int8 to int64, uint8 to uint64, bool, str "
    "(bytes) or unicode (text). An empty line means that the file does not say.",
    arguments=patterns.ONE_VARIABLE,
    options=(),
    examples=(
        ("Type of a variable:", "ds type temperature data.ds"),
        ("Of one in a NetCDF file, as JSON:", "ds type -j pressure data.nc"),
    ),
)


def run(request: Request) -> Iterator[Any]:
    """Yield the name of the type; None if the file does not say.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, in strict mode.
    """
    yield metadata.of_one(request).get(".type")
