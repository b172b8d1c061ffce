"""Codecs of a file: how the index describes them, and how they are undone, by a table of our own, `DECODERS`.

Version 1 of the format has a tree: `[name, config]`, where the name `chain` holds others, and `numcodec` one of the
library numcodecs. Version 2 has a list of configurations of numcodecs. `parse` makes the ids of numcodecs and their
configurations of both, in the order of encoding.

An id in a file is looked up in `DECODERS` and nowhere else: numcodecs would load whatever is registered under it. No
decoder makes more bytes than it is allowed to, whatever its input says. Of the options in a file those few are used
without which nothing can be decoded, and these are checked.

Two codecs of numcodecs write an array as a list: `json2` as JSON, `msgpack2` as msgpack. The list has the elements, in
lists of lists if there are several dimensions, then type and shape::

    [[0.0, 1.0], [2.0, 3.0], "<f8", [2, 2]]

Only lists of numbers or strings are accepted, as the type says: nothing in them is looked up or called, and memory is
that of the values parsed, a fixed multiple of what the file has.

Sources: the modules of numcodecs 0.16, whose encoders these are the other side of; the format of zstd frames is RFC
8878, that of blosc frames the page `README_CHUNK_FORMAT` of c-blosc 1.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import importlib
import json
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.messagepack import unpackb
from ..base.optional import library
from ..errors import DriverError, FormatError, IntegrityError, UnsafeError, UnsupportedError
from ..kernels.common.checksums import adler32
from ..kernels.msgpack import walk

EXTRA = "ds-format-cython[binpickle]"


def numcodecs(module: str, codec: str) -> Any:
    """Return a module of numcodecs.

    Parameters
    ----------
    module : str
        Its name, one of this package's choosing.
    codec : str
        For whose sake.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or was built without this module.
    """
    try:
        return library(f"numcodecs.{module}" if module else "numcodecs", EXTRA)
    except DriverError as error:
        raise UnsupportedError(
            f"codec {codec!r}: needs the library numcodecs, as pip install {EXTRA!r} installs it ({error.__cause__})"
        ) from None


def decompress_blosc(data: Any) -> Any:
    """Decode one frame of blosc, with numcodecs or else with python-blosc."""
    try:
        return numcodecs("blosc", "blosc").decompress(data)
    except UnsupportedError as error:
        try:
            return importlib.import_module("blosc").decompress(data)
        except ImportError:
            raise error from None


def compress_blosc(data: Any, name: str, level: int, shuffle: int) -> bytes:
    """Encode an array, (n,) of any type, as one frame of blosc; as `decompress_blosc`."""
    try:
        module = numcodecs("blosc", "blosc")
    except UnsupportedError as error:
        try:
            blosc = importlib.import_module("blosc")
        except ImportError:
            raise error from None
        size = data.itemsize if data.itemsize <= blosc.MAX_TYPESIZE else 1
        found: bytes = blosc.compress(data, typesize=size, clevel=level, shuffle=shuffle, cname=name)
        return found
    return bytes(module.Blosc(cname=name, clevel=level, shuffle=shuffle).encode(data))


FRAMES = "blosc frames"
"""The id of what version 1 calls blosc: frames of the codec blosc, in an array of msgpack."""
NAMES = {"gz": "zlib", "blosc": FRAMES}
"""Names of version 1 → ids."""
MAX_STEPS = 16
MAX_DEPTH = 8


class CodecStep(NamedTuple):
    """One codec."""

    id: str
    """Of numcodecs, or `FRAMES`."""
    config: Mapping[str, Any]
    """All that the index says about it."""


def parse(codecs: Any, version: int) -> tuple[CodecStep, ...]:
    """Return the steps of an entry.

    Parameters
    ----------
    codecs : list
        Version 1: the descriptions of a chain; version 2: configurations.
    version : int

    Raises
    ------
    FormatError
        If it is no description of codecs, or one of too many.

    Examples
    --------
    >>> from ds_format.binpickle.decoding import parse
    >>> parse([["chain", {"codecs": [["null", {}], ["gz", {"level": 9}]]}]], 1)
    (CodecStep(id='zlib', config={'level': 9}),)
    >>> parse([{"id": "zstd", "level": 3}], 2)
    (CodecStep(id='zstd', config={'id': 'zstd', 'level': 3}),)
    """
    if type(codecs) is not list:
        raise FormatError(f"found {shown(codecs)}, expected an array")
    steps = []
    for step in _chain(codecs, 0) if version == 1 else map(_configured, codecs):
        steps.append(step)
        if len(steps) > MAX_STEPS:
            raise FormatError(f"found more than {MAX_STEPS} codecs, one after another")
    return tuple(steps)


def _chain(codecs: Any, depth: int) -> Iterator[CodecStep]:
    if depth > MAX_DEPTH:
        raise FormatError(f"found more than {MAX_DEPTH} chains inside of one another")
    if type(codecs) is not list:
        raise FormatError(f"found {shown(codecs)}, expected an array of codecs")
    for codec in codecs:
        name, config = (codec, {}) if type(codec) is str and depth else _pair(codec)
        if name == "chain":
            yield from _chain(config.get("codecs", []), depth + 1)
        elif name == "numcodec":
            yield _configured(config)
        elif name is not None and name != "null":
            yield CodecStep(NAMES.get(name, name), config)


def _pair(codec: Any) -> tuple[str | None, Mapping[str, Any]]:
    if type(codec) is not list or len(codec) != 2:
        raise FormatError(f"found {shown(codec)}, expected an array of name and configuration")
    name, config = codec
    if name is not None and type(name) is not str:
        raise FormatError(f"found {shown(name)}, expected the name of a codec")
    if type(config) is not dict:
        raise FormatError(f"found {shown(config)}, expected a map, the configuration of {name}")
    return name, config


def _configured(config: Any) -> CodecStep:
    if type(config) is not dict:
        raise FormatError(f"found {shown(config)}, expected a map, the configuration of a codec")
    id_ = config.get("id")
    if type(id_) is not str:
        raise FormatError(f"id: found {shown(id_)}, expected the name of a codec")
    return CodecStep(id_, config)


def shown(value: Any) -> str:
    """Return a value of msgpack as messages show it: a short one itself, else what it is."""
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else f"an array of {len(value)}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return "nil" if value is None else f"{value!r:.60}"


LIST_IDS = ("json2", "msgpack2")
LIST_TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|\|S\d{1,8}|[<>]U\d{1,8}")
"""Types whose elements are in a list what they are in an array."""
LIST_ELEMENTS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {float, int}, "S": {bytes}, "U": {str}}
"""Kind of a type → what stands for its elements. JSON has no byte strings."""
MAX_DIMS = 64


def check_list_type(dtype: np.dtype[Any]) -> None:
    """Raise a FormatError if an array of this type would not come back from a list."""
    if not LIST_TYPES.fullmatch(dtype.str):
        raise FormatError(f"type: found {dtype.str}, expected one of numbers or strings")


def decode_json(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode what `json2` wrote."""
    return _array(json.loads(bytes(data)), limit)


