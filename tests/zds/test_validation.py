"""`validate`, `examine` and `reindex`: everything that is wrong at once, and nothing where nothing is."""

from __future__ import annotations

import json
import shutil
import struct
import warnings
from pathlib import Path
from typing import Any

import pytest

from ds_format.errors import FormatError, UnsupportedError
from ds_format.zds import faults, pack, validation
from ds_format.zds.faults import ERROR, WARNING, ZdsWarning
from ds_format.zds.reindexing import reindex
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import Counts, examine, validate

from . import golden, oracle, rules
from .golden import everything

DATA, INDEX, MANIFEST = (f"{golden.META}/{name}" for name in ("data.jsonl", "index.bin", "manifest.json"))


def told(path: Path, **options: Any) -> list[tuple[str, int | None, str]]:
    """Return severity, line and message of all problems."""
    return [(problem.severity, problem.line, problem.message) for problem in validate(path, **options)]


def test_nothing_is_wrong_with_what_is_written_here(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", "train", mode="w") as store:
        store.put_many({"_id": f"d{i}", "x": i} for i in range(100))
    with ZDSStore.open(tmp_path / "s", "train", mode="a") as store:
        store.put("d3", {"x": "other"})
        store.delete("d4")
    assert validate(tmp_path / "s", strict=True) == []
    assert rules.broken(tmp_path / "s") == []
    assert examine(tmp_path / "s").counts == {"train": Counts(99, 99, 0, 0)}


def test_all_at_once(tmp_path: Path) -> None:
    """One problem hides no other."""
    lines = [
        b"\xef\xbb\xbf" + golden.line("a", x=1), golden.line("b", x=1)[:-1] + b"\r\n", b"\n", b'{"_id":"c","x":NaN}\n',
        golden.line("a", x=2), b'{"_id":"d","x":{"y":1,"y":2}}\n', golden.line("../e"), golden.line("A"), b'{"_id":"f"',
    ]  # fmt: skip
    root = golden.write(tmp_path / "s", {DATA: b"".join(lines), INDEX: b"NOPE" + bytes(12), MANIFEST: b"[]",
                                         "zds.json": b'{"version":"1.0","collections":{"train":{"count":9},"gone":{}}}',
                                         f"{golden.META}/.data.jsonl.1.tmp": b"", "collections/.x/meta/data.jsonl": b"",
                                         f"{golden.META}/data.jsonl.torn-1": b"x"})  # fmt: skip
    found = validate(root)
    text = "\n".join(f"{problem.severity}: {str(problem).removeprefix(str(root))}" for problem in found)
    for expected in (
        "error: /collections/train/meta/data.jsonl: line 1, byte 0: a byte order mark",
        "line 2, byte 38: a carriage return",
        "line 3, byte 40: only white space",
        "error: /collections/train/meta/data.jsonl: line 4, byte 56: NaN",
        "line 5, byte 61: has the id of line 1",
        "line 6, byte 79: found the key 'y' more than once in one object",
        "line 7, byte 117: '../e' cannot be the id",
        "line 9, byte 136: a torn last line of 10 bytes",
        "warning: /collections/train/meta/data.jsonl: byte 124: the id 'A': differs only",
        "error: /collections/train/meta/index.bin: found the magic bytes b'NOPE'",
        "error: /collections/train/meta/manifest.json: byte 0: not an object",
        "warning: /zds.json: there is no collection 'gone'",
        "warning: /zds.json: collection 'train': count: found 9, there are 5",
        "warning: /collections/train/meta/.data.jsonl.1.tmp: left over",
        "warning: /collections/train/meta/data.jsonl.torn-1: the torn end",
        "error: : '.x' cannot be the name of a collection",
    ):
        assert expected in text, text
    assert len(found) == 16, text


def test_three_numbers(tmp_path: Path) -> None:
    path = golden.copy("quirk_superseded_and_deleted", tmp_path)
    assert examine(path).counts == {"train": Counts(documents=2, live=3, superseded=1, absent=1)}
    (path / INDEX).unlink()
    assert examine(path).counts == {"train": Counts(documents=3, live=3, superseded=1, absent=0)}
    assert ERROR in [problem.severity for problem in validate(path)]  # which one counts is not sure any more


def test_documents_behind_a_byte_order_mark_count(tmp_path: Path) -> None:
    files = {"collections/train/docs/a.json": b'\xef\xbb\xbf{"x":1}', "collections/train/docs/b.json": b'{"x":1e999}'}
    root = golden.write(tmp_path / "s", files)
    report = examine(root)
    assert report.counts["train"].documents == 2
    assert [(one.severity, one.offset, one.message) for one in report.findings] == [(ERROR, 0, "a byte order mark")]
    with ZDSStore.open(root, "train") as store, pytest.warns(ZdsWarning) as caught:
        assert len(store) == 2
    assert [str(one.message).removeprefix(f"{root}/collections/train/docs/") for one in caught] == [
        "a.json: a byte order mark; skipped",
        "b.json: a number is too large for a float and becomes infinite",
    ]


def test_one_collection(tmp_path: Path) -> None:
    path = golden.copy("seed_multi", tmp_path)
    (path / "collections/test/meta/data.jsonl").write_bytes(b"no\n")
    assert validate(path, "train") == []
    assert ERROR in {problem.severity for problem in validate(path, "test")}
    assert set(examine(path, "train").counts) == {"train"}


def test_many_problems_of_a_kind_are_counted(tmp_path: Path) -> None:
    n = faults.LISTED + 50
    root = golden.write(tmp_path / "s", {DATA: b"no\n" * n + golden.line("a", x=1) * n})
    found = validate(root)
    assert len(found) == 2 * (faults.LISTED + 1)
    assert sum("50 more times" in problem.message or "49 more lines" in problem.message for problem in found) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"_id": "a"}\n', "does not begin with"),
        (b'{"x":1,"_id":"a"}\n', "does not begin with"),
        (b'{"_id":"\\u0061"}\n', "with escapes"),
    ],
)
def test_strict_tells_what_other_programs_do_not_find(line: bytes, message: str, tmp_path: Path) -> None:
    root = golden.write(tmp_path / "s", {DATA: line})
    assert told(root) == []
    [(severity, number, found)] = told(root, strict=True)
    assert (severity, number) == (WARNING, 1)
    assert message in found


