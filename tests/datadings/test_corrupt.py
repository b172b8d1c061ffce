"""Damaged datasets: what reading, `verify` and `reindex` say of each, and that nothing large is allocated before."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import msgpack
import pytest

from ds_format.datadings import dataset_files, format, index_files, messages
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import reindex
from ds_format.errors import DsError

from .made import GOLDEN

CORRUPT = GOLDEN / "corrupt"
FOLDERS = sorted(path.name for path in CORRUPT.iterdir() if path.is_dir())
KEYS = [f"k{i}" for i in range(6)]
NOTHING = ""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_files, "PATIENCE", 0)


def reading(path: Path) -> dict[str, str]:
    """Return what fails in reading: by `open`, the number of a sample, or a key."""
    faults: dict[str, str] = {}
    try:
        index = SampleIndex(path)
    except DsError as error:
        return {"open": str(error)}
    data = path.read_bytes()
    for i in range(len(index)):
        try:
            messages.unpack(data[slice(*index.bounds(i))])
        except DsError as error:
            faults[str(i)] = str(error)
    for key in KEYS:
        try:
            if key not in index:
                faults[key] = "absent"
            elif index.key(index.find(key)) != key:
                faults[key] = "wrong"
        except DsError as error:
            faults[key] = str(error)
    return faults


# folder: what fails in reading; what verify finds first; what reindex says, "" if it repairs, "same" if faults remain
EXPECTED: dict[str, tuple[dict[str, str], str, str]] = {
    "data_array_as_map_key": ({"1": "an array as key of a map, at byte 1"}, "sample 1 at bytes 11 to 16", "same"),
    "data_bit_flip": ({}, "has the checksum", NOTHING),
    "data_empty": ({"open": "msgpack: found 0 bytes, expected 105"}, "found 0 bytes, expected 105", "is empty"),
    "data_invalid_msgpack": ({"2": "does not use, at byte 0"}, "sample 2 at bytes 31 to 48", "sample 2 at byte 31"),
    "data_invalid_utf8": ({"3": "not UTF-8"}, "sample 3 at bytes 48 to 66", "sample 3: its key, at byte 53"),
    "data_length_bombs": (
        dict.fromkeys("1234", "cut off, at byte 0"),
        "sample 1 at bytes 11 to 16",
        "sample 1 at byte",
    ),
    "data_trailing_garbage": (
        {"open": "16 bytes behind the 6 samples"},
        "16 bytes behind the 6 samples",
        "sample 6 at",
    ),
    "data_truncated": (
        {"open": "found 100 bytes, expected 105"},
        "found 100 bytes, expected 105",
        "sample 5 at byte 85",
    ),
    "data_truncated_md5ok": ({"open": "found 100 bytes"}, "found 100 bytes, expected 105", "sample 5 at byte 85"),
    "filter_all_zero": (dict.fromkeys(KEYS, "filter: denies key 0"), "filter: denies 6 of 6 keys", NOTHING),
    "filter_header_bad_p": (dict.fromkeys(KEYS, "probability of nan"), "filter: found 6 elements", NOTHING),
    "filter_header_inconsistent": (dict.fromkeys(KEYS, "expected 266 for 500"), "filter: found 35 bytes", NOTHING),
    "filter_header_short": (dict.fromkeys(KEYS, "found 20 bytes"), "filter: found 20 bytes", NOTHING),
    "filter_trailing_bytes": (dict.fromkeys(KEYS, "its header says 35"), "filter: found 43 bytes", NOTHING),
    "filter_truncated": (dict.fromkeys(KEYS, "its header says 35"), "filter: found 34 bytes", NOTHING),
    "key_hashes_little_endian": (dict.fromkeys(KEYS, "hash 0 is not that of key 0"), "6 of 6 hashes", NOTHING),
    "key_hashes_long": ({"open": "found 64 bytes, expected 56 for 6 samples"}, "found 64 bytes, expected 56", NOTHING),
    "key_hashes_partial_salt": ({"open": "found 4 bytes, expected 56"}, "found 4 bytes, expected 56", NOTHING),
    "key_hashes_ragged": ({"open": "found 53 bytes, expected 56"}, "found 53 bytes, expected 56", NOTHING),
    "key_hashes_short": ({"open": "found 48 bytes, expected 56"}, "found 48 bytes, expected 56", NOTHING),
    "keys_disagree_with_samples": ({}, "sample 0 at bytes 0 to 15: found the key 'k0', .keys has 'k5'", NOTHING),
    "keys_duplicate": ({"k2": "absent"}, "keys 1 and 2 are the same: 'k1'", NOTHING),
    "keys_is_map": ({"open": "keys: found the bytes '86 a2 6b 30 00'"}, "expected an array of msgpack", NOTHING),
    "keys_too_few": ({"open": "found 5 keys, expected 6"}, "found 5 keys, expected 6", NOTHING),
    "keys_too_many": ({"open": "found 7 keys, expected 6"}, "found 7 keys, expected 6", NOTHING),
    "keys_wrong_types": (dict.fromkeys(KEYS, "entry 1 at byte 3: found the type 0x01"), "entry 1 at byte 3", NOTHING),
    "legacy_index_not_ascending": ({"open": "index: entry 0: found the offset 85"}, "entry 0: found the", NOTHING),
    "md5_missing_lines": ({}, "md5: has no checksum of data.msgpack.offsets", NOTHING),
    "md5_path_traversal": ({}, NOTHING, NOTHING),
    "md5_wrong_index": ({}, "offsets: has the checksum", NOTHING),
    "ndarray_malformed": (
        {
            "0": "needs 8 bytes, found 4",
            "1": "found 'zz'",
            "2": "needs 73786976294838206464 bytes",
            "3": "found [-1]",
            "4": "found ['2']",
            "5": "found 2, expected a list",
        },
        "sample 0 at bytes 0 to 55: array of shape [2]",
        "same",
    ),
    "ndarray_pickle_canary": ({"1": "stored as a pickle"}, "sample 1 at bytes 11 to 124", "same"),
    "offsets_beyond_eof": ({"open": "found 105 bytes, expected 4201"}, "found 105 bytes, expected 4201", NOTHING),
    "offsets_extra_entry": ({"open": "found 6 keys, expected 7"}, "found 6 keys, expected 7", NOTHING),
    "offsets_first_not_zero": ({"open": "first offset 1, expected 0"}, "first offset 1, expected 0", NOTHING),
    "offsets_little_endian": ({"open": "expected 7566047373982433280"}, "expected 7566047373982433280", NOTHING),
    "offsets_not_monotonic": (
        {"1": "behind the message", "2": "found the offsets 48 and 31", "3": "behind the message"},
        "sample 2: found the offsets 48 and 31",
        NOTHING,
    ),
    "offsets_shifted": (dict.fromkeys("012345", "behind the message"), "sample 0 at bytes 0 to 16", NOTHING),
    "offsets_truncated_midentry": ({"open": "found 45 bytes, expected offsets"}, "found 45 bytes", NOTHING),
    "offsets_zero_length_slot": ({"2": "cut off", "3": "behind the message"}, "sample 2 at bytes 31 to 31", NOTHING),
}


def test_every_folder_is_expected() -> None:
    assert list(EXPECTED) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_damaged(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(CORRUPT / folder, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "data.msgpack"
    faults, found, repair = EXPECTED[folder]
    if folder in ("data_length_bombs", "data_array_as_map_key", "ndarray_malformed", "ndarray_pickle_canary"):
        assert json.loads((tmp_path / "expected.json").read_text())["damage"]
    check(path, faults, found, repair)
    assert "CANARY" not in "".join(capsys.readouterr())


def check(path: Path, faults: dict[str, str], found: str, repair: str) -> None:
    tracemalloc.start()
    try:
        read = reading(path)
        assert tracemalloc.get_traced_memory()[1] < 400_000
    finally:
        tracemalloc.stop()
    assert read.keys() == faults.keys(), read
    for where, message in faults.items():
        assert message in read[where]
    assert not faults or all(str(path) in message for message in read.values() if str(path.parent) in message)
    problems = [str(problem) for problem in verify(path)]
    assert (not problems and not found) or (problems and found in problems[0]), problems
    if repair not in (NOTHING, "same"):
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        with pytest.raises(DsError, match=re.escape(repair)):
            reindex(path)
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
        return
    reindex(path)
    left = verify(path)
    assert bool(left) == (repair == "same") and all(problem.sample is not None for problem in left)
    assert repair == "same" or not reading(path).keys() - set(KEYS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The dataset that all the damaged ones were made of."""
    shutil.copytree(CORRUPT / "md5_path_traversal", tmp_path, dirs_exist_ok=True)
    data = tmp_path / "data.msgpack"
    reindex(data)
    assert verify(data) == [] and reading(data) == {}
    return data


