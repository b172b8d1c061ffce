"""All functions that can flush the files that they write to the disk, as a program for the recorder of calls.

``python -m tests.durable_writers FOLDER`` runs each of `WRITERS` twice, in the folders `FOLDER/NAME/durable` and
`FOLDER/NAME/fast`. The calls to check are between the creation of the files `.begin` and `.end` in each of them. With
the name of a call followed by names of writers, these run in `FOLDER/NAME` while this call fails; see `fail`.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

import ds_format as ds
from ds_format import binpickle, drivers
from ds_format.datadings.writer import FileWriter, reindex as reindex_samples
from ds_format.kernels.files import portable
from ds_format.many import merging
from ds_format.views.subset import open_subset
from ds_format.zds.reindexing import reindex as reindex_documents
from ds_format.zds.store import ZDSStore

from .formats import STRAIGHT, SUFFIXES

Writer = Callable[[Path, bool], Iterator[None]]
"""Prepares in a folder, yields, writes (durable or not), and may yield again before it cleans up."""
DATASET = {
    "key": np.array(["a", "b", "c"], object),
    "x": np.ma.MaskedArray([1.5, 2.5, 3.5], [False, True, False]),
    "flag": np.array([True, False, True]),
    ".": {name: {".dims": ["i"]} for name in ("key", "x", "flag")},
}
DATA = "collections/default/meta/data.jsonl"


def begin(folder: Path) -> None:
    (folder / ".begin").touch()


def end(folder: Path) -> None:
    (folder / ".end").touch()


def write(suffix: str, **options: Any) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        yield
        ds.write(folder / f"out{suffix}", DATASET, durable=durable, **options)

    return run


def replace(suffix: str) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        ds.write(folder / f"out{suffix}", {"key": ["z"], ".": {"key": {".dims": ["i"]}}})
        yield
        ds.write(folder / f"out{suffix}", DATASET, durable=durable)

    return run


def convert(suffix: str, **options: Any) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        ds.write(folder / "in.ds", DATASET)
        yield
        ds.convert(folder / "in.ds", folder / f"out{suffix}", durable=durable, **options)

    return run


def stream(suffix: str) -> Writer:
    """Write in several blocks, for which some drivers have other ways."""

    def run(folder: Path, durable: bool) -> Iterator[None]:
        ds.write(folder / "in.ds", DATASET)
        yield
        path = folder / f"out{suffix}"
        with open_subset(folder / "in.ds") as source:
            sink = drivers.load(drivers.find(path)).create(path, source.meta, durable=durable)
            try:
                for key in ("key", "x", "flag"):
                    sink.write(key, source.blocks(key, 1))
                sink.commit()
            except OSError:
                sink.abort()
                raise

    return run


def merge(suffix: str, variable: str) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        for i in range(2):
            ds.write(folder / f"{i}.ds", {variable: DATASET[variable], ".": {variable: {".dims": ["i"]}}})
        yield
        merging.merge_files("i", [folder / "0.ds", folder / "1.ds"], folder / f"out{suffix}", durable=durable)

    return run


def pack(adds: bool) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        for i in range(2):
            ds.write(folder / f"{i}.ds", DATASET)
        if adds:
            ds.pack(folder / "0.ds", folder / "out.zip")
        yield
        ds.pack(folder / "1.ds", folder / "out.zip", append=adds, durable=durable)

    return run


def append(series: bool, n_before: int, also_compacts: bool = False) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        path = folder / "out.ds"
        for i in range(n_before):
            ds.append(
                path, {"i": [i], "x": [1.5], ".": {"i": {".dims": ["i"]}, "x": {".dims": ["i"]}}}, "i", series=series
            )
        yield
        if also_compacts:
            ds.compact(path, durable=durable)
        else:
            new = {"i": [99], "x": [2.5], ".": {"i": {".dims": ["i"]}, "x": {".dims": ["i"]}}}
            ds.append(path, new, "i", series=series, durable=durable)

    return run


def through_a_link(folder: Path, durable: bool) -> Iterator[None]:
    (folder / "inner").mkdir()
    (folder / "inner" / "real.ds").write_bytes(b"old")
    (folder / "out.ds").symlink_to("inner/real.ds")
    yield
    ds.write(folder / "out.ds", DATASET, durable=durable)


def in_the_working_folder(folder: Path, durable: bool) -> Iterator[None]:
    os.chdir(folder)
    yield
    ds.write("out.ds", DATASET, durable=durable)
    ds.write("out.json", DATASET, durable=durable)
    portable.write_file("out", [b"a"], True, durable)


def pickled(**options: Any) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        yield
        binpickle.dump({"x": np.arange(5)}, folder / "out.bpk", durable=durable, **options)

    return run


def elsewhere(atomic: bool) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        yield
        portable.write_file(folder / "out", [b"a", b"b"], atomic, durable)

    return run


def samples(n_before: int, inner: str = "", **options: Any) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        path = folder / inner / "out.msgpack"
        if n_before:
            _write_samples(path, 0, n_before)
        yield
        _write_samples(path, n_before, n_before + 3, durable=durable, **options)

    return run


def _write_samples(path: Path, start: int, stop: int, **options: Any) -> None:
    with FileWriter(path, **options) as writer:
        for i in range(start, stop):
            writer.write({"key": str(i)})


def index_of_samples(folder: Path, durable: bool) -> Iterator[None]:
    _write_samples(folder / "out.msgpack", 0, 3)
    yield
    reindex_samples(folder / "out.msgpack", durable=durable)


def documents(change: Callable[[ZDSStore], object], name: str = "out", n_before: int = 3, **options: Any) -> Writer:
    def run(folder: Path, durable: bool) -> Iterator[None]:
        path = folder / name
        if n_before:
            with ZDSStore.open(path, mode="w", **options) as store:
                store.put_many({"_id": str(i)} for i in range(n_before))
        yield
        with ZDSStore.open(path, mode="a", durable=durable, **options) as store:
            change(store)

    return run


def flushed(change: Callable[[ZDSStore], object], mode: Literal["a", "w"] = "a", **options: Any) -> Writer:
    """Flush once, of a store that was opened without durable, and end without closing it."""

    def run(folder: Path, durable: bool) -> Iterator[None]:
        with ZDSStore.open(folder / "out", mode="w") as store:
            store.put_many({"_id": str(i)} for i in range(3))
        store = ZDSStore.open(folder / "out", mode=mode, **options)
        yield
        change(store)
        store.flush(durable=durable)
        yield
        store.close()

    return run


def torn(folder: Path, durable: bool) -> Iterator[None]:
    with ZDSStore.open(folder / "out", mode="w") as store:
        store.put("a", {})
    with (folder / "out" / DATA).open("ab") as file:
        file.write(b'{"_id":')
    yield
    with ZDSStore.open(folder / "out", mode="a", durable=durable) as store:
        store.put("b", {})


def index_of_documents(folder: Path, durable: bool) -> Iterator[None]:
    with ZDSStore.open(folder / "out", mode="w") as store:
        store.put("a", {})
    with (folder / "out" / DATA).open("ab") as file:
        file.write(b'{"_id":')
    yield
    reindex_documents(folder / "out", cut=True, durable=durable)


def add(store: ZDSStore) -> None:
    store.put("new", {"n": 1})


def update(store: ZDSStore) -> None:
    store.put("1", {"n": 1})


def delete(store: ZDSStore) -> None:
    store.delete("1")


def compact(store: ZDSStore) -> None:
    update(store)
    store.compact()


def add_to_other(store: ZDSStore) -> None:
    add(store)
    add(store.collection("other"))


WRITERS: dict[str, Writer] = {
    **{f"write{suffix}": write(suffix) for suffix in (*SUFFIXES, ".tsv")},
    **{f"replace{suffix}": replace(suffix) for suffix in (*SUFFIXES, ".tsv")},
    **{f"convert{suffix}": convert(suffix) for suffix in (*SUFFIXES, ".tsv")},
    **{f"stream{suffix}": stream(suffix) for suffix in (*SUFFIXES, ".tsv")},
    **{f"merge{suffix}": merge(suffix, "x") for suffix in (*SUFFIXES, ".tsv")},
    "merge-copy.ds": merge(".ds", "flag"),
    "merge-numbers.ds": merge(".ds", "key"),
    "pack": pack(False),
    "pack-add": pack(True),
    "append.ds": append(False, 3),
    "append-new.ds": append(False, 0),
    "append-series": append(True, 3),
    "append-series-new": append(True, 0),
    "append-series-last": append(True, 15),
    "compact-series": append(True, 3, also_compacts=True),
    "write-classic.nc": write(".nc", format="NETCDF3_CLASSIC"),
    "write-2.0.1.ds": write(".ds", version="2.0.1"),
    **{f"write-straight{suffix}": write(suffix, atomic=False) for suffix in STRAIGHT},
    **{f"convert-straight{suffix}": convert(suffix, atomic=False) for suffix in STRAIGHT},
    "write-through-a-link": through_a_link,
    "write-in-the-working-folder": in_the_working_folder,
    "pickle": pickled(),
    "pickle-mappable": pickled(mappable=True),
    "pickle-compressed": pickled(codec="gz", version=2),
    "elsewhere": elsewhere(True),
    "elsewhere-straight": elsewhere(False),
    "samples": samples(0),
    "samples-in-new-folders": samples(0, "a/b"),
    "samples-overwrite": samples(3, overwrite=True),
    "samples-append": samples(3, append=True),
    "samples-reindex": index_of_samples,
    "documents": documents(add, n_before=0),
    "documents-add": documents(add),
    "documents-update": documents(update),
    "documents-delete": documents(delete),
    "documents-compact": documents(compact),
    "documents-other": documents(add_to_other),
    "documents-torn": torn,
    "documents-reindex": index_of_documents,
    "documents-archive": documents(add, "out.zds", 0),
    "documents-archive-add": documents(add, "out.zds"),
    "documents-files": documents(add, n_before=0, layout="docs"),
    "documents-files-add": documents(add, layout="docs"),
    "documents-files-delete": documents(delete, layout="docs"),
    "flush-add": flushed(add),
    "flush-update": flushed(update),
    "flush-delete": flushed(delete),
    "flush-new": flushed(add, "w"),
}


def main(folder: Path) -> None:
    for name, writer in WRITERS.items():
        for durable in (True, False):
            inner = folder / name / ("durable" if durable else "fast")
            inner.mkdir(parents=True)
            steps = writer(inner, durable)
            next(steps)
            begin(inner)
            with suppress(StopIteration):
                next(steps)
            end(inner)
            for _ in steps:
                pass


def fail(folder: Path, call: str, names: list[str]) -> None:
    """Run writers while calls of a name fail, and write down for each the error, and which files are not as before."""
    told: dict[str, tuple[str, list[str]]] = {}
    for name in names:
        inner = folder / name
        inner.mkdir(parents=True)
        steps = WRITERS[name](inner, True)
        next(steps)
        before, error = contents(inner), "none"
        os.environ["SYSTEM_CALLS_FAIL"] = call
        try:
            next(steps, None)
        except OSError as found:
            error = f"{errno.errorcode[found.errno or 0]} {os.path.basename(os.fsdecode(found.filename or ''))}"
        os.environ["SYSTEM_CALLS_FAIL"] = ""
        after = contents(inner)
        told[name] = error, sorted(path for path in before | after if before.get(path) != after.get(path))
    (folder / "told").write_text(json.dumps(told))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[2:]:
        fail(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    else:
        main(Path(sys.argv[1]))