def test_lines_behind_an_empty_first_line(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "s", {DATA: b"\n" + golden.line("a", x=1) + b"no\n"})
    assert [(number, message[:10]) for _, number, message in told(root)] == [(1, "only white"), (3, "not an obj")]


def test_lines_across_blocks(tmp_path: Path) -> None:
    """Line numbers and offsets are right in files of many blocks."""
    long = golden.line("long", x="y" * 3_000_000)
    root = golden.write(tmp_path / "s", {DATA: golden.D1 + long + b"no\n" + golden.D2 + golden.D1})
    assert [(problem.line, problem.offset) for problem in validate(root)] == [
        (3, 19 + len(long)), (5, 19 + len(long) + 3 + 19),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([golden.E1], "has no entry for 'd2'"),
        ([(b"d1", 0, 18), (b"d2", 19, 18)], None),
        ([(b"d1", 0, 17), (b"d2", 19, 19)], "found 'd1' at bytes 0 to 17, expected bytes 0 to 19"),
        ([(b"d1", 1, 18), (b"d2", 19, 19)], "found 'd1' at bytes 1 to 19"),
        ([golden.E1, golden.E2, (b"d3", 38, 19), (b"d9", 57, 1)], "beyond the end"),
        ([golden.E1, golden.E2, (b"d1", 38, 19)], "both of the id 'd1'"),
    ],
)
def test_index(entries: list[tuple[bytes, int, int]], message: str | None, tmp_path: Path) -> None:
    data = golden.D1 + golden.D2 + (golden.line("d3", x=3) if len(entries) > 2 else b"")
    if message and "no entry" in message:  # an index ends where its last line ends
        entries = [(b"d3", 38, 19), *entries]
        data += golden.line("d3", x=3)
    root = golden.write(tmp_path / "s", {DATA: data, INDEX: golden.index(*entries)})
    found = validate(root)
    assert (not found) if message is None else message in found[0].message


def test_an_entry_that_reading_does_not_use_is_wrong(tmp_path: Path) -> None:
    """An entry may leave out the line feed of its line, but not the carriage return before it."""
    line = golden.D1[:-1] + b"\r\n"
    for length, is_right in ((len(line), True), (len(line) - 1, True), (len(line) - 2, False)):
        index = golden.index((b"d1", 0, length), (b"d2", len(line), len(golden.D2)))
        root = golden.write(tmp_path / str(length), {DATA: line + golden.D2, INDEX: index})
        assert (ERROR in {severity for severity, _, _ in told(root)}) is not is_right
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ZdsWarning)
            with ZDSStore.open(root, "train") as store:
                assert store["d1"] == {"_id": "d1", "x": 1}
        assert any("the index leads" in str(one.message) for one in caught) is not is_right


def test_an_empty_index_of_empty_lines_is_not_used(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "s", {DATA: b"\n", INDEX: b""})
    message = "found no entries, expected those of 1 bytes of lines"
    assert (ERROR, None, message) in told(root)
    with ZDSStore.open(root, "train") as store, pytest.warns(ZdsWarning) as caught:
        assert len(store) == 0
    assert any(message in str(one.message) for one in caught)


