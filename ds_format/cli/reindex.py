"""`ds reindex`: make the index files of samples or documents anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import drivers
from ..errors import DriverError
from .arguments import Request, count, text
from .commands import Command, Option

COMMAND = Command(
    usage=("ds reindex [OPTIONS] [--] INPUT...",),
    about="Makes all index files anew: of samples from their data file, of a ZDS store from the lines of its "
    "documents. Prints the name and the number of samples or documents. An index of older versions is kept, and no "
    "more needed.",
    arguments=(("INPUT", "The data file (.msgpack), or the folder of a store."),),
    options=(
        Option(
            "cut",
            "Cut off all from the first byte on that is no whole sample with a key, as after a crash of a writer; "
            "a torn last line of documents is moved to a file of its own.",
        ),
        Option(
            "binary",
            "Write the binary form of the index of a store, which programs in Python other than this one cannot read.",
        ),
    ),
    examples=(("Make the index of a dataset:", "ds reindex data.msgpack"), ("Of a store:", "ds reindex weather")),
)


def run(request: Request) -> Iterator[Any]:
    """Yield a list of the name and the number of records for each file.

    Raises
    ------
    DsError, OSError
        If the data are no records, or a file cannot be read or written.
    """
    count(request, 1)
    for path in [text(word, "INPUT") for word in request.words]:
        is_found = drivers.is_known(path) or drivers.is_store(path)
        format = drivers.find_existing(path) if is_found else drivers.FORMATS["datadings"]
        reindex = drivers.load(format).reindex
        if reindex is None:
            raise DriverError("a file without an index: expected .msgpack, or the folder of a store", path=path)
        options: dict[str, Any] = {"cut": bool(request.options.get("cut")), "progress": request.progress}
        if request.options.get("binary"):
            if format is not drivers.FORMATS["zds"]:
                raise DriverError("only the index of a store of documents has a binary form", path=path)
            options["binary"] = True
        yield [path, reindex(path, **options)]
