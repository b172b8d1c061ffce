"""Bytes that are changed, cut, added or moved: never a wrong document, never an error of another class."""

from __future__ import annotations

import contextlib
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import example, given, strategies as st

from ds_format.errors import DsError
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.reindexing import reindex
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import validate

from . import golden

DATA = (
    golden.D1
    + golden.line("d2", x=[1, {"_id": "inner"}], t="é\n")
    + b'{"x":3,"_id":"d3"}\n'
    + golden.line("d10", x=None)
)
LENGTHS = [len(line) + 1 for line in DATA.split(b"\n")[:-1]]
ENTRIES = [(name, sum(LENGTHS[:i]), LENGTHS[i]) for i, name in enumerate((b"d1", b"d2", b"d3", b"d10"))]
INDEX = golden.index(*ENTRIES)
TEXT = b"".join(b"%s\t%d\t%d\n" % entry for entry in ENTRIES)
IDS = ["d1", "d2", "d3", "d10", "inner", "absent"]

Damage = Callable[[bytes], bytes]


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """Draw what is done to a file: a few bytes are replaced, or a piece is cut out, added or moved."""
    kind = draw(st.sampled_from(["replace", "cut", "end", "add", "move", "flip"]))
    where, length = draw(st.integers(0, 400)), draw(st.integers(1, 40))
    piece = draw(
        st.binary(max_size=30) | st.sampled_from([b"\n", b"\r\n", b"\0" * 9, b'"', b'{"_id":"d1"}\n', b"\xff" * 8])
    )
    target = draw(st.integers(0, 400))

    def damage(data: bytes) -> bytes:
        place = where % (len(data) + 1)
        if kind == "replace":
            return data[:place] + piece + data[place + len(piece) :]
        if kind == "cut":
            return data[:place] + data[place + length :]
        if kind == "end":
            return data[:place]
        if kind == "add":
            return data[:place] + piece + data[place:]
        if kind == "flip":
            return data[:place] + bytes(byte ^ 1 << length % 8 for byte in data[place : place + 1]) + data[place + 1 :]
        rest = data[:place] + data[place + length :]
        to = target % (len(rest) + 1)
        return rest[:to] + data[place : place + length] + rest[to:]

    return damage


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Pass over what damaged files may lead to, and nothing else."""
    with warnings.catch_warnings(), contextlib.suppress(DsError, OSError, KeyError):
        warnings.simplefilter("ignore", ZdsWarning)
        yield


def check(path: Path, data: bytes, **options: Any) -> None:
    """Read a collection in all ways: what comes is a line of the file that has this id."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    known = [document for document in map(decoded, lines) if isinstance(document, dict)]
    for order in (1, -1):
        with quietly(), ZDSStore.open(path, "train", **options) as store:
            for name in IDS[::order]:
                with quietly():
                    document = store.get(name, None)
                    assert document is None or (document["_id"] == name and document in known)
                    assert (document is not None) == (name in store)
            with quietly():
                found = list(store.scan())
                assert all(document in known for document in found)
                if options.get("index") != "trust":
                    assert [document["_id"] for document in found] == list(store)
                    assert len(found) == len(store)
                    assert [json.loads(line) for line in store.scan_raw()] == found


