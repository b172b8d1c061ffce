"""Filters: compression, shuffle and checksums of bytes. One table serves all formats.

A `Filter` decodes bytes. It also encodes bytes if a format of this package writes them. `FILTERS` has the filters that
several formats share, by their ids in numcodecs. `HDF5` has filters by the numbers of HDF5, with the framing of its
plugins. BinPickle adds its own filters (`binpickle.decoding`). Members of ZIP archives use `DEFLATE`.

Optional libraries are imported on first use. A decoder never returns more bytes than the caller allows, even if the
input claims a larger size.

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
from ..kernels.hdf5.chunks import decode_lzf, shuffle, unshuffle
from ..kernels.hdf5.szip import decode_szip

Options = Mapping[str, Any]
"""The configuration of a filter, with the keys of numcodecs. It may come from a file, so filters check it."""

NO_OPTIONS: Options = {}

EXTRA = "ds-format-cython[binpickle]"

ERRORS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, OSError, EOFError, struct.error, zlib.error)
"""Errors that libraries raise for bytes that they cannot decode."""


class Filter(NamedTuple):
    """One way to encode bytes."""

    name: str
    decoder: Callable[[Any, int, Options], Any]
    """(bytes, limit, options) → decoded bytes, not many more than the limit."""
    encoder: Callable[[Any, int, Options], Any] | None = None
    """(buffer, level, options) → encoded bytes. None: this package does not write this encoding."""
    library: Callable[[], Any] | None = None
    """Returns the library, or raises an UnsupportedError. None: the filter needs no optional library."""

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
            Maximum bytes of the result. Pass the exact size if you know it.
        options : mapping
            The configuration, with the keys of numcodecs.

        Returns
        -------
        (m,) uint8 memoryview
            With m at most `limit`. It may be a view of `data`. If you know the size, compare it with m.

        Raises
        ------
        FormatError
            If the bytes are damaged, or decode to more than `limit` bytes.
        IntegrityError
            If the filter has a checksum that differs.
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
            Blosc shuffles values of the item size of this buffer.
        level : int
            Level of compression, whose range depends on the filter. Shuffle and Fletcher-32 ignore it.
        options : mapping
            See `decode`.

        Raises
        ------
        UnsupportedError
            If the filter has no encoder, or the library is not installed.
        """
        if self.encoder is None:
            raise UnsupportedError(f"the filter {self.name} can be decoded only")
        return self.encoder(data, level, options)


def numcodecs(module: str) -> Any:
    """Return a module of the library numcodecs, or the library itself for an empty name.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or was built without this module.
    """
    try:
        return library(f"numcodecs.{module}" if module else "numcodecs", EXTRA)
    except DriverError as error:
        raise UnsupportedError(f"needs the library numcodecs: pip install {EXTRA!r} ({error.__cause__})") from None


# --- zlib, gzip and raw deflate ---

MAX_RATIO = 1032
"""Maximum bytes that one byte of deflate decodes to: 258 for two bits, and headers of blocks take space, too."""


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
    """Name of the function of libdeflate that decodes it."""
    wbits: int
    """The parameter `wbits` of zlib."""
    trailer: Callable[[Any, Any, Any], bool]
    """(library, bytes, decoded bytes) → whether the bytes end with the right trailer for the decoded bytes."""


def _ends_with_adler32(module: Any, data: Any, decoded: Any) -> bool:
    return int.from_bytes(data[-4:], "big") == adler32(decoded)


def _ends_with_crc32(module: Any, data: Any, decoded: Any) -> bool:
    return bytes(data[-8:]) == struct.pack("<2I", module.crc32(decoded), len(decoded) & 0xFFFFFFFF)


ZLIB = DeflateFormat("zlib_decompress", zlib.MAX_WBITS, _ends_with_adler32)
GZIP = DeflateFormat("gzip_decompress", zlib.MAX_WBITS | 16, _ends_with_crc32)
RAW = DeflateFormat("deflate_decompress", -zlib.MAX_WBITS, lambda module, data, decoded: False)


def _inflate(data: Any, limit: int, options: Options, form: DeflateFormat, *, may_be_longer: bool = False) -> Any:
    """Decode with the fastest installed library. If it fails, decode with zlib, whose error names the fault.

    Bytes after the end of the stream are an error unless `may_be_longer` is true. libdeflate does not report where the
    stream ends, so its result is only used if the bytes end with the right trailer.
    """
    fast, most = libdeflate(), min(limit, MAX_RATIO * len(data))
    if fast is not None and most:  # with a maximum of 0 bytes, libdeflate does not check the input
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
    """Encode to the zlib format with zlib, not libdeflate, so that the bytes do not depend on installed libraries."""
    return zlib.compress(data, level)


