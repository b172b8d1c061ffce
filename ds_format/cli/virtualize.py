"""`ds virtualize`: write Kerchunk references, by which other programs read files as Zarr."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..body import suffix_of
from ..virtual.writing import SUFFIXES, virtualize
from .arguments import ArgumentError, Command, Option, Request, UsageError, names, word


def run(request: Request) -> Iterable[Any]:
    """Write the references; there is nothing to print.

    Raises
    ------
    ArgumentError
        If the output does not end in `.json` or `.parquet`, so that no data file is replaced by mistake.
    DsError, OSError
        If a file cannot be read or written, or the files cannot be joined.
    UsageError
        If there are several files, but no dimension.
    """
    inputs, output = _words(request)
    if suffix_of(output) not in SUFFIXES:
        example = "as in `ds virtualize a.nc refs.json`"
        raise ArgumentError(f"{output}: expected an output that ends in {' or '.join(SUFFIXES)}, {example}")
    dim = request.get("dim")
    if dim is None and len(inputs) > 1:
        raise UsageError(f"dim: DIM is missing: the dimension along which the {len(inputs)} files are joined")
    paths = inputs[0] if len(inputs) == 1 else inputs
    virtualize(paths, output, dim, request.get("urls"), variables=request.get("variables"))
    return ()


def _words(request: Request) -> tuple[list[str], str]:
    """Return the inputs and the output. It is the value of the option `o`, or the last word.

    The position of a flag is unknown: the output may be the first word then.
    """
    given = request.options.get("o")
    if isinstance(given, str):
        return request.names("INPUT..."), given
    words = request.names("INPUT... OUTPUT")
    if given is True and words[0].endswith(SUFFIXES) and not words[-1].endswith(SUFFIXES):
        words = [*words[1:], words[0]]
    return words[:-1], words[-1]


COMMANDS = {
    "virtualize": Command(
        usage=("ds virtualize [OPTIONS] [--] INPUT... [-o] OUTPUT",),
        about="Writes Kerchunk references to ds and NetCDF files: a small JSON file, or a folder of Parquet files, by "
        "which xarray, zarr and other programs read the files as Zarr, without copying them. Several files are joined "
        "along a dimension. If Zarr cannot read a variable from the files, or they cannot be joined without changing "
        "values, the message names file, variable and reason, and nothing is written.",
        arguments=(
            ("INPUT", "The files: paths, addresses, or one pattern in quotes."),
            ("OUTPUT", "The JSON file to write. Or a folder that ends in .parquet, which readers load in parts."),
        ),
        options=(
            Option(
                "dim",
                "Join the files along this dimension, an existing one or a new one.",
                "DIM",
                word(none=False),
            ),
            Option("o", "Write to this file. The same as -o OUTPUT.", "OUTPUT", may_be_flag=True),
            Option(
                "urls",
                "The address of the folder in which readers find the files, instead of the one that they are in.",
                "URL",
                word(none=False),
            ),
            Option("variables", "Only these variables: a name or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("Read a file as Zarr:", "ds virtualize data.nc -o refs.json"),
            (
                "Join files that readers find in a bucket:",
                "ds virtualize run1.nc run2.nc refs.json dim: run urls: s3://bucket/runs",
            ),
        ),
        run=run,
    ),
}