def test_what_does_not_exist(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path / "absent.zds"):
        [problem] = validate(path)
        assert (problem.path, problem.severity) == (str(path), ERROR)
    (tmp_path / "empty").mkdir()
    assert "not a ZDS store" in validate(tmp_path / "empty")[0].message


def test_schema(tmp_path: Path) -> None:
    lines = (
        golden.line("a", x=1, y={"z": [1]})
        + golden.line("b", x=1.5, y={"z": []})
        + golden.line("c", x=1, y={"z": ["t"]})
    )
    files = {DATA: lines, MANIFEST: b'{"strict":true}'}
    [(severity, line, message)] = told(golden.write(tmp_path / "s", files))
    assert (severity, line) == (WARNING, 3)
    assert "y.z.0: found a string, expected a number" in message


# reindex


@pytest.mark.parametrize(
    "name", ["index_swapped", "index_count_minus_one", "index_stale_appended", "manifest_wrong_count"]
)
def test_reindex(name: str, tmp_path: Path) -> None:
    path = golden.copy(f"corrupt/{name}", tmp_path)
    data = (path / DATA).read_bytes()
    assert reindex(path) == {"train": data.count(b"\n")}
    assert (path / DATA).read_bytes() == data
    assert validate(path, strict=True) == []
    assert rules.broken(path) == []


def test_reindex_as_the_seed_has_it(tmp_path: Path) -> None:
    path = golden.copy("seed_1000", tmp_path)
    before = oracle.read_index((path / "collections/train/meta/index.bin").read_bytes())
    (path / "collections/train/meta/index.bin").write_bytes(b"")
    assert reindex(path, "train") == {"train": 1000}
    assert oracle.read_index((path / "collections/train/meta/index.bin").read_bytes()) == before


def test_reindex_one_collection(tmp_path: Path) -> None:
    path = golden.copy("seed_multi", tmp_path)
    for name in ("train", "test"):
        (path / f"collections/{name}/meta/index.bin").unlink()
    assert reindex(path, "test") == {"test": 2}
    assert not (path / "collections/train/meta/index.bin").exists()
    with pytest.raises(FormatError, match="no collection 'absent'"):
        reindex(path, "absent")


def test_reindex_of_documents_in_files(tmp_path: Path) -> None:
    path = golden.copy("ref_py_docs", tmp_path)
    assert reindex(path) == {"train": 12}
    assert not (path / INDEX).exists()
    assert json.loads((path / MANIFEST).read_text())["doc_count"] == 12
    assert validate(path) == []


def test_reindex_refuses_a_torn_line_unless_it_may_cut(tmp_path: Path) -> None:
    path = golden.copy("corrupt/truncated_last_line_indexed", tmp_path)
    before = (path / DATA).read_bytes()
    with pytest.raises(FormatError, match=r"byte 19: a torn line of 13 bytes"):
        reindex(path)
    assert (path / DATA).read_bytes() == before
    with pytest.warns(ZdsWarning, match=r"moved to data\.jsonl\.torn-1"):
        assert reindex(path, cut=True) == {"train": 1}
    assert (path / DATA).read_bytes() == before[:19]
    assert (path / f"{golden.META}/data.jsonl.torn-1").read_bytes() == before[19:]
    assert {problem.severity for problem in validate(path)} == {WARNING}


def test_reindex_of_an_archive(tmp_path: Path) -> None:
    path = golden.copy("arc_store", tmp_path)
    before = everything(path.parent)
    with pytest.raises(UnsupportedError, match="archive"):
        reindex(path)
    assert everything(path.parent) == before


