"""The kernels that work in memory, each beside the NumPy or Python way. Both allocate what they return."""

from __future__ import annotations

import hashlib
import itertools
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ds_format.kernels.common.checksums import adler32, fletcher32
from ds_format.kernels.datadings.index import hash_strings
from ds_format.kernels.ds.numpy_strings import decode_numpy_strings, encode_numpy_strings
from ds_format.kernels.ds.strings import decode_strings, encode_strings, total_length
from ds_format.kernels.ds.values import count_bits, gather, pack_bits, scatter, unpack_bits

from ..data import flags, floats, words
from ..runner import Group
from .kernel import Call, Kernel, cases

MISSING = 0.3
STRINGS = np.dtypes.StringDType()


def unpack(n: int, folder: Path) -> tuple[Call, Call]:
    """Bits → flags."""
    packed = np.packbits(flags(n))

    def ours() -> Any:
        out = np.empty(n, "u1")
        unpack_bits(packed, out)
        return out

    return ours, lambda: np.unpackbits(packed, count=n)


def pack(n: int, folder: Path) -> tuple[Call, Call]:
    """Flags → bits, and how many are 1."""
    given = flags(n)

    def ours() -> Any:
        out = np.empty((n + 7) // 8, "u1")
        pack_bits(given.view("u1"), out)
        return out

    return ours, lambda: np.packbits(given)


def count(n: int, folder: Path) -> tuple[Call, Call]:
    """Bits → how many are 1."""
    packed = np.packbits(flags(n))
    return lambda: count_bits(packed, n), lambda: int(np.bitwise_count(packed).sum())


def scatter_values(size: int, swapped: bool, n: int, folder: Path) -> tuple[Call, Call]:
    """Mask and present values → flags and values."""
    missing = flags(n, MISSING)
    mask = np.packbits(missing)
    present = _values(size, n)[~missing]
    stored = present.byteswap() if swapped else present

    def ours() -> Any:
        values, out = np.empty(n, stored.dtype), np.empty(n, "?")
        scatter(mask, stored.view("u1"), out.view("u1"), values.view("u1"), size, swapped)
        return np.ma.MaskedArray(values, out, copy=False)

    def rival() -> Any:
        out = np.unpackbits(mask, count=n).view("?")
        values = np.zeros(n, stored.dtype)
        values[~out] = stored.byteswap() if swapped else stored
        return np.ma.MaskedArray(values, out, copy=False)

    return ours, rival


def gather_values(size: int, n: int, folder: Path) -> tuple[Call, Call]:
    """Flags and values → present values."""
    missing, values = flags(n, MISSING), _values(size, n)

    def ours() -> Any:
        present = np.empty(n - np.count_nonzero(missing), values.dtype)
        gather(missing.view("u1"), values.view("u1"), present.view("u1"), size, False)
        return present

    return ours, lambda: values[~missing]


def _second(call: Call) -> Call:
    return lambda: call()[1]


def _values(size: int, n: int) -> Any:
    return floats(n) if size == 8 else np.arange(n).astype(f"u{size}")


def _stored(n: int) -> tuple[Any, Any, list[str]]:
    """Return the lengths of n strings, their bytes, and the strings."""
    given = words(n)
    encoded = [word.encode() for word in given]
    return np.array([len(word) for word in encoded], "<u8"), np.frombuffer(b"".join(encoded), "u1"), given


def total(n: int, folder: Path) -> tuple[Call, Call]:
    """Lengths → their sum."""
    lengths, data, _ = _stored(n)
    stored = lengths.view("u1")
    return lambda: total_length(stored, False, data.size), lambda: int(lengths.sum())


def _decoded(lengths: Any, data: Any) -> list[str]:
    """Return strings from bytes as one would in Python."""
    content, ends = data.tobytes(), list(itertools.accumulate(lengths.tolist()))
    return [content[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]


def decode_text(n: int, folder: Path) -> tuple[Call, Call]:
    """Lengths and bytes → an object array."""
    lengths, data, _ = _stored(n)
    stored = lengths.view("u1")

    def ours() -> Any:
        out = np.empty(n, object)
        decode_strings(stored, False, data, True, out)
        return out

    return ours, lambda: np.array(_decoded(lengths, data), object)


def encode_text(n: int, folder: Path) -> tuple[Call, Call]:
    """An object array → lengths and bytes."""
    given = np.array(words(n), object)

    def ours() -> Any:
        return encode_strings(given, True)

    def rival() -> Any:
        encoded = [word.encode() for word in given]
        return np.fromiter(map(len, encoded), "<u8", n).view("u1"), np.frombuffer(b"".join(encoded), "u1")

    return _second(ours), _second(rival)


def decode_numpy_text(n: int, folder: Path) -> tuple[Call, Call]:
    """Lengths and bytes → a StringDType array."""
    lengths, data, _ = _stored(n)
    stored = lengths.view("u1")

    def ours() -> Any:
        out = np.empty(n, STRINGS)
        decode_numpy_strings(stored, False, data, out)
        return out

    return ours, lambda: np.array(_decoded(lengths, data), STRINGS)


def encode_numpy_text(n: int, folder: Path) -> tuple[Call, Call]:
    """A StringDType array → lengths and bytes."""
    given = np.array(words(n), STRINGS)

    def ours() -> Any:
        return encode_numpy_strings(given)

    def rival() -> Any:
        encoded = [word.encode() for word in given]
        return np.fromiter(map(len, encoded), "<u8", n).view("u1"), np.frombuffer(b"".join(encoded), "u1")

    return _second(ours), _second(rival)


def checksum_adler(n: int, folder: Path) -> tuple[Call, Call]:
    """Bytes of n values → their Adler-32."""
    data: Any = floats(n).view("u1")
    return lambda: adler32(data), lambda: zlib.adler32(data)


def checksum_fletcher(n: int, folder: Path) -> tuple[Call, Call]:
    """Bytes of n values → their Fletcher-32."""
    data: Any = floats(n).view("u1")

    def rival() -> int:
        first = second = 0
        for start in range(0, data.size // 2, BLOCK):
            sums = np.cumsum(data.view(">u2")[start : start + BLOCK], dtype=np.uint64)
            second += int(sums.sum()) + first * sums.size
            first += int(sums[-1])
        return second % 0xFFFF << 16 | first % 0xFFFF

    return lambda: fletcher32(data), rival


def hash_keys(n: int, folder: Path) -> tuple[Call, Call]:
    """Strings with their headers → 8 bytes of the BLAKE2s of each, with a salt."""
    given, salt = [word[:31].encode() for word in words(n)], b"8 bytes."
    strings = b"".join(bytes([0xA0 | len(word)]) + word for word in given)

    def ours() -> bytes:
        out = bytearray(8 * n)
        hash_strings(strings, 0, salt, out)
        return bytes(out)

    return ours, lambda: b"".join([hashlib.blake2s(word, salt=salt).digest()[:8] for word in given])


BLOCK = 1 << 20
SPREAD = "np.unpackbits, values[~flags] = present"
PYTHON_DECODE = "[data[a:b].decode() for ...]"
PYTHON_ENCODE = "[word.encode() for ...], b''.join"

GROUP = Group(
    "Kernels in memory",
    "1000 values, and 10 M values or 312 500 strings; 30 % missing.",
    cases((
        Kernel("pack_bits, and count", "np.packbits", pack),
        Kernel("unpack_bits", "np.unpackbits", unpack),
        Kernel("count_bits", "np.bitwise_count().sum()", count),
        *(Kernel(f"scatter, {n} bytes", SPREAD, partial(scatter_values, n, False)) for n in (1, 2, 4, 8)),
        Kernel("scatter, 8 bytes swapped", f"{SPREAD}.byteswap()", partial(scatter_values, 8, True)),
        *(Kernel(f"gather, {n} bytes", "values[~flags]", partial(gather_values, n)) for n in (1, 2, 4, 8)),
        Kernel("total_length", "lengths.sum(), unchecked", total, 32),
        Kernel("decode_strings", PYTHON_DECODE, decode_text, 32),
        Kernel("encode_strings", PYTHON_ENCODE, encode_text, 32),
        Kernel("decode_numpy_strings", PYTHON_DECODE, decode_numpy_text, 32),
        Kernel("encode_numpy_strings", PYTHON_ENCODE, encode_numpy_text, 32),
        Kernel("adler32, 8 bytes a value", "zlib.adler32", checksum_adler),
        Kernel("fletcher32, 8 bytes a value", "np.cumsum of blocks", checksum_fletcher),
        Kernel("hash_strings", "[hashlib.blake2s(word, salt=...).digest()[:8] for ...]", hash_keys, 32),
    )),
)