def decoded(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except ValueError:
        return None


@given(damages(), st.sampled_from(["verify", "trust", "ignore"]), st.booleans())
@example(lambda data: data[:-1], "verify", True)
@example(lambda data: data.replace(b'"d1"', b'"d9"'), "verify", True)
@example(lambda data: data.replace(b'"d1"', b'"d2"'), "trust", True)
@example(lambda data: b"", "trust", True)
def test_data(damage: Damage, policy: str, indexed: bool) -> None:
    data = damage(DATA)
    files = {f"{golden.META}/data.jsonl": data} | ({f"{golden.META}/index.bin": INDEX} if indexed else {})
    with tempfile.TemporaryDirectory() as folder:
        root = golden.write(Path(folder), files)
        check(root, data, index=policy)
        with quietly():
            check(root, data, index=policy, strict=True)
        assert all(problem.message for problem in validate(root))


@given(damages(), st.sampled_from(["verify", "trust"]), st.sampled_from([INDEX, TEXT]))
@example(lambda data: data[:16], "verify", INDEX)
@example(lambda data: data[:8] + b"\xff" * 8 + data[16:], "verify", INDEX)
@example(lambda data: data[:20] + b"\xff" * 12 + data[32:], "trust", INDEX)
@example(lambda data: data.replace(b"d1", b"d2", 1), "trust", INDEX)
@example(lambda data: data[:30], "verify", INDEX)
@example(lambda data: data[:-1], "verify", TEXT)
@example(lambda data: data[:9], "trust", TEXT)
@example(lambda data: data.replace(b"d1", b"d2", 1), "trust", TEXT)
def test_index(damage: Damage, policy: str, index: bytes) -> None:
    files = {f"{golden.META}/data.jsonl": DATA, f"{golden.META}/index.bin": damage(index)}
    with tempfile.TemporaryDirectory() as folder:
        root = golden.write(Path(folder), files)
        check(root, DATA, index=policy)
        validate(root)
        assert reindex(root) == {"train": 4}
        assert (root / golden.META / "index.bin").read_bytes() == TEXT
        check(root, DATA, strict=True)


@given(damages(), st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
def test_archive(damage: Damage, method: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.zds"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr(f"{golden.META}/index.bin", INDEX)
            archive.writestr(f"{golden.META}/data.jsonl", DATA)
        damaged = damage(path.read_bytes())
        path.write_bytes(damaged)
        with quietly(), ZDSStore.open(path, "train") as store:
            for name in IDS:
                with quietly():
                    document = store.get(name, None)
                    assert document is None or document["_id"] == name
            with quietly():
                list(store.scan())
        validate(path)


@given(damages(), st.sampled_from(["manifest.json", "../../../zds.json"]))
def test_metadata(damage: Damage, name: str) -> None:
    text = json.dumps({"version": "1.0", "collection": "train", "strict": False, "doc_count": 4, "collections": {}})
    with tempfile.TemporaryDirectory() as folder:
        root = golden.write(Path(folder), {f"{golden.META}/data.jsonl": DATA})
        (root / golden.META / name).write_bytes(damage(text.encode()))
        check(root, DATA)
        validate(root)
        with quietly():
            assert reindex(root) == {"train": 4}


@given(damages())
def test_documents_in_files(damage: Damage) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = damage(b'{\n  "_id": "d1", "x": {"y": [1, 2.5, "z"]}\n}\n')
        root = golden.write(
            Path(folder), {"collections/train/docs/d1.json": text, "collections/train/docs/d2.json": b"{}"}
        )
        with quietly(), ZDSStore.open(root, "train") as store:
            assert store["d2"] == {"_id": "d2"}
            with quietly():
                assert store["d1"]["_id"] == "d1"
            assert [document["_id"] for document in store.scan()] in (["d1", "d2"], ["d2"])
        validate(root)


@given(damages(), st.booleans())
def test_opened_for_writing(damage: Damage, indexed: bool) -> None:
    """What can be read before something is added can be read afterwards, and the new document too."""
    data = damage(DATA)
    files = {f"{golden.META}/data.jsonl": data} | ({f"{golden.META}/index.bin": INDEX} if indexed else {})
    with tempfile.TemporaryDirectory() as folder:
        root = golden.write(Path(folder), files)
        with quietly():
            with ZDSStore.open(root, "train") as store:
                before = list(store.scan())
            with ZDSStore.open(root, "train", mode="a") as store:
                store.put("new", {"x": 1})
            with ZDSStore.open(root, "train", strict=True) as store:
                after = list(store.scan())
            assert after[-1] == {"_id": "new", "x": 1}
            assert after[:-1] == before
