"""Documents in ZDS collections, beside sqlite3, the reference's store, DuckDB, and plain JSONL."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ds_format.zds import ZDSStore

from ..data import expect
from ..documents import documents, lines, orjson, wanted
from ..peers import duckdb, zippy
from ..runner import Bench, Case, Group, SkippedError
from ..timing import Trial, Way, stopwatch
from ..ways import DUCKDB, FASTZDS, JSONL, OURS, SQLITE
from ..worker import Worker, can_measure_memory, environment
from .large import PACKAGE

COLD = Path(__file__).parents[1] / "worker" / "cold.py"
SIZES = ("documents_few", "documents", "documents_many")
"""Fields of `Sizes`."""
SHOWN = {"documents_few": "10 k", "documents": "100 k", "documents_many": "1 M"}
MANY = (1, 3)
"""Repetitions with the most documents."""


def _n(bench: Bench, size: str) -> int:
    if orjson() is None:
        raise SkippedError("orjson, which all ways use, is not installed")
    return int(getattr(bench.sizes, size))


def _trial(ways: list[Way], n: int, size: str, pieces: int = 0) -> Trial:
    bounds = MANY if size == "documents_many" else (1, 1000)
    return Trial(ways, n=pieces or n, size=0 if pieces else len(lines(n)) // n, repetitions=bounds)


@contextlib.contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS documents(id TEXT PRIMARY KEY, data JSON)")
        yield connection
    finally:
        connection.close()


def _insert(path: Path, rows: Any) -> None:
    with _database(path) as connection:
        connection.executemany("INSERT INTO documents VALUES(?, ?)", rows)
        connection.commit()


class _Files:
    """The stores of all ways in one folder, made when they are first asked for."""

    def __init__(self, folder: Path, n: int):
        self.folder, self.n = folder, n
        self.ours, self.sqlite, self.jsonl = folder / "ours", folder / "sqlite.db", folder / "plain.jsonl"
        self.zippy = folder / "zippy"

    def clear(self) -> None:
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def write(self) -> None:
        """Write all but the store of the reference."""
        text = lines(self.n)
        with ZDSStore.open(self.ours, mode="w") as store:
            store.write_jsonl(text)
        _insert(self.sqlite, ((f"record_{i:08d}", line) for i, line in enumerate(text.splitlines())))
        self.jsonl.write_bytes(text)

    def write_zippy(self, store: Any, made: list[dict[str, Any]] | None = None) -> None:
        with store.open(str(self.zippy), collection="default") as opened:
            for document in documents(self.n) if made is None else made:
                opened.put(document["_id"], document)


def write_objects(size: str, bench: Bench, folder: Path) -> Trial:
    """W1: write documents that are dicts."""
    n = _n(bench, size)
    files, made, text, dumps = _Files(folder, n), documents(n), lines(n), orjson().dumps

    def ours() -> None:
        with ZDSStore.open(files.ours, mode="w") as store:
            store.put_many(made)

    def plain() -> None:
        with files.jsonl.open("wb") as file:
            for document in made:
                file.write(dumps(document))
                file.write(b"\n")

    def sqlite() -> None:
        _insert(files.sqlite, ((document["_id"], dumps(document)) for document in made))

    def check_sqlite(connection: sqlite3.Connection) -> bytes:
        return b"".join(row[0] + b"\n" for row in connection.execute("SELECT data FROM documents ORDER BY rowid"))

    ways = [
        _writes(OURS, ours, files, lambda: _data(files.ours), text, "put_many"),
        _writes(JSONL, plain, files, files.jsonl.read_bytes, text, "a file of orjson.dumps, no index"),
        _writes(SQLITE, sqlite, files, lambda: _select(files.sqlite, check_sqlite), text, "WAL, synchronous NORMAL"),
    ]
    store = zippy(bench.zippy)
    if store is not None:
        work = partial(files.write_zippy, store, made)
        ways.append(_writes(FASTZDS, work, files, lambda: _data(files.zippy), text, "put, text index, fsync per 1000"))
    return _trial(ways, n, size)


def write_lines(size: str, bench: Bench, folder: Path) -> Trial:
    """W2: write documents that are lines of JSON."""
    n = _n(bench, size)
    files, text = _Files(folder, n), lines(n)
    rows = [(f"record_{i:08d}", line) for i, line in enumerate(text.splitlines())]

    def ours() -> None:
        with ZDSStore.open(files.ours, mode="w") as store:
            store.write_jsonl(text)

    def count(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    return _trial(
        [
            _writes(OURS, ours, files, lambda: _data(files.ours), text, "write_jsonl, which checks each line"),
            _writes(
                JSONL,
                lambda: files.jsonl.write_bytes(text),
                files,
                files.jsonl.read_bytes,
                text,
                "one write, no index, no check",
            ),
            _writes(
                SQLITE,
                lambda: _insert(files.sqlite, rows),
                files,
                lambda: _select(files.sqlite, count),
                n,
                "same bytes",
            ),
        ],
        n,
        size,
    )


def read_lines(size: str, bench: Bench, folder: Path) -> Trial:
    """R1: open, and read all documents as bytes."""
    n = _n(bench, size)
    files = _Files(folder, n)
    files.write()
    expected = len(lines(n)) - n

    def ours() -> int:
        with ZDSStore.open(files.ours) as store:
            return sum(len(line) for line in store.scan_raw())

    def plain() -> int:
        with files.jsonl.open("rb") as file:
            return sum(len(line) - 1 for line in file)

    def sqlite(connection: sqlite3.Connection) -> int:
        return sum(len(row[0]) for row in connection.execute("SELECT data FROM documents"))

    return _trial(
        [
            _way(OURS, ours, expected, "scan_raw"),
            _way(JSONL, plain, expected, "for line in file"),
            _way(SQLITE, lambda: _select(files.sqlite, sqlite), expected),
        ],
        n,
        size,
    )


def read_objects(size: str, bench: Bench, folder: Path) -> Trial:
    """R2: open, and read all documents as dicts, in one thread."""
    n = _n(bench, size)
    files, loads = _Files(folder, n), orjson().loads
    files.write()
    last = documents(n)[-1]

    def ours() -> Any:
        with ZDSStore.open(files.ours) as store:
            return _count_and_last(store.scan())

    def plain() -> Any:
        with files.jsonl.open("rb") as file:
            return _count_and_last(map(loads, file))

    def sqlite(connection: sqlite3.Connection) -> Any:
        return _count_and_last(loads(row[0]) for row in connection.execute("SELECT data FROM documents"))

    ways = [
        _way(OURS, ours, (n, last), "scan"),
        _way(JSONL, plain, (n, last), "map(orjson.loads, file)"),
        _way(SQLITE, lambda: _select(files.sqlite, sqlite), (n, last), "orjson.loads of each"),
    ]
    store = zippy(bench.zippy)
    if store is not None:
        files.write_zippy(store)
        without = {key: value for key, value in last.items() if key != "_id"}
        work = partial(_scan_zippy, store, files)
        ways.append(_way(FASTZDS, work, (n, without), "scan, which leaves out _id"))
    library = duckdb()
    if library is not None:
        work = partial(_read_json, library, files.jsonl)
        ways.append(_way(DUCKDB, work, n, "read_json, fetchall; several threads"))
    return _trial(ways, n, size)


def look_up(size: str, bench: Bench, folder: Path) -> Trial:
    """QW: 1000 documents by id, as dicts, of an open store."""
    n = _n(bench, size)
    files, ids, loads = _Files(folder, n), wanted(n), orjson().loads
    files.write()
    expected = loads(lines(n).splitlines()[int(ids[-1][7:])])
    shared = contextlib.ExitStack()
    store = shared.enter_context(ZDSStore.open(files.ours))
    connection = shared.enter_context(contextlib.closing(sqlite3.connect(files.sqlite)))

    def ours() -> Any:
        for key in ids:
            found = store.get(key)
        return found

    def sqlite() -> Any:
        for key in ids:
            found = loads(connection.execute("SELECT data FROM documents WHERE id=?", (key,)).fetchone()[0])
        return found

    ways = [_way(OURS, ours, expected, "get"), _way(SQLITE, sqlite, expected, "SELECT, orjson.loads")]
    other = zippy(bench.zippy)
    if other is not None:
        files.write_zippy(other)
        opened = shared.enter_context(other.open(str(files.zippy), collection="default"))

        def theirs() -> Any:
            for key in ids:
                found = opened.get(key)
            return found

        ways.append(_way(FASTZDS, theirs, {key: value for key, value in expected.items() if key != "_id"}, "get"))
    return _trial(ways, n, size, pieces=len(ids))._replace(close=shared.close)


def look_up_cold(size: str, bench: Bench, folder: Path) -> Trial:
    """QC: a new process imports, opens a store and looks up 1000 documents."""
    n = _n(bench, size)
    files = _Files(folder, n)
    files.write()
    ids = folder / "ids.json"
    ids.write_text(json.dumps(wanted(n)))
    expected = len(wanted(n))

    def process(way: str, path: Path, *more: str) -> float:
        command = [sys.executable, str(COLD), way, str(path), str(ids), *more]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment(PACKAGE))
        seconds, found = json.loads(done.stdout)
        expect(way, found, expected)
        return float(seconds)

    ways = [
        Way(OURS, partial(process, "ours", files.ours), lambda: None, "import, open, get"),
        Way(SQLITE, partial(process, "sqlite", files.sqlite), lambda: None),
    ]
    store = zippy(bench.zippy)
    if store is not None:
        files.write_zippy(store)
        ways.append(Way(FASTZDS, partial(process, "zippy", files.zippy, str(bench.zippy)), lambda: None))
    return _trial(ways, n, size, pieces=1)


def open_many(bench: Bench, folder: Path) -> Trial:
    """Open a collection of many documents, and ask for one id."""
    n = _n(bench, "documents_many")
    files = _Files(folder, n)
    files.write()
    key = wanted(n)[0]

    def ours() -> bool:
        with ZDSStore.open(files.ours) as store:
            return key in store

    return Trial([_way(OURS, ours, True, "its index is read and checked")])


def open_memory(bench: Bench, folder: Path) -> Trial:
    """The memory that opening a collection of many documents and asking for one takes."""
    if not can_measure_memory():
        raise SkippedError("the system does not tell the memory of a process")
    n = _n(bench, "documents_many")
    files, small = _Files(folder / "many", n), _Files(folder / "one", 1)
    for part in (files, small):
        part.folder.mkdir()
        part.write()

    def run() -> float:
        with Worker(sys.executable, PACKAGE) as worker:
            worker.ask("zds_open", path=str(small.ours), key=wanted(1)[0])
            before = worker.memory()
            worker.ask("zds_open", path=str(files.ours), key=wanted(n)[0])
            return worker.memory() - before

    return Trial([Way(OURS, run, lambda: None, "beyond that of one document")], unit="MB", repetitions=(1, 3))


def _count_and_last(found: Iterator[Any]) -> Any:
    """Hold all, as one who works with them does, and return how many there are, and the last one."""
    every = list(found)
    return len(every), every[-1]


def _scan_zippy(store: Any, files: _Files) -> Any:
    with store.open(str(files.zippy), collection="default") as opened:
        return _count_and_last(opened.scan())


def _read_json(library: Any, path: Path) -> int:
    with library.connect() as connection:
        query = "SELECT * FROM read_json(?, format='newline_delimited')"
        return len(connection.execute(query, [str(path)]).fetchall())


def _data(root: Path) -> bytes:
    return (root / "collections" / "default" / "meta" / "data.jsonl").read_bytes()


def _select(path: Path, work: Callable[[sqlite3.Connection], Any]) -> Any:
    with _database(path) as connection:
        return work(connection)


def _way(name: str, work: Callable[[], Any], expected: Any, note: str = "") -> Way:
    return Way(name, stopwatch(work), lambda: expect(name, work() == expected, True), note)


def _writes(
    name: str, work: Callable[[], Any], files: _Files, read: Callable[[], Any], expected: Any, note: str = ""
) -> Way:
    def check() -> None:
        files.clear()
        work()
        expect(name, read() == expected, True)

    return Way(name, stopwatch(work, files.clear), check, note)


def _cases(name: str, build: Callable[[str, Bench, Path], Trial]) -> tuple[Case, ...]:
    return tuple(Case(f"documents, {name}, {SHOWN[size]}", partial(build, size)) for size in SIZES)


GROUP = Group(
    "Documents",
    "JSON documents of about 207 bytes, the same bytes for all, by the names of the reference's comparison. All use "
    "orjson, in one thread but where it says otherwise; the files are in the page cache. W1: write dicts. W2: write "
    "ready lines. R1: open and read all as bytes. R2: open and read all as dicts. QW: 1000 dicts by id, per look-up. "
    "QC: a new process, from its imports to 1000 dicts by id. FastZDSStore is the pure Python store of the reference.",
    (
        *_cases("W1", write_objects),
        *_cases("W2", write_lines),
        *_cases("R1", read_lines),
        *_cases("R2", read_objects),
        *_cases("QW", look_up),
        *_cases("QC", look_up_cold),
        Case("documents, open and first id, 1 M", open_many),
        Case("documents, open and first id, 1 M, memory", open_memory),
    ),
)
