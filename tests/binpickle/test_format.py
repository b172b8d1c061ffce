"""Header, index and trailer, byte by byte, and every way in which they may be wrong."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest

from ds_format.binpickle.format import (
    MAPPABLE,
    MAX_TRAILER_SIZE,
    FileHeader,
    FileTrailer,
    IndexEntry,
    decode_index,
    decode_trailers,
    encode_index,
    flags,
)
from ds_format.binpickle.reader import BinPickleFile
from ds_format.errors import FormatError, IntegrityError, TruncatedError, VersionError

from ..conftest import cases
from . import golden, made

NONE = bytes.fromhex(
    "4250434b 0001 0000 000000000000005b 80054e2e"
    "9185 a66f6666736574 10 aa656e635f6c656e677468 04 aa6465635f6c656e677468 04 a8636865636b73756d ce02dd0102"
    "a5636f646563 c0 0000000000000014 00000037 86cf16e2"
)
"""The object None, version 1."""


def test_the_smallest_object() -> None:
    header = FileHeader.decode(NONE[:16])
    assert header.trailer_pos() == len(NONE) - 16
    (trailer,) = decode_trailers(NONE[-MAX_TRAILER_SIZE:], header)
    entries = decode_index(NONE[20:75], header, trailer.offset)
    assert (header, trailer) == (FileHeader(1, 91), FileTrailer(20, 55, 0x86CF16E2))
    assert entries == [IndexEntry(16, 4, 4, 0x02DD0102)]
    assert header.encode() + b"\x80\x05N." + encode_index(entries) + trailer.encode() == NONE


@cases("name", golden.FILES)
def test_golden_files_are_read_and_written(name: str) -> None:
    expected = golden.expected(name)
    with BinPickleFile(golden.FOLDER / name) as file:
        header, trailer, entries = file.header, file.trailer, file.entries
        assert file.find_errors() == []
    told = expected["header"]
    assert header == FileHeader(told["version"], told["length"], told["flags"])
    told = expected["trailer"]
    sum_ = struct.pack(">I", trailer.checksum) if isinstance(trailer.checksum, int) else trailer.checksum
    assert (trailer.offset, trailer.length) == (told["index_offset"], told["index_length"])
    assert sum_.hex() == told["index_check"]
    assert encode_index(entries).hex() == expected["index_hex"]
    plain = json.loads(json.dumps([entry.to_repr() for entry in entries], default=_tagged))
    assert plain == expected["entries"]
    data = (golden.FOLDER / name).read_bytes()
    assert data[:16] == header.encode()
    assert data[header.length - told["size"] :][:44] == trailer.encode()


def _tagged(value: bytes) -> dict[str, str]:
    return {"$bytes": value.hex()}


def test_flags() -> None:
    assert flags(is_mappable=True) & MAPPABLE
    assert not flags(is_mappable=False) & MAPPABLE


@pytest.mark.parametrize(
    ("data", "size", "error", "message"),
    [
        (b"", 0, TruncatedError, "the file is empty"),
        (NONE[:15], 15, TruncatedError, "header: found 15 bytes, expected 16"),
        (b"PK", 2, FormatError, "not a BinPickle file, but text: 'PK'"),
        (b"BPCX" + NONE[4:16], 91, FormatError, "not a BinPickle file, but b'BPCX"),
        (struct.pack(">4sHHq", b"BPCK", 256, 0, 91), 91, VersionError, "version: found 256, expected 1 or 2"),
        (struct.pack(">4sHHq", b"BPCK", 1, 1, 91), 91, FormatError, "reserved: found 1, expected 0"),
        (struct.pack(">4sHHq", b"BPCK", 2, 7, 91), 91, FormatError, "flags: found 0x7, expected only bits of 0x3"),
        (struct.pack(">4sHHq", b"BPCK", 1, 0, -1), 91, TruncatedError, "length: found -1.*did not finish"),
        (struct.pack(">4sHHq", b"BPCK", 1, 0, -2), 91, FormatError, "length: found -2, expected 32 bytes or more"),
        (struct.pack(">4sHHq", b"BPCK", 2, 0, 59), 91, FormatError, "length: found 59, expected 60 bytes or more"),
        (struct.pack(">4sHHq", b"BPCK", 1, 0, 92), 91, TruncatedError, "found 92 bytes, expected at most 91"),
        (struct.pack(">4sHHq", b"BPCK", 1, 0, 2**62), 91, TruncatedError, "expected at most 91"),
    ],
)
def test_wrong_headers(data: bytes, size: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FileHeader.decode(data[:16]).check_length(size)


def test_more_than_the_header_says_is_left_alone() -> None:
    FileHeader.decode(NONE[:16]).check_length(1000)


def test_words_of_the_format() -> None:
    unfinished = FileHeader()
    assert FileHeader.decode(unfinished.encode()) == unfinished == (1, -1, 0)
    assert unfinished.trailer_pos() is None
    assert FileHeader.decode(b"XXXX\0\7" + bytes(10), verify=False) == (7, 0, 0)
    assert FileHeader(2, 100).trailer_pos() == 56
    with pytest.raises(FormatError, match="length: found 5, expected 32 bytes or more"):
        FileHeader(length=5).trailer_pos()
    for trailer in (FileTrailer(20, 55, 7), FileTrailer(offset=20, length=55, checksum=b"7" * 32)):
        assert FileTrailer.decode(trailer.encode()) == trailer
    signed = FileTrailer(20, 55, b"7" * 32).encode() + b"s" * 32
    assert FileTrailer.decode(signed, verify=False).checksum == b"7" * 32
    with pytest.raises(FormatError, match="reserved: found a signature"):
        FileTrailer.decode(signed)
    with pytest.raises(TruncatedError, match="found 12 bytes, expected 16, 44, 76"):
        FileTrailer.decode(bytes(12))


def test_words_of_the_index() -> None:
    entry = IndexEntry(16, 19, 16, 7, ("gz", {"level": 9}))
    assert list(entry.to_repr()) == ["offset", "enc_length", "dec_length", "checksum", "codec"]
    assert IndexEntry.from_repr(entry.to_repr()) == entry
    assert [step.id for step in entry.steps] == ["zlib"]
    newer = IndexEntry(16, 4, 4, b"7" * 32, info=["ndarray", "int32", [1]])
    assert list(newer.to_repr()) == ["offset", "enc_length", "dec_length", "hash", "info", "codecs"]
    assert IndexEntry.from_repr(newer.to_repr()).to_repr() == newer.to_repr()
    with pytest.raises(FormatError, match="entry 0: found 'offset', expected"):
        IndexEntry.from_repr({"offset": 16})
    with pytest.raises(FormatError, match="entry 0: found an array of 1, expected a map"):
        IndexEntry.from_repr([1])  # type: ignore[arg-type]


def opened(path: Path, data: bytes) -> list[IndexEntry]:
    path.write_bytes(data)
    with BinPickleFile(path) as file:
        return file.entries


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset": 15}, "trailer: index offset: found 15, expected 16 or more"),
        ({"offset": 1000}, "trailer: index of .* at byte 1000, expected that it ends at byte"),
        ({"offset": 2**64 - 8}, "expected that it ends at byte"),
        ({"length": 2**32 - 1}, "index of 4294967295 bytes"),
        ({"length": 0}, "index of 0 bytes"),
    ],
)
def test_wrong_trailers(version: int, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    data, entries = made.body([made.PICKLE], version)
    with pytest.raises(FormatError, match=message):
        opened(tmp_path / "x", made.whole(data, entries, version, **changes))


def test_a_signature_is_refused(tmp_path: Path) -> None:
    data, entries = made.body([made.PICKLE], 2)
    assert len(opened(tmp_path / "x", made.whole(data, entries, 2, mac=bytes(32)))) == 1
    with pytest.raises(FormatError, match="reserved: found a signature"):
        opened(tmp_path / "x", made.whole(data, entries, 2, mac=b"m" * 32))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"", "index: ends too early, at byte 0"),
        (b"\xc1", "index: not msgpack, at byte 0"),
        (b"\xdd\xff\xff\xff\xff", "index: ends too early, at byte 0"),
        (b"\x91" * 5000 + b"\xc0", "index: nested too deeply"),
        (b"\x90\x90", "index: unpack.* extra data"),
        (b"\x80", "index: found a map, expected an array"),
        (b"\x91\x90", "index: entry 0: found an array of 0, expected a map"),
        (b"\x91\x81\x90\x00", "index: an array as key of a map"),
        (b"\x91\x81\x01\x00", "index: .*int.* not allowed for map key"),
        (b"\x91\xa1\xff", "index: .*utf-8"),
    ],
)
def test_indexes_that_are_none(index: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        opened(tmp_path / "x", made.whole(made.PICKLE, index))


HUGE = 1 << 62
INTEGERS = [
    ({"offset": 15}, "offset: found 15, expected an integer of 16 or more"),
    ({"offset": -300}, "offset: found -300, expected an integer"),
    ({"offset": True}, "offset: found True, expected an integer"),
    ({"offset": 16.0}, "offset: found 16.0, expected an integer"),
    ({"offset": "16"}, "offset: found '16', expected an integer"),
    ({"offset": None}, "offset: found nil, expected an integer"),
    ({"offset": [16]}, "offset: found an array of 1, expected an integer"),
    ({"offset": 2**64 - 8}, "8 bytes at byte 18446744073709551608, expected that they end before byte"),
    ({"enc_length": -1}, "enc_length: found -1, expected an integer of 0 or more"),
    ({"enc_length": HUGE}, "4611686018427387904 bytes at byte 16, expected that they end before byte"),
    ({"dec_length": -1}, "dec_length: found -1, expected an integer of 0 or more"),
    ({"dec_length": HUGE}, "dec_length: found 4611686018427387904, expected 8 as enc_length has, without a codec"),
    ({"zzz": 1}, "found 'offset', .*'zzz', expected"),
]
VERSION_1 = [
    ({"checksum": 1 << 32}, "checksum: found 4294967296, expected an integer of 0 to 4294967295"),
    ({"checksum": -1}, "checksum: found -1"),
    ({"checksum": b"\0\0\0\1"}, "checksum: found 4 bytes"),
    ({"codec": "gz"}, "codec: found 'gz', expected an array of name and configuration"),
    ({"codec": ["gz"]}, "codec: found an array of 1, expected an array of name and configuration"),
    ({"codec": [7, {}]}, "codec: found 7, expected the name of a codec"),
    ({"codec": ["gz", []]}, "codec: found an array of 0, expected a map"),
    ({"codec": ["numcodec", {}]}, "codec: id: found nil, expected the name"),
    ({"codec": ["chain", {"codecs": {}}]}, "codec: found a map, expected an array of codecs"),
    ({"codec": ["chain", {"codecs": ["gz"] * 17}]}, "codec: found more than 16 codecs"),
]
VERSION_2 = [
    ({"hash": b"short"}, "hash: found 5 bytes, expected 32 bytes"),
    ({"hash": 7}, "hash: found 7, expected 32 bytes"),
    ({"codecs": None}, "codecs: found nil, expected an array"),
    ({"codecs": ["gzip"]}, "codecs: found 'gzip', expected a map"),
    ({"codecs": [{"level": 1}]}, "codecs: id: found nil, expected the name"),
]


@pytest.mark.parametrize(
    ("version", "changes", "message"),
    [(1, *row) for row in INTEGERS + VERSION_1] + [(2, *row) for row in INTEGERS + VERSION_2],
)
def test_wrong_entries(version: int, changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"index: entry 0: {message}") as caught:
        opened(tmp_path / "x", made.whole(*made.body([b"01234567", made.PICKLE], version, **changes), version))
    assert caught.value.path == str(tmp_path / "x")


@pytest.mark.parametrize("key", ["offset", "enc_length", "dec_length", "checksum", "codec"])
def test_missing_and_double_keys(key: str, tmp_path: Path) -> None:
    data, (entry,) = made.body([made.PICKLE])
    value = entry.pop(key)
    if key == "codec":
        assert len(opened(tmp_path / "x", made.whole(data, [entry]))) == 1
    else:
        with pytest.raises(FormatError, match=r"index: entry 0: found .*, expected"):
            opened(tmp_path / "x", made.whole(data, [entry]))
    pairs = [*entry.items(), (key, value), (key, value)]
    packed = (
        b"\x91" + bytes([0x80 + len(pairs)]) + b"".join(map(msgpack.packb, (part for pair in pairs for part in pair)))
    )
    with pytest.raises(FormatError, match="a map has a key twice"):
        opened(tmp_path / "x", made.whole(data, packed))


def test_chains_inside_of_chains(tmp_path: Path) -> None:
    codec: Any = ["null", {}]
    for _ in range(8):
        codec = ["chain", {"codecs": [codec]}]
    (entry,) = opened(tmp_path / "x", made.whole(*made.body([made.PICKLE], codec=codec)))
    assert entry.steps == ()
    codec = ["chain", {"codecs": [codec]}]
    with pytest.raises(FormatError, match="found chains nested deeper than 8"):
        opened(tmp_path / "x", made.whole(*made.body([made.PICKLE], codec=codec)))


@pytest.mark.parametrize(("offset", "fits"), [(24, True), (23, False), (16, False)])
def test_buffers_share_no_bytes(offset: int, fits: bool, tmp_path: Path) -> None:
    data = b"0123456701234567" + made.PICKLE
    entries = [made.entry(b"01234567", offset), made.entry(b"01234567", 16), made.entry(made.PICKLE, 32)]
    entries.insert(0, made.entry(b"", 20))
    if fits:
        assert len(opened(tmp_path / "x", made.whole(data, entries))) == 4
    else:
        with pytest.raises(FormatError, match=f"offset: found {max(offset, 16)}, expected 24 or more, where entry"):
            opened(tmp_path / "x", made.whole(data, entries))


def test_a_wrong_index_checksum(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(NONE[:-1] + b"\0")
    with pytest.raises(IntegrityError, match="index: checksum: found 86cf16e2, expected 86cf1600"):
        BinPickleFile(path)
    with BinPickleFile(path, verify=False) as file:
        assert file.load() is None
        assert file.find_errors() == ["index: checksum differs"]
