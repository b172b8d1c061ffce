"""The codec for Zarr 2, which numcodecs finds, and for Zarr 3, which zarr finds, both by an entry point."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from numcodecs.abc import Codec
from zarr.abc.codec import BytesBytesCodec

from ..errors import UnsupportedError
from .codec import CODEC_ID, ChunkCodec


def _refuse() -> NoReturn:
    raise UnsupportedError(f"codec {CODEC_ID}: references are read-only")


class Zarr2Codec(Codec):  # type: ignore[misc]  # the library has no types
    """The codec as a filter of Zarr 2, for Kerchunk references."""

    codec_id = CODEC_ID

    def __init__(self, **config: Any):
        self._codec = ChunkCodec.of(config)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration, in JSON."""
        return {"id": self.codec_id, **self._codec.config()}

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Return the bytes of the array; see `ChunkCodec.decode`."""
        decoded = self._codec.decode(buf)
        if out is None:
            return decoded
        np.frombuffer(out, np.uint8)[:] = decoded
        return out

    def encode(self, buf: Any) -> NoReturn:
        """Raise an UnsupportedError: references cannot be written."""
        _refuse()


@dataclass(frozen=True)
class Zarr3Codec(BytesBytesCodec):
    """The codec of Zarr 3, after the codec `bytes`, or one for text."""

    codec: ChunkCodec
    is_fixed_size = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the codec of a configuration in JSON."""
        return cls(ChunkCodec.of(data["configuration"]))

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration in JSON."""
        return {"name": CODEC_ID, "configuration": self.codec.config()}

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        decoded = await asyncio.to_thread(self.codec.decode, np.asarray(chunk_data.as_numpy_array()))
        return chunk_spec.prototype.buffer.from_array_like(decoded)

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> NoReturn:
        _refuse()

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> NoReturn:
        """Raise an UnsupportedError: only a writer of chunks asks for their size."""
        _refuse()
