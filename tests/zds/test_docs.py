"""Documents in files of their own: which there are, in which order, and what may be wrong with them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ds_format.errors import FormatError, TruncatedError, UnsafeError, UnsupportedError
from ds_format.zds.docs import DocFiles
from ds_format.zds.faults import Faults, ZdsWarning
from ds_format.zds.roots import Archive, Folder, StoreRoot
from ds_format.zds.validation import validate

from . import golden

LENIENT, STRICT = Faults(), Faults(strict=True)
DOCS = "collections/train/docs"
ORDER = f"{golden.META}/order.ids"


def zipped(root: Path) -> Archive:
    """Return the archive of a folder."""
    path = root.parent / "x.zds"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for one in sorted(root.rglob("*")):
            file.write(one, one.relative_to(root))
    return Archive(path)


def names(place: StoreRoot, faults: Faults) -> list[str]:
    return list(DocFiles(place, "train", faults).names)


def served(place: StoreRoot, faults: Faults) -> dict[str, Any]:
    """Return all documents of `train` that are readable, without their ids."""
    found = {}
    for id in names(place, faults):
        try:
            document = DocFiles(place, "train", faults).get(id)
        except FormatError as error:
            faults.report(str(error.path), error.message)
            continue
        assert document is not None and document.pop("_id") == id
        found[id] = document
    return found


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize("name", ["ref_py_docs", "ref_py_docs_empty"])
def test_golden_stores(name: str, kind: str, tmp_path: Path) -> None:
    root = golden.copy(name, tmp_path)
    place = Folder(root) if kind == "folder" else zipped(root)
    wanted = golden.expected(name)["collections"]["train"]
    assert served(place, STRICT) == wanted["docs"]
    assert sorted(names(place, STRICT)) == sorted(wanted["ids"])


# what is said of each golden store, at least one word of each warning
CORRUPT = {
    "docs_id_mismatch": ["a.json: _id is 'b'"],
    "docs_invalid_json": ["arr.json: ", "bad.json: ", "empty.json: "],
    "docs_odd_names": [".a.tmp", ".hidden.json", "B.JSON", "a b.json", "sub/c.json"],
    "docs_order_ids_stale": ["order.ids: 1 ids have no file, and 1 files are not in it"],
    "docs_order_ids_traversal": ["order.ids: '../../../../secret' cannot be the id"],
}


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize("name", CORRUPT)
def test_corrupt(name: str, kind: str, tmp_path: Path) -> None:
    expected = golden.expected(f"corrupt/{name}")
    root = golden.copy(f"corrupt/{name}", tmp_path)
    place = Folder(root) if kind == "folder" else zipped(root)
    with pytest.warns(ZdsWarning) as caught:
        found = served(place, LENIENT)
    assert found == expected["lenient"]["docs"]
    assert list(found) == expected["lenient"].get("ids", sorted(found))
    assert len(caught) == len(CORRUPT[name])
    for one, told in zip(caught, CORRUPT[name], strict=True):
        assert told in str(one.message)
    if expected["strict"] == "error":
        with pytest.raises(FormatError, match=r"collections/train/"):
            served(place, STRICT)
    else:
        with pytest.warns(ZdsWarning):
            assert served(place, STRICT) == found


@pytest.mark.skipif(os.name == "nt", reason="links need privileges")
def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_bytes(b'{"x":1}')
    root = golden.write(tmp_path / "store", {f"{DOCS}/a.json": b'{"n":1}'})
    (root / DOCS / "link.json").symlink_to(tmp_path / "secret.json")
    place = Folder(root)
    with pytest.warns(ZdsWarning, match=r"docs/: 'collections/train/docs/link\.json': a link"):
        assert served(place, LENIENT) == {"a": {"n": 1}}
    with pytest.raises(FormatError, match="a link"):
        served(place, STRICT)
    for use in (
        lambda: DocFiles(place, "train", LENIENT).get("link"),
        lambda: DocFiles(place, "train", STRICT).put("link", {}),
    ):
        with pytest.raises(UnsafeError, match="a link"):
            use()
    (root / DOCS).rename(tmp_path / "elsewhere")
    (root / DOCS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeError, match="a link"):
        DocFiles(Folder(root), "train", STRICT).put("b", {})
    assert sorted(one.name for one in (tmp_path / "elsewhere").iterdir()) == ["a.json", "link.json"]


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        (b"", ["a", "b", "c"]),
        (b"c\na\nb\n", ["c", "a", "b"]),
        (b"c\r\nb\r\na", ["c", "b", "a"]),
        (b"b\nb\n\nc\na\nb\n", ["b", "c", "a"]),
    ],
)
def test_order(order: bytes, ids: list[str], tmp_path: Path) -> None:
    files = {f"{DOCS}/{id}.json": b"{}" for id in "abc"} | {ORDER: order}
    root = golden.write(tmp_path / "store", files)
    assert names(Folder(root), STRICT) == ids
    assert validate(root) == []


def test_order_that_is_no_text(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "store", {f"{DOCS}/a.json": b"{}", ORDER: b"\xff\xfe\n" * 30})
    with pytest.warns(ZdsWarning) as caught:
        assert names(Folder(root), LENIENT) == ["a"]
    assert "cannot be the id" in str(caught[0].message)


def test_many_odd_names_are_few_warnings(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "store", {f"{DOCS}/odd {i}": b"" for i in range(25)} | {f"{DOCS}/.DS_Store": b""})
    with pytest.warns(ZdsWarning) as caught:
        assert names(Folder(root), LENIENT) == []
    assert len(caught) == 11
    assert "15 more names left out" in str(caught[-1].message)


def test_reading(tmp_path: Path) -> None:
    files = {"a": b'{\n  "n": 18446744073709551616\n}\n', "b": b'{"x":1,"_id":"b"}', "bom": b'\xef\xbb\xbf{"x":1}'}
    root = golden.write(tmp_path / "store", {f"{DOCS}/{id}.json": text for id, text in files.items()})
    place = Folder(root)
    assert list((DocFiles(place, "train", STRICT).get("a") or {}).items()) == [("_id", "a"), ("n", 1 << 64)]
    assert list(DocFiles(place, "train", STRICT).get("b") or {}) == ["x", "_id"]
    with pytest.warns(ZdsWarning, match="byte order mark"):
        assert DocFiles(place, "train", LENIENT).get("bom") == {"_id": "bom", "x": 1}
    for id in ("absent", "../a", "", ".a", "a" * 251, "é"):
        assert DocFiles(place, "train", STRICT).get(id) is None
    for collection in ("../train", "", "a/b"):
        with pytest.raises(UnsupportedError, match="name of a collection"):
            DocFiles(place, collection, STRICT).get("a")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"a":NaN}', b'{"a":1}{}', b'{"a":"\xff"}', b"null", b"{}" + b"\0" * 9]
)
def test_what_is_no_document(text: bytes, tmp_path: Path) -> None:
    place = Folder(golden.write(tmp_path / "store", {f"{DOCS}/a.json": text}))
    with pytest.raises(FormatError, match=r"docs/a\.json: "):
        DocFiles(place, "train", LENIENT).get("a")


def test_files_that_become_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = golden.write(tmp_path / "store", {f"{DOCS}/a.json": b'{"x":12345}'})

    class Slow(Folder):
        def open(self, name: str) -> Any:
            file = super().open(name)
            os.truncate(root / name, 5)
            return file

    with pytest.raises(TruncatedError, match=r"a\.json: the file ends at byte 5"):
        DocFiles(Slow(root), "train", LENIENT).get("a")


def test_writing(tmp_path: Path) -> None:
    place = Folder(tmp_path / "store")
    path = tmp_path / "store" / DOCS / "a.json"
    for durable, x in ((False, 1), (True, 2)):
        DocFiles(place, "train", STRICT).put("a", {"x": x, "ü": None}, durable=durable)
        assert path.read_text("utf-8") == f'{{"_id":"a","x":{x},"ü":null}}\n'
        assert [one.name for one in path.parent.iterdir()] == ["a.json"]
    document = DocFiles(place, "train", STRICT).get("a")
    assert document is not None
    DocFiles(place, "train", STRICT).put("a", document)
    assert DocFiles(place, "train", STRICT).get("a") == document
    DocFiles(place, "train", STRICT).put("a" * 250, {})
    assert names(place, STRICT) == ["a", "a" * 250]
    assert [DocFiles(place, "train", STRICT).discard(id, durable=True) for id in ("a", "a", "../a")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("id", ["", "../x", "a/b", ".a", "a..b", "é", "a" * 251, "a\0b", "a b"])
def test_ids_that_cannot_be_written(id: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="cannot be the name of a file"):
        DocFiles(Folder(tmp_path / "store"), "train", STRICT).put(id, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "document", [{"_id": "b"}, {"_id": None}, {"x": float("nan")}, {"x": "\ud800"}, {"x": {1}}, {1: 2}, [1]]
)
def test_documents_that_cannot_be_written(document: Any, tmp_path: Path) -> None:
    DocFiles(Folder(tmp_path / "store"), "train", STRICT).put("a", {"x": 1})
    with pytest.raises(UnsupportedError):
        DocFiles(Folder(tmp_path / "store"), "train", STRICT).put("a", document)
    assert served(Folder(tmp_path / "store"), STRICT) == {"a": {"x": 1}}


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "store" / DOCS / "a.json").mkdir(parents=True)
    with pytest.raises(FormatError, match=r"a\.json: a folder, expected a file"):
        DocFiles(Folder(tmp_path / "store"), "train", STRICT).put("a", {})


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda key: key != "_id"), VALUES, max_size=4))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]) -> None:
    place = Folder(tmp_path_factory.getbasetemp() / "round")
    DocFiles(place, "train", STRICT).put("a", document)
    assert DocFiles(place, "train", STRICT).get("a") == {"_id": "a", **document}
