"""`ds append` and `ds compact`: files and series that grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..many import appending
from .arguments import Command, Option, Request, choice, integer
from .select_ import STORED, WRITTEN, writing

WAIT = (
    Option("durable", "Flush the new file and its folder to the disk."),
    Option(
        "timeout",
        "Seconds to wait for another process that appends to the same file, by default 60.",
        "N",
        integer(0),
    ),
)


def append(request: Request) -> Iterable[Any]:
    """Append files; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or the files are incompatible.
    """
    dim, output, *inputs = request.names("DIM OUTPUT INPUT...")
    appending.append(
        output,
        inputs,
        dim,
        duplicates=request.get("duplicates", "error"),
        series=request.flag("series"),
        progress=request.progress,
        **_waiting(request),
        **writing(request, output),
    )
    return ()


def compact(request: Request) -> Iterable[Any]:
    """Make one file of each series; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a series cannot be read, or the file cannot be written.
    """
    for path in request.names("SERIES..."):
        appending.compact(path, **_waiting(request))
    return ()


def _waiting(request: Request) -> dict[str, Any]:
    return {"timeout": request.get("timeout", appending.TIMEOUT), "durable": request.flag("durable")}


COMMANDS = {
    "append": Command(
        usage=("ds append [OPTIONS] DIM [--] OUTPUT INPUT...",),
        about="Appends files to OUTPUT along DIM, as `ds merge` joins them. A file is replaced by a new one, into "
        "which its data are copied. A series, which is a folder of ds files that is read as one, gets one more file of "
        "the new data: the time does not depend on its size. A file that does not exist is created. At any moment "
        "OUTPUT has all of the new data or none. If two processes append to it, the second one waits.",
        arguments=(
            ("DIM", "Name of a dimension that all inputs have."),
            ("OUTPUT", "The file or series to append to."),
            ("INPUT", "Files with the new data, in their order."),
        ),
        options=(
            Option(
                "duplicates",
                "For values that the coordinate DIM has already. error (the default) names them. last: the new record "
                "replaces the old one, and is at the end.",
                "error | last",
                choice("error", "last"),
            ),
            Option("series", "Start a series if OUTPUT does not exist, or make one of an existing ds file."),
            *WAIT,
            *WRITTEN,
            *STORED,
        ),
        examples=(
            ("Append a month:", "ds append time winter.ds january.ds"),
            ("Start a series, or append to it:", "ds append --series time all.ds january.ds"),
            ("Replace records of the same time:", "ds append time a.ds january.ds duplicates: last"),
        ),
        run=append,
    ),
    "compact": Command(
        usage=("ds compact [OPTIONS] [--] SERIES...",),
        about="Makes one ds file of a series, under the same name, with the same data. `ds append` to it copies the "
        "file from then on. A ds file is left as it is.",
        arguments=(("SERIES", "A folder that `ds append --series` made."),),
        options=WAIT,
        examples=(
            ("Make a file of a series:", "ds compact a.ds"),
            ("Flush it to the disk:", "ds compact --durable a.ds"),
        ),
        run=compact,
    ),
}
