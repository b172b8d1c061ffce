"""A store in a folder: names, bodies, links, and files that change under a reader."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ds_format.body.body import Body
from ds_format.errors import FormatError, TruncatedError, UnsafeError
from ds_format.zds.format import name_parts
from ds_format.zds.roots import Folder, StoreRoot

from . import golden

DATA = "collections/train/meta/data.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        DATA: golden.D1 + golden.D2,
        "collections/train/docs/a.json": b"{}",
        "collections/été/x": b"",
        "zds.json": b"{}",
    }
    return golden.write(tmp_path / "store", files)


def opened(place: StoreRoot, name: str) -> Body:
    file = place.open(name)
    assert file is not None
    return file


def test_names_are_sorted_by_their_bytes(root: Path) -> None:
    place = Folder(root)
    assert (place.path, place.kind, place.is_store()) == (str(root), "folder", True)
    assert place.names() == [
        "collections/train/docs/a.json", DATA, "collections/été/x", "zds.json",
    ]  # fmt: skip
    assert place.collections() == ["train", "été"]


@pytest.mark.parametrize(
    ("prefix", "n"),
    [
        ("collections/train/", 2),
        ("collections/t", 2),
        (DATA, 1),
        ("collections/train/docs/b", 0),
        ("z", 1),
        ("no/", 0),
        ("zds.json/", 0),
    ],
)
def test_names_by_prefix(root: Path, prefix: str, n: int) -> None:
    found = Folder(root).names(prefix)
    assert len(found) == n
    assert found == [name for name in Folder(root).names() if name.startswith(prefix)]


def test_golden_stores(tmp_path: Path) -> None:
    for name in golden.WHOLE:
        if not name.startswith("arc_"):
            store = golden.copy(name, tmp_path)
            place = Folder(store)
            assert place.is_store()
            assert sorted(golden.expected(name)["collections"]) == place.collections()
            for file in place.names():
                assert b"".join(opened(place, file).blocks(size=7)) == (store / file).read_bytes()


def test_what_is_no_store() -> None:
    place = Folder(golden.FOLDER / "corrupt/not_a_store/store")
    assert not place.is_store()
    assert not Folder("absent").is_store()
    assert Folder("absent").names() == Folder("absent").collections() == []
    assert Folder("absent").open(DATA) is None


def test_bodies(root: Path) -> None:
    file = opened(Folder(root), DATA)
    whole = golden.D1 + golden.D2
    assert (file.size, file.name) == (len(whole), str(root / DATA))
    assert file.read(3, 6) == whole[3:9]
    assert file.read(5, 0) == b""
    assert list(file.blocks(2, 30)) == [whole[2:32], whole[32:]]
    assert list(file.blocks(len(whole))) == []
    fd, start = file.in_file() or (-1, -1)
    assert start == 0 and os.pread(fd, 4, 0) == whole[:4]


def test_what_is_not_there(root: Path) -> None:
    place = Folder(root)
    for name in ("absent", "collections/absent/meta/data.jsonl", "zds.json/inner"):
        assert place.open(name) is None


@pytest.mark.parametrize(
    "name", ["", "/zds.json", "../store/zds.json", "collections/../zds.json", "a//b", "./a", "a/", "a\\b", "a\0"]
)
def test_names_that_leave_the_store(root: Path, name: str) -> None:
    with pytest.raises(UnsafeError, match="the name"):
        Folder(root).open(name)
    with pytest.raises(UnsafeError, match="the name"):
        name_parts(name)


def test_files_that_become_shorter(root: Path) -> None:
    file = opened(Folder(root), DATA)
    os.truncate(root / DATA, 10)
    assert file.read(0, 10) == golden.D1[:10]
    with pytest.raises(TruncatedError, match=r"data\.jsonl: the file ends at byte 10, expected bytes 5 to 30"):
        file.read(5, 25)
    with pytest.raises(TruncatedError):
        list(file.blocks())


def test_files_that_are_replaced_or_grow(root: Path) -> None:
    file = opened(Folder(root), DATA)
    with open(root / DATA, "ab") as out:
        out.write(b"more")
    (root / "new").write_bytes(b"other")
    os.replace(root / "new", root / DATA)
    assert b"".join(file.blocks()) == golden.D1 + golden.D2


def test_a_folder_in_place_of_a_file(root: Path) -> None:
    with pytest.raises(FormatError, match="not a file"):
        Folder(root).open("collections/train")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    place = Folder(root)
    with pytest.raises(FormatError, match="not a file"):
        place.open("pipe")
    assert "pipe" not in place.names()
    assert [str(one) for one in place.unused()] == ["'pipe': neither a file nor a folder"]


@pytest.mark.skipif(os.name == "nt", reason="links need privileges")
def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_bytes(b'{"x":1}')
    (root / "collections/train/docs/b.json").symlink_to(tmp_path / "secret.json")
    (root / "collections/train/docs/gone.json").symlink_to(tmp_path / "absent")
    (root / "collections/linked").symlink_to(root / "collections/train")
    place = Folder(root)
    assert place.collections() == ["train", "été"]
    assert place.names("collections/train/docs/") == ["collections/train/docs/a.json"]
    assert [one.name for one in place.unused()] == [
        "collections/linked", "collections/train/docs/b.json", "collections/train/docs/gone.json",
    ]  # fmt: skip
    assert place.unused("collections/train/meta") == []
    for name in (*(one.name for one in place.unused()), "collections/linked/meta/data.jsonl"):
        with pytest.raises(UnsafeError, match="a link"):
            place.open(name)
        with pytest.raises(UnsafeError, match="a link"):
            place.locate(name)
    with pytest.raises(UnsafeError, match="a link"):
        place.names("collections/linked/meta/")


@pytest.mark.skipif(os.name == "nt", reason="links need privileges")
def test_the_root_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    file = opened(Folder(tmp_path / "link"), DATA)
    assert file.read(0, 3) == golden.D1[:3]


def test_locate_for_writing(root: Path) -> None:
    assert Folder(root).locate("collections/new/docs/a.json") == str(root / "collections/new/docs/a.json")
    with pytest.raises(UnsafeError):
        Folder(root).locate("collections/../../x")
