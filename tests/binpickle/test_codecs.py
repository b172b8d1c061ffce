"""Codecs: what others have encoded is decoded, and nothing more than that comes out."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import re
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format import binpickle
from ds_format.binpickle import decoding
from ds_format.binpickle.codecs import GZ, NC, Blosc, Chain, Null, make_codec
from ds_format.binpickle.decoding import FRAMES, GROWTH, SLACK, CodecStep, decode, parse
from ds_format.errors import DsError, FormatError, IntegrityError, UnsafeError, UnsupportedError

numcodecs = pytest.importorskip("numcodecs")

DATA = np.arange(500.0).tobytes()
EXACT: list[dict[str, Any]] = [
    {"id": "adler32"},
    {"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f8"},
    {"id": "base64"},
    {"id": "bitround", "keepbits": 52},
    {"id": "blosc"},
    {"id": "blosc", "cname": "zstd", "shuffle": 2},
    {"id": "bz2"},
    {"id": "crc32"},
    {"id": "crc32", "location": "end"},
    {"id": "delta", "dtype": "<f8"},
    {"id": "delta", "dtype": "<i4", "astype": "<i8"},
    {"id": "fixedscaleoffset", "scale": 2, "offset": 5, "dtype": "<f8", "astype": "<i2"},
    {"id": "fletcher32"},
    {"id": "gzip"},
    {"id": "jenkins_lookup3"},
    {"id": "jenkins_lookup3", "initval": 5},
    {"id": "json2"},
    {"id": "lz4"},
    {"id": "lzma"},
    {"id": "msgpack2"},
    {"id": "quantize", "digits": 3, "dtype": "<f8"},
    {"id": "shuffle", "elementsize": 8},
    {"id": "zlib"},
    {"id": "zstd"},
    {"id": "zstd", "level": 22, "checksum": True},
]
"""Configurations of numcodecs by which `DATA` comes back as it was."""
SMALL = [config for config in EXACT if config["id"] in {"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"}]
"""Those that make much from little."""


def encoded(config: dict[str, Any], data: Any = DATA) -> bytes:
    return bytes(memoryview(numcodecs.get_codec(dict(config)).encode(np.frombuffer(data, "<f8"))).cast("B"))


def outcome(step: CodecStep, data: bytes | bytearray, size: int) -> str:
    """Return whether data were decoded to as many bytes, or refused by an error that names the codec."""
    try:
        found = decode([step], data, size)
    except DsError as error:
        return "refused" if f"codec {step.id!r}: " in str(error) else str(error)
    return "decoded" if len(found) == size else f"{len(found)} bytes"


def stable(value: Any) -> str:
    """Return an id that is the same in each process: without addresses."""
    return re.sub(r" at 0x\w+", "", str(value))


def name(config: dict[str, Any]) -> str:
    return "-".join(map(str, config.values()))


def test_every_decoder_is_tried() -> None:
    assert {config["id"] for config in EXACT} | {FRAMES, "packbits"} == set(decoding.DECODERS)


@pytest.mark.parametrize("config", EXACT, ids=name)
def test_numcodecs_is_understood(config: dict[str, Any]) -> None:
    (step,) = parse([config], 2)
    found = decode([step], encoded(config), len(DATA))
    assert type(found) is bytearray
    assert bytes(found) == DATA


@pytest.mark.parametrize("config", EXACT, ids=name)
def test_one_byte_more_or_less_is_an_error(config: dict[str, Any]) -> None:
    (step,) = parse([config], 2)
    data = encoded(config)
    for size in (len(DATA) - 1, len(DATA) + 1, 0, 1):
        with pytest.raises(FormatError, match=f"codec '{step.id}': "):
            decode([step], data, size)


@pytest.mark.parametrize("config", EXACT, ids=name)
def test_damaged_bytes_are_an_error_or_other_bytes(config: dict[str, Any]) -> None:
    (step,) = parse([config], 2)
    data = encoded(config)
    for size in {0, 1, 3, 4, 5, 8, 15, 16, 17, len(data) // 2, len(data) - 1}:
        with pytest.raises(DsError, match=f"codec '{step.id}': "):
            decode([step], data[:size], len(DATA))
    for i in range(0, len(data), 1 + len(data) // 60):
        damaged = bytearray(data)
        damaged[i] ^= 0xFF
        assert outcome(step, damaged, len(DATA)) in {"decoded", "refused"}


@pytest.mark.parametrize("config", SMALL, ids=name)
def test_bombs(config: dict[str, Any]) -> None:
    (step,) = parse([config], 2)
    data = encoded(config, bytes(8 << 20))
    with pytest.raises(FormatError, match="decodes to"):
        decode([step], data, 40)
    inner = CodecStep("zlib", {})
    with pytest.raises(FormatError, match="decodes to"):
        decode([inner, step], data, ((8 << 20) - SLACK) // GROWTH - 1)


def test_bits() -> None:
    bits = np.arange(11) % 3 == 0
    data = bytes(numcodecs.PackBits().encode(bits))
    assert decode([CodecStep("packbits", {})], data, 11) == bits.tobytes()
    for wrong in (b"", b"\x08\xff", data + b"\0"):
        with pytest.raises(FormatError, match="packbits"):
            decode([CodecStep("packbits", {})], wrong, 11)


@pytest.mark.parametrize(
    ("id_", "data", "message"),
    [
        ("zlib", zlib.compress(DATA) + b"tail", "4 bytes after the end of the stream"),
        ("gzip", gzip.compress(DATA, mtime=0) + b"tail", "4 bytes after the end of the stream"),
        ("gzip", zlib.compress(DATA), "incorrect header check"),
        ("bz2", bz2.compress(DATA)[:-3], "the stream does not end"),
        ("lzma", lzma.compress(DATA, lzma.FORMAT_XZ)[:50], "the stream does not end"),
        ("base64", base64.b64encode(DATA)[:-4] + b"!!!!", "base64|Only"),
        ("lz4", struct.pack("<I", 4001) + b"\0", "decodes to 4001 bytes, expected at most 4000"),
        ("zstd", b"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00", "the header of the frame has no decoded size"),
        ("zstd", b"PK\x03\x04", "starts with"),
        ("blosc", struct.pack("<BBBBIII", 2, 1, 0, 8, 4000, 4000, 99), "found 16 bytes, expected 99"),
        (FRAMES, b"\xdd\xff\xff\xff\xff", "expected an array of frames"),
        (FRAMES, b"\x91\xa1x", "expected an array of frames"),
    ],
)
def test_streams_that_are_wrong(id_: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode([CodecStep(id_, {})], data, len(DATA))


def test_lzma_that_wants_much_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    data = bytearray(lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}]))
    assert lzma.decompress(data) == b"x"
    del filters
    at = data.index(b"\x21\x01") + 2
    data[at] = 36  # a dictionary of 1 GiB, by the table of the format
    start = at - 4
    data[start + 8 : start + 12] = struct.pack("<I", zlib.crc32(data[start : start + 8]))
    with pytest.raises(FormatError, match=r"codec 'lzma': Memory usage limit"):
        decode([CodecStep("lzma", {})], data, 1)


def test_own_checksums() -> None:
    for id_ in ("crc32", "adler32"):
        with pytest.raises(IntegrityError, match=f"codec '{id_}': checksum: found .*, expected 0"):
            decode([CodecStep(id_, {})], bytes(4) + DATA, len(DATA))


@pytest.mark.parametrize(
    "step",
    [
        CodecStep("delta", {"dtype": "O"}),
        CodecStep("delta", {"dtype": "<f8", "astype": "S8"}),
        CodecStep("delta", {}),
        CodecStep("astype", {"encode_dtype": "V8", "decode_dtype": "<f8"}),
        CodecStep("astype", {"encode_dtype": "<f8", "decode_dtype": [["a", "<f8"]]}),
        CodecStep("quantize", {"dtype": "M8[s]"}),
        CodecStep("fixedscaleoffset", {"dtype": "<f8", "scale": "1", "offset": 0}),
        CodecStep("fixedscaleoffset", {"dtype": "<f8", "scale": 0, "offset": 0}),
        CodecStep("shuffle", {"elementsize": 7}),
        CodecStep("shuffle", {"elementsize": "8"}),
        CodecStep("shuffle", {"elementsize": -8}),
        CodecStep("crc32", {"location": "middle"}),
        CodecStep("jenkins_lookup3", {"initval": -1}),
        CodecStep("jenkins_lookup3", {"prefix": "text"}),
        CodecStep("lzma", {"format": 3}),
    ],
    ids=str,
)
def test_options_are_checked(step: CodecStep) -> None:
    with pytest.raises((FormatError, UnsupportedError), match=f"codec '{step.id}': "):
        decode([step], DATA, len(DATA))


@pytest.mark.parametrize("id_", ["vlen-utf8", "vlen-bytes", "vlen-array", "categorize", "x" * 999])
def test_ids_that_are_not_in_the_table(id_: str) -> None:
    with pytest.raises(UnsupportedError, match="not supported, expected one of adler32, astype") as caught:
        decode([CodecStep(id_, {})], DATA, len(DATA))
    assert len(str(caught.value)) < 400


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.arange(24, dtype=">i2").reshape(2, 3, 4).transpose(1, 0, 2),
    np.array([0, 2**64 - 1], "u8"),
    np.array([-(2**63), 2**63 - 1]),
    np.array([0.1, np.nan, -np.inf, -0.0], "f4"),
    np.array([1.5, 2], ">f2"),
    np.array([True, False]),
    np.array(["a", "", "äöü", "a\0b"]),
    np.array(5.0),
    np.empty((2, 0)),
    np.empty(0, "U3"),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}-{array.shape}")
@pytest.mark.parametrize("id_", ["json2", "msgpack2"])
def test_arrays_as_lists(id_: str, array: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    for version in (1, 2):
        for codec in (id_, [id_, "gz"]):
            binpickle.dump([array, "text"], path, codec=codec, version=version)
            found, text = binpickle.load(path)
            assert (found.dtype, found.shape, text) == (array.dtype, array.shape, "text")
            assert found.tobytes() == array.tobytes()


def test_byte_strings_as_lists(tmp_path: Path) -> None:
    array = np.array([b"a", b"", b"\xff\0b"])
    binpickle.dump(array, tmp_path / "x", codec="msgpack2")
    assert binpickle.load(tmp_path / "x").tolist() == array.tolist()
    for codec, wrong in [("json2", array), ("json2", np.zeros(2, "i4,f8")), ("msgpack2", np.zeros(2, "c16"))]:
        with pytest.raises(UnsupportedError, match=f"codec '{codec}': "):
            binpickle.dump(wrong, tmp_path / "y", codec=codec)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (7, "expected an array of elements, type and shape"),
        ([[1]], "expected an array of elements, type and shape"),
        ([1, "|O", [1]], "type: found '|O'"),
        ([1, "<M8[s]", [1]], "type: found '<M8"),
        ([1, 7, [1]], "type: found 7"),
        ([1, "<i4", 1], "shape: found 1"),
        ([1, "<i4", ["1"]], "shape: found an array of 1"),
        ([1, "<i4", [2]], "another shape than"),
        ([[1], [1, 2], "<i4", [2, 1]], "another shape than"),
        ([[1], 1, "<i4", [2, 1]], "another shape than"),
        ([1, "<i4", [1] * 65], "shape: found an array of 65"),
        ([1.5, "<i4", [1]], "elements that are not of the type"),
        ([True, "<i4", [1]], "elements that are not of the type"),
        ([2**31, "<i4", [1]], ""),
        (["a", "<f8", [1]], "elements that are not of the type"),
        (["abc", "<U2", [1]], "longer than the type"),
        (["a", "<U99999999", [1]], "decodes to 399999996 bytes, expected at most 8"),
        ([1, 2, 3, "<i4", [3]], "decodes to 12 bytes, expected at most 8"),
    ],
    ids=stable,
)
def test_wrong_lists(value: Any, message: str) -> None:
    for id_, data in (("json2", json.dumps(value).encode()), ("msgpack2", msgpack.packb(value))):
        with pytest.raises(FormatError, match=f"codec '{id_}': .*{re.escape(message)}"):
            decode([CodecStep(id_, {})], data, 8)


def test_lists_are_not_followed_without_end() -> None:
    for id_, data in (("json2", b"[" * 100_000), ("msgpack2", b"\x91" * 100_000), ("json2", b"1" * 5000)):
        with pytest.raises(FormatError, match=f"codec '{id_}'"):
            decode([CodecStep(id_, {})], data, 100)


def test_no_bytes_are_encoded_as_binpickle_does(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for codec, expected in [
        ("gz", zlib.compress(b"", 9)),
        ([numcodecs.Zlib(1), "lz4"], numcodecs.LZ4().encode(zlib.compress(b"", 1))),
        ("json2", b'["<f8",[0,3]]'),
        *[(id_, b"") for id_ in ("lz4", "zstd", ["base64", "lz4"], numcodecs.Delta("u1"), "null")],
    ]:
        binpickle.dump(np.empty((0, 3)), path, codec=codec if codec != "null" else lambda buffer: None)
        with binpickle.BinPickleFile(path) as file:
            entry = file.entries[0]
            assert path.read_bytes()[entry.offset : entry.end] == expected, codec
            assert (entry.codec is None) == (not expected and codec != "null")
            assert file.load().shape == (0, 3)


def test_the_codec_pickle_is_never_used(tmp_path: Path) -> None:
    with pytest.raises(UnsafeError, match="codec 'pickle': decoding it could run code"):
        decode([CodecStep("pickle", {})], DATA, len(DATA))
    with pytest.raises(UnsafeError, match="codec 'pickle'"):
        binpickle.dump([1], tmp_path / "x", codec={"id": "pickle"})
    with pytest.raises(UnsupportedError, match="codec 'vlen-utf8'"):
        binpickle.dump([1], tmp_path / "x", codec="vlen-utf8", version=2)
    assert list(tmp_path.iterdir()) == []


OBJECT: dict[str, Any] = {
    "a": np.arange(1000.0),
    "b": np.arange(30, dtype="u1"),
    "e": np.empty((0, 3)),
    "t": "text",
    "s": np.float32(5),
}
CODECS = [
    None,
    "gz",
    "null",
    "blosc",
    "zstd",
    "gzip",
    GZ(1),
    GZ(0),
    Null(),
    Blosc("lz4", 5, 2),
    Blosc(blocksize=1000),
    NC(id="lz4"),
    Chain(),
    Chain([Chain(["bz2"]), GZ()]),
    ("gz", {"level": 3}),
    ("numcodec", {"id": "zlib"}),
    {"id": "shuffle", "elementsize": 1},
    [],
    ["zstd", ("gz", {"level": 1}), None],
    numcodecs.LZMA(),
    [numcodecs.CRC32(), "base64", numcodecs.JenkinsLookup3()],
    lambda buffer: None,
    lambda buffer: "gz" if memoryview(buffer).nbytes > 100 else None,
    [lambda buffer: "zstd", "gz"],
    lambda buffer: numcodecs.Delta("<f8") if getattr(memoryview(buffer).obj, "dtype", None) == "f8" else "lz4",
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("codec", CODECS, ids=stable)
def test_all_that_describes_a_codec(codec: Any, version: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    binpickle.dump(OBJECT, path, codec=codec, version=version)
    found = binpickle.load(path)
    assert found["t"] == "text"
    assert all(np.array_equal(found[key], OBJECT[key]) for key in "abes")
    assert found["a"].flags.writeable
    with binpickle.BinPickleFile(path) as file:
        assert file.find_errors() == []
        empty = file.entries[2]
        assert empty.dec_length == 0
        assert version == 1 or empty.enc_length == 0


@pytest.mark.parametrize(
    "codec", ["nonsense", 7, ("gz", {"color": 1}), ("gz", 7), {"level": 1}, ["gz", object()]], ids=stable
)
def test_what_describes_none(codec: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        binpickle.dump(OBJECT, tmp_path / "x", codec=codec)
    assert caught.value.path == str(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_words_of_the_index(tmp_path: Path) -> None:
    codec = make_codec(["gz", [("blosc", {"name": "zstd"})], None, {"id": "crc32"}])
    assert codec.NAME == "chain"
    first, second, third, fourth = codec.config()["codecs"]
    assert (first, third) == (["gz", {"level": 9}], ["null", {}])
    assert second == ["chain", {"codecs": [["blosc", {"name": "zstd", "level": 9, "shuffle": 1}]]}]
    assert fourth[1]["id"] == "crc32"
    ids = [step.id for step in parse([[codec.NAME, codec.config()]], 1)]
    assert ids == ["zlib", FRAMES, "crc32"]
    assert [step.id for step in parse(codec.numcodecs(), 2)] == ["zlib", "blosc", "crc32"]


def test_frames_of_blosc() -> None:
    data = np.arange(1000.0)
    frames = Blosc("lz4", 5, 1, 1000).encode(data)
    assert len(msgpack.unpackb(frames)) == 8
    assert decode([CodecStep(FRAMES, {})], frames, 8000) == data.tobytes()


def test_without_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binpickle.dump(OBJECT, tmp_path / "x", codec="zstd")
    binpickle.dump(OBJECT, tmp_path / "y", codec="gz")
    for module in ("numcodecs", "numcodecs.zstd", "numcodecs.blosc", "blosc"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnsupportedError, match=r"codec 'zstd': needs the library numcodecs: pip install .*\[binpickle"):
        binpickle.load(tmp_path / "x")
    for codec in ("lz4", "blosc"):
        with pytest.raises(UnsupportedError, match="needs the library numcodecs"):
            binpickle.dump(OBJECT, tmp_path / "z", codec=codec)
    assert np.array_equal(binpickle.load(tmp_path / "y")["a"], OBJECT["a"])


@pytest.mark.parametrize("name", ["blosclz", "zstd"])
def test_blosc_without_numcodecs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("blosc")
    data = np.arange(100.0)
    frame = Blosc(name).encode(data, 2)
    for module in ("numcodecs", "numcodecs.blosc"):
        monkeypatch.setitem(sys.modules, module, None)
    assert decode([CodecStep("blosc", {})], frame, 800) == data.tobytes()
    assert decode([CodecStep("blosc", {})], Blosc(name).encode(data, 2), 800) == data.tobytes()


@given(st.sampled_from(sorted(decoding.DECODERS)), st.binary(max_size=60), st.integers(0, 100))
def test_any_bytes_are_refused_or_decoded(id_: str, data: bytes, size: int) -> None:
    config = {"dtype": "<i2", "encode_dtype": "<i4", "decode_dtype": "<i8", "scale": 3, "offset": 1, "elementsize": 2}
    assert outcome(CodecStep(id_, config), data, size) in {"decoded", "refused"}
