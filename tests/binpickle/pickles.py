"""Pickles made by hand, one opcode after another, and objects that go through pickle and the machine."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import numpy as np

from ds_format.binpickle import machine

PROTO, STOP, NONE, MARK, TUPLE = b"\x80\x05", b".", b"N", b"(", b"t"
LIST, DICT, SET, EMPTY = b"]", b"}", b"\x8f", b")"
REDUCE, NEWOBJ, BUILD, MEMOIZE, NEXT_BUFFER = b"R", b"\x81", b"b", b"\x94", b"\x97"
TRUE, FALSE = b"\x88", b"\x89"


class Masked:
    """Pickles as a masked array of two arrays that are outside of the pickle."""

    def __init__(self, data: Any, mask: Any):
        self.data, self.mask = data, mask

    def __reduce__(self) -> Any:
        return np.ma.MaskedArray, (self.data, self.mask)


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def raw(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def number(value: int) -> bytes:
    packed = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(packed)]) + packed


def get(slot: int) -> bytes:
    return b"j" + struct.pack("<I", slot)


def name(path: str) -> bytes:
    module, _, own = path.partition(":")
    return text(module) + text(own) + b"\x93"


def plain(value: Any) -> bytes:
    """Return the opcodes of a value that needs no memo; bytes are taken as opcodes."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, tuple):
        return MARK + b"".join(map(plain, value)) + TUPLE
    if isinstance(value, list):
        return LIST + MARK + b"".join(map(plain, value)) + b"e"
    if isinstance(value, dict):
        return DICT + MARK + b"".join(plain(key) + plain(entry) for key, entry in value.items()) + b"u"
    body = pickle.dumps(value, 5)
    return text(value) if isinstance(value, str) else body[2:-1] if body[2] != 0x95 else body[11:-1]


def call(path: str, *args: Any) -> bytes:
    return name(path) + plain(args) + REDUCE


def given(made: bytes, state: Any) -> bytes:
    return made + plain(state) + BUILD


def whole(*opcodes: bytes) -> bytes:
    return PROTO + b"".join(opcodes) + STOP


def load(*opcodes: bytes, buffers: Any = ()) -> Any:
    return machine.load(whole(*opcodes), buffers)


def dtype(kind: str = "f8", order: str = "<", flags: int = 0) -> bytes:
    """Return the opcodes of a simple dtype."""
    return given(call("numpy:dtype", kind, False, True), (3, order, None, None, None, -1, -1, flags))


def again(value: Any) -> Any:
    """Return what the machine makes of a value, its arrays out of band."""
    buffers: list[Any] = []
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return machine.load(data, buffers)
