"""`ds select`: convert a file, whole or in part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..conversion import write_subset
from ..subset import open_subset
from . import metadata, options, pst
from .arguments import Request, UsageError, text
from .commands import Command, Option
from .patterns import Changer

COMMAND = Command(
    usage=("ds [OPTIONS] select [VAR]... [DIM: INDEX]... [--] INPUT OUTPUT",),
    about="Writes the variables of a file, or some of them, or parts of them, to another file. "
    "The formats are those of the file names. OUTPUT may be INPUT; it is replaced when all is done.",
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
        Option(
            "skip-unsupported", "Leave out variables that ds_format cannot hold, with a warning, instead of failing."
        ),
        Option(
            "dim",
            "For samples (.msgpack) and documents (.zds): the dimension along which they are made. By default an "
            "unlimited one, else that which is the first one of most variables.",
            "NAME",
        ),
        options.LAYOUT,
        Option(
            "key",
            "For samples and documents: the variable whose values become their keys. By default these are numbers.",
            "VAR",
        ),
    ),
    examples=(
        ("Convert a NetCDF file:", "ds select input.nc output.ds"),
        ("Two variables, at the first time:", "ds select temperature pressure time: 0 input.nc output.ds"),
        ("The first and the last latitude:", "ds select lat: { 0 -1 } input.ds output.ds"),
        ("One sample for each time, called by it:", "ds dim: time key: time select input.nc output.msgpack"),
        ("The same as documents of JSON:", "ds dim: time select input.nc output.zds"),
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
    if len(paths) < 2:
        raise UsageError("invalid number of arguments")
    *wanted, source, target = paths
    pairs = [pst.value(word) for word in request.words if isinstance(word, dict)]
    indexes = options.positions([*pairs, *options.objects(request, "sel")])
    selectors = options.reading(request)
    creation = {**options.writing(request, target), **options.recording(request, target)}
    with open_subset(source, skip_unsupported=bool(request.options.get("skip-unsupported"))) as whole:
        entries = metadata.contents(whole.meta).variables
        finder = Changer(source, request)
        variables = None
        if wanted:
            variables = list(dict.fromkeys(finder.find(wanted, list(entries), "variable")))
            finder.settle(changes=bool(variables))
        dims = list(metadata.sizes(entries.values()))
        selectors["sel"] = {dim: i for name, i in indexes.items() for dim in finder.require(name, dims, "dimension")}
        part = whole.part(variables, **selectors, jd=options.are_times_converted(request))
        write_subset(part, target, request.progress, **creation)
    return ()
