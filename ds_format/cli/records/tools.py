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


TOOLS = {
    "cat": Tool("INPUT", "Print samples.", "printing.cat", 1, 1, frozenset({"maxstring", "start", "stop"})),
    "get": Tool(
        "INPUT [KEY]...",
        "Print samples by key, or by index.",
        "printing.get",
        1,
        None,
        frozenset({"index", "maxstring"}),
    ),
    "list": Tool("INPUT", "Print keys.", "printing.keys", 1, 1, frozenset({"l", "start", "stop"})),
    "info": Tool(
        "INPUT", "Print how many samples there are, their sizes and entries, and the files.", "printing.info", 1, 1
    ),
    "sample": Tool("INPUT OUTPUT N", "Copy N samples.", "copying.sample", 3, 3, frozenset({"seed", "strategy", "y"})),
    "shuffle": Tool(
        "INPUT OUTPUT",
        "Copy all samples in random order.",
        "copying.shuffle",
        2,
        2,
        frozenset({"buf-size", "chunk-size", "seed", "true-shuffle", "y"}),
    ),
    "split": Tool(
        "INPUT N...",
        "Copy the samples before number N to one file, those from there on to another.",
        "copying.split",
        2,
        None,
        frozenset({"outfiles", "y"}),
    ),
    "merge": Tool(
        "INPUT... OUTPUT",
        "Copy the samples of several files to one.",
        "copying.merge",
        2,
        None,
        frozenset({"seed", "shuffle", "strategy", "y"}),
    ),
    "bench": Tool(
        "INPUT",
        "Read all samples, and print how long it took. INPUT may also be a folder of folders of files, a list of files "
        "or a ZIP archive.",
        "timing.bench",
        1,
        1,
        frozenset({"mmap", "raw", "shuffle", *OF_FILES}),
    ),
}
"""By name."""