def part(path: Path, suffix: str) -> Path:
    return Path(f"{path}{suffix}")


def change(path: Path, suffix: str, data: bytes) -> None:
    part(path, suffix).write_bytes(data)
    part(path, format.MD5).unlink(missing_ok=True)


def with_samples(path: Path, *samples: bytes) -> None:
    """Replace samples 1, 2, ... and make the offsets fit."""
    index, data = SampleIndex(path), path.read_bytes()
    slots = [data[slice(*index.bounds(i))] for i in range(6)]
    slots[1 : 1 + len(samples)] = samples
    ends = [sum(map(len, slots[:i])) for i in range(7)]
    change(path, "", b"".join(slots))
    change(path, format.OFFSETS, struct.pack(">7Q", *ends))


def array(**entries: Any) -> bytes:
    return bytes(msgpack.packb({"key": "k1", "a": {name.encode(): entry for name, entry in entries.items()}}))


@pytest.mark.parametrize("type_", ["|O", [["a", "|O"]], [["", "|O"]], [["a", [["b", "|O"]]]]])
@pytest.mark.parametrize("kind", [b"", b"V", b"x"])
def test_pointers_are_never_taken_from_a_file(path: Path, type_: Any, kind: bytes) -> None:
    with_samples(path, array(nd=True, type=type_, kind=kind, shape=[1], data=b"A" * 8))
    assert "Python objects" in reading(path).pop("1")