ISAL_LEVELS = {1: 1, 2: 2, 3: 2}
"""Level of zlib → level of ISA-L that compresses as well."""


def _deflate_fast(data: Any, level: int, options: Options) -> Any:
    """Encode to the zlib format, with the fastest installed library that compresses as well as zlib at this level."""
    if level in ISAL_LEVELS and (module := isal()) is not None:
        return module.compress(data, ISAL_LEVELS[level])
    fast = libdeflate()
    return zlib.compress(data, level) if fast is None or not 0 <= level <= 9 else fast.zlib_compress(data, level)


def _streamed(stream: Any, data: Any, limit: int, may_be_longer: bool) -> Any:
    """Decode with a decompressor object, which can stop at a limit."""
    decoded = stream.decompress(data, limit + 1)
    if len(decoded) > limit:
        raise FormatError(f"decodes to more than {limit} bytes")
    if not stream.eof:
        raise FormatError("the stream does not end")
    if stream.unused_data and not may_be_longer:
        raise FormatError(f"{len(stream.unused_data)} bytes after the end of the stream")
    return decoded


def streamed(make: Callable[[], Any]) -> Callable[[Any, int, Options], Any]:
    """Return the decoder for a library that has decompressor objects like those of zlib."""
    return lambda data, limit, options: _streamed(make(), data, limit, may_be_longer=False)


# --- other compressions ---


def check_size(size: int, limit: int) -> None:
    """Raise a FormatError if the claimed size of decoded bytes is larger than the limit."""
    if size > limit:
        raise FormatError(f"decodes to {size} bytes, expected at most {limit}")


def _bz2() -> Any:
    return importlib.import_module("bz2")


def _decode_lz4(data: Any, limit: int, options: Options) -> Any:
    (size,) = struct.unpack_from("<I", data)
    check_size(size, limit)
    return numcodecs("lz4").decompress(data) if size else b""


def _decode_lz4_blocks(data: Any, limit: int, options: Options) -> Any:
    """Decode blocks of LZ4 with the framing of the plugin for HDF5: sizes in big-endian order."""
    size, block_size = struct.unpack_from(">QI", data)
    check_size(size, limit)
    decompress, decoded, at = numcodecs("lz4").decompress, bytearray(), 12
    while len(decoded) < size:
        n = min(block_size, size - len(decoded))
        (encoded_size,) = struct.unpack_from(">I", data, at)
        block = bytes(data[at + 4 : at + 4 + encoded_size])
        at += 4 + encoded_size
        if not n or len(block) != encoded_size:
            raise FormatError(f"found a block of {len(block)} bytes, expected {encoded_size} that decode to {n}")
        decoded += block if encoded_size == n else decompress(struct.pack("<I", n) + block)
    return decoded


def _decode_lzf(data: Any, limit: int, options: Options) -> Any:
    decoded = np.empty(limit, np.uint8)
    n = decode_lzf(data, decoded)
    if n < 0:
        raise FormatError(f"the bytes are damaged, or decode to more than {limit}")
    return decoded[:n]


SZIP_RATIO = 4096
"""Maximum bytes that one byte of szip decodes to: 64 blocks of 32 values for 9 bits."""


def _decode_szip(data: Any, limit: int, options: Options) -> Any:
    """Decode a chunk of HDF5: its size comes first."""
    (size,) = struct.unpack_from("<I", data)
    check_size(size, min(limit, SZIP_RATIO * len(data)))
    decoded = np.empty(size, np.uint8)
    if not decode_szip(memoryview(data)[4:], decoded, *options["values"]):
        raise FormatError(f"the bytes are damaged, or decode to less than {size}")
    return decoded


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _zstd_size(data: Any) -> int:
    """Return the decoded size, in bytes, from the header of a frame."""
    if bytes(data[:4]) != ZSTD_MAGIC or len(data) < 5:
        raise FormatError(f"starts with {bytes(data[:4])!r}, expected {ZSTD_MAGIC!r}")
    descriptor = int(data[4])
    is_single = descriptor >> 5 & 1
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    start = 5 + (not is_single) + (0, 1, 2, 4)[descriptor & 3]
    field = bytes(data[start : start + width])
    if not width or len(field) < width:
        raise FormatError("the header of the frame has no decoded size")
    return int.from_bytes(field, "little") + 256 * (width == 2)


