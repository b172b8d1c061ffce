"""Samples in memory, files, and members of archives as samples."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ds_format.datadings import messages
from ds_format.datadings.directories import DirectoryReader, ZipFileReader
from ds_format.datadings.lists import ListReader, natural_key
from ds_format.errors import FormatError, MissingError, UnsupportedError

FILES = {
    "train/cat/a2.txt": b"a2",
    "train/cat/a10.txt": b"a10",
    "train/dog/deep/b.txt": b"b",
    "train/dog/c.jpg": b"c",
    "val/cat/d.txt": b"d",
}


def test_samples_get_keys_and_numbers_for_labels() -> None:
    samples: list[dict[str, Any]] = [{"label": "l10"}, {"label": "l9", "key": "x"}, {"v": 1}, {"label": None}]
    reader = ListReader(samples)
    assert reader.labels == ["l9", "l10"]
    assert list(reader) == [
        {"label": 1, "key": 0, "_label": "l10"},
        {"label": 0, "key": "x", "_label": "l9"},
        {"v": 1, "key": 2},
        {"label": None, "key": 3, "_label": None},
    ]
    assert samples[0] == {"label": "l10"}
    assert [reader.find_index(key) for key in (0, "x", 2)] == [0, 1, 2]
    assert reader.find("x")["label"] == 0
    assert list(reader.iter(1, 2, yield_key=True)) == [("x", reader[1])]
    assert [messages.unpack(message) for message in reader.rawiter()] == list(reader)


def test_labels_that_are_given(tmp_path: Path) -> None:
    listed = tmp_path / "labels.txt"
    listed.write_text("naïve \nb\n", encoding="utf-8")
    samples = [{"label": "b"}, {"label": "naïve"}]
    for labels in (["naïve", "b"], iter(["naïve", "b"]), listed, str(listed)):
        assert [sample["label"] for sample in ListReader(samples, labels)] == [1, 0]
    assert [sample["label"] for sample in ListReader([{"label": None}], [7, None])] == [1]
    assert [sample["label"] for sample in ListReader([{"label": "7"}, {"label": 7}], [5, 7])] == [1, 1]
    assert list(ListReader([{"label": "b"}], numeric_labels=False)) == [{"label": "b", "key": 0}]
    with pytest.raises(MissingError, match="sample 0: the label 'b'"):
        ListReader(samples, ["a"])
    listed.write_bytes(b"\xff\n")
    with pytest.raises(FormatError, match=r"labels\.txt: text that is not UTF-8"):
        ListReader(samples, listed)


def test_functions_that_change_samples() -> None:
    seen: list[str] = []

    def start(sample: dict[str, Any]) -> None:
        sample["key"] = f"k{sample['v']}"

    def convert(sample: dict[str, Any]) -> None:
        seen.append(sample["key"])
        sample["v"] *= 10

    reader = ListReader([{"v": 1}, {"v": 2}], initfun=start, convertfun=convert)
    assert [reader[1]["v"], reader[1]["v"], reader.find_index("k2")] == [20, 20, 1]
    assert seen == ["k2", "k2"]


def test_keys_must_differ() -> None:
    with pytest.raises(UnsupportedError, match="samples 0 and 2 have the same key 'a'"):
        ListReader([{"key": "a"}, {}, {"key": "a"}])
    with pytest.raises(UnsupportedError, match="sample 0: the key"):
        ListReader([{"key": []}])
    reader = ListReader([{}])
    assert [] not in reader
    with pytest.raises(IndexError):
        reader.get(1)


def test_natural_order() -> None:
    names = ["b", "a10", "a9", "a09", "", "a", "10", "9", 3, 2.5]
    assert sorted(names, key=natural_key) == ["", 2.5, 3, "9", "10", "a", "a09", "a9", "a10", "b"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "files"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "files.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("train")
        for name, data in FILES.items():
            archive.writestr(name, data)
    return path


def test_a_folder_for_each_label(folder: Path) -> None:
    reader = DirectoryReader(f"{folder}/train/{{LABEL}}/**")
    assert [reader.find_key(i) for i in range(len(reader))] == [
        "cat/a10.txt",
        "cat/a2.txt",
        "dog/c.jpg",
        "dog/deep/b.txt",
    ]
    assert reader[0] == {
        "key": "cat/a10.txt",
        "label": 0,
        "_label": "cat",
        "path": f"{folder}/train/cat/a10.txt",
        "data": b"a10",
        "_additional_info": [],
    }
    assert reader.bytes_read == 3
    assert [sample["_label"] for sample in reader] == ["cat", "cat", "dog", "dog"]


Keys = Callable[..., list[str]]


@pytest.fixture(params=["folder", "archive"])
def keys(request: pytest.FixtureRequest) -> Keys:
    path: Path = request.getfixturevalue(request.param)

    def of(patterns: Any, **options: Any) -> list[str]:
        reader = (
            DirectoryReader(patterns, root_dir=path, **options)
            if path.is_dir()
            else ZipFileReader(path, patterns, **options)
        )
        with reader:
            assert [sample["data"] for sample in reader] == [
                FILES[os.path.relpath(sample["path"], path) if path.is_dir() else sample["path"]] for sample in reader
            ]
            return sorted(sample["key"] for sample in reader)

    return of


def test_patterns(keys: Keys, tmp_path: Path) -> None:
    assert keys("train/{LABEL}/*.txt", exclude=["*/deep/*"]) == ["cat/a10.txt", "cat/a2.txt"]
    assert keys("train/cat/*.txt") == ["train/cat/a10.txt", "train/cat/a2.txt"]
    assert keys("train/{LABEL}/**", include=["*.jpg", "*a1*"], exclude=["*a2*"]) == ["cat/a10.txt", "dog/c.jpg"]
    assert keys("*/{LABEL}/d.*") == ["val/cat/d.txt"]
    assert keys(Path("nothing") / "{LABEL}") == []
    with pytest.raises(ValueError, match="must stand alone"):
        keys("train/x{LABEL}/*")


def test_prefixes_are_cut_off_in_front_only(tmp_path: Path) -> None:
    for name in ("aa/x/aa/f", "aa/x/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    reader = DirectoryReader("aa/{LABEL}/**", root_dir=tmp_path)
    assert [sample["key"] for sample in reader] == ["x/aa/f", "x/f"]


def test_several_patterns(folder: Path) -> None:
    reader = DirectoryReader([f"{folder}/{part}/{{LABEL}}/*.txt" for part in ("val", "train")])
    assert [sample["key"] for sample in reader] == ["val/cat/d.txt", "train/cat/a10.txt", "train/cat/a2.txt"]
    reader = DirectoryReader([f"{folder}/train/{{LABEL}}/*.{suffix}" for suffix in ("txt", "jpg")])
    assert [sample["key"] for sample in reader] == ["cat/a10.txt", "cat/a2.txt", "dog/c.jpg"]
    with pytest.raises(UnsupportedError, match=r"samples 0 and 2 have the same key 'a10\.txt'"):
        DirectoryReader([f"{folder}/{pattern}" for pattern in ("train/cat/*", "train/cat/a1*")])


def test_lists_of_files(keys: Keys, folder: Path, archive: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("val/cat/d.txt\tKätzchen\tmore\tand more\n\ntrain/dog/c.jpg\n", encoding="utf-8")
    assert keys(listed) == ["train/dog/c.jpg", "val/cat/d.txt"]
    reader: ListReader
    for reader in (DirectoryReader(listed, root_dir=folder), ZipFileReader(archive, listed)):
        assert [sample["_additional_info"] for sample in reader] == [["more", "and more"], []]
        assert [sample["_label"] for sample in reader] == ["Kätzchen", None]
        assert [sample["label"] for sample in reader] == [0, None]


def test_absent_members(archive: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("nothing\n")
    with pytest.raises(FormatError, match=r"files\.zip: member 'nothing'"):
        ZipFileReader(archive, listed).get(0)
    with pytest.raises(FileNotFoundError):
        ZipFileReader(tmp_path / "x.zip")
    archive.write_bytes(b"no archive")
    with pytest.raises(FormatError, match=r"files\.zip: not a ZIP archive"):
        ZipFileReader(archive)


def test_damaged_members(archive: Path) -> None:
    damaged = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        place = opened.getinfo("train/dog/c.jpg").header_offset + 30 + len("train/dog/c.jpg")
    damaged[place] ^= 0xFF
    archive.write_bytes(damaged)
    reader = ZipFileReader(archive, "train/{LABEL}/**")
    with pytest.raises(FormatError, match=r"member 'train/dog/c.jpg'"):
        reader.find("dog/c.jpg")


def test_archives_are_closed_and_opened_again(archive: Path) -> None:
    with ZipFileReader(archive, "*.txt") as reader:
        assert reader[0]["data"] == b"a2"
    assert reader._archive is None
    for clone in (reader, copy.copy(reader), pickle.loads(pickle.dumps(reader))):
        assert [sample["data"] for sample in clone] == [b"a2", b"a10", b"b", b"d"]


def test_threads_share_an_archive(archive: Path) -> None:
    reader = ZipFileReader(archive, "*")
    wrong: list[Any] = []

    def use() -> None:
        for _ in range(100):
            wrong.extend(sample for sample in reader if sample["data"] != FILES[sample["path"]])

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_share_an_archive(archive: Path) -> None:
    reader = ZipFileReader(archive, "*")
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            right = all(sample["data"] == FILES[sample["path"]] for _ in range(100) for sample in reader)
            os._exit(0 if right else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
