"""Codecs of a file: how the index describes them, and how they are decoded, by a fixed table, `DECODERS`.

Version 1 of the format has a tree: `[name, config]`, where the name `chain` contains others, and `numcodec` one of the
library numcodecs. Version 2 has a list of configurations of numcodecs. `parse` turns both into ids and configurations
of numcodecs, in the order of encoding.

An id in a file is looked up in `DECODERS` only, because numcodecs would load whatever is registered under it. Most rows
are those of `codec.filters`, which other formats share. No decoder makes more bytes than it is allowed to, whatever its
input claims. Only options that are necessary for decoding are used, and they are checked.

Two codecs of numcodecs write an array as a list: `json2` as JSON, `msgpack2` as msgpack. The list has the elements, in
nested lists if there are several dimensions, then type and shape::

    [[0.0, 1.0], [2.0, 3.0], "<f8", [2, 2]]

Only lists of numbers or strings are accepted, as the type says. Nothing in them is looked up or called. They take a
fixed multiple of their size in the file as memory.

Source: the modules of numcodecs 0.16.
"""

from __future__ import annotations

import base64
import binascii
import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.exact import exact_array
from ..base.messagepack import unpackb
from ..codec.filters import FILTERS, Filter, check_size, numcodecs, streamed
from ..errors import FormatError, IntegrityError, UnsafeError, UnsupportedError
from ..kernels.common.checksums import adler32
from ..kernels.msgpack import walk

FRAMES = "blosc frames"
"""The id of what version 1 calls blosc: frames of the codec blosc, in an array of msgpack."""
NAMES = {"gz": "zlib", "blosc": FRAMES}
"""Names of version 1 → ids."""
MAX_STEPS = 16
MAX_DEPTH = 8


class CodecStep(NamedTuple):
    """One codec."""

    id: str
    """Id of numcodecs, or `FRAMES`."""
    config: Mapping[str, Any]
    """Its configuration in the index."""


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
        If it does not describe codecs, or too many of them.

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
        raise FormatError(f"found chains nested deeper than {MAX_DEPTH}")
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
    """Return a msgpack value as a message shows it: the value if it is short, else its type."""
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else f"an array of {len(value)}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return "nil" if value is None else f"{value!r:.60}"


LIST_IDS = ("json2", "msgpack2")
LIST_TYPES = re.compile(r"\|b1|[<>|][iu][1248]|[<>]f[248]|\|S\d{1,8}|[<>]U\d{1,8}")
"""Types of arrays whose elements come back from a list unchanged."""
LIST_ELEMENTS: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {float, int}, "S": {bytes}, "U": {str}}
"""Kind of a type → types of its elements in a list. JSON has no byte strings."""
MAX_DIMS = 64


def check_list_type(dtype: np.dtype[Any]) -> None:
    """Raise a FormatError if an array of this type would not come back from a list."""
    if not LIST_TYPES.fullmatch(dtype.str):
        raise FormatError(f"type: found {dtype.str}, expected one of numbers or strings")


def _decode_json(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode the output of `json2`."""
    return _array(json.loads(bytes(data)), limit)


def _decode_msgpack(data: Any, limit: int, config: Mapping[str, Any]) -> Any:
    """Decode the output of `msgpack2`."""
    end, fault = walk.measure(data, 0)
    if fault or end != len(data):
        raise FormatError(f"expected a message of msgpack, at byte {end}")
    return _array(unpackb(data), limit)


def _array(parsed: Any, limit: int) -> Any:
    """Return the bytes of an array from its list."""
    if type(parsed) is not list or len(parsed) < 2:
        raise FormatError(f"found {shown(parsed)}, expected an array of elements, type and shape")
    *elements, name, shape = parsed
    if type(name) is not str or not LIST_TYPES.fullmatch(name):
        raise FormatError(f"type: found {shown(name)}, expected one of numbers or strings")
    dtype = np.dtype(name)
    values = _flat(elements, shape)
    check_size(len(values) * dtype.itemsize, limit)
    if not set(map(type, values)) <= LIST_ELEMENTS[dtype.kind]:
        raise FormatError(f"found elements that are not of the type {name}")
    if dtype.kind in "SU" and any(len(value) > int(name[2:]) for value in values):
        raise FormatError(f"found elements that are longer than the type {name}")
    return exact_array(values, dtype).data.cast("B") if values and dtype.itemsize else b""


def _flat(elements: list[Any], shape: Any) -> list[Any]:
    """Return elements without the nested lists of dimensions after the first."""
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
"""(encoded bytes, limit, configuration) → decoded bytes, at most as many as the limit."""

GROWTH, SLACK = 16, 1 << 16
"""Limit of an encoder: 16 times as many bytes, as from bytes to complex numbers, and a header."""
LZMA_MEMORY = 1 << 28
"""Bytes for the dictionary of LZMA; its highest preset needs a quarter."""


def decode(steps: Sequence[CodecStep], data: Any, size: int) -> bytearray:
    """Decode a buffer.

    Parameters
    ----------
    steps : sequence of Step
        At least one; the last one is decoded first.
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
        If a codec is not supported, or its library is not installed.
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
        return DECODERS[id_].decode(data, limit, config)
    except (FormatError, IntegrityError, UnsupportedError) as error:
        raise type(error)(f"codec {id_!r}: {error.message}") from None


def check(id_: str) -> None:
    """Raise an UnsupportedError or UnsafeError if this codec cannot be decoded."""
    if id_ in DECODERS:
        return
    if id_ == "pickle":
        raise UnsafeError("codec 'pickle': decoding it could run code from the file, and is not supported")
    raise UnsupportedError(f"codec {id_!r:.60}: not supported, expected one of {', '.join(sorted(DECODERS))}")


def _lzma(data: Any, limit: int, config: Config) -> Any:
    if config.get("format", lzma.FORMAT_XZ) not in {lzma.FORMAT_XZ, lzma.FORMAT_ALONE}:
        raise UnsupportedError(f"format: found {shown(config['format'])}, expected 1 or 2")
    try:
        return streamed(lambda: lzma.LZMADecompressor(memlimit=LZMA_MEMORY))(data, limit, config)
    except lzma.LZMAError as error:
        raise FormatError(str(error)) from None


def _frames(data: Any, limit: int, config: Config) -> Any:
    _, fault = walk.measure(data, 0)
    frames = None if fault else unpackb(data)
    if type(frames) is not list or not all(type(frame) is bytes for frame in frames):
        raise FormatError("expected an array of frames, in msgpack")
    parts: list[memoryview] = []
    for frame in frames:
        parts.append(FILTERS["blosc"].decode(frame, limit))
        limit -= len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _base64(data: Any, limit: int, config: Config) -> bytes:
    return base64.b64decode(data, validate=True)


def _checksum32(sum_: Callable[[Any], int]) -> Decoder:
    """Return the decoder of a checksum of four bytes before or after the data."""

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


def _jenkins(data: Any, limit: int, config: Config) -> Any:
    start, prefix = config.get("initval", 0), config.get("prefix")
    if type(start) is not int or not 0 <= start < 1 << 32 or not isinstance(prefix, bytes | None):
        raise FormatError(f"initval: found {shown(start)}; prefix: found {shown(prefix)}")
    return numcodecs("checksum32").JenkinsLookup3(start, prefix).decode(data)


NUMBERS = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16)|bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")
"""Types that codecs of numbers may name."""


