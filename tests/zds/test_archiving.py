"""Folder → archive → folder: the same bytes, in the order and at the places that the format wants."""

from __future__ import annotations

import errno
import os
import struct
import sys
import warnings
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ds_format.errors import FormatError, IntegrityError, TruncatedError, UnsafeError, UnsupportedError
from ds_format.zds import archiving
from ds_format.zds.archiving import pack, unpack
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.roots import Archive

from . import golden, zips
from .zips import DATA, LINES

INDEX = f"{golden.META}/index.bin"
FRESH = golden.index(golden.E1, golden.E2)
TEXT = b"d1\t0\t19\nd2\t19\t19\n"


def content(root: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def members(path: Path) -> dict[str, bytes]:
    """Return all members of an archive in their order, as the standard library reads them."""
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {info.filename: file.read(info) for info in file.infolist()}


def data_start(path: Path, name: str) -> int:
    """Return where the data of a member start, by its local header alone."""
    with zipfile.ZipFile(path) as file:
        offset = file.getinfo(name).header_offset
    name_size, extra_size = struct.unpack_from("<2H", path.read_bytes(), offset + 26)
    return offset + 30 + int(name_size) + int(extra_size)


def store(folder: Path, **files: bytes) -> Path:
    """Write a store of a data.jsonl with its index, and other files of the collection."""
    return golden.write(folder / "store", {DATA: LINES, INDEX: FRESH, **files})


@pytest.mark.parametrize("compression", ["store", "deflate"])
@pytest.mark.parametrize("name", [name for name in golden.WHOLE if not name.startswith(("arc_", "quirk_"))])
def test_golden_stores(name: str, compression: str, tmp_path: Path) -> None:
    root = golden.copy(name, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)
        pack(root, tmp_path / "x.zds", compression)
    place = Archive(tmp_path / "x.zds", strict=True)
    assert place.collections() == sorted(golden.expected(name)["collections"])
    unpack(tmp_path / "x.zds", tmp_path / "out")
    before, after = content(root), content(tmp_path / "out")
    for changed in (INDEX, "collections/default/meta/index.bin"):
        if before.get(changed, b"ISDZ")[:4] != b"ISDZ" or name.startswith("ref_"):
            before.pop(changed, None)
            after.pop(changed, None)
    assert after == {path: data for path, data in before.items() if not path.startswith(".zds/")}
    for collection in place.collections():
        assert (tmp_path / "out/collections" / collection).is_dir()


def test_order_names_and_places(tmp_path: Path) -> None:
    files = {
        "zds.json": b"{}", "README.md": b"hello", "metadata/notes": b"", f"{golden.META}/manifest.json": b"{}",
        f"{golden.META}/order.ids": b"a\n", "collections/train/docs/b.json": b"{}",
        "collections/train/docs/a.json": b"{}", "collections/a/meta/data.jsonl": golden.D1,
    }  # fmt: skip
    root = store(tmp_path, **files)
    pack(root, tmp_path / "x.zds")
    assert list(members(tmp_path / "x.zds")) == [
        "zds.json", "collections/a/meta/data.jsonl", f"{golden.META}/manifest.json", INDEX, DATA,
        "collections/train/docs/a.json", "collections/train/docs/b.json", f"{golden.META}/order.ids", "README.md",
        "metadata/notes",
    ]  # fmt: skip
    with zipfile.ZipFile(tmp_path / "x.zds") as file:
        for info in file.infolist():
            assert info.flag_bits == 0
            assert info.extra == b""
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.external_attr >> 16 == 0o100644
            assert data_start(tmp_path / "x.zds", info.filename) % 4096 == 0 or not info.filename.endswith("data.jsonl")


def test_it_is_the_same_to_the_byte(tmp_path: Path) -> None:
    root = store(tmp_path)
    for compression in ("store", "deflate"):
        pack(root, tmp_path / "a.zds", compression)
        os.utime(root / DATA, (1, 1))
        pack(root, tmp_path / "b.zds", compression)
        assert (tmp_path / "a.zds").read_bytes() == (tmp_path / "b.zds").read_bytes()


def test_compression_and_time(tmp_path: Path) -> None:
    root = golden.write(tmp_path / "store", {DATA: LINES * 1000})
    pack(root, tmp_path / "x.zds", "deflate", stamp=datetime(2024, 2, 29, 23, 58, 57))
    with zipfile.ZipFile(tmp_path / "x.zds") as file:
        info = file.getinfo(DATA)
        assert info.date_time == (2024, 2, 29, 23, 58, 56)
        assert info.compress_type == zipfile.ZIP_DEFLATED
        assert info.compress_size < info.file_size // 10
    with pytest.raises(ValueError, match='expected "store" or "deflate"'):
        pack(root, tmp_path / "x.zds", "zstd")
    with pytest.raises(UnsupportedError, match="the year 1979"):
        pack(root, tmp_path / "x.zds", stamp=datetime(1979, 1, 1))


def test_what_is_left_out(tmp_path: Path) -> None:
    out = {
        ".zds/train.lock": b"", ".git/config": b"", "collections/train/meta/data.tmp": b"", "x.lock": b"",
        "collections/train/meta/data.jsonl.torn-1": b"{", "collections/train/docs/.a.tmp": b"", "__MACOSX/a": b"",
    }  # fmt: skip
    root = store(tmp_path, **out)
    (root / "metadata").mkdir()
    (root / "collections/empty").mkdir()
    pack(root, root / "inside.zds")
    pack(root, root / "inside.zds")
    assert list(members(root / "inside.zds")) == ["collections/empty/", INDEX, DATA]
    assert Archive(root / "inside.zds").collections() == ["empty", "train"]


@pytest.mark.skipif(os.name == "nt", reason="links need privileges")
def test_links_are_left_out(tmp_path: Path) -> None:
    root = store(tmp_path)
    (root / "collections/train/docs").mkdir()
    (root / "collections/train/docs/a.json").symlink_to(tmp_path / "secret.json")
    (root / "loop").symlink_to(root)
    with pytest.warns(ZdsWarning, match=r"left out '.*': a link") as caught:
        pack(root, tmp_path / "x.zds")
    assert len(caught) == 2
    assert list(members(tmp_path / "x.zds")) == [INDEX, DATA]


def test_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"neither collections/ nor zds\.json"):
        pack(tmp_path, tmp_path / "x.zds")
    with pytest.raises(FileNotFoundError):
        pack(tmp_path / "absent", tmp_path / "x.zds")
    (tmp_path / "store/collections").mkdir(parents=True)
    pack(tmp_path / "store", tmp_path / "x.zds")
    assert Archive(tmp_path / "x.zds").collections() == []