def _decode_zstd(data: Any, limit: int, options: Options) -> Any:
    size = _zstd_size(data)
    check_size(size, limit)
    return numcodecs("zstd").decompress(data) if size else b""


def blosc_module() -> Any:
    """Return numcodecs.blosc, or the library python-blosc if it is missing. Both have the same `decompress`."""
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
        raise FormatError(f"found {len(data)} bytes, expected {encoded_size} as in its header")
    return blosc_module().decompress(data) if size else b""


def _encode_blosc(data: Any, level: int, options: Options) -> bytes:
    module, compressor, shuffle = blosc_module(), options.get("cname", "lz4"), options.get("shuffle", 1)
    if hasattr(module, "Blosc"):
        return bytes(module.Blosc(cname=compressor, clevel=level, shuffle=shuffle).encode(data))
    item_size = memoryview(data).itemsize
    size = item_size if item_size <= module.MAX_TYPESIZE else 1
    return bytes(module.compress(data, typesize=size, clevel=level, shuffle=shuffle, cname=compressor))


# --- shuffle and checksums ---


def _decode_shuffle(data: Any, limit: int, options: Options, *, in_hdf5: bool = False) -> Any:
    """Move the bytes of each value together. In HDF5, bytes after the last whole value are not shuffled."""
    size = options.get("elementsize", 4)
    if in_hdf5 and not size:
        raise FormatError("no size of values in its description, which only chunks that skip it can have")
    if type(size) is not int or size < 0 or (len(data) % max(size, 1) and not in_hdf5):
        raise FormatError(f"elementsize: found {size!r:.60}, expected a number that divides {len(data)} bytes")
    if size <= 1:
        return data
    values = np.empty(len(data), np.uint8)
    unshuffle(data, values, size)
    return values


def _encode_shuffle(data: Any, level: int, options: Options) -> Any:
    return shuffle(data, int(options.get("elementsize", 4)))


CHECKSUM_SIZE = 4
"""Bytes of a Fletcher-32 checksum, at the end of a chunk."""


def _decode_fletcher32(data: Any, limit: int, options: Options, *, may_be_swapped: bool = False) -> memoryview:
    """Compare the checksum, and return the bytes before it."""
    view = memoryview(data)
    if view.nbytes < CHECKSUM_SIZE:
        raise FormatError(f"found {view.nbytes} bytes, expected a checksum of {CHECKSUM_SIZE}")
    content, stored = view[:-CHECKSUM_SIZE], int.from_bytes(view[-CHECKSUM_SIZE:], "little")
    computed = fletcher32(content)
    # HDF5 before 1.6.3 read pairs of bytes in native byte order
    swapped = (computed & 0x00FF00FF) << 8 | (computed & 0xFF00FF00) >> 8
    if stored != computed and not (may_be_swapped and stored == swapped):
        raise FormatError(f"its checksum is {stored:#010x}, expected {computed:#010x}")
    return content


def _encode_fletcher32(data: Any, level: int, options: Options) -> bytes:
    return b"".join((data, fletcher32(data).to_bytes(CHECKSUM_SIZE, "little")))


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
"""Deflate without a header or a checksum, for members of ZIP archives."""


# --- chunks of HDF5 ---

ZLIB_NUMBER, SHUFFLE, FLETCHER32, SZIP, BZIP2, LZF, ZSTD = 1, 2, 3, 4, 307, 32000, 32015

HDF5 = {
    ZLIB_NUMBER: Filter("zlib", partial(_inflate, form=ZLIB, may_be_longer=True), _deflate_fast),
    SHUFFLE: Filter("shuffle", partial(_decode_shuffle, in_hdf5=True), _encode_shuffle),
    FLETCHER32: Filter("fletcher32", partial(_decode_fletcher32, may_be_swapped=True), _encode_fletcher32),
    SZIP: Filter("szip", _decode_szip),
    BZIP2: FILTERS["bz2"],
    LZF: Filter("lzf", _decode_lzf),
    32001: FILTERS["blosc"],
    32004: Filter("lz4 blocks", _decode_lz4_blocks, None, partial(numcodecs, "lz4")),
    ZSTD: FILTERS["zstd"],
}
"""Number of a filter in HDF5, or in the registry of The HDF Group → filter."""
