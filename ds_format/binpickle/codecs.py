"""Encoding, and the words in which the index says how.

The classes have the names that they have in BinPickle. They are data, and say how to encode; what they wrote is decoded
by `decoding`.
"""  # noqa: A005 - its name in BinPickle

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..base.messagepack import packb
from ..codec.filters import ERRORS, FILTERS, numcodecs
from ..errors import UnsupportedError
from . import decoding
from .decoding import CodecStep, parse

__all__ = ["CODECS", "GZ", "NC", "Blosc", "Chain", "Codec", "Null", "make_codec"]

Config = dict[str, Any]
NEVER_EMPTY = frozenset({"blosc", "lz4", "zstd"})
"""Ids of codecs whose encoding of no bytes the library does not decode."""
MAX_BLOSC_SIZE = (1 << 31) - 17
"""Bytes that one frame can hold."""


class Codec(Protocol):
    """How to encode buffers."""

    @property
    def NAME(self) -> str: ...  # noqa: D102 - as BinPickle calls it

    def config(self) -> Config:
        """Return the configuration that the index of version 1 has beside the name."""

    def numcodecs(self) -> list[Config]:
        """Return what the index of version 2 has: configurations of codecs of numcodecs."""

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return the encoded bytes, as a contiguous buffer, of an array of any type in C order, or of bytes."""


@dataclass(frozen=True)
class Null:
    """Stores bytes as they are."""

    NAME = "null"

    def config(self) -> Config:
        """Return no configuration."""
        return {}

    def numcodecs(self) -> list[Config]:
        """Return no codec."""
        return []

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return the array."""
        return data


@dataclass(frozen=True)
class GZ:
    """Compresses with zlib, in its own format, not that of gzip.

    Parameters
    ----------
    level : int
        From 0, fast, to 9, small.
    """

    level: int = 9
    NAME = "gz"

    def config(self) -> Config:
        """Return the level, which no reader needs."""
        return {"level": self.level}

    def numcodecs(self) -> list[Config]:
        """Return the codec zlib."""
        return [{"id": "zlib", "level": self.level}]

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return a zlib stream."""
        return FILTERS["zlib"].encode(data, self.level)


@dataclass(frozen=True)
class Blosc:
    """Compresses with blosc, by the library numcodecs or by python-blosc.

    Parameters
    ----------
    name : str
        blosclz, lz4, lz4hc, zlib or zstd.
    level : int
        From 0, fast, to 9, small.
    shuffle : int
        0: not, 1: bytes, 2: bits.
    blocksize : int
        Bytes of one frame.
    """

    name: str = "blosclz"
    level: int = 9
    shuffle: int = 1
    blocksize: int = 1 << 30
    NAME = "blosc"

    def config(self) -> Config:
        """Return the parameters, without the size of frames."""
        return {"name": self.name, "level": self.level, "shuffle": self.shuffle}

    def numcodecs(self) -> list[Config]:
        """Return the codec blosc."""
        return [{"id": "blosc", "cname": self.name, "clevel": self.level, "shuffle": self.shuffle, "blocksize": 0}]

    def encode(self, data: Any, version: int = 1) -> bytes:
        """Return frames, in version 2 one.

        Raises
        ------
        UnsupportedError
            If the library is not installed, or one frame cannot hold the bytes.
        """
        data = data.reshape(-1) if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        if version == 1:
            n = max(min(self.blocksize, MAX_BLOSC_SIZE) // data.itemsize, 1)
            frames = [self._frame(data[start : start + n]) for start in range(0, max(len(data), 1), n)]
            encoded: bytes = packb(frames)
            return encoded
        if data.nbytes > MAX_BLOSC_SIZE:
            raise UnsupportedError(f"codec 'blosc': {data.nbytes} bytes, at most {MAX_BLOSC_SIZE} in version 2")
        return self._frame(data)

    def _frame(self, data: Any) -> bytes:
        try:
            return bytes(FILTERS["blosc"].encode(data, self.level, {"cname": self.name, "shuffle": self.shuffle}))
        except UnsupportedError as error:
            raise UnsupportedError(f"codec 'blosc': {error.message}") from None


class NC:
    """Encodes with a codec of the library numcodecs.

    Parameters
    ----------
    codec : object or dict, optional
        A codec of numcodecs, or its configuration.
    **config
        Else the configuration: `id` and whatever this codec wants.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or has no such codec.
    """

    NAME = "numcodec"

    def __init__(self, codec: Any = None, **config: Any):
        if codec is None or isinstance(codec, Mapping):
            described = dict(codec or config)
            try:
                codec = numcodecs("").get_codec(described)
            except (UnsupportedError, ValueError, TypeError, KeyError) as error:
                raise UnsupportedError(f"codec {described.get('id')!r}: {error}") from None
        self.codec = codec

    def __repr__(self) -> str:
        return f"NC({self.codec!r})"

    def config(self) -> Config:
        """Return the configuration, with its id."""
        return dict(self.codec.get_config())

    def numcodecs(self) -> list[Config]:
        """Return the configuration, with its id."""
        return [self.config()]

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return what the codec makes of the data.

        Raises
        ------
        UnsupportedError
            If these are data which it cannot encode, or not so that the library decodes them again.
        """
        id_ = self.codec.codec_id
        if id_ in NEVER_EMPTY and not memoryview(data).nbytes:
            raise UnsupportedError(f"codec {id_!r}: numcodecs does not decode what it makes of no bytes")
        try:
            return self.codec.encode(_shaped(id_, data) if isinstance(data, np.ndarray) else data)
        except ERRORS as error:
            raise UnsupportedError(f"codec {id_!r}: {error}") from error


