"""Forged and damaged packs: refused with the file, the member, the value found and the value expected."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ds_format as ds
from ds_format.body import packs
from ds_format.body.body import MemoryBody
from ds_format.body.directory import read
from ds_format.kernels.files.directory import find_data, read_directory

from .conftest import central, changed, local

Forge = Callable[[bytes], bytes]


def archive(*names: str, data: bytes = b"ds-1.0\n{}\n", method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name in names:
            file.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def end(data: bytes) -> int:
    return len(data) - 22


WHOLE: dict[str, tuple[bytes, type[Exception], str]] = {
    "parent": (archive("a.ds", "../b.ds"), ds.UnsafeError, r"'\.\./b\.ds'"),
    "inner-parent": (archive("a/../../b.ds"), ds.UnsafeError, "unsafe name"),
    "absolute": (archive("/etc/a.ds"), ds.UnsafeError, "'/etc/a.ds'"),
    "drive": (archive("C:/a.ds"), ds.UnsafeError, "C:/a.ds"),
    "dot": (archive("./a.ds"), ds.UnsafeError, "unsafe name"),
    "empty-part": (archive("a//b.ds"), ds.UnsafeError, "unsafe name"),
    "not-a-zip": (b"hello" * 20, ds.FormatError, "not a ZIP archive"),
    "empty": (b"", ds.FormatError, "not a ZIP archive"),
    "cut": (archive("a.ds")[:-3], ds.FormatError, "its end is missing"),
}


def backslash(data: bytes) -> bytes:
    return data.replace(b"x/a.ds", b"x\\a.ds")


def twice(data: bytes) -> bytes:
    return data.replace(b"b.ds", b"a.ds")


FORGED: dict[str, tuple[Forge, type[Exception], str]] = {
    "backslash": (backslash, ds.UnsafeError, "unsafe name"),
    "duplicate": (twice, ds.UnsafeError, "two members have one name"),
    "overlap": (lambda data: changed(data, central(data, 1) + 42, "<L", 0), ds.UnsafeError, "overlaps"),
    "same-bytes": (lambda data: changed(data, central(data, 1) + 42, "<L", 5), ds.UnsafeError, "overlaps"),
    "outside": (lambda data: changed(data, central(data) + 42, "<L", 1 << 30), ds.UnsafeError, "overlaps"),
    "too-large": (lambda data: changed(data, central(data, 1) + 20, "<2L", 999, 999), ds.UnsafeError, "overlaps"),
    "no-zip64-offset": (lambda data: changed(data, central(data) + 42, "<L", 0xFFFFFFFF), ds.UnsafeError, "overlaps"),
    "entry": (lambda data: changed(data, central(data), "<4s", b"PK\1\3"), ds.FormatError, "entries of the directory"),
    "long-name": (lambda data: changed(data, central(data, 1) + 28, "<H", 999), ds.FormatError, "found a damaged one"),
    "more-entries": (lambda data: changed(data, end(data) + 8, "<2H", 3, 3), ds.FormatError, "entries"),
    "fewer-entries": (lambda data: changed(data, end(data) + 8, "<2H", 1, 1), ds.FormatError, "bytes of them"),
    "many-entries": (lambda data: changed(data, end(data) + 8, "<2H", 9999, 9999), ds.FormatError, "9999 entries"),
    "more-bytes": (
        lambda data: changed(data, end(data) + 12, "<L", 1 << 30),
        ds.FormatError,
        "expected an end at byte",
    ),
    "earlier": (lambda data: changed(data, end(data) + 16, "<L", 3), ds.FormatError, "expected an end at byte"),
    "disks": (lambda data: changed(data, end(data) + 4, "<H", 1), ds.UnsupportedError, "one part"),
}

MEMBERS: dict[str, tuple[Forge, type[Exception], str]] = {
    "compressed": (lambda data: changed(data, central(data) + 10, "<H", 8), ds.UnsupportedError, "method 8, expected"),
    "encrypted": (lambda data: changed(data, central(data) + 8, "<H", 1), ds.UnsupportedError, "encrypted.*0x1"),
    "bomb": (lambda data: changed(data, central(data) + 24, "<L", 1 << 31), ds.FormatError, "expected 2147483648"),
    "smaller": (lambda data: changed(data, central(data) + 24, "<L", 1), ds.FormatError, "contradict each other"),
    "disk": (lambda data: changed(data, central(data) + 34, "<H", 1), ds.FormatError, "on disk 1"),
    "link": (lambda data: changed(changed(data, central(data) + 5, "B", 3), central(data) + 38, "<L", 0xA1FF0000),
             ds.UnsupportedError, "a link"),
    "no-header": (lambda data: changed(data, local(data), "<4s", b"PK\3\5"), ds.FormatError, "no local header"),
    "name": (lambda data: changed(data, local(data) + 30, "c", b"y"), ds.FormatError, "contradicts the directory"),
    "name-size": (lambda data: changed(data, local(data) + 26, "<H", 2), ds.FormatError, "contradicts"),
    "method": (lambda data: changed(data, local(data) + 8, "<H", 8), ds.FormatError, "contradicts"),
    "flags": (lambda data: changed(data, local(data) + 6, "<H", 1), ds.FormatError, "contradicts"),
    "size": (lambda data: changed(data, local(data) + 22, "<L", 1), ds.FormatError, "contradicts"),
    "crc": (lambda data: changed(data, local(data) + 14, "<L", 1), ds.FormatError, "contradicts"),
    "extra": (lambda data: changed(data, local(data) + 28, "<H", 60000), ds.FormatError, "do not end before"),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*WHOLE, *FORGED])
def test_forged_packs_are_refused(kind: str, tmp_path: Path) -> None:
    if kind in WHOLE:
        data, error, message = WHOLE[kind]
    else:
        forge, error, message = FORGED[kind]
        data = forge(archive("x/a.ds", "x/b.ds"))
    path = tmp_path / "p.zip"
    path.write_bytes(data)
    for call in (
        lambda: ds.read(f"{path}/x/a.ds"),
        lambda: ds.read_many(f"{path}/**"),
        lambda: ds.pack([], path, append=True),
    ):
        with pytest.raises(error, match=message) as found:
            call()
        assert str(path) in str(found.value)
    assert path.read_bytes() == data


@pytest.mark.parametrize("kind", MEMBERS)
def test_forged_members_are_refused(kind: str, tmp_path: Path) -> None:
    forge, error, message = MEMBERS[kind]
    path = tmp_path / "p.zip"
    path.write_bytes(forge(archive("x/a.ds", "x/b.ds")))
    for call in (lambda: ds.read(f"{path}/x/a.ds"), lambda: ds.read_many([f"{path}/x/a.ds"])):
        with pytest.raises(error, match=message) as found:
            call()
        assert f"{path}/x/a.ds" in str(found.value)
    ds.read(f"{path}/x/b.ds")  # the others are read


def test_archives_of_other_programs(tmp_path: Path) -> None:
    """With folders, comments, names of code page 437, data without sizes in their headers, and members of 0 bytes."""
    ds.write(tmp_path / "a.ds", {"x": [1]})
    data = (tmp_path / "a.ds").read_bytes()
    path = tmp_path / "p.zip"

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *words: int) -> int:
            raise OSError

        def tell(self) -> int:
            raise OSError

    out = Pipe()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("folder/", b"")
        with file.open("folder/ä.ds", "w", force_zip64=True) as member:
            member.write(data)
        file.writestr("empty.txt", b"")
        file.writestr("a.ds", data)
        file.comment = b"a comment with PK\5\6 in it"
    path.write_bytes(out.getvalue())
    assert ds.read(f"{path}/folder/ä.ds")["x"].tolist() == [1]
    assert ds.read(f"{path}/a.ds")["x"].tolist() == [1]
    assert [one["x"].tolist() for one in ds.read_many(f"{path}/**/*.ds")] == [[1], [1]]
    path.write_bytes(archive("?.ds", data=data).replace(b"?.ds", b"\x84.ds"))
    assert ds.read(f"{path}/ä.ds")["x"].tolist() == [1]


def test_random_bytes_never_crash() -> None:
    good = archive("a.ds", "dir/b.ds", "c.nc", data=b"x" * 50)
    rng = np.random.default_rng(5)
    for _ in range(3000):
        data = bytearray(good)
        for at in rng.integers(central(good), len(good), rng.integers(1, 4)).tolist():
            data[at] = int(rng.choice(np.array([0, 1, 255, rng.integers(256)])))
        try:
            directory = read(MemoryBody("p.zip", bytes(data)))
        except (ds.FormatError, ds.UnsafeError, ds.UnsupportedError):
            continue
        for name in directory.numbers:
            try:
                place = directory.find(name, name)
                start = directory.data_start(place, bytes(data[place.offset :]), name)
            except (ds.FormatError, ds.UnsupportedError):
                continue
            assert 0 <= place.offset + start <= place.offset + start + place.size <= place.limit <= len(data)


def test_the_kernel_checks_its_arguments() -> None:
    data = archive("a.ds")
    raw = data[central(data) : -22]
    rows, names = np.zeros((1, 6), np.int64), dict[str, int]()
    assert read_directory(raw, rows, names) == len(raw) and names == {"a.ds": 0}
    assert read_directory(raw[:-1], np.zeros((1, 6), np.int64), {}) == -1
    assert read_directory(raw, np.zeros((2, 6), np.int64), {}) == -1
    assert read_directory(b"", np.zeros((0, 6), np.int64), {}) == 0
    with pytest.raises(ValueError, match="expected 6"):
        read_directory(raw, np.zeros((1, 5), np.int64), {})
    rows[0, 4] = len(data)
    assert find_data(raw, rows, 0, data) == 34
    assert find_data(raw, rows, 0, b"") == find_data(raw, rows, 0, data[:33]) == find_data(b"", rows, 0, data) == -1
    with pytest.raises(IndexError):
        find_data(raw, rows, 1, data)
    rows[0, 0] = 10**9
    assert find_data(raw, rows, 0, data) == -1


def test_a_pack_that_is_replaced_while_it_is_open(folder: Path) -> None:
    body = packs.LocalMember(str(folder / "st.zip"), "r0.ds", "st.zip/r0.ds").open(0)
    with body.watch:
        body.read(0, 10)
    data = (folder / "st.zip").read_bytes()
    (folder / "st.zip").write_bytes(data[:100])
    with pytest.raises(ds.ReplacedError):
        body.watch.check()
