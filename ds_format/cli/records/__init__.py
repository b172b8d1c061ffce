"""`ds records`: print, copy and change samples and documents one by one.

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
from ..arguments import (
    Command,
    Option,
    Request,
    UsageError,
    check_local,
    choice,
    integer,
    names,
    refused,
    text,
    word,
)


class Tool(NamedTuple):
    """One subcommand of `ds records`."""

    usage: str
    about: str
    options: frozenset[str] = frozenset()


OF_FILES = ("exclude", "include", "root-dir", "separator")
"""Options for sources whose samples are files."""
_OF_COPIES = frozenset({"collection", "layout", "seed", "y"})

TOOLS = {
    "cat": Tool("INPUT", "Print records.", frozenset({"collection", "maxstring", "start", "stop"})),
    "get": Tool(
        "INPUT [KEY]...",
        "Print records by key, or by index.",
        frozenset({"collection", "index", "maxstring"}),
    ),
    "list": Tool("INPUT", "Print keys.", frozenset({"collection", "l", "start", "stop"})),
    "info": Tool(
        "INPUT",
        "Print the number of records, their sizes and entries, and the files.",
        frozenset({"collection"}),
    ),
    "scan": Tool(
        "STORE",
        "Print documents that meet conditions, or parts of them. -j prints each as one line of JSON.",
        frozenset({"collection", "count", "fields", "limit", "where"}),
    ),
    "put": Tool(
        "STORE KEY [-- JSON]",
        "Store a document, and replace an existing one with this key. Without JSON, the document is read from stdin. "
        "A missing store is created.",
        frozenset({"collection", "layout"}),
    ),
    "delete": Tool("STORE KEY...", "Delete documents.", frozenset({"collection"})),
    "import": Tool("STORE FILE", "Store documents from lines of JSON.", frozenset({"collection", "layout"})),
    "export": Tool("INPUT FILE", "Write records as lines of JSON.", frozenset({"collection", "y"})),
    "sample": Tool("INPUT OUTPUT N", "Copy N records.", _OF_COPIES | {"strategy"}),
    "shuffle": Tool(
        "INPUT OUTPUT",
        "Copy all records in random order.",
        _OF_COPIES | {"buf-size", "chunk-size", "true-shuffle"},
    ),
    "split": Tool(
        "INPUT N...",
        "Copy the records before number N to one file, and the others to another file.",
        frozenset({"collection", "layout", "outfiles", "y"}),
    ),
    "merge": Tool(
        "INPUT... OUTPUT",
        "Copy the records of several files to one.",
        _OF_COPIES | {"shuffle", "strategy"},
    ),
    "bench": Tool(
        "INPUT",
        "Read all records, and print the time. INPUT may also be a folder of folders of files, a list of files or a "
        "ZIP archive.",
        frozenset({"collection", "mmap", "raw", "shuffle", *OF_FILES}),
    ),
}
"""Subcommands by name."""


def indexes(name: str, value: Any) -> list[int]:
    """Return an integer or an array of integers as a list."""
    found = value if isinstance(value, list) else [value]
    if not all(type(index) is int for index in found):
        raise refused(name, "invalid type: expected integers", value)
    return found


OPTIONS = (
    Option(
        "buf-size",
        "shuffle: read in chunks, through a buffer of N records, or of this share of all records if N is below 1.",
        "N",
    ),
    Option("chunk-size", "shuffle: read in chunks of N records.", "N"),
    Option("collection", "ZDS: the collection. By default the only one, or `default` if there are several.", "NAME"),
    Option("count", "scan: print only the number of documents."),
    Option("exclude", "bench: skip files whose path matches one of these patterns.", "PATTERN...", names),
    Option(
        "fields",
        "scan: print these parts of documents, with dots between names: a name or { NAME... }.",
        "NAME...",
        names,
    ),
    Option(
        "include",
        "bench: read only files in a folder or ZIP archive whose path matches a pattern.",
        "PATTERN...",
        names,
    ),
    Option("index", "get: number of a record, or { N... }. Negative numbers count from the end.", "N...", indexes),
    Option("l", "list: print the size in bytes after each key."),
    Option(
        "layout",
        "ZDS, put, import, sample, shuffle, split, merge: layout of a new collection, `jsonl` for lines of one file or "
        "`docs` for one file for each document. By default `jsonl`; copies use the layout of INPUT. A collection with "
        "documents keeps its layout.",
        " | ".join(LAYOUTS),
        choice(*LAYOUTS),
    ),
    Option("limit", "scan: print only the first N documents.", "N", integer(0)),
    Option(
        "maxstring",
        "cat, get: print at most N characters of a text or of bytes, and only type and shape of a larger array. By "
        "default 40 for cat, and no limit for get and with -j.",
        "N",
        integer(0),
    ),
    Option("mmap", "bench: map the file into memory."),
    Option("outfiles", "split: names of the parts. By default INPUT-0, INPUT-1, ...", "{ NAME... }", names),
    Option("raw", "bench: do not decode."),
    Option(
        "root-dir", "bench: folder for relative paths in a list of files. By default the folder of the list.", "FOLDER"
    ),
    Option("seed", "sample, shuffle, merge: seed of the random order.", "N", integer()),
    Option(
        "separator",
        "bench: separator between path and label in a list of files. By default a tab.",
        "TEXT",
        word(none=False),
    ),
    Option("shuffle", "merge: shuffle each file first. bench: read in random order."),
    Option("start", "cat, list: start at this record. Negative numbers count from the end.", "N", integer()),
    Option("stop", "cat, list: stop before this record.", "N", integer()),
    Option(
        "strategy",
        "sample: random (the default) or sequential from the start. merge: random (the default), which mixes the "
        "files, or concat, which joins them in order.",
        "random | sequential | concat",
    ),
    Option("true-shuffle", "shuffle: use a fully random order, which is the default."),
    Option(
        "where",
        "scan: a condition, or { CONDITION... } that must all hold. A condition is NAME, an operator and a value, as "
        "in 'age>=30'. Operators are = != < <= > >=, and, between blanks, contains, startswith, in, not_in and exists.",
        "CONDITION...",
        names,
    ),
    Option("y", "export, sample, shuffle, split, merge: replace files that exist."),
)
"""Options of all subcommands."""


def run(request: Request) -> Iterable[Any]:
    """Run the subcommand in the first word.

    Raises
    ------
    UsageError
        If the subcommand or one of its options does not exist.
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
        request.check_words(tool.usage)
    except UsageError as error:
        raise UsageError(f"{name}: {error}")
    from . import editing, printing

    if name in editing.TOOLS:
        check_local(request.words[:1])  # others may be keys
    return {**printing.TOOLS, **editing.TOOLS}[name](request)