def _shaped(id_: str, array: Any) -> Any:
    """Return an array in the shape in which a codec takes it: two of them write the shape down."""
    if id_ not in decoding.LIST_IDS:
        return array.reshape(-1)
    decoding.check_list_type(array.dtype)
    return np.atleast_1d(array) if id_ == "msgpack2" else array


class Chain:
    """Encodes with several codecs, one after another.

    Parameters
    ----------
    codecs : sequence
        Whatever describes a codec.
    """

    NAME = "chain"

    def __init__(self, codecs: Sequence[Any] = ()):
        self.codecs: list[Codec] = [make_codec(codec) for codec in codecs]

    def __repr__(self) -> str:
        return f"Chain({self.codecs!r})"

    def config(self) -> Config:
        """Return name and configuration of each."""
        return {"codecs": [[codec.NAME, codec.config()] for codec in self.codecs]}

    def numcodecs(self) -> list[Config]:
        """Return the configurations of all."""
        return [config for codec in self.codecs for config in codec.numcodecs()]

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return what the last one makes."""
        for codec in self.codecs:
            data = codec.encode(data, version)
        return data


CODECS: dict[str, Any] = {codec.NAME: codec for codec in (Null, GZ, Blosc, NC, Chain)}
"""Name in version 1 → class."""


def make_codec(codec: Any, buffer: Any = None) -> Codec:
    """Return the codec that something describes.

    Parameters
    ----------
    codec : None, str, tuple, list, dict, codec, or callable
        None: none; a name (`null`, `gz`, `blosc`) or the id of a codec of numcodecs; a pair of name and configuration;
        a list of codecs, one after another; a configuration of numcodecs; a codec of this package or of numcodecs; or
        a function that takes a buffer and returns any of these.
    buffer : PickleBuffer or bytes, optional
        What is to be encoded.

    Raises
    ------
    UnsupportedError
        If it describes no codec, or its library is not installed.

    Examples
    --------
    >>> from ds_format.binpickle.codecs import make_codec
    >>> make_codec("gz")
    GZ(level=9)
    >>> make_codec([("gz", {"level": 1}), None])
    Chain([GZ(level=1), Null()])
    """
    if codec is None:
        return Null()
    if isinstance(codec, Null | GZ | Blosc | NC | Chain):
        return codec
    if isinstance(codec, str):
        return _named(codec, {})
    if isinstance(codec, Mapping):
        return NC(codec)
    if isinstance(codec, tuple) and len(codec) == 2 and isinstance(codec[0], str) and isinstance(codec[1], Mapping):
        return _named(codec[0], codec[1])
    if isinstance(codec, list | tuple):
        return Chain([make_codec(one, buffer) for one in codec])
    if hasattr(codec, "encode") and hasattr(codec, "get_config"):
        return NC(codec)
    if callable(codec) and buffer is not None:
        return make_codec(codec(buffer), buffer)
    raise UnsupportedError(f"found a codec of type {type(codec).__name__}, expected a name, a codec or a list of them")


def _named(name: str, config: Mapping[str, Any]) -> Codec:
    try:
        made: Codec = CODECS[name](**config) if name in CODECS else NC({"id": name, **config})
    except TypeError as error:
        raise UnsupportedError(f"codec {name!r}: {error}") from None
    return made


def described(codec: Codec, version: int) -> tuple[Any, tuple[CodecStep, ...]]:
    """Return what the index says about a codec, and the same as steps.

    Raises
    ------
    UnsupportedError, UnsafeError
        If what it encodes could not be read back.
    """
    index = [codec.NAME, codec.config()] if version == 1 else codec.numcodecs()
    steps = parse([index] if version == 1 else index, version)
    for step in steps:
        decoding.check(step.id)
    return index, steps