def _type(config: Config, key: str, default: str | None = None) -> np.dtype[Any]:
    name = config.get(key, default)
    if type(name) is not str or not NUMBERS.fullmatch(name):
        raise FormatError(f"{key}: found {shown(name)}, expected a type of numbers")
    return np.dtype(name)


def _numbers(data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(data, dtype) if len(data) else np.empty(0, dtype)


def _delta(data: Any, limit: int, config: Config) -> Any:
    dtype = _type(config, "dtype")
    numbers = _numbers(data, _type(config, "astype", dtype.str))
    check_size(len(numbers) * dtype.itemsize, limit)
    return np.cumsum(numbers, out=np.empty(len(numbers), dtype)).data.cast("B")


def _converted(from_: str, to: str) -> Decoder:
    """Return the decoder of numbers stored as another type."""

    def decode(data: Any, limit: int, config: Config) -> Any:
        dtype = _type(config, to)
        numbers = _numbers(data, _type(config, from_, dtype.str))
        check_size(len(numbers) * dtype.itemsize, limit)
        return numbers.astype(dtype).data.cast("B")

    return decode


def _scaled(data: Any, limit: int, config: Config) -> Any:
    dtype = _type(config, "dtype")
    numbers = _numbers(data, _type(config, "astype", dtype.str))
    scale, offset = config.get("scale"), config.get("offset")
    if not isinstance(scale, int | float) or not isinstance(offset, int | float) or not scale:
        raise FormatError(f"scale: found {shown(scale)}; offset: found {shown(offset)}; expected numbers")
    check_size(len(numbers) * dtype.itemsize, limit)
    return ((numbers / scale) + offset).astype(dtype).data.cast("B")


def _bits(data: Any, limit: int, config: Config) -> Any:
    packed = _numbers(data, np.dtype(np.uint8))
    unused = int(packed[0]) if len(packed) else 8
    if unused > 7 or (len(packed) - 1) * 8 > limit + unused:
        raise FormatError(f"found {len(packed)} bytes, {unused} bits unused: decodes to more than {limit} bytes")
    return np.unpackbits(packed[1:], count=(len(packed) - 1) * 8 - unused).data


def _same(data: Any, limit: int, config: Config) -> Any:
    return data


DECODERS = {
    filter_.name: filter_
    for filter_ in (
        *FILTERS.values(),
        Filter("adler32", _checksum32(adler32)),
        Filter("astype", _converted("encode_dtype", "decode_dtype")),
        Filter("base64", _base64),
        Filter("bitround", _same),
        Filter(FRAMES, _frames),
        Filter("crc32", _checksum32(binascii.crc32)),
        Filter("delta", _delta),
        Filter("fixedscaleoffset", _scaled),
        Filter("jenkins_lookup3", _jenkins),
        Filter("json2", _decode_json),
        Filter("lzma", _lzma),
        Filter("msgpack2", _decode_msgpack),
        Filter("packbits", _bits),
        Filter("quantize", _converted("astype", "dtype")),
    )
}
"""Id of numcodecs → filter. Codecs of objects, which are no buffers, and those of rare libraries are not supported."""