def test_two_messages_in_one_slot(path: Path) -> None:
    with_samples(path, msgpack.packb({"key": "k1"}) + b"\x05")
    assert reading(path) == {"1": "1 bytes behind the message, from its byte 8 on"}
    with pytest.raises(DsError, match="sample 2 has no entry 'key'"):
        reindex(path)


def test_depth_bombs(path: Path) -> None:
    with_samples(path, b"\x91" * 20_000 + b"\x01", b"\x81\x01" * 5_000 + b"\x01")
    assert all("1024 containers" in fault for fault in reading(path).values()) and len(reading(path)) == 2
    with pytest.raises(DsError, match="sample 1 at byte 15: more than 1024 containers"):
        reindex(path)
    assert [problem.sample for problem in verify(path)[1:]] == [1, 2]


def test_offsets_without_the_last_one(path: Path) -> None:
    change(path, format.OFFSETS, part(path, format.OFFSETS).read_bytes()[:-8])
    behind = "20 bytes behind the 5 samples of its index, from byte 85 on"
    check(path, {"open": behind}, behind, NOTHING)


@pytest.mark.parametrize("data", [b"", bytes(3)])
def test_offsets_that_are_empty(path: Path, data: bytes) -> None:
    change(path, format.OFFSETS, data)
    check(path, {"open": "expected offsets of 8 bytes each"}, "expected offsets of 8 bytes each", NOTHING)


