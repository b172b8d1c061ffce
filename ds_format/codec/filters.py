"""Filters: how bytes were encoded, and how they are decoded. One table serves all formats.

A `Filter` decodes bytes and, where a format here writes them, encodes them. `FILTERS` has those that several formats
share, by their ids in numcodecs. `HDF5` has the same by the numbers of HDF5, with the framing of its plugins. BinPickle
adds those that only it has (`binpickle.decoding`). Members of ZIP archives use `DEFLATE`.

Optional libraries are imported on first use. A decoder never makes more bytes than the caller allows, whatever the
input claims about itself.

At the end of this module are the filters of a chunk of an HDF5 file (`ChunkFilter`), which `decode` undoes.

Sources: HDF5 File Format Specification 3.0, IV.A.2.l; the registered filter plugins of The HDF Group; the modules of
numcodecs 0.16; RFC 1950 to 1952 (zlib, deflate, gzip); RFC 8878 (zstd); README_CHUNK_FORMAT of c-blosc 1.
"""

from __future__ import annotations

import importlib
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..base.optional import library
from ..errors import DriverError, DsError, FormatError, UnsupportedError
from ..kernels.common.checksums import adler32, fletcher32
from ..kernels.hdf5.chunks import unshuffle

Options = Mapping[str, Any]
"""The configuration of a filter, with the keys of numcodecs. It may come from a file, and is checked."""

NO_OPTIONS: Options = {}

EXTRA = "ds-format-cython[binpickle]"

ERRORS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, OSError, EOFError, struct.error, zlib.error)
"""Errors that libraries raise for bytes that they cannot decode."""


class Filter(NamedTuple):
    """One way to encode bytes."""

    name: str
    decoder: Callable[[Any, int, Options], Any]
    """(bytes, limit, options) → bytes, about as many as the limit at most."""
    encoder: Callable[[Any, int, Options], Any] | None = None
    """(buffer, level, options) → bytes. None: nothing here writes it."""
    library: Callable[[], Any] | None = None
    """Returns the library, or raises an UnsupportedError. None: no optional library is necessary."""

    def is_available(self) -> bool:
        """Return whether the library of this filter is installed."""
        try:
            if self.library is not None:
                self.library()
        except UnsupportedError:
            return False
        return True

    def decode(self, data: Any, limit: int, options: Options = NO_OPTIONS) -> memoryview:
        """Decode bytes.

        Parameters
        ----------
        data : (n,) uint8 buffer
        limit : int
            Bytes that the result may have; pass the exact size where it is known.
        options : mapping
            The configuration, with the keys of numcodecs.

        Returns
        -------
        (m,) uint8 memoryview
            With m at most `limit`. It may be a part of `data`. The caller checks m if the size is known.

        Raises
        ------
        FormatError
            If the bytes are damaged, or would decode to more than `limit` bytes.
        IntegrityError
            If the filter has a checksum, and it differs.
        UnsupportedError
            If the library is not installed.
        """
        try:
            decoded = memoryview(self.decoder(data, limit, options))
        except DsError:
            raise
        except ERRORS as error:
            raise FormatError(str(error)) from None
        if decoded.nbytes > limit:
            raise FormatError(f"decodes to more than {limit} bytes")
        return decoded.cast("B") if decoded.nbytes else memoryview(b"")

    def encode(self, data: Any, level: int, options: Options = NO_OPTIONS) -> Any:
        """Encode a contiguous buffer; return the encoded bytes.

        Parameters
        ----------
        data : buffer
            Blosc shuffles values as large as the items of this buffer.
        level : int
            From fast to small, as the filter defines it. Shuffle and Fletcher-32 ignore it.
        options : mapping
            As for `decode`.

        Raises
        ------
        UnsupportedError
            If there is no encoder here, or the library is not installed.
        """
        if self.encoder is None:
            raise UnsupportedError(f"the filter {self.name} is only decoded")
        return self.encoder(data, level, options)


