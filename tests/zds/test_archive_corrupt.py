"""Archives that contradict themselves, or would do harm: one row for each way to be wrong."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path
from typing import IO, Any, cast

import pytest

from ds_format.errors import DsError, FormatError, IntegrityError, TruncatedError, UnsafeError, UnsupportedError
from ds_format.zds.archiving import unpack
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.roots import Archive

from . import golden, zips
from .zips import DATA, END, ENTRY, LINES, LOCAL, holding, make, patch, patched

# name of a golden archive: the error of opening, of reading data.jsonl, and of opening strictly; what is said
GOLDEN: dict[str, tuple[type[DsError] | None, type[DsError] | None, type[DsError] | None, str]] = {
    "zip_absolute": (None, None, UnsafeError, "an absolute name"),
    "zip_backslash": (None, None, UnsafeError, "has a part '..'"),
    "zip_bomb_small": (None, None, UnsafeError, "max_ratio"),
    "zip_collection_dotdot": (None, None, UnsafeError, "has a part '..'"),
    "zip_crc_error": (None, IntegrityError, None, "CRC-32"),
    "zip_dotdot": (None, None, UnsafeError, "has a part '..'"),
    "zip_dotdot_inside": (None, None, UnsafeError, "has a part '..'"),
    "zip_empty_file": (FormatError, None, FormatError, "the file is empty"),
    "zip_method_93": (None, UnsupportedError, UnsupportedError, "compression method 93"),
    "zip_size_lie": (None, None, None, "not the 1 bytes announced"),
    "zip_symlink": (None, None, UnsafeError, "a link"),
    "zip_truncated": (FormatError, None, FormatError, "not a ZIP archive"),
    "zip_two_roots": (FormatError, None, FormatError, "more than one store: a/, b/"),
}


def content(place: Archive, name: str = DATA) -> bytes:
    file = place.open(name)
    assert file is not None
    return b"".join(file.blocks())


def test_every_golden_archive_has_a_row() -> None:
    assert sorted(GOLDEN) == sorted(name for name in golden.CORRUPT if name.startswith("zip_"))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    opening, reading, strict, told = GOLDEN[name]
    path = golden.FOLDER / "corrupt" / name / "dataset.zds"
    for action, error in ((lambda: Archive(path), opening), (lambda: Archive(path, strict=True), strict)):
        if error is None:
            action()
        else:
            with pytest.raises(error, match=rf"{name}/dataset\.zds") as caught:
                action()
            assert told in str(caught.value)
    assert all(one.category is ZdsWarning and told in str(one.message) for one in recwarn)
    if opening is None:
        lenient = golden.expected(f"corrupt/{name}")["lenient"]
        place = Archive(path, strict=None)
        assert "train" in place.collections()
        assert not any(part in {"", ".", ".."} for part in place.collections())
        if reading is not None:
            with pytest.raises(reading, match=told):
                content(place)
        elif lenient is not None:
            assert content(place) == LINES
    with pytest.raises(DsError) as caught:
        unpack(path, tmp_path / "out")
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []


DEFLATED = zips.deflate(LINES)

# what makes it, the error of opening it (None: of reading data.jsonl), and what is said
MADE: dict[str, tuple[zips.Made, bool, type[DsError], str]] = {
    "no_zip": (lambda p: (p.write_bytes(b"x" * 500), p)[1], True, FormatError, "not a ZIP archive"),
    "no_store": (
        holding(LINES, len(LINES), 0, name="readme.txt"), True, FormatError, "neither collections/ nor zds.json",
    ),
    "directory_too_large": (patched(END, 12, "I", 1 << 30), True, FormatError, "missing or damaged"),
    "directory_elsewhere": (patched(END, 16, "I", 1 << 30), True, FormatError, "does not end before"),
    "no_entry": (patched(ENTRY, 0, "I", 0), True, FormatError, "missing or damaged"),
    "other_name_size": (
        patched(ENTRY, 28, "H", 9, extra=("a", b"xy")), True, FormatError, "missing or damaged",
    ),
    "name_is_not_utf8": (
        lambda path: patch(make(path, ("é", b"")), ENTRY, 46, "B", 0xFF, nth=1), True, FormatError, "can't decode",
    ),
    "other_version": (patched(ENTRY, 6, "H", 99), True, UnsupportedError, "version 9.9"),
    "member_on_other_disk": (patched(ENTRY, 34, "H", 1), True, UnsupportedError, "one part"),
    "size_needs_zip64": (
        patched(ENTRY, 24, "I", 0xFFFFFFFF), False, FormatError, f"{0xFFFFFFFF} bytes are stored as {len(LINES)}",
    ),
    "beyond_the_directory": (
        patched(ENTRY, 20, "2I", 1 << 20, 1 << 20), True, FormatError, "does not end before",
    ),
    "offset_outside": (
        patched(ENTRY, 42, "I", 1 << 20), True, FormatError, "does not end before",
    ),
    "overlapping": (
        patched(ENTRY, 20, "2I", 80, 80, extra=("a", b"xy")), True, FormatError, "does not end before",
    ),
    "two_at_one_place": (
        patched(ENTRY, 42, "I", 0, extra=("a", b"xy"), nth=1), True, FormatError, "does not end before",
    ),
    "overlapping_by_its_header": (
        patched(LOCAL, 28, "H", 9, extra=("a", b"xy")), False, FormatError, "do not end before",
    ),
    "no_local_header": (patched(LOCAL, 0, "I", 7), False, FormatError, "no local header"),
    "other_local_name": (patched(LOCAL, 30, "B", 67), False, FormatError, "contradicts"),
    "other_local_method": (patched(LOCAL, 8, "H", 8), False, FormatError, "contradicts"),
    "encrypted_locally": (patched(LOCAL, 6, "H", 1), False, FormatError, "contradicts"),
    "encrypted": (patched(ENTRY, 8, "H", 1), False, UnsupportedError, "encrypted"),
    "stored_in_fewer_bytes": (
        patched(ENTRY, 24, "I", 99), False, FormatError, f"99 bytes are stored as {len(LINES)}",
    ),
    "method_12": (patched(ENTRY, 10, "H", 12), False, UnsupportedError, "method 12"),
    "not_deflated": (holding(b"\xff" * 30, 50), False, FormatError, "damaged: .* invalid block type"),
    "deflated_and_cut": (holding(DEFLATED[:-4], 38), False, IntegrityError, "not the 38 bytes announced: .* CRC-32"),
    "deflated_to_nothing": (holding(b"", 38), False, IntegrityError, "not the 38 bytes announced"),
    "fewer_than_announced": (holding(DEFLATED, 39), False, TruncatedError, "have 38 bytes, announced are 39"),
    "more_than_announced": (holding(DEFLATED, 37), False, IntegrityError, "not the 37 bytes announced: .* CRC-32"),
    "patched": (patched(ENTRY, 8, "H", 32, method=zipfile.ZIP_DEFLATED), False, UnsupportedError, "patched data"),
    "other_checksum": (holding(DEFLATED, 38, crc=0), False, IntegrityError, "CRC-32"),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_made(name: str, tmp_path: Path) -> None:
    make, at_once, error, told = MADE[name]
    path = make(tmp_path / "x.zds")
    if at_once:
        with pytest.raises(error, match=rf"x\.zds: .*{told}"):
            Archive(path)
    else:
        place = Archive(path)
        with pytest.raises(error, match=rf"x\.zds!{DATA}: .*{told}"):
            content(place)
    with pytest.raises(error, match=told):
        unpack(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


# members beside data.jsonl, and what is said of them
UNSAFE: dict[str, tuple[str | zipfile.ZipInfo, bytes, str]] = {
    "parent": ("../x", b"", "has a part '..'"),
    "backslashes": ("a\\..\\..\\x", b"", "has a part '..'"),
    "root": ("/etc/x", b"", "an absolute name"),
    "root_by_backslash": ("\\\\server\\x", b"", "an absolute name"),
    "drive": ("c:x", b"", "an absolute name"),
    "empty_part": ("a//x", b"", "has a part ''"),
    "dot": ("a/./x", b"", "has a part '.'"),
    "nothing_but_dots": ("..", b"", "has a part '..'"),
    "link": (zips.info("link", stat.S_IFLNK | 0o777), b"/etc", "a link"),
    "pipe": (zips.info("pipe", stat.S_IFIFO | 0o644), b"", "neither a file nor a folder"),
    "folder_with_data": ("folder/", b"data", "a folder with data"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_members(name: str, tmp_path: Path) -> None:
    member, data, told = UNSAFE[name]
    path = zips.make(tmp_path / "x.zds", (member, data))
    with pytest.warns(ZdsWarning, match=rf"x\.zds: left out .*{told}"):
        place = Archive(path)
    assert place.names() == [DATA]
    assert place.collections() == ["train"]
    assert [told in str(one) for one in place.unused()] == [True]
    with pytest.raises(UnsafeError, match=told):
        Archive(path, strict=True)
    with pytest.raises(UnsafeError, match=told):
        unpack(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_with_nul(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds", ("collections/a/meta/zeroXbytes", b""))
    path.write_bytes(path.read_bytes().replace(b"zeroXbytes", b"zero\0bytes"))
    with pytest.warns(ZdsWarning, match="has a character"):
        assert Archive(path).names() == [DATA]


def test_many_unsafe_members_are_one_warning(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds", *((f"../{i}", b"") for i in range(9)))
    with pytest.warns(ZdsWarning, match="'../0'.*; so are 8 more") as caught:
        Archive(path)
    assert len(caught) == 1


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds", ("zds.json", b"{}"), ("./zds.json", b"[]"))
    place = Archive(path)
    assert place.open(DATA) is not None
    with pytest.raises(FormatError, match=r"zds\.json: there are two members"):
        place.open("zds.json")
    for action in (lambda: Archive(path, strict=True), lambda: unpack(path, tmp_path / "out")):
        with pytest.raises(FormatError, match="two members"):
            action()


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("collections/train/docs/a.json", "collections/train/docs/A.json"), "'collections/train/docs/A.json' and"),
        (("collections/Train/docs/a.json",), "'collections/Train' and 'collections/train'|'collections/train' and"),
        (("a", "a/b"), "'a' is a file, and a folder with 'a/b'"),
    ],
)
def test_names_that_fall_together_are_not_unpacked(names: tuple[str, ...], told: str, tmp_path: Path) -> None:
    path = zips.make(tmp_path / "x.zds", *((name, b"{}") for name in names))
    assert len(Archive(path, strict=True).names()) == len(names) + 1
    with pytest.raises(UnsafeError, match=told):
        unpack(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


def test_zip64_records(tmp_path: Path) -> None:
    data = zips.make(tmp_path / "x.zds").read_bytes()
    end = data.index(END)
    size, start = struct.unpack_from("<2I", data, end + 12)
    record = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
    (tmp_path / "y.zds").write_bytes(data[:end] + record + locator + data[end:])
    assert Archive(tmp_path / "y.zds", strict=True).names() == [DATA]
    (tmp_path / "y.zds").write_bytes(data[:end] + bytes(56) + locator + data[end:])
    with pytest.raises(FormatError, match="not a ZIP archive, or its end is missing or damaged"):
        Archive(tmp_path / "y.zds")


class Pipe:
    """A file that is only written, so that sizes and checksums come to lie behind the data."""

    def __init__(self, file: IO[bytes]):
        self.write, self.flush, self.close = file.write, file.flush, file.close


def test_descriptors_lie_between_members(tmp_path: Path) -> None:
    with open(tmp_path / "x.zds", "wb") as target, zipfile.ZipFile(cast("Any", Pipe(target)), "w") as file:
        for name in (DATA, "zds.json"):
            file.writestr(name, LINES)
    place = Archive(tmp_path / "x.zds", strict=True)
    for name in place.names():
        assert content(place, name) == LINES
