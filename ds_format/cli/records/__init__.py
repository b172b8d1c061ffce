"""`ds records`: samples as they are stored, one by one.

::

    formats.py   suffix → reader and writer
    tools.py     the table of what can be done; the options of each
    printing.py  cat, get, list, info
    timing.py    bench
    copying.py   sample, shuffle, split, merge
    showing.py   a sample → what can be printed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arguments import GENERAL, Request, UsageError, text
from ..commands import Command, Option
from .tools import TOOLS, Tool

COMMAND = Command(
    usage=tuple(f"ds records {name} {tool.usage}" for name, tool in TOOLS.items()),
    about="Prints and copies samples of record files. Copies are made message by message, undecoded, and appear whole "
    "or not at all.",
    arguments=tuple((name, tool.about) for name, tool in TOOLS.items()),
    options=(
        Option("buf-size", "shuffle: read in chunks, through a buffer of N samples; below 1, a share of all.", "N"),
        Option("chunk-size", "shuffle: read in chunks of N samples.", "N"),
        Option("exclude", "bench: leave out files whose path matches one of these patterns.", "PATTERN..."),
        Option("include", "bench: of a folder or ZIP archive only files whose path matches a pattern.", "PATTERN..."),
        Option("index", "get: number of a sample, or { N... }; negative ones count from the end.", "N..."),
        Option("l", "list: print the size in bytes behind each key."),
        Option(
            "maxstring",
            "cat, get: print so many characters of a text or of bytes, and of a larger array type and shape only. By "
            "default 40 with cat, without limit with get and with -j.",
            "N",
        ),
        Option("mmap", "bench: map the file into memory."),
        Option("outfiles", "split: names of the parts. By default INPUT-0, INPUT-1, ...", "{ NAME... }"),
        Option("raw", "bench: do not decode."),
        Option("root-dir", "bench: where the paths in a list of files begin; else where the list is.", "FOLDER"),
        Option("seed", "sample, shuffle, merge: another order than that which all get.", "N"),
        Option("separator", "bench: what stands between path and label in a list of files; else a tab.", "TEXT"),
        Option("shuffle", "merge: shuffle each file before. bench: read in random order."),
        Option("start", "cat, list: the first sample; negative ones count from the end.", "N"),
        Option("stop", "cat, list: the sample to stop before.", "N"),
        Option(
            "strategy",
            "sample: random (the default) or sequential, from the start. merge: random (the default), which mixes the "
            "files, or concat, one after the other.",
            "NAME",
        ),
        Option("true-shuffle", "shuffle: in any order, which is the default."),
        Option("y", "sample, shuffle, split, merge: replace files that exist."),
    ),
    examples=(
        ("What is in a file:", "ds records info data.msgpack"),
        ("The first three samples as JSON:", "ds records cat -j data.msgpack stop: 3"),
        ("The sample with a key, and the last one:", "ds records get data.msgpack 2 index: -1"),
        (
            "Two samples of three for training:",
            "ds records split data.msgpack 2 outfiles: { train.msgpack test.msgpack }",
        ),
        ("All in random order:", "ds records shuffle data.msgpack shuffled.msgpack seed: 1"),
        ("Several files as one:", "ds records merge a.msgpack b.msgpack both.msgpack strategy: concat"),
    ),
)


def run(request: Request) -> Iterable[Any]:
    """Do what the first word says.

    Raises
    ------
    UsageError
        If there is no such thing to do, or it has no such option.
    DsError, OSError
        If a file cannot be read or written.
    """
    if not request.words:
        raise UsageError(f"expected one of {', '.join(TOOLS)}")
    name = text(request.words[0], "argument")
    tool = TOOLS.get(name)
    if tool is None:
        raise UsageError(f'found "{name}", expected one of {", ".join(TOOLS)}')
    _check(name, tool, request)
    return tool.load()(request._replace(words=request.words[1:]))


def _check(name: str, tool: Tool, request: Request) -> None:
    general = {option.name for option in GENERAL}
    for option in request.options:
        if option not in general and option not in tool.options:
            raise UsageError(f'{name}: unrecognized option "{option}"')
    n = len(request.words) - 1
    if n < tool.least or (tool.most is not None and n > tool.most):
        raise UsageError(f"{name}: invalid number of arguments")