def test_reindex_beside_a_writer(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", "train", mode="w") as store:
        store.put("a", {})
        store.flush()
        with pytest.raises(BlockingIOError, match="pid"):
            reindex(tmp_path / "s")
    assert reindex(tmp_path / "s") == {"train": 1}


@pytest.mark.parametrize(
    ("name", "value", "severity", "message"),
    [
        (MANIFEST, {"version": 1}, WARNING, "version: found 1, expected a string"),
        (MANIFEST, {"version": "2.0"}, WARNING, "version: found '2.0', expected '0.1.0' or the like"),
        (MANIFEST, {"strict": "no"}, WARNING, "strict: found 'no', expected true or false"),
        (MANIFEST, {"created_at": "yesterday"}, WARNING, "created_at: found 'yesterday', expected '2025-"),
        (MANIFEST, {"doc_count": "1"}, WARNING, "doc_count: found '1', expected an integer"),
        (MANIFEST, {"doc_count": True}, WARNING, "doc_count: found True, expected an integer"),
        (MANIFEST, {"schema_count": -1}, WARNING, "schema_count: found -1, expected 0 or more"),
        ("zds.json", {"version": "2.0"}, ERROR, "version: found '2.0', expected '1.0' or the like"),
        ("zds.json", {"version": None}, ERROR, "version: found None, expected a string"),
        ("zds.json", {"name": 5}, WARNING, "name: found 5, expected a string"),
        ("zds.json", {"modified": "2025-01-15"}, WARNING, "modified: found '2025-01-15', expected"),
        ("zds.json", {"collections": []}, WARNING, "collections: found [], expected an object"),
        ("zds.json", {"collections": {"train": 5}}, WARNING, "collections.train: found 5, expected an object"),
        (
            "zds.json",
            {"collections": {"train": {"count": "1"}}},
            WARNING,
            "collections.train.count: found '1', expected",
        ),
    ],
)
def test_types_and_versions(name: str, value: Any, severity: str, message: str, tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="w") as store:
        store.put("a", {})
    path = tmp_path / name
    path.write_text(json.dumps(json.loads(path.read_bytes()) | value))
    ((found, _, text),) = told(tmp_path)
    assert (found, text[: len(message)]) == (severity, message)


def test_the_version_of_a_store_is_needed(tmp_path: Path) -> None:
    golden.write(tmp_path, {DATA: golden.line("a"), "zds.json": b"{}"})
    assert told(tmp_path) == [(ERROR, None, "version: not found")]


def test_ids_that_are_read_and_not_written(tmp_path: Path) -> None:
    """The specification allows dots anywhere; zippy refuses some of them when a document is put, and so is it here."""
    ids = [".x", "a..b", "x" * 255, "y" * 251, "v1.0.json"]
    golden.write(tmp_path, {DATA: b"".join(golden.line(id, n=i) for i, id in enumerate(ids))})
    found = told(tmp_path)
    assert [(severity, line) for severity, line, _ in found] == [(ERROR, 1), (ERROR, 2)]
    assert all("no dot at the start, no .. inside" in message for _, _, message in found)
    with ZDSStore.open(tmp_path, "train") as store, pytest.warns(ZdsWarning, match="unusual"):
        assert ([store[id]["n"] for id in ids], list(store)) == (list(range(5)), ids)
    store = ZDSStore.open(tmp_path, "train", mode="a")
    with pytest.warns(ZdsWarning, match="unusual"):
        store.delete(ids[0])
    for id in ids[2:]:
        store.put(id, {"n": -1})
    with pytest.raises(UnsupportedError, match="cannot be the id of a document"):
        store.put(ids[1], {})
    store.close()
    with ZDSStore.open(tmp_path, "train") as store:
        assert sorted(store) == sorted(ids[1:])


def test_lines_longer_than_the_specification_recommends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert validation.LONG == 100_000_000
    root = golden.write(tmp_path / "s", {DATA: golden.line("a", x=1) + golden.line("b", x="y" * 100)})
    assert not any("bytes: other programs" in message for _, _, message in told(root))
    monkeypatch.setattr(validation, "LONG", 100)
    size = len(golden.line("b", x="y" * 100)) - 1
    [found] = [each for each in told(root) if "bytes: other programs" in each[2]]
    assert found == (WARNING, 2, f"a line of {size} bytes: other programs may only read lines of at most 100")


def test_the_binary_index_of_the_seed(tmp_path: Path) -> None:
    """Its bytes are those of a file made by hand from the specification; all that writes and reads a store takes it."""
    golden_store = Path(__file__).parents[1] / "golden" / "zds" / "seed_1000"
    [index] = golden_store.rglob("index.bin")
    golden_store = index.parents[3]
    root = tmp_path / "s"
    shutil.copytree(golden_store, root)
    copy = root / index.relative_to(golden_store)
    expected = index.read_bytes()
    assert expected.startswith(b"ISDZ")
    [(collection, n)] = reindex(root).items()
    assert copy.read_bytes() != expected
    assert reindex(root, binary=True) == {collection: n}
    assert copy.read_bytes() == expected
    with ZDSStore.open(root, collection, mode="a", index="binary") as store:
        store.put("new", {"x": 1})
    assert copy.read_bytes()[:16] == b"ISDZ" + struct.pack("<IQ", 1, n + 1)
    assert validate(root) == []
    assert rules.broken(root) == []
    pack(root, tmp_path / "s.zds")
    for path in (root, tmp_path / "s.zds"):
        with ZDSStore.open(path, collection, index="trust") as store:
            assert (len(store), store["new"]) == (n + 1, {"_id": "new", "x": 1})
    with ZDSStore.open(root, collection, mode="a") as store:
        store.delete("new")
    assert not copy.read_bytes().startswith(b"ISDZ")


def test_ids_that_a_text_cannot_hold_are_in_a_binary_index(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "s", {DATA: golden.line("a\tb", x=1) + golden.line("c", x=2)})
    reindex(root)
    assert not (root / INDEX).exists()
    reindex(root, binary=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)
        with ZDSStore.open(root, "train", index="trust") as store:
            assert list(store) == ["a\tb", "c"]
