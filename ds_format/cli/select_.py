"""`ds select`: convert a file, whole or in part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import options, pst
from .arguments import FORMAT, Request, text
from .commands import Command, Option
from .selecting import matching

COMMAND = Command(
    usage=("ds [OPTIONS] select [VAR]... [DIM: INDEX]... [--] INPUT OUTPUT",),
    about="Writes the variables of a file, or some of them, or parts of them, to another file. "
    "The suffixes tell the formats. The content decides that of INPUT if its suffix is unknown. OUTPUT may be INPUT; "
    "it is replaced when all is done.",
    arguments=(
        ("VAR", "Name of a variable, or a pattern of names. Without any, all variables are written."),
        (
            "DIM: INDEX",
            (
                "Positions along a dimension, counted from 0 or, if negative, from the end. An integer removes "
                "the dimension; { INTEGER... } or { true false... } keeps it."
            ),
        ),
        ("INPUT", "The file to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=(
        Option("coords", "Write also the coordinates of the variables, and the bounds of these."),
        FORMAT,
        options.SKIP_UNSUPPORTED,
        options.DIM,
        *options.WRITTEN,
        options.KEY,
    ),
    examples=(
        ("Convert a NetCDF file:", "ds select input.nc output.ds"),
        ("Two variables, at the first time:", "ds select temperature pressure time: 0 input.nc output.ds"),
        ("A variable with its coordinates:", "ds select --coords temperature input.nc output.ds"),
        ("The first and the last latitude:", "ds select lat: '{' 0 -1 '}' input.ds output.ds"),
        ("One sample for each time, called by it:", "ds dim: time key: time select input.nc output.msgpack"),
        ("The same as documents of JSON:", "ds dim: time select input.nc output.zds"),
        ("A table without a known suffix:", "ds select table.dat output.ds format: csv"),
        ("All of a NetCDF file but for compound types:", "ds select --skip-unsupported input.nc output.ds"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    IndexError
        For an index beyond the size of its dimension.
    MissingError
        If none of the variables, or one of the dimensions, does not exist; for any variable in strict mode.
    """
    paths = [text(word, "argument") for word in request.words if not isinstance(word, dict)]
    *wanted, source, target = options.checked_files(paths)
    pairs = [pst.value(word) for word in request.words if isinstance(word, dict)]
    options.check_places(pairs, COMMAND)
    creation = {**options.writing(request, target), **options.recording(request, target)}
    matching(request, wanted, pairs, creation).convert(source, target, request.progress)
    return ()