def decode_msgpack(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode what `msgpack2` wrote."""
    end, fault = walk.measure(data, 0)
    if fault or end != len(data):
        raise FormatError(f"no message of msgpack, at byte {end}")
    return _array(unpackb(data), limit)


def _array(parsed: Any, limit: int) -> Any:
    """Return the bytes of an array of which there is a list."""
    if type(parsed) is not list or len(parsed) < 2:
        raise FormatError(f"found {shown(parsed)}, expected an array of elements, type and shape")
    *elements, name, shape = parsed
    if type(name) is not str or not LIST_TYPES.fullmatch(name):
        raise FormatError(f"type: found {shown(name)}, expected one of numbers or strings")
    dtype = np.dtype(name)
    values = _flat(elements, shape)
    if len(values) * dtype.itemsize > limit:
        raise FormatError(f"decodes to {len(values) * dtype.itemsize} bytes, at most {limit} are expected")
    if not set(map(type, values)) <= LIST_ELEMENTS[dtype.kind]:
        raise FormatError(f"found elements that are not of the type {name}")
    if dtype.kind in "SU" and any(len(value) > int(name[2:]) for value in values):
        raise FormatError(f"found elements that are longer than the type {name}")
    return np.array(values, dtype).data.cast("B") if values and dtype.itemsize else b""


def _flat(elements: list[Any], shape: Any) -> list[Any]:
    """Return elements without the lists that are the dimensions but the first."""
    if type(shape) is not list or len(shape) > MAX_DIMS or not all(type(size) is int for size in shape):
        raise FormatError(f"shape: found {shown(shape)}, expected an array of integers")
    size, *sizes = shape or [1]
    fits = len(elements) == size
    for size in sizes:
        fits = fits and all(type(part) is list and len(part) == size for part in elements)
        elements = list(chain.from_iterable(elements)) if fits else elements
    if not fits:
        raise FormatError(f"found elements of another shape than {shape!r:.60}")
    return elements


Config = Mapping[str, Any]
Decoder = Callable[[Any, int, Config], Any]
"""Takes the encoded bytes, how many decoded bytes there may be, and the configuration; returns the decoded bytes."""

GROWTH, SLACK = 16, 1 << 16
"""No encoder makes more than 16 times as many bytes, as one from bytes to complex numbers does, and a header."""
LZMA_MEMORY = 1 << 28
"""Bytes for the dictionary of LZMA; its highest preset needs a quarter."""
ERRORS = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    OSError,
    EOFError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
)
"""What libraries raise for data that they cannot decode."""


def decode(steps: Sequence[CodecStep], data: Any, size: int) -> bytearray:
    """Decode a buffer.

    Parameters
    ----------
    steps : sequence of Step
        At least one; the last one is undone first.
    data : bytes-like
        The encoded bytes.
    size : int
        Bytes that must come out.

    Returns
    -------
    bytearray
        The decoded bytes, apart from `data`.

    Raises
    ------
    FormatError
        If they cannot be decoded, or are of another number.
    IntegrityError
        If a codec has a checksum of its own, and it differs.
    UnsupportedError
        If a codec is not known, or its library is not installed.
    UnsafeError
        If decoding would run code from the file.
    """
    for i in reversed(range(len(steps))):
        id_, config = steps[i]
        data = _decode(id_, data, GROWTH * size + SLACK if i else size, config)
    if len(data) != size:
        raise FormatError(f"codec {steps[0].id!r}: found {len(data)} bytes, expected {size} as dec_length says")
    return bytearray(data)


def _decode(id_: str, data: Any, limit: int, config: Config) -> memoryview:
    check(id_)
    try:
        decoded = memoryview(DECODERS[id_](data, limit, config))
    except (FormatError, IntegrityError, UnsupportedError) as error:
        raise type(error)(f"codec {id_!r}: {error.message}") from None
    except ERRORS as error:
        raise FormatError(f"codec {id_!r}: {error}") from None
    if decoded.nbytes > limit:
        raise FormatError(f"codec {id_!r}: decodes to more than {limit} bytes")
    return decoded.cast("B") if decoded.nbytes else memoryview(b"")


def check(id_: str) -> None:
    """Raise an UnsupportedError or UnsafeError if what this codec wrote cannot be read."""
    if id_ in DECODERS:
        return
    if id_ == "pickle":
        raise UnsafeError("codec 'pickle': decoding it could run code from the file, and is never done")
    raise UnsupportedError(f"codec {id_!r:.60}: found no such one, expected one of {', '.join(sorted(DECODERS))}")


def _stream(make: Callable[[], Any]) -> Decoder:
    """Return the decoder of a format whose library can stop when it has enough."""

    def decode(data: Any, limit: int, config: Config) -> bytes:
        stream = make()
        decoded: bytes = stream.decompress(data, limit + 1)
        if len(decoded) > limit:
            raise FormatError(f"decodes to more than {limit} bytes")
        if not stream.eof:
            raise FormatError("the stream does not end")
        if stream.unused_data:
            raise FormatError(f"{len(stream.unused_data)} bytes after the end of the stream")
        return decoded

    return decode


def _gzip() -> Any:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _lzma() -> Any:
    return lzma.LZMADecompressor(memlimit=LZMA_MEMORY)


def _raw_lzma(data: Any, limit: int, config: Config) -> bytes:
    if config.get("format", lzma.FORMAT_XZ) not in {lzma.FORMAT_XZ, lzma.FORMAT_ALONE}:
        raise UnsupportedError(f"format: found {shown(config['format'])}, expected 1 or 2")
    decoded: bytes = _stream(_lzma)(data, limit, config)
    return decoded


def _lz4(data: Any, limit: int, config: Config) -> bytes:
    (size,) = struct.unpack_from("<I", data)
    if size > limit:
        raise FormatError(f"decodes to {size} bytes, at most {limit} are expected")
    decoded: bytes = numcodecs("lz4", "lz4").decompress(data) if size else b""
    return decoded


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _zstd_size(data: Any) -> int:
    """Return how many bytes a frame says that it has."""
    if bytes(data[:4]) != ZSTD_MAGIC or len(data) < 5:
        raise FormatError(f"starts with {bytes(data[:4])!r}, expected {ZSTD_MAGIC!r}")
    descriptor = data[4]
    is_single = descriptor >> 5 & 1
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    start = 5 + (not is_single) + (0, 1, 2, 4)[descriptor & 3]
    field = bytes(data[start : start + width])
    if not width or len(field) < width:
        raise FormatError("does not say how many bytes it has")
    return int.from_bytes(field, "little") + 256 * (width == 2)


def _zstd(data: Any, limit: int, config: Config) -> bytes:
    size = _zstd_size(data)
    if size > limit:
        raise FormatError(f"decodes to {size} bytes, at most {limit} are expected")
    decoded: bytes = numcodecs("zstd", "zstd").decompress(data) if size else b""
    return decoded


def _blosc(data: Any, limit: int, config: Config) -> Any:
    _, _, _, _, size, _, encoded_size = struct.unpack_from("<BBBBIII", data)
    if size > limit:
        raise FormatError(f"decodes to {size} bytes, at most {limit} are expected")
    if encoded_size != len(data):
        raise FormatError(f"found {len(data)} bytes, expected {encoded_size} as its header says")
    return decompress_blosc(data) if size else b""


def _frames(data: Any, limit: int, config: Config) -> bytes:
    _, fault = walk.measure(data, 0)
    frames = None if fault else unpackb(data)
    if type(frames) is not list or not all(type(frame) is bytes for frame in frames):
        raise FormatError("expected an array of frames, in msgpack")
    parts: list[Any] = []
    for frame in frames:
        parts.append(_blosc(frame, limit, config))
        limit -= len(parts[-1])
    return b"".join(parts)


def _base64(data: Any, limit: int, config: Config) -> bytes:
    return base64.b64decode(data, validate=True)


def _checksum32(sum_: Callable[[Any], int]) -> Decoder:
    """Return the decoder of a checksum of four bytes that stands before the data, or after them."""

    def decode(data: Any, limit: int, config: Config) -> Any:
        place = config.get("location", "start")
        if len(data) < 4 or place not in {"start", "end"}:
            raise FormatError(
                f"found {len(data)} bytes, the checksum at {shown(place)}; expected it at 'start' or 'end'"
            )
        stored, rest = (data[:4], data[4:]) if place == "start" else (data[-4:], data[:-4])
        found, expected = sum_(rest), int.from_bytes(stored, "little")
        if found != expected:
            raise IntegrityError(f"checksum: found {found}, expected {expected}")
        return rest

    return decode


def _fletcher32(data: Any, limit: int, config: Config) -> Any:
    return numcodecs("fletcher32", "fletcher32").Fletcher32().decode(data)


def _jenkins(data: Any, limit: int, config: Config) -> Any:
    start, prefix = config.get("initval", 0), config.get("prefix")
    if type(start) is not int or not 0 <= start < 1 << 32 or not isinstance(prefix, bytes | None):
        raise FormatError(f"initval: found {shown(start)}; prefix: found {shown(prefix)}")
    return numcodecs("checksum32", "jenkins_lookup3").JenkinsLookup3(start, prefix).decode(data)


NUMBERS = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16)|bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")
"""Types that codecs of numbers may name."""


def _type(config: Config, key: str, default: str | None = None) -> np.dtype[Any]:
    name = config.get(key, default)
    if type(name) is not str or not NUMBERS.fullmatch(name):
        raise FormatError(f"{key}: found {shown(name)}, expected a type of numbers")
    return np.dtype(name)


def _numbers(data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(data, dtype) if len(data) else np.empty(0, dtype)


def _fits(n: int, dtype: np.dtype[Any], limit: int) -> None:
    """Raise a FormatError if n numbers of a type are too long, before they are made."""
    if n * dtype.itemsize > limit:
        raise FormatError(f"decodes to {n * dtype.itemsize} bytes, at most {limit} are expected")


def _shuffle(data: Any, limit: int, config: Config) -> Any:
    size = config.get("elementsize", 4)
    if type(size) is not int or size < 0 or len(data) % max(size, 1):
        raise FormatError(f"elementsize: found {shown(size)}, expected a number that divides {len(data)} bytes")
    return data if size <= 1 else np.frombuffer(data, np.uint8).reshape(size, -1).T.tobytes()


def _delta(data: Any, limit: int, config: Config) -> Any:
    dtype = _type(config, "dtype")
    numbers = _numbers(data, _type(config, "astype", dtype.str))
    _fits(len(numbers), dtype, limit)
    return np.cumsum(numbers, out=np.empty(len(numbers), dtype)).data.cast("B")


def _converted(from_: str, to: str) -> Decoder:
    """Return the decoder of numbers that were stored as another type."""

    def decode(data: Any, limit: int, config: Config) -> Any:
        dtype = _type(config, to)
        numbers = _numbers(data, _type(config, from_, dtype.str))
        _fits(len(numbers), dtype, limit)
        return numbers.astype(dtype).data.cast("B")

    return decode


def _scaled(data: Any, limit: int, config: Config) -> Any:
    dtype = _type(config, "dtype")
    numbers = _numbers(data, _type(config, "astype", dtype.str))
    scale, offset = config.get("scale"), config.get("offset")
    if not isinstance(scale, int | float) or not isinstance(offset, int | float) or not scale:
        raise FormatError(f"scale: found {shown(scale)}; offset: found {shown(offset)}; expected numbers")
    _fits(len(numbers), dtype, limit)
    return ((numbers / scale) + offset).astype(dtype).data.cast("B")


def _bits(data: Any, limit: int, config: Config) -> Any:
    packed = _numbers(data, np.dtype(np.uint8))
    unused = int(packed[0]) if len(packed) else 8
    if unused > 7 or (len(packed) - 1) * 8 > limit + unused:
        raise FormatError(f"found {len(packed)} bytes, {unused} bits unused: decodes to more than {limit} bytes")
    return np.unpackbits(packed[1:], count=(len(packed) - 1) * 8 - unused).data


def _same(data: Any, limit: int, config: Config) -> Any:
    return data


DECODERS: dict[str, Decoder] = {
    "adler32": _checksum32(adler32),
    "astype": _converted("encode_dtype", "decode_dtype"),
    "base64": _base64,
    "bitround": _same,
    "blosc": _blosc,
    FRAMES: _frames,
    "bz2": _stream(bz2.BZ2Decompressor),
    "crc32": _checksum32(binascii.crc32),
    "delta": _delta,
    "fixedscaleoffset": _scaled,
    "fletcher32": _fletcher32,
    "gzip": _stream(_gzip),
    "jenkins_lookup3": _jenkins,
    "json2": decode_json,
    "lz4": _lz4,
    "lzma": _raw_lzma,
    "msgpack2": decode_msgpack,
    "packbits": _bits,
    "quantize": _converted("astype", "dtype"),
    "shuffle": _shuffle,
    "zlib": _stream(zlib.decompressobj),
    "zstd": _zstd,
}
"""Id of numcodecs → decoder. Not here: codecs of objects only, which are no buffers, and those of rare libraries."""
