"""All differences between two sources, files or datasets in memory: first of the datasets, then of each variable.

Numbers that both files store as in memory are compared as bytes. If the bytes are equal, nothing is decoded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from .. import timeaxis
from ..base.dtypes import TYPES
from ..base.text import escape, nearest, unescape
from ..body.body import Body
from ..codec.encode import describe
from ..datasets import META, attrs, checked, dims
from ..drivers.base import BLOCK_SIZE, Handle, Metadata, Source, block_slices, check_faults
from ..errors import DsError, UnsupportedError
from ..model.index import take
from ..views.subset import Subset, item_size, memory_size
from .records import Difference, Place
from .values import EXACT, Rule, Tally, ValuePair, attribute_type, pairs, same_attributes, tally


class MemorySource:
    """A dataset as a `Source`.

    Parameters
    ----------
    dataset : dict
        Key → data, `"."` → metadata.

    Raises
    ------
    UnsupportedError
        If it is not a dataset, or ds has no type for a variable.
    """

    def __init__(self, dataset: Mapping[str, Any]):
        self._arrays, given = checked(dataset)
        self.meta: Metadata = describe(self._arrays, given)
        self.faults: Mapping[str, DsError] = {}

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or the part that an index selects."""
        array = self._arrays[name]
        if array is None:
            return None
        part = array if index is None else take(array, index)
        return part if np.ndim(part) or isinstance(part, np.ma.MaskedArray) else part[()]

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks, which are views."""
        array = self._arrays[name]
        if array is not None:
            for block in block_slices(array.shape, max(array.itemsize, 1), budget):
                yield array[(*block, ...)]

    def handle(self, name: str) -> Handle:
        """Refuse, because a dataset in memory has no file.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("a dataset in memory has no handles", variable=unescape(name))

    def close(self) -> None:
        """Do nothing, because there is no file."""


READ_SIZE = 1 << 18
"""Bytes to read at a time, a multiple of the size of any type."""


def stored_pairs(a: Subset, b: Subset, key: str) -> Iterator[tuple[Any, Any] | int] | None:
    """Return the values of a variable of the same type and shape in two files, for `values.tally`.

    None if they are not stored as in memory.
    """
    left, right = a.stored(key), b.stored(key)
    if left is None or right is None or (left.dtype, left.size) != (right.dtype, right.size):
        return None
    return _pairs(a.section(left), b.section(right), left.dtype, key)


def _pairs(a: Body, b: Body, dtype: np.dtype[Any], key: str) -> Iterator[tuple[Any, Any] | int]:
    """Yield buffers that are reused: each is valid until the next one."""
    bits = np.dtype(f"u{dtype.itemsize}")
    buffers = np.empty((2, READ_SIZE), np.uint8)
    for start in range(0, a.size, READ_SIZE):
        n = min(READ_SIZE, a.size - start)
        ours, theirs = buffers[:, :n]
        try:
            with a.watch, b.watch:
                a.read_into(start, ours)
                b.read_into(start, theirs)
        except DsError as error:
            raise error.at(variable=unescape(key))
        if np.array_equal(ours.view(bits), theirs.view(bits)):
            yield n // dtype.itemsize
        else:
            yield ours.view(dtype), theirs.view(dtype)


def position_of(pair: ValuePair | None, key: str, sources: tuple[Source, Source]) -> Place | None:
    """Return the position and the values of a difference.

    Parameters
    ----------
    pair : ValuePair or None
    key : str
        Key of the variable, which has the same shape in both sources.
    sources : (Source, Source)
        A and B. Coordinates are taken from A, or from B if A has none.
    """
    if pair is None:
        return None
    entry = sources[0].meta[key]
    shape = entry[".size"]
    index = _index(pair.position, shape)
    coordinates: dict[str, Any] = {}
    for dim, i, n in zip(dims(key, entry, len(shape)), index, shape, strict=True):
        for source in sources:
            value = _coordinate(source, dim, i, n)
            if value is not None and escape(dim) != key:
                coordinates[dim] = value
                break
    return Place(index, coordinates, pair.a, pair.b, pair.size)