def numcodecs(module: str) -> Any:
    """Return a module of the library numcodecs; an empty name means the library itself.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or was built without this module.
    """
    try:
        return library(f"numcodecs.{module}" if module else "numcodecs", EXTRA)
    except DriverError as error:
        raise UnsupportedError(
            f"needs the library numcodecs, as pip install {EXTRA!r} installs it ({error.__cause__})"
        ) from None


# --- zlib, gzip and raw deflate ---

MAX_RATIO = 1032
"""Bytes to which one byte of deflate expands at most: 258 for two bits, and blocks have headers."""


@cache
def libdeflate() -> Any:
    """Return the module `deflate` (libdeflate); None if it is not installed."""
    return _module("deflate")


@cache
def isal() -> Any:
    """Return the module `isal.isal_zlib` (ISA-L); None if it is not installed."""
    return _module("isal.isal_zlib")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class DeflateFormat(NamedTuple):
    """The framing of a deflate stream."""

    function: str
    """Of libdeflate."""
    wbits: int
    """As zlib takes it."""
    trailer: Callable[[Any, Any, Any], bool]
    """(library, bytes, decoded bytes) → whether the bytes end with the trailer of these decoded bytes."""


def _ends_with_adler32(module: Any, data: Any, decoded: Any) -> bool:
    return int.from_bytes(data[-4:], "big") == adler32(decoded)


def _ends_with_crc32(module: Any, data: Any, decoded: Any) -> bool:
    return bytes(data[-8:]) == struct.pack("<2I", module.crc32(decoded), len(decoded) & 0xFFFFFFFF)


ZLIB = DeflateFormat("zlib_decompress", zlib.MAX_WBITS, _ends_with_adler32)
GZIP = DeflateFormat("gzip_decompress", zlib.MAX_WBITS | 16, _ends_with_crc32)
RAW = DeflateFormat("deflate_decompress", -zlib.MAX_WBITS, lambda module, data, decoded: False)


def _inflate(data: Any, limit: int, options: Options, form: DeflateFormat, *, may_be_longer: bool = False) -> Any:
    """Decode by the fastest library that is installed. If it fails, zlib decides, and names the fault.

    libdeflate does not report where the stream ends. The bytes after it are an error unless `may_be_longer`, so that
    its result counts only if the bytes end with the right trailer.
    """
    fast, most = libdeflate(), min(limit, MAX_RATIO * len(data))
    if fast is not None and most:  # without space for a byte it does not look at the input
        try:
            decoded = getattr(fast, form.function)(data, most)
        except (fast.DeflateError, ValueError):
            pass
        else:
            if may_be_longer or form.trailer(fast, data, decoded):
                return decoded
    elif (module := isal()) is not None:
        try:
            return _streamed(module.decompressobj(form.wbits), data, limit, may_be_longer)
        except (module.error, FormatError):
            pass
    return _streamed(zlib.decompressobj(form.wbits), data, limit, may_be_longer)


def _deflate(data: Any, level: int, options: Options) -> Any:
    """Encode to the zlib format by zlib, to the same bytes wherever it runs."""
    return zlib.compress(data, level)


def _deflate_fast(data: Any, level: int, options: Options) -> Any:
    """Encode to the zlib format, by libdeflate if it is installed. Other levels than 0 to 9 are left to zlib."""
    fast = libdeflate()
    return zlib.compress(data, level) if fast is None or not 0 <= level <= 9 else fast.zlib_compress(data, level)


def _streamed(stream: Any, data: Any, limit: int, may_be_longer: bool) -> Any:
    """Decode by a decompressor object that can stop at a limit."""
    decoded = stream.decompress(data, limit + 1)
    if len(decoded) > limit:
        raise FormatError(f"decodes to more than {limit} bytes")
    if not stream.eof:
        raise FormatError("the stream does not end")
    if stream.unused_data and not may_be_longer:
        raise FormatError(f"{len(stream.unused_data)} bytes after the end of the stream")
    return decoded


def streamed(make: Callable[[], Any]) -> Callable[[Any, int, Options], Any]:
    """Return the decoder of a format whose library has decompressor objects like those of zlib."""
    return lambda data, limit, options: _streamed(make(), data, limit, may_be_longer=False)


