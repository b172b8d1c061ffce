"""What `ds records` can do. Modules are imported to do it, not to tell of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..arguments import Request

OF_FILES = ("exclude", "include", "root-dir", "separator")
"""Options of sources whose samples are files."""


class Tool(NamedTuple):
    """One of the things to do."""

    usage: str
    about: str
    home: str
    """Module and function; this takes a request without the name of the tool, and returns what to print."""
    least: int
    """Fewest arguments."""
    most: int | None = None
    """Most arguments; None: any number."""
    options: frozenset[str] = frozenset()

    def load(self) -> Callable[[Request], Iterable[Any]]:
        """Import the function that runs it."""
        module, _, function = self.home.partition(".")
        run: Callable[[Request], Iterable[Any]] = getattr(importlib.import_module(f".{module}", __package__), function)
        return run


_OF_COPIES = frozenset({"collection", "layout", "seed", "y"})

TOOLS = {
    "cat": Tool(
        "INPUT", "Print records.", "printing.cat", 1, 1, frozenset({"collection", "maxstring", "start", "stop"})
    ),
    "get": Tool(
        "INPUT [KEY]...",
        "Print records by key, or by index.",
        "printing.get",
        1,
        None,
        frozenset({"collection", "index", "maxstring"}),
    ),
    "list": Tool("INPUT", "Print keys.", "printing.keys", 1, 1, frozenset({"collection", "l", "start", "stop"})),
    "info": Tool(
        "INPUT",
        "Print how many records there are, their sizes and entries, and the files.",
        "printing.info",
        1,
        1,
        frozenset({"collection"}),
    ),
    "scan": Tool(
        "STORE",
        "Print documents that meet conditions, or parts of them; with -j each as one line of JSON.",
        "editing.scan",
        1,
        1,
        frozenset({"collection", "count", "fields", "limit", "where"}),
    ),
    "put": Tool(
        "STORE KEY [-- JSON]",
        "Put a document, in place of the one with this key if there is one. Without JSON it is read from stdin. A new "
        "folder becomes a store.",
        "editing.put",
        2,
        3,
        frozenset({"collection", "layout"}),
    ),
    "delete": Tool("STORE KEY...", "Delete documents.", "editing.delete", 2, None, frozenset({"collection"})),
    "import": Tool(
        "STORE FILE", "Put documents from lines of JSON.", "editing.import_", 2, 2, frozenset({"collection", "layout"})
    ),
    "export": Tool(
        "INPUT FILE", "Write records as lines of JSON.", "editing.export", 2, 2, frozenset({"collection", "y"})
    ),
    "sample": Tool("INPUT OUTPUT N", "Copy N records.", "copying.sample", 3, 3, _OF_COPIES | {"strategy"}),
    "shuffle": Tool(
        "INPUT OUTPUT",
        "Copy all records in random order.",
        "copying.shuffle",
        2,
        2,
        _OF_COPIES | {"buf-size", "chunk-size", "true-shuffle"},
    ),
    "split": Tool(
        "INPUT N...",
        "Copy the records before number N to one file, those from there on to another.",
        "copying.split",
        2,
        None,
        frozenset({"collection", "layout", "outfiles", "y"}),
    ),
    "merge": Tool(
        "INPUT... OUTPUT",
        "Copy the records of several files to one.",
        "copying.merge",
        2,
        None,
        _OF_COPIES | {"shuffle", "strategy"},
    ),
    "bench": Tool(
        "INPUT",
        "Read all records, and print how long it took. INPUT may also be a folder of folders of files, a list of files "
        "or a ZIP archive.",
        "timing.bench",
        1,
        1,
        frozenset({"collection", "mmap", "raw", "shuffle", *OF_FILES}),
    ),
}
"""By name."""
