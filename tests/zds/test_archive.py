"""Archives that are as they should be, or nearly: what is read from them, and how."""

from __future__ import annotations

import os
import threading
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import pytest

from ds_format.body.body import Body
from ds_format.errors import DsError, FormatError, IntegrityError, TruncatedError, UnsafeError
from ds_format.zds import members
from ds_format.zds.roots import Archive, StoreRoot

from . import golden, zips
from .zips import DATA, LINES

ARCHIVES = [name for name in golden.WHOLE if name.startswith("arc_")]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]


def opened(place: StoreRoot, name: str = DATA) -> Body:
    member = place.open(name)
    assert member is not None
    return member


@pytest.mark.parametrize("name", ARCHIVES)
def test_golden_archives(name: str) -> None:
    place = Archive(golden.FOLDER / name / "dataset.zds", strict=True)
    store = golden.FOLDER / "seed_multi/store"
    assert place.collections() == sorted(golden.expected(name)["collections"])
    assert place.root == ("my_dataset/" if name in {"arc_zip_r_rootfolder", "arc_macos_junk"} else "")
    wanted = sorted(path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file())
    assert place.names() == wanted
    assert place.names("collections/train/") == [one for one in wanted if one.startswith("collections/train/")]
    for file in wanted:
        member, data = opened(place, file), (store / file).read_bytes()
        if file == "zds.json":
            continue  # two of the archives have another one
        assert member.size == len(data)
        assert member.name == f"{place.path}!{place.root}{file}"
        assert b"".join(member.blocks(size=7)) == member.read(0, len(data)) == data


@pytest.mark.parametrize("method", METHODS)
def test_member(tmp_path: Path, method: int) -> None:
    path = zips.make(tmp_path / "x.zds", method=method)
    place = Archive(path)
    member = opened(place)
    assert (place.kind, place.is_store(), member.size) == ("archive", True, len(LINES))
    for start in (0, 1, 7, len(LINES) - 1, len(LINES)):
        assert member.read(start, len(LINES) - start) == LINES[start:]
        blocks = list(member.blocks(start, 7))
        assert b"".join(blocks) == LINES[start:]
        assert all(len(block) == 7 for block in blocks[:-1])
    found = member.in_file()
    assert (found is not None) is (method == zipfile.ZIP_STORED)
    if found is not None:
        assert os.pread(found[0], len(LINES), found[1]) == LINES
    with pytest.raises(TruncatedError, match=f"ends at byte {len(LINES)}, expected bytes 5 to {len(LINES) + 1}"):
        member.read(5, len(LINES) - 4)
    place.close()
    assert member.read(0, 3) == LINES[:3]
    with pytest.raises(ValueError, match="closed"):
        place.open(DATA)
    assert b"".join(member.blocks()) == LINES


def test_what_is_not_there(tmp_path: Path) -> None:
    place = Archive(zips.make(tmp_path / "x.zds"))
    assert place.open("zds.json") is place.open("collections") is None
    with pytest.raises(UnsafeError):
        place.open("collections/../zds.json")
    with pytest.raises(FileNotFoundError):
        Archive(tmp_path / "absent.zds")
    with pytest.raises(IsADirectoryError):
        Archive(tmp_path)


@pytest.mark.parametrize("method", METHODS)
def test_empty_members(tmp_path: Path, method: int) -> None:
    place = Archive(zips.make(tmp_path / "x.zds", ("zds.json", b""), method=method), strict=True)
    member = opened(place, "zds.json")
    assert member.read(0, 0) == b""
    assert list(member.blocks()) == []


def test_zip64(tmp_path: Path) -> None:
    path = tmp_path / "x.zds"
    with zipfile.ZipFile(path, "w") as file, file.open(DATA, "w", force_zip64=True) as member:
        member.write(LINES)
    assert opened(Archive(path, strict=True)).read(0, len(LINES)) == LINES


def test_comments(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds")
    with zipfile.ZipFile(path, "a") as file:
        file.comment = b"a comment" + bytes(60000)
    assert opened(Archive(path, strict=True)).read(0, 3) == LINES[:3]


def test_what_lies_outside_of_the_root(tmp_path: Path) -> None:
    path = tmp_path / "x.zds"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"mine/{DATA}", LINES)
        file.writestr("README", "hello")
    with pytest.warns(UserWarning, match=r"left out 'README': outside of the store, which is in mine/"):
        place = Archive(path)
    assert place.names() == [DATA]
    with pytest.raises(FormatError, match="outside"):
        Archive(path, strict=True)