# --- other compressions ---


def check_size(size: int, limit: int) -> None:
    """Raise a FormatError if bytes claim to decode to more than the limit."""
    if size > limit:
        raise FormatError(f"decodes to {size} bytes, at most {limit} are expected")


def _bz2() -> Any:
    return importlib.import_module("bz2")


def _decode_lz4(data: Any, limit: int, options: Options) -> Any:
    (size,) = struct.unpack_from("<I", data)
    check_size(size, limit)
    return numcodecs("lz4").decompress(data) if size else b""


def _decode_lz4_blocks(data: Any, limit: int, options: Options) -> Any:
    """Decode blocks of LZ4 as the plugin of HDF5 frames them, with sizes in big-endian order."""
    size, block_size = struct.unpack_from(">QI", data)
    check_size(size, limit)
    decompress, decoded, at = numcodecs("lz4").decompress, bytearray(), 12
    while len(decoded) < size:
        n = min(block_size, size - len(decoded))
        (encoded_size,) = struct.unpack_from(">I", data, at)
        block = bytes(data[at + 4 : at + 4 + encoded_size])
        at += 4 + encoded_size
        if not n or len(block) != encoded_size:
            raise FormatError(f"found a block of {len(block)} bytes, expected {encoded_size}, which decode to {n}")
        decoded += block if encoded_size == n else decompress(struct.pack("<I", n) + block)
    return decoded


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _zstd_size(data: Any) -> int:
    """Return how many bytes a frame claims to decode to."""
    if bytes(data[:4]) != ZSTD_MAGIC or len(data) < 5:
        raise FormatError(f"starts with {bytes(data[:4])!r}, expected {ZSTD_MAGIC!r}")
    descriptor = int(data[4])
    is_single = descriptor >> 5 & 1
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    start = 5 + (not is_single) + (0, 1, 2, 4)[descriptor & 3]
    field = bytes(data[start : start + width])
    if not width or len(field) < width:
        raise FormatError("does not say how many bytes it has")
    return int.from_bytes(field, "little") + 256 * (width == 2)


def _decode_zstd(data: Any, limit: int, options: Options) -> Any:
    size = _zstd_size(data)
    check_size(size, limit)
    return numcodecs("zstd").decompress(data) if size else b""


def blosc_module() -> Any:
    """Return numcodecs.blosc, or else the library python-blosc. Their functions `decompress` are the same."""
    try:
        return numcodecs("blosc")
    except UnsupportedError:
        module = _module("blosc")
        if module is None:
            raise
        return module


def _decode_blosc(data: Any, limit: int, options: Options) -> Any:
    _, _, _, _, size, _, encoded_size = struct.unpack_from("<BBBBIII", data)
    check_size(size, limit)
    if encoded_size != len(data):
        raise FormatError(f"found {len(data)} bytes, expected {encoded_size} as its header says")
    return blosc_module().decompress(data) if size else b""


def _encode_blosc(data: Any, level: int, options: Options) -> bytes:
    module, compressor, shuffle = blosc_module(), options.get("cname", "lz4"), options.get("shuffle", 1)
    if hasattr(module, "Blosc"):
        return bytes(module.Blosc(cname=compressor, clevel=level, shuffle=shuffle).encode(data))
    item_size = memoryview(data).itemsize
    size = item_size if item_size <= module.MAX_TYPESIZE else 1
    return bytes(module.compress(data, typesize=size, clevel=level, shuffle=shuffle, cname=compressor))


# --- shuffle and checksums ---


def _decode_shuffle(data: Any, limit: int, options: Options, *, may_be_longer: bool = False) -> Any:
    """Put the bytes of each value together. In HDF5 the bytes after the last whole value are not shuffled."""
    size = options.get("elementsize", 4)
    if type(size) is not int or size < 0 or (len(data) % max(size, 1) and not may_be_longer):
        raise FormatError(f"elementsize: found {size!r:.60}, expected a number that divides {len(data)} bytes")
    if size <= 1:
        return data
    values = np.empty(len(data), np.uint8)
    unshuffle(data, values, size)
    return values


