"""The table of filters: what one library encodes, any other decodes, and no more comes out than is allowed."""

from __future__ import annotations

import base64
import bz2
import gzip
import importlib
import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ds_format.codec import filters
from ds_format.codec.filters import DEFLATE, FILTERS, HDF5, Filter
from ds_format.codec.pipeline import ChunkFilter, decode, encoder, find_filter
from ds_format.errors import FormatError, UnsupportedError

EVEN = np.arange(60, dtype="<i2").repeat(5).tobytes()
NOISE = np.random.default_rng(5).integers(0, 2**31, 40).astype("<i4").tobytes()
DATA = np.arange(500.0).tobytes()


@pytest.fixture(params=["libdeflate", "isal", "zlib"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Inflate by one library, as if those before it were not installed."""
    if request.param != "zlib" and getattr(filters, request.param)() is None:
        pytest.skip(f"not installed: {request.param}")
    if request.param != "libdeflate":
        monkeypatch.setattr(filters, "libdeflate", lambda: None)
    if request.param == "zlib":
        monkeypatch.setattr(filters, "isal", lambda: None)
    return str(request.param)


def raw(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(data) + machine.flush()


STREAMS: dict[str, tuple[Filter, Any]] = {
    "zlib": (FILTERS["zlib"], zlib.compress),
    "gzip": (FILTERS["gzip"], gzip.compress),
    "raw": (DEFLATE, raw),
}


@pytest.mark.parametrize("name", STREAMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=300), st.builds(bytes, st.integers(0, 100_000))))
def test_streams(library: str, name: str, data: bytes) -> None:
    filter_, encode = STREAMS[name]
    assert filter_.decode(encode(data), len(data)) == data
    assert filter_.decode(encode(data), 2 * len(data) + 9) == data


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_longer_than_allowed(library: str, name: str) -> None:
    filter_, encode = STREAMS[name]
    for data in (DATA, bytes(10_000_000)):
        for limit in (0, 1, len(DATA) - 1):
            with pytest.raises(FormatError, match=f"decodes to more than {limit} bytes"):
                filter_.decode(encode(data), limit)
    if name == "zlib":
        with pytest.raises(FormatError, match="decodes to more than 0 bytes"):
            HDF5[filters.ZLIB_NUMBER].decode(encode(DATA), 0)


@pytest.mark.parametrize("name", STREAMS)
def test_damaged_streams(library: str, name: str) -> None:
    filter_, encode = STREAMS[name]
    good = encode(DATA)
    for bad in (b"", good[:1], good[: len(good) // 2], good[:-9]):
        with pytest.raises(FormatError, match="does not end"):
            filter_.decode(bad, len(DATA))
    with pytest.raises(FormatError, match="Error -3"):
        filter_.decode(b"\xff" * 30, len(DATA))


@pytest.mark.parametrize("encode", [zlib.compress, gzip.compress])
def test_checksums_of_streams(library: str, encode: Any) -> None:
    filter_, good = FILTERS["zlib" if encode is zlib.compress else "gzip"], bytearray(encode(DATA))
    good[-5 if encode is gzip.compress else -1] ^= 1
    with pytest.raises(FormatError, match="incorrect data check"):
        filter_.decode(good, len(DATA))


@pytest.mark.parametrize("tail", [b"tail", b"\0" * 8, zlib.compress(EVEN)])
def test_bytes_after_the_end(library: str, tail: bytes) -> None:
    for filter_, data in ((FILTERS["zlib"], zlib.compress(DATA)), (FILTERS["gzip"], gzip.compress(DATA))):
        with pytest.raises(FormatError, match=f"{len(tail)} bytes after the end of the stream"):
            filter_.decode(data + tail, len(DATA))
    # as the HDF5 library and zipfile take them
    assert HDF5[filters.ZLIB_NUMBER].decode(zlib.compress(DATA) + tail, len(DATA)) == DATA
    assert DEFLATE.decode(raw(DATA) + tail, len(DATA)) == DATA


def test_few_bytes_with_a_high_limit_take_little_memory(library: str) -> None:
    tracemalloc.start()
    try:
        assert FILTERS["zlib"].decode(zlib.compress(EVEN), 1 << 40) == EVEN
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_libraries_that_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    for number in (32001, 32004, 32015):
        assert find_filter(number, ()) is None
        with pytest.raises(UnsupportedError, match=r"needs the library numcodecs.*ds-format-cython\[binpickle\]"):
            HDF5[number].decode(struct.pack(">QI", 1, 1) + bytes(16) if number == 32004 else ENCODED[number], 600)
    filters.libdeflate.cache_clear()
    filters.isal.cache_clear()
    try:
        assert filters.libdeflate() is None and filters.isal() is None
        assert FILTERS["zlib"].decode(zlib.compress(DATA), len(DATA)) == DATA
    finally:
        filters.libdeflate.cache_clear()
        filters.isal.cache_clear()


ROWS = [*FILTERS.values(), *HDF5.values()]


@pytest.mark.parametrize("filter_", [row for row in ROWS if row.encoder is not None], ids=lambda row: row.name)
@given(data=st.binary(min_size=1, max_size=200), level=st.integers(1, 9), size=st.integers(1, 9))
def test_round_trip(filter_: Filter, data: bytes, level: int, size: int) -> None:
    if not filter_.is_available():
        pytest.skip("not installed: numcodecs")
    options = {"elementsize": size}
    if filter_.name == "shuffle" and filter_ is not HDF5[filters.SHUFFLE]:
        data = data * size
    encoded = filter_.encode(np.frombuffer(data, np.uint8), level, options)
    assert filter_.decode(encoded, len(data) + 4, options) == data


def test_what_is_only_decoded_says_so() -> None:
    with pytest.raises(UnsupportedError, match="the filter deflate can be decoded only"):
        DEFLATE.encode(b"", 1)


def test_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(5000).tobytes()
    assert FILTERS["zlib"].encode(data, 9) == zlib.compress(data, 9)
    for level in (-1, 0, 1, 9):
        assert zlib.decompress(HDF5[filters.ZLIB_NUMBER].encode(data, level)) == data
    with pytest.raises(zlib.error):
        HDF5[filters.ZLIB_NUMBER].encode(data, 10)
    monkeypatch.setattr(filters, "libdeflate", lambda: None)
    monkeypatch.setattr(filters, "isal", lambda: None)
    assert HDF5[filters.ZLIB_NUMBER].encode(data, 1) == zlib.compress(data, 1)


@pytest.mark.parametrize(("number", "level"), [(1, 4), (1, 0), (307, 9), (32015, -5), (None, 0)])
@given(data=st.binary(max_size=400))
def test_encoded_chunks(number: int | None, level: int, data: bytes) -> None:
    if number is not None and not HDF5[number].is_available():
        pytest.skip("numcodecs is not installed")
    compression = () if number is None else (ChunkFilter(number, level=level),)
    steps = (ChunkFilter(filters.SHUFFLE, 8), *compression, ChunkFilter(filters.FLETCHER32))
    decoded = decode(encoder(steps)(np.frombuffer(data, np.uint8)), steps, 0, len(data))
    assert decoded.is_shuffled and bytes(encoder(steps[:1])(data)) == bytes(decoded.data)


# chunks that hdf5plugin 7.1 and h5py 3.16 wrote
CHUNKS = [
    (
        "even lz4",
        32004,
        (
            "00000000750001h0000v6#xMM6#)VO6#@bP6$1hQ6$AnR6$JtS6$SzT6$b(U6$k<V6$t_W6$%0X6$=6YfD8Z(01N;O"
            "00000IW-Ib4FUia4gvrb4*~!c5CQ-d5dr`e5&{4f69NDg6aoMh6#@Vi76Jej7Xknk7y<xb82}jo82|tP06J9}02u%p"
            "0ss{o0ss{p0ss{q0ss{r0ss{s0ss{t0ss{u0ss{v0ss{w0ss{x0ss^x0sv3|CIBV?0000!ASM6;02L<!02L?#02L_$"
            "02L|%02M0&02M3(02M6)02M9*02MC+02MF-02MI;0KhT;G5|6FG5|6FGXMYp04yRi00ICNGy(t>H39$?HUa<@Hv#|^"
            "I066_IRXF`IsyQoI{-TXI{-TXI{*"
        ),
    ),
    (
        "noise lz4",
        32004,
        (
            "000000001>0001h0001h)N<Ta_f-mK`b_2mlA3B~;8p`XA29YoJA$iFz9W?+b_ij8g)`>{M*))~LOT*M;*lIlnb}A*"
            "=bFY4+LOx#T16oMQn5V-NL&mPzyRfcDjRYbztn(JwtEO*CvF5D-dZ3egj}pQU&XN@7$UNKA(X!skQwK4?5Y}OJi`xc"
            "0000Whd<B`=ukQ`sY_!})?gbyzZ^SNwZWZMn#I~wA7aP{"
        ),
    ),
    (
        "even zstd",
        32015,
        (
            "D77#BU|0cV1OU_n000330|W&I2M7rY3k(eo4-gR&6BHE|7Z@2D8yp=TA0QzjBP1mzCnzZ@D=aN8FEBAOGc+|eH#j*u"
            "J3JuZ$3@B&R-{~EMamUcq+DS|$`w|mTwz6&E38Pl!itnDtVp@Sij*s?NV&p_lq*b;a)lKsS6Gp9g%v4RSdnst6)9Jk"
            "E>gL~!U6"
        ),
    ),
    (
        "even bzip2",
        307,
        (
            "LRx4!F+o`-Q(5ZmYWM&E0QdlZ|NsC0|Nr<P0FW>m000^Q00002Dv$sG00000$TW@yLP<$UEhZ$;nFQpXloE<kN@-Cl"
            "rDU#_63SXjX>l&4<i3~_3SvxYkus)a&YBZSYE5aeHm2m>oD+(2PHE9Pr)2J)6Uur>QY7}D6Y73Q!Z3mul>|SFxgwk>"
            "NOg9#d;k"
        ),
    ),
    (
        "even blosc",
        32001,
        (
            "0s$ccSONe5SONe58vy_S6aWAK^8f$<5C8!H5CH)I5CQ=J5CZ`K5Cj1L5Cs7M5C#DN5C;JO5C{PP5D5VQ5DEbR5DNhS"
            "5DWnT5DftU5DozV5Dx(W5D)<X5D@_Y5E20Z5EB6a5EKCb5ETIc5EcOd5ElUe5Euaf5E%gg5E=mh5E}si5F7yj5FG&k"
            "5FP;l5FY^m5Fh~n5Fr5o5F!Bp5F-Hq5F`Nr5G4Ts5GDZt5GMfu5GVlv5Gerw5Gnxx5Gw%y5G(-z5G?@!5H0}#5HA4$"
            "5HJA%5HSG&5HbM(5HkS)5HtY*5H$e+5H<k-5H|q;5I6w<5IF$=pgKA_IyyT$J3BiJ0000V009916i@&F0000"
        ),
    ),
]
ENCODED = {number: base64.b85decode(text) for _, number, text in CHUNKS}


@pytest.mark.parametrize(("name", "number", "text"), CHUNKS, ids=[name for name, _, _ in CHUNKS])
def test_chunks_of_plugins(name: str, number: int, text: str) -> None:
    expected = NOISE if name.startswith("noise") else EVEN
    encoded = base64.b85decode(text)
    filter_ = HDF5[number]
    if not filter_.is_available():
        pytest.skip("not installed: numcodecs")
    assert filter_.decode(encoded, len(expected)) == expected
    assert filter_.decode(np.frombuffer(encoded, np.uint8), 9999) == expected
    for limit in (0, len(expected) - 1):
        with pytest.raises(FormatError, match="decodes to"):
            filter_.decode(encoded, limit)
    for n in (0, 3, 11, 13, len(encoded) // 2, len(encoded) - 1):
        with pytest.raises(FormatError):
            filter_.decode(encoded[:n], len(expected))


@pytest.mark.parametrize("number", [307, 32001, 32015])
def test_chunks_with_fewer_bytes_than_the_chunk_has(number: int) -> None:
    found = find_filter(number, ())
    if found is None:
        pytest.skip("not installed: numcodecs")
    assert decode(ENCODED[number], (found,), 0, len(EVEN)).data == EVEN
    for size in (len(EVEN) + 1, 5000):
        with pytest.raises(FormatError, match=f"found {len(EVEN)} bytes, expected {size}"):
            decode(ENCODED[number], (found,), 0, size)


def test_blocks_without_bytes() -> None:
    pytest.importorskip("numcodecs")
    with pytest.raises(FormatError, match="expected 0 that decode to 0"):
        HDF5[32004].decode(struct.pack(">QII", 9, 0, 0), 9)


def test_bz2_has_one_stream() -> None:
    with pytest.raises(FormatError, match="after the end"):
        FILTERS["bz2"].decode(bz2.compress(DATA) * 2, len(DATA))


def test_checksums_in_the_order_of_old_machines() -> None:
    encoded = FILTERS["fletcher32"].encode(DATA, 0)
    swapped = encoded[:-4] + bytes(encoded[-4 + i] for i in (1, 0, 3, 2))
    assert HDF5[filters.FLETCHER32].decode(swapped, len(DATA)) == DATA
    for filter_, bad in ((FILTERS["fletcher32"], swapped), (HDF5[filters.FLETCHER32], encoded[:-1] + b"\xff")):
        with pytest.raises(FormatError, match="its checksum is 0x"):
            filter_.decode(bad, len(DATA))
