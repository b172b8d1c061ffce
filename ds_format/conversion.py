"""One file to another, variable by variable and block by block, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import drivers, mode
from .dataset import META, as_array
from .drivers.base import BLOCK_SIZE, Metadata, Sink, Source, block_slices
from .dtypes import TYPES
from .files import Path, say_unknown, select
from .names import escape, unescape
from .selection import Index, shape_of

STRING_SIZE = 128
"""Bytes of memory that a string is reckoned to take."""

Progress = Callable[[int, int], None]


def convert(
    source: Path,
    target: Path,
    variables: Sequence[str] | None = None,
    sel: Mapping[str, Any] | None = None,
    *,
    skip_unsupported: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> None:
    """Convert a file to another format, or select a part of it.

    Data flow in blocks, so that files may be larger than memory. The target appears whole or not at all; it may be the
    source itself.

    Parameters
    ----------
    source, target : str, bytes or PathLike
        The suffixes tell the formats.
    variables : sequence of str, optional
        Names of the variables to convert; all by default.
    sel : dict, optional
        Dimension name → index, as `ds_format.read`.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising.
    progress : callable, optional
        Called with the bytes done and the bytes in all, both of the data in memory.
    **options
        Of the driver of the target.

    Raises
    ------
    OSError, DriverError, FormatError, IndexError
        As `ds_format.read`.
    UnsupportedError
        If a format cannot hold a variable.
    """
    skip = skip_unsupported and "skip_unsupported" in drivers.find_existing(source).options
    reader = drivers.open_source(source, skip_unsupported=skip)
    try:
        creator = drivers.load(drivers.find(target))
        keys = _keys(reader, source, variables)
        indexes, meta = _select(reader, source, keys, sel or {})
        sink: Sink = creator.create(target, meta, **options)
        try:
            _copy(reader, sink, meta, indexes, progress)
            sink.commit()
        except BaseException:
            sink.abort()
            raise
    finally:
        reader.close()


def _keys(reader: Source, source: Path, variables: Iterable[str] | None) -> list[str]:
    every = [key for key in reader.meta if key != META]
    if variables is None:
        return every
    wanted = {escape(name) for name in variables}
    for key in sorted(wanted.difference(every)):
        mode.missing(f'{os.fsdecode(source)}: variable "{unescape(key)}" not found')
    return [key for key in every if key in wanted]


def _select(
    reader: Source, source: Path, keys: Iterable[str], sel: Mapping[str, Any]
) -> tuple[dict[str, tuple[Index, ...] | None], Metadata]:
    """Return the index of each variable, None for the whole of it, and the metadata of what is selected."""
    indexes: dict[str, tuple[Index, ...] | None] = {}
    meta: Metadata = {}
    for key in keys:
        indexes[key], meta[key] = select(source, key, reader.meta[key], sel)
        if meta[key].get(".size") is None:
            reader.read(key)  # no data, or data that cannot be had: this tells
    say_unknown(source, reader.meta, sel)
    meta[META] = dict(reader.meta.get(META, {}))
    return indexes, meta


def _copy(
    reader: Source,
    sink: Sink,
    meta: Metadata,
    indexes: Mapping[str, tuple[Index, ...] | None],
    progress: Progress | None,
) -> None:
    total = sum(_memory_size(meta[key]) for key in indexes)
    done = 0
    for key, index in indexes.items():
        if meta[key].get(".size") is None:
            continue
        start = done

        def report(n: int, start: int = start, item_size: int = _item_size(meta[key])) -> None:
            if progress is not None:
                progress(start + n * item_size, total)

        blocks = reader.blocks(key) if index is None else _selected_blocks(reader, key, index, meta[key])
        sink.write(key, _counted(blocks, report))
        done += _memory_size(meta[key])


def _counted(blocks: Iterable[Any], report: Callable[[int], None]) -> Iterator[Any]:
    n = 0
    for block in blocks:
        yield block
        n += block.size
        report(n)


def _item_size(entry: Mapping[str, Any]) -> int:
    ds_type = TYPES.get(entry.get(".type") or "")
    return 8 if ds_type is None else STRING_SIZE if ds_type.is_string else max(ds_type.size, 1)


def _memory_size(entry: Mapping[str, Any]) -> int:
    n = _item_size(entry)
    for count in entry.get(".size") or ():
        n *= count
    return n


def _selected_blocks(reader: Source, key: str, index: Sequence[Index], entry: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the selected part of a variable in blocks of full rank."""
    shape = shape_of(index)
    for block in block_slices(shape, _item_size(entry), BLOCK_SIZE):
        parts = iter(block)
        chosen = tuple(item if isinstance(item, int) else item[next(parts)] for item in index)
        data = reader.read(key, chosen)
        yield as_array(data)
