"""Every golden store that is whole: read as its `expected.json` says, in every way to read."""

from __future__ import annotations

import contextlib
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ds_format.zds.faults import ERROR, ZdsWarning
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import examine

from . import golden, oracle
from .golden import everything

CASES = [(name, collection) for name in golden.WHOLE for collection in golden.expected(name)["collections"]]
WARNED = {"quirk_bom"}  # when they are read; of blank lines nobody knows who has an index
REFUSED = {"quirk_bom"}  # by the strict
TOLD = WARNED | {
    "quirk_blank_lines", "quirk_superseded_and_deleted", "ref_py_fast_update_delete", "ref_py_fast_compacted",
    "ref_py_docs", "seed_both_modes",
}  # fmt: skip


@contextlib.contextmanager
def perhaps_warned(expected: bool) -> Iterator[None]:
    """Demand a ZdsWarning, or that there is none."""
    with pytest.warns(ZdsWarning) if expected else contextlib.nullcontext():
        yield


def without_ids(documents: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: {k: v for k, v in document.items() if k != "_id"} for key, document in documents.items()}


def check(store: ZDSStore, documents: dict[str, dict[str, Any]]) -> None:
    """Compare all ways to read a collection with the documents that it has, which have their `_id`."""
    assert len(store) == len(documents)
    assert list(store) == list(store.ids()) == list(documents)
    assert list(store.scan()) == list(documents.values())
    assert [list(found) for found in store.scan()] == [list(found) for found in map(dict, store.scan())]
    lines = [json.loads(line) for line in store.scan_raw()]
    assert [{"_id": key, **line} for key, line in zip(documents, lines, strict=True)] == list(documents.values())
    for key, document in documents.items():
        assert store.get(key) == store[key] == document
        assert key in store and store.exists(key)
    for absent in ("absent", "", "../x", "a/b", "\0", "x" * 70000):
        assert absent not in store
        assert store.get(absent, None) is None
        with pytest.raises(KeyError):
            store[absent]


@pytest.mark.parametrize(("name", "collection"), CASES)
def test_as_expected(name: str, collection: str, tmp_path: Path) -> None:
    documents = golden.documents(name, collection)
    entry = golden.expected(name)["collections"][collection]
    with ZDSStore.open(golden.copy(name, tmp_path), collection) as store, perhaps_warned(name in WARNED):
        check(store, documents)
        assert len(store) == entry["count"]
        assert golden.digest(store.scan()) == entry.get("docs_sha256", golden.digest([]))


@pytest.mark.parametrize(("name", "collection"), CASES)
def test_in_any_order(name: str, collection: str, tmp_path: Path) -> None:
    documents = golden.documents(name, collection)
    with perhaps_warned(name in WARNED), ZDSStore.open(golden.copy(name, tmp_path), collection) as store:
        for key in reversed(documents):
            assert store[key] == documents[key]
        assert len(store) == len(documents)


@pytest.mark.parametrize(("name", "collection"), CASES)
@pytest.mark.parametrize("way", ["deleted", "ignored"])
def test_without_index(name: str, collection: str, way: str, tmp_path: Path) -> None:
    path = golden.copy(name, tmp_path)
    told = golden.expected(name).get("without_index", {}).get(collection)
    documents = golden.with_ids(told["docs"]) if told else golden.documents(name, collection)
    index = path / f"collections/{collection}/meta/index.bin"
    if way == "deleted" and path.is_dir():
        index.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)
        with ZDSStore.open(path, collection, index="ignore" if way == "ignored" else "verify") as store:
            assert dict(zip(store.ids(), store.scan(), strict=True)) == documents
            assert len(store) == len(documents)
            assert {key: store[key] for key in documents} == documents


@pytest.mark.parametrize(("name", "collection"), CASES)
def test_strict(name: str, collection: str, tmp_path: Path) -> None:
    path = golden.copy(name, tmp_path)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", ZdsWarning)
        if name in REFUSED:
            with pytest.raises(ValueError, match=r"data\.jsonl: line 1, byte 0"):
                ZDSStore.open(path, collection, strict=True)
        else:
            check(ZDSStore.open(path, collection, strict=True), golden.documents(name, collection))


@pytest.mark.parametrize("name", golden.WHOLE)
def test_collections(name: str, tmp_path: Path) -> None:
    path = golden.copy(name, tmp_path)
    for collection in golden.expected(name)["collections"]:
        with ZDSStore.open(path, collection) as store:
            assert store.collections() == sorted(golden.expected(name)["collections"])
    with pytest.raises(KeyError):
        ZDSStore.open(path, "absent")


@pytest.mark.parametrize("name", golden.WHOLE)
def test_validation(name: str, tmp_path: Path) -> None:
    report = examine(golden.copy(name, tmp_path))
    assert (name in TOLD) == bool(report.findings)
    assert (name in REFUSED) == any(problem.severity == ERROR for problem in report.findings)
    assert {key: counts.documents for key, counts in report.counts.items()} == {
        key: entry["count"] for key, entry in golden.expected(name)["collections"].items()
    }


@pytest.mark.parametrize("name", golden.WHOLE)
def test_reading_writes_nothing(name: str, tmp_path: Path) -> None:
    path = golden.copy(name, tmp_path)
    before = everything(path.parent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)
        for collection in golden.expected(name)["collections"]:
            with ZDSStore.open(path, collection) as store:
                list(store.scan())
        examine(path)
    assert everything(path.parent) == before


@pytest.mark.parametrize(("name", "collection"), CASES)
def test_written_again(name: str, collection: str, tmp_path: Path) -> None:
    """What is read can be written, and the file says the same to a reader that is not ours."""
    documents = golden.documents(name, collection)
    with ZDSStore.open(tmp_path / "new", collection, mode="w") as store:
        assert store.put_many(documents.items()) == len(documents)
    assert oracle.read_store(tmp_path / "new")[collection] == documents
    shutil.rmtree(tmp_path / "new/collections" / collection / "docs", ignore_errors=True)
    assert examine(tmp_path / "new").findings == []
