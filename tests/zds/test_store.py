"""A store beside a dict: whatever is done in whatever order, both hold the same."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ds_format.errors import MissingError
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import validate

IDS = st.sampled_from(["a", "b", "c", "d-1", "e.2", "F_", "0"])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.lists(st.integers(-3, 3), max_size=3),
)
DOCUMENTS = st.dictionaries(st.sampled_from(["x", "y", "é", "n.m"]), VALUES, max_size=3)
ITEMS = st.lists(st.tuples(IDS, DOCUMENTS), max_size=6)


class Machine(RuleBasedStateMachine):
    """`flushed` is what a killed process leaves, as far as it is known; deletions may be lost, but nothing else."""

    folder: str
    store: ZDSStore

    @initialize(layout=st.sampled_from(["jsonl", "jsonl", "docs"]), name=st.sampled_from(["store", "store.zds"]))
    def begin(self, layout: str, name: str) -> None:
        self.folder = tempfile.mkdtemp()
        self.layout = layout
        self.path = Path(self.folder) / name
        self.model: dict[str, dict[str, Any]] = {}
        self.flushed: dict[str, dict[str, Any]] | None = None
        self.open()

    def open(self, **options: Any) -> None:
        layout = None if options else self.layout
        self.store = ZDSStore.open(self.path, "train", mode="a", layout=layout, **options)  # type: ignore[arg-type]

    def put_in_model(self, key: str, document: dict[str, Any]) -> None:
        self.model[key] = {"_id": key, **document}

    @rule(key=IDS, document=DOCUMENTS)
    def put(self, key: str, document: dict[str, Any]) -> None:
        self.store.put(key, document)
        self.put_in_model(key, document)

    @rule(items=ITEMS)
    def put_many(self, items: list[tuple[str, dict[str, Any]]]) -> None:
        assert self.store.put_many(iter(items)) == len(items)
        for key, document in items:
            self.put_in_model(key, document)

    @rule(items=ITEMS, is_file=st.booleans(), feed=st.sampled_from([b"", b"\n"]))
    def write_jsonl(self, items: list[tuple[str, dict[str, Any]]], is_file: bool, feed: bytes) -> None:
        lines = b"\n".join(json.dumps({**document, "_id": key}).encode() for key, document in items)
        lines += feed if items else b""
        file = Path(self.folder) / "lines"
        file.write_bytes(lines)
        with file.open("rb") as opened:
            assert self.store.write_jsonl(opened if is_file else lines) == len(items)
        for key, document in items:
            self.put_in_model(key, document)

    @rule(key=IDS)
    def delete(self, key: str) -> None:
        if key in self.model:
            del self.store[key]
            del self.model[key]
        else:
            with pytest.raises(MissingError):
                self.store.delete(key)

    @rule(key=IDS, document=DOCUMENTS)
    def update(self, key: str, document: dict[str, Any]) -> None:
        if key in self.model:
            self.store.update(key, document)
            self.model[key].update(document)
        else:
            with pytest.raises(KeyError):
                self.store.update(key, document)

    @rule()
    def flush(self) -> None:
        self.store.flush()
        self.flushed = {key: dict(document) for key, document in self.model.items()}

    @rule()
    def compact(self) -> None:
        self.store.compact()
        self.flush()

    @rule(policy=st.sampled_from(["verify", "trust", "ignore"]), keeps_index=st.booleans())
    def reopen(self, policy: str, keeps_index: bool) -> None:
        self.store.close()
        self.flush_model()
        index = self.path / "collections" / "train" / "meta" / "index.bin"
        if not keeps_index:
            with contextlib.suppress(OSError):
                index.unlink()
        with ZDSStore.open(self.path, "train", strict=True) as store:
            self.same(store)
        assert [str(problem) for problem in validate(self.path)] == []
        self.open(index=policy)

    def flush_model(self) -> None:
        self.flushed = {key: dict(document) for key, document in self.model.items()}

    @rule()
    def read_as_others_do(self) -> None:
        """Open what is on the disk now, as after a kill: all that was flushed is there, or something newer."""
        if self.flushed is None or not self.path.is_dir():
            return
        copy = Path(self.folder) / "copy"
        shutil.copytree(self.path, copy)
        with ZDSStore.open(copy, "train") as store:
            found = {document["_id"]: document for document in store.scan()}
        for key, document in self.flushed.items():
            if self.model.get(key) == document:
                assert found[key] == document
        with ZDSStore.open(copy, "train", mode="a") as store:
            assert {document["_id"]: document for document in store.scan()} == found
        shutil.rmtree(copy)

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "store"):
            self.same(self.store)

    def same(self, store: ZDSStore) -> None:
        assert len(store) == len(self.model)
        assert {key: store[key] for key in store} == self.model
        found = list(store.scan())
        assert [document["_id"] for document in found] == list(store.ids())
        assert {document["_id"]: document for document in found} == self.model
        assert [json.loads(line) for line in store.scan_raw()] == found
        assert all((key in store) == (key in self.model) for key in ["a", "b", "none"])

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            with ZDSStore.open(self.path, "train") as store:
                self.same(store)
            shutil.rmtree(self.folder)


TestStore = Machine.TestCase
TestStore.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
