"""The chunks of a variable in one file, or in many files along an axis → one array of Zarr."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.dtypes import TYPES
from ..datasets import as_array
from ..drivers.base import warn
from ..errors import UnsupportedError
from .chunks import TEXT_CODECS, Chunks, Config, fill_value, masked_fill
from .codec import CODEC_ID, array_dtype, encode_text, filled, json_number

CHUNK_SIZE = 4 << 20
"""Bytes of a chunk of contiguous values, about."""
MAX_PARTS = 16384
"""Chunks of contiguous values along one axis, at most: then chunks are larger."""
MIN_CHUNK = 1024
"""Bytes of a chunk, if the values of a file are several chunks because the lengths of files differ."""


class VirtualArray(NamedTuple):
    """An array of Zarr, whose chunks are ranges of files, or whose values are at hand."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """In the byte order of the chunks; object for text."""
    chunk: tuple[int, ...]
    """At least 1 along each axis."""
    filters: tuple[Config, ...]
    """In the order of encoding."""
    fill: np.generic | None
    """Number that marks missing values, and is that of chunks that were not written; None: neither of them exists."""
    attributes: Mapping[str, Any]
    """By name; without `_FillValue`."""
    positions: Sequence[NDArray[np.int64]] = ()
    """For each axis (N,): position of each chunk, in units of chunks."""
    files: NDArray[np.int64] | None = None
    """(N,): index of the file of each chunk; None: the values are at hand."""
    offsets: NDArray[np.uint64] | None = None
    sizes: NDArray[np.uint64] | None = None
    """(N,): position and bytes of each chunk in its file."""
    data: bytes = b""
    """The only chunk, if the values are at hand."""

    def keys(self) -> Iterator[str]:
        """Iterate over the keys of the chunks in Zarr 2: positions with dots between them; "0" for a scalar."""
        if not self.shape:
            return iter(["0"] * (1 if self.files is None else len(self.files)))
        if self.files is None:
            return iter([".".join("0" * len(self.shape))])
        return map(".".join, zip(*(map(str, along.tolist()) for along in self.positions), strict=True))


def inlined(
    values: Any, type_name: str, dims: tuple[str, ...], attributes: Mapping[str, Any], *, is_masked: bool
) -> VirtualArray:
    """Return an array whose values are at hand.

    Parameters
    ----------
    values : ndarray, MaskedArray or scalar
        Values as a Source reads them.
    type_name : str
        Name of the ds type.
    dims : tuple of str
    attributes : dict
    is_masked : bool
        Whether values may be missing.

    Raises
    ------
    UnsupportedError
        If a present value equals the number that marks missing ones.
    """
    array = as_array(values)
    chunk = tuple(max(n, 1) for n in array.shape)
    if TYPES[type_name].is_string:
        plain = array.filled(b"" if type_name == "str" else "") if isinstance(array, np.ma.MaskedArray) else array
        data = encode_text(plain.reshape(-1).tolist()) if array.size else b""
        filters = ({"id": TEXT_CODECS[type_name]},)
        return VirtualArray(dims, array.shape, np.dtype(object), chunk, filters, None, attributes, data=data)
    dtype = array_dtype(type_name, is_masked=is_masked)
    fill = fill_value(attributes, dtype)
    if fill is None and is_masked:
        fill = masked_fill(attributes, type_name, dtype)
    data = filled(array, dtype, fill).tobytes()
    return VirtualArray(dims, array.shape, dtype, chunk, (), fill, attributes, data=data)


class FileChunks(NamedTuple):
    """The contribution of one file to an array."""

    file: int
    """Index of the file."""
    name: str
    """Its path, for messages."""
    start: int
    """Its first position along the axis."""
    chunks: Chunks


def joined(
    parts: Sequence[FileChunks], axis: int | None, shape: tuple[int, ...], dims: tuple[str, ...],
    attributes: Mapping[str, Any], name: str,
) -> VirtualArray:  # fmt: skip
    """Return an array whose chunks are those of files, one after another.

    Parameters
    ----------
    parts : sequence of FileChunks
        In order; all of one rank.
    axis : int, optional
        Axis along which files are joined; None: there is one file.
    shape : tuple of int
        Shape of the array.
    dims : tuple of str
    attributes : dict
    name : str
        Name of the variable, for warnings.

    Raises
    ------
    UnsupportedError
        If the chunks cannot be those of one array; the message names the file.
    """
    first = parts[0].chunks
    for part in parts[1:]:
        if (difference := _difference(first, part.chunks)) is not None:
            found, expected = difference
            raise UnsupportedError(f"found {found}, but {expected} in {parts[0].name}", path=part.name)
    chunk = first.chunk if first.chunk is not None else _divided(parts, axis)
    if axis is not None and len(parts) > 1:
        _check_lengths(parts, axis, chunk)
    edges = tuple(max(n, 1) for n in chunk)
    positions: list[list[NDArray[np.int64]]] = [[] for _ in shape]
    ranges = []
    for part in parts:
        along, offsets, sizes = _ranges(part.chunks, chunk)
        for i, one in enumerate(along):
            positions[i].append(one + part.start // edges[i] if i == axis else one)
        ranges.append((np.full(len(offsets), part.file), offsets, sizes))
    files, offsets, sizes = (np.concatenate(each) for each in zip(*ranges, strict=True))
    masked = next((each for each in first.filters if each["id"] == CODEC_ID and each["fill"] is not None), None)
    fill = fill_value(attributes, first.dtype) if masked is None else first.dtype.type(masked["fill"])
    return VirtualArray(
        dims, shape, first.dtype, edges, first.filters, _unwritten(parts, fill, name), attributes,
        [np.concatenate(each) for each in positions], files, offsets, sizes,
    )  # fmt: skip


def _difference(first: Chunks, other: Chunks) -> tuple[str, str] | None:
    """Return how the chunks of a file differ from those of the first file, and what these are; None: they do not."""
    if first.dtype != other.dtype:
        return f"values of type {other.dtype.str}", first.dtype.str
    if first.filters != other.filters:
        return f"the codecs {_described(other)}", _described(first)
    if first.chunk != other.chunk:
        return _layout(other), _layout(first)
    return None


def _described(chunks: Chunks) -> str:
    each = (", ".join(f"{name}: {json_number(value)}" for name, value in one.items()) for one in chunks.filters)
    return "; ".join(each) or "none"


def _layout(chunks: Chunks) -> str:
    return "contiguous values" if chunks.chunk is None else f"chunks of {[*chunks.chunk]}"


def _divided(parts: Sequence[FileChunks], axis: int | None) -> tuple[int, ...]:
    """Return the chunks of contiguous values: whole along inner axes, equal parts of one axis, 1 along outer axes."""
    shape, inner = parts[0].chunks.shape, parts[0].chunks.dtype.itemsize
    lengths = set() if axis is None else {part.chunks.shape[axis] for part in parts}
    if axis is not None:
        shape = (*shape[:axis], math.gcd(*lengths), *shape[axis + 1 :])
    chunk: list[int] = []
    is_whole = True
    for i in reversed(range(len(shape))):
        length = _divisor(shape[i], CHUNK_SIZE // max(inner, 1)) if is_whole else 1
        is_whole = is_whole and length == shape[i] and not (i == axis and len(lengths) > 1)
        chunk.insert(0, length)
        inner *= length
    return tuple(chunk)


def _divisor(n: int, most: int) -> int:
    """Return the largest divisor of a number that is at most another one, unless this gives very many parts."""
    if n <= max(most, 1):
        return n
    small = [k for k in range(1, math.isqrt(n) + 1) if n % k == 0]
    divisors = sorted({*small, *(n // k for k in small)})
    fitting = [one for one in divisors if one <= most and n // one <= MAX_PARTS]
    return fitting[-1] if fitting else next(one for one in divisors if n // one <= MAX_PARTS)


def _check_lengths(parts: Sequence[FileChunks], axis: int, chunk: tuple[int, ...]) -> None:
    """Check that one file ends where a chunk ends, except for the last one, and that chunks are not too small."""
    length, first = max(chunk[axis], 1), parts[0].chunks
    for part in parts if first.chunk is None else parts[:-1]:
        n = part.chunks.shape[axis]
        if n % length:
            message = f"found {n} positions, expected a multiple of {length}, as chunks have"
            raise UnsupportedError(message, path=part.name)
        if first.chunk is None and n != first.shape[axis] and math.prod(chunk) * first.dtype.itemsize < MIN_CHUNK:
            message = (
                f"found {n} positions, but {first.shape[axis]} in {parts[0].name}: chunks of {length} are too small"
            )
            raise UnsupportedError(message, path=part.name)


def _ranges(
    chunks: Chunks, chunk: tuple[int, ...]
) -> tuple[Sequence[NDArray[np.int64]], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return positions, offsets and sizes of the chunks of a file, where contiguous values are divided."""
    if chunks.chunk is not None or not len(chunks.offsets):
        return chunks.positions, chunks.offsets, chunks.sizes
    grid = [n // step for n, step in zip(chunks.shape, chunk, strict=True)]
    n = math.prod(grid)
    size = int(chunks.sizes[0]) // n
    offsets = chunks.offsets[0] + np.arange(n, dtype=np.uint64) * np.uint64(size)
    positions = np.unravel_index(np.arange(n), grid) if grid else ()
    return [*positions], offsets, np.full(n, size, np.uint64)


def _unwritten(parts: Sequence[FileChunks], fill: np.generic | None, name: str) -> np.generic | None:
    """Return the fill value of an array, which is also that of chunks that were not written.

    Raises
    ------
    UnsupportedError
        If these have another value.
    """
    for part in parts:
        value = part.chunks.unwritten
        if value is None or (fill is None and not value):
            continue
        if fill is None:
            fill = value
            warn("values that were never written are shown as missing", part.name, name)
        elif fill != value and not (fill != fill and value != value):
            found = f"chunks that were never written have the value {json_number(value)}"
            raise UnsupportedError(f"{found}, expected {json_number(fill)}, by which Zarr fills them", path=part.name)
    return fill