COMMANDS = {
    "records": Command(
        usage=tuple(f"ds records {name} {tool.usage}" for name, tool in TOOLS.items()),
        about="Prints, copies and changes records: samples of datadings (.msgpack), and documents of ZDS (.zds, or a "
        "folder). Copies keep the format, are made record by record, and are written atomically.",
        arguments=tuple((name, tool.about) for name, tool in TOOLS.items()),
        options=OPTIONS,
        examples=(
            ("Overview of a file:", "ds records info data.msgpack"),
            ("The first three samples as JSON:", "ds records cat -j data.msgpack stop: 3"),
            ("The sample with a key, and the last one:", "ds records get data.msgpack 2 index: -1"),
            (
                "Split three samples into two files:",
                "ds records split data.msgpack 2 outfiles: '{' fit.msgpack test.msgpack '}'",
            ),
            ("Shuffle all samples:", "ds records shuffle data.msgpack shuffled.msgpack seed: 1"),
            ("Store a document:", """ds records put store a1 -- '{"name": "Ada", "age": 36}'"""),
            (
                "Temperatures of 270 and more:",
                "ds records scan -j store.zds fields: temperature where: 'temperature>=270'",
            ),
            ("Export documents as lines of JSON:", "ds records export store.zds store.jsonl"),
            ("Join two files:", "ds records merge a.msgpack b.msgpack both.msgpack strategy: concat"),
        ),
        run=run,
    ),
}