def _encode_shuffle(data: Any, level: int, options: Options) -> bytes:
    size = int(options.get("elementsize", 4))
    values: Any = np.frombuffer(data, np.uint8)
    whole = len(values) // size * size
    return bytes(values[:whole].reshape(-1, size).T.tobytes() + values[whole:].tobytes())


CHECKSUM_SIZE = 4
"""Bytes of a Fletcher-32 checksum after the other bytes of a chunk."""


def _decode_fletcher32(data: Any, limit: int, options: Options, *, may_be_swapped: bool = False) -> memoryview:
    """Return the bytes before the checksum, which is compared."""
    view = memoryview(data)
    if view.nbytes < CHECKSUM_SIZE:
        raise FormatError(f"found {view.nbytes} bytes, expected a checksum of {CHECKSUM_SIZE}")
    content, stored = view[:-CHECKSUM_SIZE], int.from_bytes(view[-CHECKSUM_SIZE:], "little")
    computed = fletcher32(content)
    # HDF5 before 1.6.3 took pairs of bytes in the order of the machine
    swapped = (computed & 0x00FF00FF) << 8 | (computed & 0xFF00FF00) >> 8
    if stored != computed and not (may_be_swapped and stored == swapped):
        raise FormatError(f"its checksum is {stored:#010x}, expected {computed:#010x}")
    return content


def _encode_fletcher32(data: Any, level: int, options: Options) -> bytes:
    content = memoryview(data).cast("B")
    return b"".join((content, fletcher32(content).to_bytes(CHECKSUM_SIZE, "little")))


FILTERS = {
    filter_.name: filter_
    for filter_ in (
        Filter("blosc", _decode_blosc, _encode_blosc, blosc_module),
        Filter("bz2", streamed(lambda: _bz2().BZ2Decompressor()), lambda data, level, _: _bz2().compress(data, level)),
        Filter("fletcher32", _decode_fletcher32, _encode_fletcher32),
        Filter("gzip", partial(_inflate, form=GZIP)),
        Filter("lz4", _decode_lz4, lambda data, level, _: numcodecs("lz4").compress(data), partial(numcodecs, "lz4")),
        Filter("shuffle", _decode_shuffle, _encode_shuffle),
        Filter("zlib", partial(_inflate, form=ZLIB), _deflate),
        Filter(
            "zstd",
            _decode_zstd,
            lambda data, level, _: numcodecs("zstd").compress(data, level),
            partial(numcodecs, "zstd"),
        ),
    )
}
"""Id of numcodecs → filter."""

DEFLATE = Filter("deflate", partial(_inflate, form=RAW, may_be_longer=True))
"""Deflate without a header or a checksum, as members of ZIP archives have it."""


# --- chunks of HDF5 ---

ZLIB_NUMBER, SHUFFLE, FLETCHER32 = 1, 2, 3

HDF5 = {
    ZLIB_NUMBER: Filter("zlib", partial(_inflate, form=ZLIB, may_be_longer=True), _deflate_fast),
    SHUFFLE: Filter("shuffle", partial(_decode_shuffle, may_be_longer=True), _encode_shuffle),
    FLETCHER32: Filter("fletcher32", partial(_decode_fletcher32, may_be_swapped=True), _encode_fletcher32),
    307: FILTERS["bz2"],
    32001: FILTERS["blosc"],
    32004: Filter("lz4 blocks", _decode_lz4_blocks, None, partial(numcodecs, "lz4")),
    32015: FILTERS["zstd"],
}
"""Number of HDF5, or registered with The HDF Group → filter."""

SIMPLE = frozenset({(), (SHUFFLE,), (ZLIB_NUMBER,), (SHUFFLE, ZLIB_NUMBER)})
"""Numbers of filters, in the order in which they were applied, that a kernel undoes."""

WORD_SIZES = frozenset({1, 2, 4, 8})
"""Bytes of values that kernels turn to the native byte order, and search."""

KEEP_SIZE = frozenset({SHUFFLE, FLETCHER32})
"""Filters that change the size by a checksum at most."""