@pytest.mark.parametrize("offset", [1 << 62, 106, 5])
def test_an_offset_that_is_not_between_its_neighbours(path: Path, offset: int) -> None:
    """One beyond the end must not be read up to: what is asked of the system would not fit into memory."""
    data = bytearray(part(path, format.OFFSETS).read_bytes())
    struct.pack_into(">Q", data, 3 * format.OFFSET_SIZE, offset)
    change(path, format.OFFSETS, bytes(data))
    index = SampleIndex(path)
    for call in (lambda: index.bounds(2), lambda: index.spans(2, 3), lambda: index.spans(0, 6)):
        with pytest.raises(
            DsError, match=f"sample 2: found the offsets 31 and {offset}, expected ascending ones up to"
        ):
            call()
    assert index.spans(0, 2) == [0, *struct.unpack_from(">2Q", data, 8)]


def test_samples_behind_an_offset_that_goes_back_are_checked(path: Path) -> None:
    """Sample 3 is where the index says, although sample 1 was read beyond its start."""
    offsets = list(struct.unpack(">7Q", part(path, format.OFFSETS).read_bytes()))
    offsets[2] = offsets[4]
    change(path, format.OFFSETS, struct.pack(">7Q", *offsets))
    faults = {problem.sample: problem.message for problem in verify(path) if "at bytes" in problem.message}
    assert list(faults) == [1, 2]
    assert "behind the message" in faults[1] and faults[2].endswith(": not in the file")


def test_keys_that_are_cut_off(path: Path) -> None:
    change(path, format.KEYS, part(path, format.KEYS).read_bytes()[:-3])
    check(path, dict.fromkeys(KEYS, "entry 5 at byte 15"), "entry 5 at byte 15", NOTHING)


@pytest.mark.parametrize("data", [b"\xdd\xff\xff\xff\xff", b"\xdc\xff", b""])
def test_keys_that_promise_too_much(path: Path, data: bytes) -> None:
    change(path, format.KEYS, data)
    assert "keys: " in reading(path)["open"]
    reindex(path)
    assert verify(path) == []


def test_keys_that_are_not_utf8(path: Path) -> None:
    change(path, format.KEYS, part(path, format.KEYS).read_bytes()[:-1] + b"\xff")
    index = SampleIndex(path)
    assert index.key(4) == "k4"
    for call in (lambda: index.key(5), index.keys, lambda: index.find("k1")):
        with pytest.raises(DsError, match="not UTF-8"):
            call()
    assert [problem.sample for problem in verify(path)].count(5) == 2


def test_hashes_that_are_exchanged(path: Path) -> None:
    data = part(path, format.KEY_HASHES).read_bytes()
    change(path, format.KEY_HASHES, data[:8] + data[16:24] + data[8:16] + data[24:])
    check(path, dict.fromkeys(KEYS, "hash 0 is not that of key 0"), "2 of 6 hashes are wrong", NOTHING)


def test_a_filter_of_other_keys(path: Path) -> None:
    others = b"".join(msgpack.packb(f"x{i}") for i in range(6))
    change(path, format.FILTER, index_files.encode_filter(others, 6))
    assert any("filter: denies" in str(problem) for problem in verify(path))
    reindex(path)
    assert verify(path) == []


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ((b"SIMPBLOX", 35, 6, 1 / 6), "first bytes b'SIMPBLOX'"),
        ((b"SIMPBLOO", 1 << 40, 6, 1 / 6), "its header says 1099511627776"),
        ((b"SIMPBLOO", 35, 1, 1 / 6), "found 1 elements"),
        ((b"SIMPBLOO", 35, 2**63, 1e-300), "elements"),
        ((b"SIMPBLOO", 35, 6, 1.0), "probability of 1.0"),
        ((b"SIMPBLOO", 35, 6, 0.0), "probability of 0.0"),
        ((b"SIMPBLOO", 35, 6, float("inf")), "probability of inf"),
    ],
)
def test_headers_of_filters(path: Path, header: tuple[Any, ...], message: str) -> None:
    change(path, format.FILTER, index_files.FILTER_HEADER.pack(*header) + b"\0\0\0")
    check(path, dict.fromkeys(KEYS, message), message, NOTHING)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nno line\n{digest} data.msgpack\n", "line 3 is not a checksum"),
        ("{other}  data.msgpack\n", "expected ffffffff"),
        ("{digest}  old.msgpack\n", "has no checksum of data.msgpack"),
    ],
)
def test_checksums(path: Path, text: str, message: str) -> None:
    digest = part(path, format.MD5).read_text().split()[0]
    part(path, format.MD5).write_text(text.format(digest=digest, other="F" * 32))
    assert any(message in str(problem) for problem in verify(path))