def _index(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for i in range(len(shape)):
        inner = math.prod(shape[i + 1 :])
        index.append(position // inner)
        position %= inner
    return tuple(index)


def _coordinate(source: Source, dim: str, i: int, n: int) -> Any:
    """Return the value of a dimension's coordinate at a position; None if there is no coordinate, or it is missing."""
    key = escape(dim)
    entry = source.meta.get(key)
    if entry is None or entry.get(".size") != [n] or dims(key, entry, 1) != [dim] or key in source.faults:
        return None
    value = source.read(key, (i,))
    if getattr(value, "mask", False):
        return None
    return _as_text(value, attrs(entry))


def _as_text(value: Any, attributes: Mapping[str, Any]) -> Any:
    """Return a time as text, and other values unchanged."""
    if timeaxis.is_time(attributes):
        try:
            shown = timeaxis.to_iso(value, attributes["units"], attributes.get("calendar"))
        except UnsupportedError:
            return value
        return shown if isinstance(shown, str) else value
    return value


Entry = Mapping[str, Any]


class DiffOptions(NamedTuple):
    """Options of a comparison."""

    rule: Rule = EXACT
    header: bool = True
    """Whether to compare dimensions, types and attributes."""
    values: bool = True
    ignore: tuple[str, ...] = ()
    """Names or patterns of attributes to ignore."""
    first: bool = False
    """Whether to stop at the first difference."""
    is_one_file: bool = False
    """Whether A and B are the same file, so that readable values are equal."""
    progress: Callable[[int, int], None] | None = None
    """Takes the bytes of A that are done, and the total bytes, as in memory."""


def differences(
    a: Subset, b: Subset, options: DiffOptions, keys: Collection[str] | None = None
) -> Iterator[Difference]:
    """Yield all differences between two files, or parts of them.

    Parameters
    ----------
    a, b : Subset
    options : DiffOptions
    keys : collection of str, optional
        Keys of the variables to compare. Nothing else is compared then. By default everything is compared.

    Raises
    ------
    DsError, OSError
        If a file cannot be read.
    """
    ours, theirs = _chosen(a.meta, keys), _chosen(b.meta, keys)
    if options.values:
        check_faults(a.faults, ours)
        check_faults(b.faults, theirs)
    if options.header:
        yield from _of_dimensions(ours, theirs)
    if options.header and keys is None:
        yield from _of_attributes(None, a.meta.get(META, {}), b.meta.get(META, {}), options.ignore)
    yield from _of_presence(ours, theirs)
    both = [key for key in ours if key in theirs]
    is_compared = options.values and not options.is_one_file
    compared = [key for key in both if is_compared and _are_comparable(ours[key], theirs[key])]
    done, total = 0, sum(memory_size(ours[key]) for key in compared)
    for key in both:
        yield from _of_metadata(key, ours[key], theirs[key], options)
        if options.values and options.is_one_file:
            _check_end(a, key)
        if key in compared:
            start, size = done, item_size(a.meta[key])

            def report(n: int, start: int = start, size: int = size) -> None:
                if options.progress is not None:
                    options.progress(start + n * size, total)

            yield from _of_values(a, b, key, options, report)
            done += memory_size(a.meta[key])


def _check_end(source: Subset, key: str) -> None:
    """Raise if a variable of a file that is compared with itself is truncated, by reading its last value."""
    size = source.meta[key].get(".size")
    if size is not None and 0 not in size:
        source.read(key, tuple(range(n - 1, n) for n in size))


def _chosen(meta: Metadata, wanted: Collection[str] | None) -> Metadata:
    return {key: entry for key, entry in meta.items() if key != META and (wanted is None or key in wanted)}


def _dims(key: str, entry: Entry) -> list[str]:
    return dims(key, entry, len(entry.get(".size") or ()))


def _sizes(meta: Metadata) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for key in meta:
        sizes.update(zip(_dims(key, meta[key]), meta[key].get(".size") or (), strict=False))
    return sizes


def _of_dimensions(a: Metadata, b: Metadata) -> Iterator[Difference]:
    ours, theirs = _sizes(a), _sizes(b)
    for name in dict.fromkeys((*ours, *theirs)):
        if name not in theirs:
            yield Difference("dimension", name=name, only="a", a=ours[name])
        elif name not in ours:
            yield Difference("dimension", name=name, only="b", b=theirs[name])
        elif ours[name] != theirs[name]:
            yield Difference("dimension", name=name, a=ours[name], b=theirs[name])


def _of_presence(a: Metadata, b: Metadata) -> Iterator[Difference]:
    for only, ours, theirs in (("a", a, b), ("b", b, a)):
        lonely = {unescape(key): theirs[key] for key in theirs if key not in ours}
        for key in ours:
            if key not in theirs:
                hint = _renamed(unescape(key), ours[key], lonely)
                yield Difference("variable", variable=unescape(key), only=only, hint=hint)


def _renamed(name: str, entry: Entry, others: Mapping[str, Entry]) -> str | None:
    """Return the possible new name of a variable: the most similar name, or that of the only one with its metadata."""
    found = nearest(name, others)
    if found is not None:
        return found
    known = attrs(entry)
    alike = [
        other
        for other, its in others.items()
        if its.get(".type") == entry.get(".type")
        and its.get(".size") == entry.get(".size")
        and same_attributes(known, attrs(its))
    ]
    return alike[0] if len(alike) == 1 and known else None


def _of_attributes(variable: str | None, a: Entry, b: Entry, ignore: tuple[str, ...]) -> Iterator[Difference]:
    ours, theirs = attrs(a), attrs(b)
    for name in dict.fromkeys((*ours, *theirs)):
        if any(fnmatchcase(name, pattern) or name == pattern for pattern in ignore):
            continue
        if name not in theirs:
            yield Difference("attribute", variable, name, "a", a=ours[name])
        elif name not in ours:
            yield Difference("attribute", variable, name, "b", b=theirs[name])
        elif not same_attributes(ours[name], theirs[name]):
            types = attribute_type(ours[name]), attribute_type(theirs[name])
            told = types if types[0] != types[1] else None
            yield Difference("attribute", variable, name, a=ours[name], b=theirs[name], types=told)


def _of_metadata(key: str, a: Entry, b: Entry, how: DiffOptions) -> Iterator[Difference]:
    """Yield the differences of one variable except its values."""
    variable = unescape(key)
    shapes = a.get(".size"), b.get(".size")
    types = a.get(".type"), b.get(".type")
    if how.header and _dims(key, a) != _dims(key, b):
        yield Difference("dimensions", variable, a=_dims(key, a), b=_dims(key, b))
    if shapes[0] != shapes[1]:
        yield Difference("shape", variable, a=shapes[0], b=shapes[1])
    if types[0] != types[1] and (how.header or not _have_common_values(*types)):
        yield Difference("type", variable, a=types[0], b=types[1])
    if how.header:
        yield from _of_attributes(variable, a, b, how.ignore)


def _are_comparable(a: Entry, b: Entry) -> bool:
    """Whether values can be compared one by one."""
    if a.get(".size") is None or a.get(".size") != b.get(".size"):
        return False
    return _have_common_values(a.get(".type"), b.get(".type"))


def _have_common_values(a: str | None, b: str | None) -> bool:
    """Whether values of two types can be equal: both numbers, or both strings. Unknown types are compared."""
    kinds = [TYPES[name].is_string if name in TYPES else None for name in (a, b)]
    return None in kinds or kinds[0] == kinds[1]


def _of_values(a: Subset, b: Subset, key: str, how: DiffOptions, report: Callable[[int], None]) -> Iterable[Difference]:
    parts = stored_pairs(a, b, key) or pairs(a.blocks(key), b.blocks(key))
    found = tally(parts, how.rule, first=how.first, report=report)
    if found.missing_a or found.missing_b:
        yield _missing(found, key, (a, b))
    if found.differing:
        yield Difference(
            "values",
            unescape(key),
            n=found.differing,
            total=found.n,
            first=position_of(found.first, key, (a, b)),
            largest=position_of(found.largest, key, (a, b)),
            relative=position_of(found.relative, key, (a, b)),
        )


def _missing(found: Tally, key: str, sources: tuple[Subset, Subset]) -> Difference:
    return Difference(
        "missing",
        unescape(key),
        a=found.missing_a,
        b=found.missing_b,
        n=found.missing_a + found.missing_b,
        total=found.n,
        first=position_of(found.first_missing, key, sources),
    )