def test_large_members_are_inflated_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MEMORY_SIZE", 1000)
    data = os.urandom(300_000)
    place = Archive(zips.make(tmp_path / "x.zds", ("a.bin", data), method=zipfile.ZIP_DEFLATED))
    member = opened(place, "a.bin")
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(member.read(1000, 199_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [data[1000:200_000]] * 4


@pytest.mark.parametrize("memory_size", [1000, 1 << 20])
@pytest.mark.parametrize("method", METHODS)
def test_a_section_of_a_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int, memory_size: int) -> None:
    monkeypatch.setattr(members, "MEMORY_SIZE", memory_size)
    data = os.urandom(5000)
    member = opened(Archive(zips.make(tmp_path / "x.zds", ("a.bin", data), method=method)), "a.bin")
    assert not member.lends
    assert bytes(member.section(100, 50).read(10, 20)) == data[110:130]
    rest = member.section(4000)
    assert rest.size == 1000 and bytes(rest.section(10).read(0, 5)) == data[4010:4015]
    assert "a.bin" in rest.name
    with pytest.raises(TruncatedError):
        member.section(4000, 1001)


@pytest.mark.parametrize("method", METHODS)
def test_archives_that_become_shorter(tmp_path: Path, method: int) -> None:
    path = zips.make(tmp_path / "x.zds", method=method)
    member = opened(Archive(path))
    os.truncate(path, 80)
    for use in (lambda: member.read(0, member.size), lambda: list(member.blocks())):
        with pytest.raises(TruncatedError, match=r"x\.zds: the file ends at byte 80"):
            use()


def test_archives_that_are_replaced(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds")
    member = opened(Archive(path))
    zips.make(tmp_path / "y.zds", ("zds.json", b"{}"))
    os.replace(tmp_path / "y.zds", path)
    assert member.read(0, len(LINES)) == LINES


@pytest.mark.parametrize("method", METHODS)
def test_a_checksum_is_compared_before_the_last_block(tmp_path: Path, method: int) -> None:
    data = zips.deflate(LINES) if method else LINES
    member = opened(Archive(zips.raw(tmp_path / "x.zds", data, len(LINES), method, crc=7)))
    blocks = member.blocks(size=20)
    if not method:
        assert next(blocks) == LINES[:20]
    with pytest.raises(IntegrityError, match=r"data\.jsonl: .*CRC-32"):
        next(blocks)
    with pytest.raises(IntegrityError):
        member.read(0, len(LINES))


def test_bombs(tmp_path: Path) -> None:
    path = golden.FOLDER / "corrupt/zip_bomb_small/dataset.zds"
    with pytest.raises(UnsafeError, match=r"bomb/meta/data\.jsonl: 50000000 bytes in 48604 .* \(max_ratio\)"):
        Archive(path, strict=True)
    bomb = "collections/bomb/meta/data.jsonl"
    with pytest.raises(UnsafeError, match="max_ratio"):
        Archive(path).open(bomb)
    with pytest.raises(UnsafeError, match=r"allowed are 1000 \(max_size\)"):
        Archive(path, max_size=1000).open(bomb)
    member = opened(Archive(path, strict=True, max_ratio=2000), bomb)
    tracemalloc.start()
    try:
        assert sum(map(len, member.blocks())) == 50_000_000
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    # what a member really holds counts, whatever is announced
    lying = zips.raw(tmp_path / "x.zds", zips.deflate(bytes(10_000_000)), 100)
    tracemalloc.start()
    try:
        with pytest.raises(IntegrityError, match="not the 100 bytes announced"):
            opened(Archive(lying)).read(0, 100)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", METHODS)
def test_any_byte_may_be_wrong(tmp_path: Path, method: int) -> None:
    whole = zips.make(tmp_path / "x.zds", ("zds.json", b'{"version":"1.0"}'), method=method).read_bytes()
    path = tmp_path / "y.zds"
    for place in range(len(whole)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(whole)
            data[place] ^= change
            path.write_bytes(data)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    archive = Archive(path)
                    member = archive.open(DATA)
                    found = None if member is None else member.read(0, member.size)
                except DsError:
                    continue
            assert found in {LINES, None}, place


def test_any_end_may_be_missing(tmp_path: Path) -> None:
    whole = zips.make(tmp_path / "x.zds", ("zds.json", b"{}")).read_bytes()
    for size in range(len(whole)):
        (tmp_path / "y.zds").write_bytes(whole[:size])
        told = ("the file is empty", "not a ZIP archive", "not a ZIP archive, or its end is missing")[min(size, 2)]
        with pytest.raises(FormatError, match=rf"y\.zds: {told}"):
            Archive(tmp_path / "y.zds")
