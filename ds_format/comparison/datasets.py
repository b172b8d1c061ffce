"""All that differs between two sources: first the datasets, then one variable after another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..base.dtypes import TYPES
from ..base.names import unescape
from ..base.wording import nearest
from ..dataset import META, attrs, dims
from ..drivers.base import Metadata, check_faults
from ..views.subset import Subset, item_size, memory_size
from .attributes import same, type_of
from .elements import EXACT, Rule
from .places import place
from .records import Difference
from .stored import stored_pairs
from .values import Tally, pairs, tally

Entry = Mapping[str, Any]


class How(NamedTuple):
    """What is compared, and how."""

    rule: Rule = EXACT
    header: bool = True
    """Whether dimensions, types and attributes are."""
    values: bool = True
    ignore: tuple[str, ...] = ()
    """Attributes that are left out: names, or patterns."""
    first: bool = False
    """Whether the first difference is enough."""
    is_one_file: bool = False
    """Whether A and B are the same file, whose values are the same then, if they can be had."""
    progress: Callable[[int, int], None] | None = None
    """Takes the bytes of A in memory that are done, and those in all."""


def differences(a: Subset, b: Subset, how: How, wanted: Collection[str] | None = None) -> Iterator[Difference]:
    """Yield all that differs between two files, or parts of them.

    Parameters
    ----------
    a, b : Subset
    how : How
    wanted : collection of str, optional
        Keys of the variables to compare, and nothing else of the datasets; all by default.

    Raises
    ------
    DsError, OSError
        If one cannot be read.
    """
    ours, theirs = _chosen(a.meta, wanted), _chosen(b.meta, wanted)
    if how.values:
        check_faults(a.faults, ours)
        check_faults(b.faults, theirs)
    if how.header:
        yield from _of_dimensions(ours, theirs)
    if how.header and wanted is None:
        yield from _of_attributes(None, a.meta.get(META, {}), b.meta.get(META, {}), how.ignore)
    yield from _of_presence(ours, theirs)
    both = [key for key in ours if key in theirs]
    is_compared = how.values and not how.is_one_file
    compared = [key for key in both if is_compared and _are_comparable(ours[key], theirs[key])]
    done, total = 0, sum(memory_size(ours[key]) for key in compared)
    for key in both:
        yield from _of_metadata(key, ours[key], theirs[key], how)
        if how.values and how.is_one_file:
            _check_end(a, key)
        if key in compared:
            start, size = done, item_size(a.meta[key])

            def report(n: int, start: int = start, size: int = size) -> None:
                if how.progress is not None:
                    how.progress(start + n * size, total)

            yield from _of_values(a, b, key, how, report)
            done += memory_size(a.meta[key])


def _check_end(source: Subset, key: str) -> None:
    """Raise if a variable of a file that is compared with itself is not all there: its last value is read."""
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
    """Return what a variable may be called now: the most similar name, else that of the only one with its metadata."""
    found = nearest(name, others)
    if found is not None:
        return found
    known = attrs(entry)
    alike = [
        other
        for other, its in others.items()
        if its.get(".type") == entry.get(".type") and its.get(".size") == entry.get(".size") and same(known, attrs(its))
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
        elif not same(ours[name], theirs[name]):
            types = type_of(ours[name]), type_of(theirs[name])
            told = types if types[0] != types[1] else None
            yield Difference("attribute", variable, name, a=ours[name], b=theirs[name], types=told)


def _of_metadata(key: str, a: Entry, b: Entry, how: How) -> Iterator[Difference]:
    """Yield what differs of one variable but for its values."""
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
    """Whether values of two types may be the same: numbers, or strings. What is no known type is tried."""
    kinds = [TYPES[name].is_string if name in TYPES else None for name in (a, b)]
    return None in kinds or kinds[0] == kinds[1]


def _of_values(a: Subset, b: Subset, key: str, how: How, report: Callable[[int], None]) -> Iterable[Difference]:
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
            first=place(found.first, key, (a, b)),
            largest=place(found.largest, key, (a, b)),
            relative=place(found.relative, key, (a, b)),
        )


def _missing(found: Tally, key: str, sources: tuple[Subset, Subset]) -> Difference:
    return Difference(
        "missing",
        unescape(key),
        a=found.missing_a,
        b=found.missing_b,
        n=found.missing_a + found.missing_b,
        total=found.n,
        first=place(found.first_missing, key, sources),
    )