SPARE_SIZE = 64 * 1024
"""Bytes that an encoded chunk may have beyond twice those of its values."""


@cache
def chunk_inflater() -> Callable[[Any, int], Any]:
    """Return the function that takes least time to inflate a small chunk: (bytes, size) → about so many bytes.

    It raises some error, or returns another number of bytes, if the chunk is damaged. `ChunkFilter.decode` says what is
    wrong then.
    """
    fast = libdeflate()
    if fast is not None:
        inflate: Callable[[Any, int], Any] = fast.zlib_decompress
        return inflate
    module = isal() or zlib
    return lambda data, size: _streamed(module.decompressobj(), data, size, may_be_longer=True)


class ChunkFilter(NamedTuple):
    """One step of the filter pipeline of a chunk."""

    number: int
    size: int = 0
    """Bytes of a value, for the filter "shuffle"."""

    def decode(self, data: Any, limit: int) -> memoryview:
        """Undo this step; see `Filter.decode`."""
        filter_ = HDF5[self.number]
        try:
            return filter_.decode(data, limit, {"elementsize": self.size} if self.size else NO_OPTIONS)
        except DsError as error:
            raise type(error)(f"filter {filter_.name}: {error.message}") from None


class SimpleFilters(NamedTuple):
    """Filters that a kernel undoes."""

    is_shuffled: bool
    """Whether chunks went through the filter "shuffle"."""
    is_deflated: bool
    """Whether they went through the filter "deflate", then."""


def simple_filters(filters: tuple[ChunkFilter, ...], item_size: int) -> SimpleFilters | None:
    """Return how a kernel undoes filters; None if it does not.

    Parameters
    ----------
    filters : tuple of ChunkFilter
        In the order in which they were applied.
    item_size : int
        Bytes of a value.
    """
    numbers = tuple([each.number for each in filters])
    if numbers not in SIMPLE or item_size not in WORD_SIZES:
        return None
    return SimpleFilters(SHUFFLE in numbers, ZLIB_NUMBER in numbers)


class Decoded(NamedTuple):
    """The bytes of a chunk."""

    data: Any
    is_shuffled: bool
    """Whether the bytes of each value are still apart."""


def find_filter(number: int, values: tuple[int, ...]) -> ChunkFilter | None:
    """Return a filter; None if it is not supported, or its library is not installed.

    Parameters
    ----------
    number : int
    values : tuple of int
        The client data of the filter in the file.
    """
    size = int(values[0]) if number == SHUFFLE and values else 0
    if number not in HDF5 or (number == SHUFFLE and size <= 0) or not HDF5[number].is_available():
        return None
    return ChunkFilter(number, size)


def decode(data: Any, filters: tuple[ChunkFilter, ...], mask: int, size: int) -> Decoded:
    """Undo the filters of a chunk, except the first one if that is "shuffle".

    Parameters
    ----------
    data : buffer
        The bytes in the file.
    filters : tuple of ChunkFilter
        In the order in which they were applied.
    mask : int
        A bit for each filter that was skipped for this chunk.
    size : int
        Bytes of the decoded chunk.

    Raises
    ------
    FormatError
        If the chunk is damaged.
    UnsupportedError
        If the library of a filter is not installed.
    """
    steps = [each for i, each in enumerate(filters) if not mask >> i & 1]
    is_shuffled = bool(filters) and filters[0].number == SHUFFLE and not mask & 1
    if is_shuffled:
        del steps[0]
    for i in reversed(range(len(steps))):
        data = steps[i].decode(data, _limit(steps[:i], size) if i else size)
    if memoryview(data).nbytes != size:
        raise FormatError(f"found {memoryview(data).nbytes} bytes, expected {size}")
    return Decoded(data, is_shuffled)


def _limit(steps: list[ChunkFilter], size: int) -> int:
    """Return how many bytes a chunk of `size` bytes may have after some steps of encoding."""
    numbers = [step.number for step in steps]
    if KEEP_SIZE.issuperset(numbers):
        return size + CHECKSUM_SIZE * numbers.count(FLETCHER32)
    return 2 * size + SPARE_SIZE
