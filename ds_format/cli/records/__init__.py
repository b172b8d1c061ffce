"""`ds records`: samples and documents as they are stored, one by one.

::

    printing.py  cat, get, list, scan, info, bench
    editing.py   put, delete, import, export, sample, shuffle, split, merge
    record_readers.py  the formats of records: their readers and writers
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...base.text import hint
from ...zds.format import LAYOUTS
from ..arguments import Command, Option, Request, UsageError, choice, integer, names, refused, text, word


class Tool(NamedTuple):
    """One of the things to do."""

    usage: str
    about: str
    least: int
    """Fewest arguments."""
    most: int | None = None
    """Most arguments; None: any number."""
    options: frozenset[str] = frozenset()


OF_FILES = ("exclude", "include", "root-dir", "separator")
"""Options of sources whose samples are files."""
_OF_COPIES = frozenset({"collection", "layout", "seed", "y"})

TOOLS = {
    "cat": Tool("INPUT", "Print records.", 1, 1, frozenset({"collection", "maxstring", "start", "stop"})),
    "get": Tool(
        "INPUT [KEY]...",
        "Print records by key, or by index.",
        1,
        None,
        frozenset({"collection", "index", "maxstring"}),
    ),
    "list": Tool("INPUT", "Print keys.", 1, 1, frozenset({"collection", "l", "start", "stop"})),
    "info": Tool(
        "INPUT",
        "Print how many records there are, their sizes and entries, and the files.",
        1,
        1,
        frozenset({"collection"}),
    ),
    "scan": Tool(
        "STORE",
        "Print documents that meet conditions, or parts of them; with -j each as one line of JSON.",
        1,
        1,
        frozenset({"collection", "count", "fields", "limit", "where"}),
    ),
    "put": Tool(
        "STORE KEY [-- JSON]",
        "Put a document, in place of the one with this key if there is one. Without JSON it is read from stdin. A new "
        "folder becomes a store.",
        2,
        3,
        frozenset({"collection", "layout"}),
    ),
    "delete": Tool("STORE KEY...", "Delete documents.", 2, None, frozenset({"collection"})),
    "import": Tool("STORE FILE", "Put documents from lines of JSON.", 2, 2, frozenset({"collection", "layout"})),
    "export": Tool("INPUT FILE", "Write records as lines of JSON.", 2, 2, frozenset({"collection", "y"})),
    "sample": Tool("INPUT OUTPUT N", "Copy N records.", 3, 3, _OF_COPIES | {"strategy"}),
    "shuffle": Tool(
        "INPUT OUTPUT",
        "Copy all records in random order.",
        2,
        2,
        _OF_COPIES | {"buf-size", "chunk-size", "true-shuffle"},
    ),
    "split": Tool(
        "INPUT N...",
        "Copy the records before number N to one file, those from there on to another.",
        2,
        None,
        frozenset({"collection", "layout", "outfiles", "y"}),
    ),
    "merge": Tool(
        "INPUT... OUTPUT",
        "Copy the records of several files to one.",
        2,
        None,
        _OF_COPIES | {"shuffle", "strategy"},
    ),
    "bench": Tool(
        "INPUT",
        "Read all records, and print how long it took. INPUT may also be a folder of folders of files, a list of files "
        "or a ZIP archive.",
        1,
        1,
        frozenset({"collection", "mmap", "raw", "shuffle", *OF_FILES}),
    ),
}
"""By name."""


def indexes(name: str, value: Any) -> list[int]:
    """Return an integer or an array of integers as a list."""
    found = value if isinstance(value, list) else [value]
    if not all(type(index) is int for index in found):
        raise refused(name, "invalid type: expected integers", value)
    return found


OPTIONS = (
    Option("buf-size", "shuffle: read in chunks, through a buffer of N records; below 1, a share of all.", "N"),
    Option("chunk-size", "shuffle: read in chunks of N records.", "N"),
    Option("collection", "ZDS: the collection. By default the only one, or else `default`.", "NAME"),
    Option("count", "scan: print only how many there are."),
    Option("exclude", "bench: leave out files whose path matches one of these patterns.", "PATTERN...", names),
    Option(
        "fields", "scan: these parts of documents, with dots between names: a name or { NAME... }.", "NAME...", names
    ),
    Option(
        "include", "bench: of a folder or ZIP archive only files whose path matches a pattern.", "PATTERN...", names
    ),
    Option("index", "get: number of a record, or { N... }; negative ones count from the end.", "N...", indexes),
    Option("l", "list: print the size in bytes behind each key."),
    Option(
        "layout",
        "ZDS, put, import, sample, shuffle, split, merge: how documents are kept in a new collection, `jsonl` as "
        "lines of one file, `docs` in a file each. By default lines; copies keep them as their INPUT does. A "
        "collection with documents stays as it is.",
        "NAME",
        choice(*LAYOUTS),
    ),
    Option("limit", "scan: the first N.", "N", integer(0)),
    Option(
        "maxstring",
        "cat, get: print so many characters of a text or of bytes, and of a larger array type and shape only. By "
        "default 40 with cat, without limit with get and with -j.",
        "N",
        integer(0),
    ),
    Option("mmap", "bench: map the file into memory."),
    Option("outfiles", "split: names of the parts. By default INPUT-0, INPUT-1, ...", "{ NAME... }", names),
    Option("raw", "bench: do not decode."),
    Option("root-dir", "bench: where the paths in a list of files begin; else where the list is.", "FOLDER"),
    Option("seed", "sample, shuffle, merge: another order than that which all get.", "N", integer()),
    Option(
        "separator",
        "bench: what stands between path and label in a list of files; else a tab.",
        "TEXT",
        word(none=False),
    ),
    Option("shuffle", "merge: shuffle each file before. bench: read in random order."),
    Option("start", "cat, list: the first record; negative ones count from the end.", "N", integer()),
    Option("stop", "cat, list: the record to stop before.", "N", integer()),
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
        names,
    ),
    Option("y", "export, sample, shuffle, split, merge: replace files that exist."),
)
"""Of all tools."""


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
    request = request._replace(words=request.words[1:])
    try:
        request = request.check(option for option in OPTIONS if option.name in tool.options)
        request.check_count(tool.least, tool.most)
    except UsageError as error:
        raise UsageError(f"{name}: {error}")
    from . import editing, printing

    return {**printing.TOOLS, **editing.TOOLS}[name](request)


COMMANDS = {
    "records": Command(
        usage=tuple(f"ds records {name} {tool.usage}" for name, tool in TOOLS.items()),
        about="Prints, copies and changes records: samples of datadings (.msgpack), and documents of ZDS (.zds, or a "
        "folder). Copies are of the same format, made record by record, and appear whole or not at all.",
        arguments=tuple((name, tool.about) for name, tool in TOOLS.items()),
        options=OPTIONS,
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
            (
                "Temperatures of 270 and more:",
                "ds records scan -j store.zds fields: temperature where: 'temperature>=270'",
            ),
            ("Documents as lines of JSON:", "ds records export store.zds store.jsonl"),
            ("Several files as one:", "ds records merge a.msgpack b.msgpack both.msgpack strategy: concat"),
        ),
        run=run,
    ),
}
