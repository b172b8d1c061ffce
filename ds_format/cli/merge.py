"""`ds merge`: join files along a dimension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..kernels.files.presence import exists
from ..many.merging import merge_files
from . import metadata, options, patterns, pst
from .arguments import ArgumentError, Request, count, names, text
from .commands import Command, Option

COMMAND = Command(
    usage=("ds merge [OPTIONS] DIM [--] [INPUT]... OUTPUT",),
    about="Joins variables along DIM in the order of the files. Others are taken from the first file that has them. If "
    "no variable has DIM, all variables are stacked along it as a new first dimension. What a file lacks is missing. "
    "Of attributes the last file tells. Files may be larger than memory.",
    arguments=(
        ("DIM", "Name of a dimension, or a pattern that matches one."),
        ("INPUT", "The files to read."),
        ("OUTPUT", "The file to write."),
    ),
    options=(
        Option(
            "jd",
            "Whether times whose units differ become Julian dates, instead of being counted as in the first file.",
            "true | false",
        ),
        options.LAYOUT,
        Option("new", "Stack variables that do not have DIM along this new first dimension.", "NAME"),
        Option("variables", "Stack only these: a name or { NAME... }.", "VARS"),
    ),
    examples=(
        ("Join files in time:", "ds merge time january.ds february.ds winter.ds"),
        ("Stack runs of a model:", "ds merge run run1.ds run2.ds runs.ds"),
        ("Stack what does not change in time, too:", "ds merge time january.ds february.ds winter.ds new: month"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or the files do not fit each other.
    """
    count(request, 2)
    wanted, *inputs, output = (text(word, "argument") for word in request.words)
    if not inputs and exists(output):
        raise ArgumentError(f"{output}: there is nothing to merge, and this file would become an empty dataset")
    new = request.options.get("new")
    if not isinstance(new, str | None):
        raise ArgumentError(f"new: invalid type: expected a name, found {pst.encode([new], False)}")
    jd = request.options.get("jd", False)
    if not isinstance(jd, bool):
        raise ArgumentError(f"jd: invalid type: expected true or false, found {pst.encode([jd], False)}")
    given = request.options.get("variables")
    merge_files(
        _dimension(wanted, inputs, fixed=bool(request.options.get("F"))),
        inputs,
        output,
        new=new,
        variables=None if given is None else names(given, "variables"),
        jd=jd,
        progress=request.progress,
        **options.reading(request),
        **options.writing(request, output),
    )
    return ()


def _dimension(wanted: str, inputs: Sequence[str], *, fixed: bool) -> str:
    """Return the dimension of some file that a pattern matches; a name may be that of a new one."""
    if fixed or not any(char in wanted for char in "*?["):
        return wanted
    found = {dim for path in inputs for dim in metadata.sizes(metadata.read(path).variables.values())}
    matching = patterns.match(wanted, sorted(found))
    if not matching:
        raise patterns.not_found(wanted, sorted(found), "dimension")
    if len(matching) > 1:
        raise ArgumentError(f'more than one dimension is matching the pattern "{wanted}"')
    return matching[0]
