"""A new process that looks documents up: prints the seconds from its first import to the last document, and how many.

Run as `cold.py WAY STORE IDS [FOLDER]`: IDS is a JSON list, FOLDER the one to import the reference from.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any


def ours(path: str) -> Callable[[str], Any]:
    """Open a store of this package."""
    store: Any = importlib.import_module("ds_format.zds").ZDSStore.open(path)
    return store.get


def sqlite(path: str) -> Callable[[str], Any]:
    """Open a database."""
    connection = importlib.import_module("sqlite3").connect(path)
    loads = importlib.import_module("orjson").loads
    return lambda key: loads(connection.execute("SELECT data FROM documents WHERE id=?", (key,)).fetchone()[0])


def zippy(path: str, folder: str) -> Callable[[str], Any]:
    """Open a store of the reference."""
    sys.path.append(folder)
    get: Callable[[str], Any] = importlib.import_module("zippy").FastZDSStore.open(path, collection="default").get
    return get


def main(way: str, path: str, ids: str, *more: str) -> None:
    """Look up, and tell how long it took."""
    with open(ids) as file:
        keys = json.load(file)
    start = time.perf_counter()
    ways: dict[str, Callable[..., Callable[[str], Any]]] = {"ours": ours, "sqlite": sqlite, "zippy": zippy}
    get = ways[way](path, *more)
    found = sum(get(key)["id"] == key for key in keys)
    print(json.dumps([time.perf_counter() - start, found]))


if __name__ == "__main__":
    main(*sys.argv[1:])
