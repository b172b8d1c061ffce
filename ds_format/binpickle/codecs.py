"""Encoders, and their descriptions in the index.

The classes have the names of BinPickle. They are data that describe the encoding. `decoding` decodes.
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
"""Ids of codecs whose encoding of an empty buffer the library cannot decode."""
MAX_BLOSC_SIZE = (1 << 31) - 17
"""Bytes of the largest frame."""


class Codec(Protocol):
    """An encoding of buffers."""

    @property
    def NAME(self) -> str: ...  # noqa: D102 - its name in BinPickle

    def config(self) -> Config:
        """Return the configuration for the index of version 1, which also has the name."""

    def numcodecs(self) -> list[Config]:
        """Return the configurations of codecs of numcodecs for the index of version 2."""

    def encode(self, data: Any, version: int = 1) -> Any:
        """Encode an array of any type in C order, or bytes, as a contiguous buffer."""


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
    """Compresses with zlib, in the zlib format, not that of gzip.

    Parameters
    ----------
    level : int
        From 0, fast, to 9, small.
    """

    level: int = 9
    NAME = "gz"

    def config(self) -> Config:
        """Return the level. Readers do not need it."""
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
        0: none, 1: of bytes, 2: of bits.
    blocksize : int
        Bytes of one frame.
    """

    name: str = "blosclz"
    level: int = 9
    shuffle: int = 1
    blocksize: int = 1 << 30
    NAME = "blosc"

    def config(self) -> Config:
        """Return the parameters except the size of frames."""
        return {"name": self.name, "level": self.level, "shuffle": self.shuffle}

    def numcodecs(self) -> list[Config]:
        """Return the codec blosc."""
        return [{"id": "blosc", "cname": self.name, "clevel": self.level, "shuffle": self.shuffle, "blocksize": 0}]

    def encode(self, data: Any, version: int = 1) -> bytes:
        """Return the encoded frames; in version 2 there is only one.

        Raises
        ------
        UnsupportedError
            If the library is not installed, or the data are too large for one frame.
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
        The configuration: `id` and the options of the codec.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or does not have the codec.
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
        """Return the output of the codec.

        Raises
        ------
        UnsupportedError
            If the codec cannot encode the data, or the library could not decode them.
        """
        id_ = self.codec.codec_id
        if id_ in NEVER_EMPTY and not memoryview(data).nbytes:
            raise UnsupportedError(f"codec {id_!r}: numcodecs could not decode an empty buffer")
        try:
            return self.codec.encode(_shaped(id_, data) if isinstance(data, np.ndarray) else data)
        except ERRORS as error:
            raise UnsupportedError(f"codec {id_!r}: {error}") from error


def _shaped(id_: str, array: Any) -> Any:
    """Return an array in the shape for a codec: two of them store the shape."""
    if id_ not in decoding.LIST_IDS:
        return array.reshape(-1)
    decoding.check_list_type(array.dtype)
    return np.atleast_1d(array) if id_ == "msgpack2" else array


class Chain:
    """Encodes with several codecs, one after another.

    Parameters
    ----------
    codecs : sequence
        Each as for `make_codec`.
    """

    NAME = "chain"

    def __init__(self, codecs: Sequence[Any] = ()):
        self.codecs: list[Codec] = [make_codec(codec) for codec in codecs]

    def __repr__(self) -> str:
        return f"Chain({self.codecs!r})"

    def config(self) -> Config:
        """Return the names and configurations of all codecs."""
        return {"codecs": [[codec.NAME, codec.config()] for codec in self.codecs]}

    def numcodecs(self) -> list[Config]:
        """Return the configurations of all codecs."""
        return [config for codec in self.codecs for config in codec.numcodecs()]

    def encode(self, data: Any, version: int = 1) -> Any:
        """Return the output of the last codec."""
        for codec in self.codecs:
            data = codec.encode(data, version)
        return data


CODECS: dict[str, Any] = {codec.NAME: codec for codec in (Null, GZ, Blosc, NC, Chain)}
"""Name in version 1 → class."""


def make_codec(codec: Any, buffer: Any = None) -> Codec:
    """Return a codec by its description.

    Parameters
    ----------
    codec : None, str, tuple, list, dict, codec, or callable
        None: no encoding. A name (`null`, `gz`, `blosc`) or the id of a codec of numcodecs. A pair of name and
        configuration. A list of codecs, applied one after another. A configuration of numcodecs. A codec of this
        package or of numcodecs. Or a function that takes a buffer and returns any of these.
    buffer : PickleBuffer or bytes, optional
        The buffer to be encoded.

    Raises
    ------
    UnsupportedError
        If it does not describe a codec, or the library is not installed.

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
    """Return the description of a codec for the index, and its steps.

    Raises
    ------
    UnsupportedError, UnsafeError
        If its output could not be read back.
    """
    index = [codec.NAME, codec.config()] if version == 1 else codec.numcodecs()
    steps = parse([index] if version == 1 else index, version)
    for step in steps:
        decoding.check(step.id)
    return index, steps