def test_names_that_could_not_be_unpacked(tmp_path: Path) -> None:
    root = store(tmp_path, **{"collections/Train/meta/data.jsonl": b""})
    with pytest.raises(UnsupportedError, match="are one file where upper and lower case are the same"):
        pack(root, tmp_path / "x.zds")
    assert not (tmp_path / "x.zds").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    root = store(tmp_path)
    (root / os.fsdecode(b"\xff")).write_bytes(b"")
    with pytest.raises(UnsupportedError, match="is not Unicode"):
        pack(root, tmp_path / "x.zds")
    assert not (tmp_path / "x.zds").exists()


# data.jsonl and index.bin in the folder; both in the archive; what is said
SNAPSHOTS: dict[str, tuple[bytes, bytes | None, bytes, bytes | None, str | None]] = {
    "whole": (LINES, FRESH, LINES, FRESH, None),
    "without_index": (LINES, None, LINES, None, None),
    "empty": (b"", golden.index(), b"", golden.index(), None),
    "torn": (LINES + b'{"_id":"d3"', FRESH, LINES, FRESH, "byte 38: a torn line of 11 bytes at the end, left out"),
    "only_torn": (b'{"_id"', None, b"", None, "byte 0: a torn line of 6 bytes"),
    "no_newline": (LINES[:-1], None, LINES, None, None),
    "no_newline_with_bom": (b"\xef\xbb\xbf" + golden.D1[:-1], None, b"\xef\xbb\xbf" + golden.D1, None, None),
    "unsorted_index": (LINES, golden.index(golden.E2, golden.E1), LINES, golden.index(golden.E2, golden.E1), None),
    "text_index": (LINES, TEXT, LINES, TEXT, None),
    "unsorted_text_index": (LINES, TEXT[8:] + TEXT[:8], LINES, TEXT[8:] + TEXT[:8], None),
    "zdsi_index": (LINES, FRESH.replace(b"ISDZ", b"ZDSI"), LINES, TEXT, None),
    "empty_index": (LINES, golden.index(), LINES, TEXT, "the index is not used"),
    "old_index": (LINES, golden.index(golden.E1), LINES, TEXT, "older than the data"),
    "broken_index": (LINES, FRESH[:-1], LINES, TEXT, "the index is not used"),
    "swapped_index": (LINES, golden.index((b"d2", 0, 19), (b"d1", 19, 19)), LINES, TEXT, "is no longer used"),
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots(name: str, tmp_path: Path) -> None:
    data, index, packed_data, packed_index, told = SNAPSHOTS[name]
    root = golden.write(tmp_path / "store", {DATA: data} | ({} if index is None else {INDEX: index}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pack(root, tmp_path / "x.zds")
    assert [told is not None and told in str(one.message) for one in caught] == ([] if told is None else [True])
    found = members(tmp_path / "x.zds")
    assert found == ({INDEX: packed_index} if packed_index is not None else {}) | {DATA: packed_data}
    assert content(root) == {DATA: data} | ({} if index is None else {INDEX: index})


def test_last_lines_of_more_than_a_block(tmp_path: Path) -> None:
    long = golden.line("long", text="x" * (3 << 20))
    root = golden.write(tmp_path / "store", {DATA: golden.D1 + long + long[:-2]})
    with pytest.warns(ZdsWarning, match="a torn line"):
        pack(root, tmp_path / "x.zds")
    assert members(tmp_path / "x.zds")[DATA] == golden.D1 + long


def test_zip64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path, **{"collections/train/docs/a.json": b"{}"})
    for limit in (1, 40, 1000):
        monkeypatch.setattr(archiving, "LARGE", limit)
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
        for compression in ("store", "deflate"):
            pack(root, tmp_path / "x.zds", compression)
            assert members(tmp_path / "x.zds") == content(root)
            assert compression == "deflate" or data_start(tmp_path / "x.zds", DATA) % 4096 == 0
            unpack(tmp_path / "x.zds", tmp_path / f"{limit}-{compression}")
            assert content(tmp_path / f"{limit}-{compression}") == content(root)
            (tmp_path / "y.zds").write_bytes(b"#!/bin/sh\n" + (tmp_path / "x.zds").read_bytes())
            unpack(tmp_path / "y.zds", tmp_path / f"{limit}-{compression}-behind")


def full_disk(*args: Any, **kwargs: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_failed_pack_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path)
    (tmp_path / "x.zds").write_bytes(b"what was there")
    monkeypatch.setattr(zipfile.ZipFile, "_write_end_record", full_disk)
    with pytest.raises(OSError, match=r"No space left.*x\.zds'"):
        pack(root, tmp_path / "x.zds")
    assert content(tmp_path / "store") == content(root)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "x.zds"]
    assert (tmp_path / "x.zds").read_bytes() == b"what was there"


def test_files_that_become_shorter_or_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = store(tmp_path, README=b"hello")
    write = archiving._write

    def shorten(archive: Any, name: str, *rest: Any) -> None:
        if name == DATA:
            os.truncate(root / DATA, 5)
            os.unlink(root / "README")
        write(archive, name, *rest)

    monkeypatch.setattr(archiving, "_write", shorten)
    with pytest.raises(TruncatedError, match=r"data\.jsonl: the file ends at byte 5"):
        pack(root, tmp_path / "x.zds")
    assert not (tmp_path / "x.zds").exists()
    monkeypatch.setattr(archiving, "_chosen", lambda *args: ["README"])
    with pytest.raises(TruncatedError, match="README: the file vanished"):
        pack(root, tmp_path / "x.zds")


def test_the_target_of_unpack(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds")
    (tmp_path / "full/inner").mkdir(parents=True)
    for taken, error in (("full", FileExistsError), ("x.zds", NotADirectoryError)):
        with pytest.raises(error):
            unpack(path, tmp_path / taken)
    (tmp_path / "empty").mkdir(mode=0o700)
    for target in ("empty", "new"):
        unpack(path, f"{tmp_path}/{target}/")
        assert content(tmp_path / target) == {DATA: LINES}
    assert os.name == "nt" or (tmp_path / "empty").stat().st_mode & 0o777 == 0o700
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty", "full", "new", "x.zds"]
    with pytest.raises(FileNotFoundError, match="absent/new"):
        unpack(path, tmp_path / "absent/new")


def test_a_failed_unpack_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zips.make(tmp_path / "x.zds", ("zds.json", b"{}")).read_bytes()
    (tmp_path / "x.zds").write_bytes(data.replace(b'"x":2', b'"x":3'))
    with pytest.raises(IntegrityError, match=r"data\.jsonl: CRC-32"):
        unpack(tmp_path / "x.zds", tmp_path / "out")
    monkeypatch.setattr(os, "rename", full_disk)
    with pytest.raises(OSError, match=r"No space left.*out'"):
        unpack(zips.make(tmp_path / "x.zds"), tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["x.zds"]


def test_limits(tmp_path: Path) -> None:
    bomb = golden.FOLDER / "corrupt/zip_bomb_small/dataset.zds"
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "max_ratio"),
        ({"max_ratio": 2000, "max_size": 50_000_037}, "50000038 .*max_size"),
    ]
    for limits, told in cases:
        with pytest.raises(UnsafeError, match=told):
            unpack(bomb, tmp_path / "out", **limits)
        assert list(tmp_path.iterdir()) == []
    unpack(bomb, tmp_path / "out", max_ratio=2000, max_size=50_000_038)
    assert (tmp_path / "out/collections/bomb/meta/data.jsonl").stat().st_size == 50_000_000


def test_litter_and_what_lies_outside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zds", "w") as file:
        for name in (f"mine/{DATA}", "mine/.DS_Store", "__MACOSX/mine/._x", "README"):
            file.writestr(name, LINES)
        file.mkdir("mine/collections/empty")
    with pytest.warns(ZdsWarning, match="left out 'README': outside of the store"):
        unpack(tmp_path / "x.zds", tmp_path / "out")
    assert content(tmp_path / "out") == {DATA: LINES}
    assert (tmp_path / "out/collections/empty").is_dir()


NAMES = st.from_regex(r"[a-z0-9_-][a-z0-9_.-]{0,8}", fullmatch=True).filter(
    lambda name: ".." not in name and not name.endswith((".lock", ".tmp", "."))
)
COLLECTIONS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries({}, optional={
        "meta/manifest.json": st.binary(), "meta/other": st.binary(max_size=5000),
        "meta/data.jsonl": st.lists(NAMES, unique=True).map(lambda ids: b"".join(map(golden.line, ids))),
        "docs/a.json": st.binary(), "docs/été ☃.json": st.binary(),
    }),
    max_size=4,
)  # fmt: skip


@settings(max_examples=40)
@given(COLLECTIONS, st.booleans(), st.sampled_from(["store", "deflate"]))
def test_pack_then_unpack(
    tmp_path_factory: pytest.TempPathFactory, collections: Any, named: bool, compression: str
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    files = {f"collections/{name}/{path}": data for name, inner in collections.items() for path, data in inner.items()}
    root = golden.write(folder / "store", files | ({"zds.json": b"{}"} if named else {}))
    for name in ("", *collections):
        (root / "collections" / name).mkdir(parents=True, exist_ok=True)
    pack(root, folder / "x.zds", compression)
    unpack(folder / "x.zds", folder / "out")
    assert content(folder / "out") == content(root)
    place = Archive(folder / "x.zds", strict=True)
    assert place.collections() == sorted(collections)
    assert [name for name in place.names() if name.endswith("data.jsonl")] == sorted(
        name for name in files if name.endswith("data.jsonl")
    )