def test_checksums_as_md5sum_takes_them(path: Path) -> None:
    text = part(path, format.MD5).read_text()
    part(path, format.MD5).write_bytes(("\n" + text.upper().replace("DATA.MSGPACK", "data.msgpack")).encode().lower())
    assert verify(path) == []
    part(path, format.MD5).write_bytes(text.replace("  ", " *").replace("\n", "\r\n").encode())
    assert verify(path) == []
    part(path, format.MD5).unlink()
    assert [str(problem) for problem in verify(path)] == [f"{path}.md5: there is no such file"]


@pytest.mark.parametrize("suffix", [*format.INDEX, format.MD5])
def test_verify_says_what_is_missing(path: Path, suffix: str) -> None:
    part(path, suffix).unlink()
    assert any(problem.file == f"{path}{suffix}" and "no such file" in problem.message for problem in verify(path))
    reindex(path, durable=True)
    assert verify(path) == []


def test_verify_needs_data(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none")


def test_many_faults_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xc1" * 300)
    (tmp_path / "a.offsets").write_bytes(struct.pack(">301Q", *range(301)))
    problems = [str(problem) for problem in verify(tmp_path / "a")]
    assert problems[-1].endswith("200 more samples with faults") and len(problems) == 103
    assert len(verify(tmp_path / "a", samples=False)) == 2


def test_cutting(path: Path) -> None:
    whole = path.read_bytes()
    for garbage in (b"\0" * 16, b"\xc1", whole[:10], b"\x81\xa1v\x01"):
        path.write_bytes(whole + garbage)
        with pytest.raises(DsError):
            reindex(path)
        assert reindex(path, cut=True) == 6
        assert path.read_bytes() == whole and verify(path) == []
    change(path, format.KEYS, b"\x90")
    change(path, "", b"\xc1" * 20)
    with pytest.raises(DsError, match="would be cut to nothing"):
        reindex(path, cut=True)


def test_reindex_takes_keys_from_where_they_are(tmp_path: Path) -> None:
    data = tmp_path / "a"
    data.write_bytes(msgpack.packb({"v": 1}) * 3)
    (tmp_path / "a.keys").write_bytes(msgpack.packb(["x", "y", "z"]))
    assert reindex(data) == 3
    assert SampleIndex(data).keys() == ["x", "y", "z"] and verify(data) == []
    (tmp_path / "a.keys").write_bytes(msgpack.packb(["x", "y"]))
    with pytest.raises(DsError, match="sample 0 has no entry 'key'"):
        reindex(data)


def test_reindex_refuses_equal_keys(tmp_path: Path) -> None:
    data = tmp_path / "a"
    data.write_bytes(msgpack.packb({"key": "a"}) * 2)
    with pytest.raises(DsError, match="the same"):
        reindex(data)
    with contextlib.suppress(FileNotFoundError):
        SampleIndex(data)


def test_hashes_with_a_second_salt() -> None:
    assert [index_files.salt(i).hex() for i in range(3)] == ["652e530edee5893b", "625851e3876e6e6d", "cd7aec459fb9c9fd"]
