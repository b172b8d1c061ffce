"""`ds reindex`: make the index files of a dataset anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import drivers
from .arguments import Request, count, text
from .commands import Command, Option

COMMAND = Command(
    usage=("ds reindex [OPTIONS] [--] INPUT...",),
    about="Makes all index files of a dataset of samples from its data file, and prints its name and the number of "
    "samples. An index of older versions is kept, and no more needed.",
    arguments=(("INPUT", "The data file (.msgpack)."),),
    options=(
        Option(
            "cut",
            "Cut off all from the first byte on that is no whole sample with a key, as after a crash of a writer.",
        ),
    ),
    examples=(("Make the index of a dataset:", "ds reindex data.msgpack"),),
)


def run(request: Request) -> Iterator[Any]:
    """Yield a list of the name and the number of samples for each file.

    Raises
    ------
    DsError, OSError
        If the data are no samples, or a file cannot be read or written.
    """
    count(request, 1)
    reindex = drivers.load(drivers.DRIVERS["datadings"]).reindex
    for path in [text(word, "INPUT") for word in request.words]:
        yield [path, reindex(path, cut=bool(request.options.get("cut")))]
