"""`ds records`: samples and documents as they are stored, one by one.

::

    tools.py     the table of what can be done; the options of each
    printing.py  cat, get, list, info
    editing.py   scan, put, delete, import, export
    copying.py   sample, shuffle, split, merge
    timing.py    bench
    showing.py   a record → what can be printed
    formats.py   suffix → reader and writer; samples.py of datadings, documents.py of ZDS
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base.wording import hint
from ..arguments import GENERAL as GENERAL
from ..arguments import Request, UsageError, check, text
from ..commands import Command, Option
from .tools import TOOLS, Tool

COMMAND = Command(
    usage=tuple(f"ds records {name} {tool.usage}" for name, tool in TOOLS.items()),
    about="Prints, copies and changes records: samples of datadings (.msgpack), and documents of ZDS (.zds, or a "
    "folder). Copies are of the same format, made record by record, and appear whole or not at all.",
    arguments=tuple((name, tool.about) for name, tool in TOOLS.items()),
    options=(
        Option("buf-size", "shuffle: read in chunks, through a buffer of N records; below 1, a share of all.", "N"),
        Option("chunk-size", "shuffle: read in chunks of N records.", "N"),
        Option("collection", "ZDS: the collection. By default the only one, or else `default`.", "NAME"),
        Option("count", "scan: print only how many there are."),
        Option("exclude", "bench: leave out files whose path matches one of these patterns.", "PATTERN..."),
        Option("fields", "scan: these parts of documents, with dots between names: a name or { NAME... }.", "NAME..."),
        Option("include", "bench: of a folder or ZIP archive only files whose path matches a pattern.", "PATTERN..."),
        Option("index", "get: number of a record, or { N... }; negative ones count from the end.", "N..."),
        Option("l", "list: print the size in bytes behind each key."),
        Option(
            "layout",
            "ZDS, put, import, sample, shuffle, split, merge: how documents are kept in a new collection, `jsonl` as "
            "lines of one file, `docs` in a file each. By default lines; copies keep them as their INPUT does. A "
            "collection with documents stays as it is.",
            "NAME",
        ),
        Option("limit", "scan: the first N.", "N"),
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
        Option("start", "cat, list: the first record; negative ones count from the end.", "N"),
        Option("stop", "cat, list: the record to stop before.", "N"),
        Option(
            "strategy",
            "sample: random (the default) or sequential, from the start. merge: random (the default), which mixes the "
            "files, or concat, one after the other.",
            "NAME",
        ),
        Option("true-shuffle", "shuffle: in any order, which is the default."),
        Option(
            "where",
            "scan: a condition, or { CONDITION... }, all of which have to hold: NAME, one of = != < <= > >=, and a "
            "value, as in 'age>=30'; or between blanks contains, startswith, in, not_in, exists.",
            "CONDITION...",
        ),
        Option("y", "export, sample, shuffle, split, merge: replace files that exist."),
    ),
    examples=(
        ("What is in a file:", "ds records info data.msgpack"),
        ("The first three samples as JSON:", "ds records cat -j data.msgpack stop: 3"),
        ("The sample with a key, and the last one:", "ds records get data.msgpack 2 index: -1"),
        (
            "Two samples of three for training:",
            "ds records split data.msgpack 2 outfiles: '{' fit.msgpack test.msgpack '}'",
        ),
        ("All in random order:", "ds records shuffle data.msgpack shuffled.msgpack seed: 1"),
        ("Put a document:", """ds records put store a1 -- '{"name": "Ada", "age": 36}'"""),
        ("Temperatures of 270 and more:", "ds records scan -j store.zds fields: temperature where: 'temperature>=270'"),
        ("Documents as lines of JSON:", "ds records export store.zds store.jsonl"),
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
        raise UsageError(f'found "{name}", expected one of {", ".join(TOOLS)}{hint(name, TOOLS)}')
    _check(name, tool, request)
    return tool.load()(request._replace(words=request.words[1:]))


def _check(name: str, tool: Tool, request: Request) -> None:
    try:
        check(request.options, [option for option in COMMAND.options if option.name in tool.options])
    except UsageError as error:
        raise UsageError(f"{name}: {error}")
    n = len(request.words) - 1
    if n < tool.least or (tool.most is not None and n > tool.most):
        raise UsageError(f"{name}: invalid number of arguments")
