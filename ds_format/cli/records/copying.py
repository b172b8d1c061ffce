"""`ds records sample`, `shuffle`, `split` and `merge`: records from file to file."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from ...base.progress import Advance
from ...base.wording import on_one_line
from ...datadings.order import QuasiShuffler, Shuffler
from ...drivers.base import LossWarning
from .. import pst
from ..arguments import ArgumentError, Request, UsageError, names, text
from . import formats
from .printing import integer

Pairs = Iterable[tuple[str, bytes]]
"""Keys and messages, or lines."""


def _advance(request: Request, sources: Sequence[Any]) -> Advance:
    return Advance(request.progress, sum(source.data_size for source in sources))


def _copy(request: Request, pairs: Pairs, target: str, of: Any, advance: Advance, *, is_whole: bool = True) -> None:
    with formats.find(target).writer(target, of, is_whole, formats.layout_of(request)) as writer:
        for key, message in pairs:
            advance.add(writer.write(key, message))


def _one_to_one(request: Request) -> tuple[str, str]:
    source, target = text(request.words[0], "INPUT"), text(request.words[1], "OUTPUT")
    formats.check_targets(request, [source], [target])
    return source, target


def sample(request: Request) -> Iterable[Any]:
    """Copy some samples; there is nothing to print."""
    source, target = _one_to_one(request)
    n = _number(request.words[2])
    strategy = _strategy(request, ("random", "sequential"))
    if strategy == "sequential" and "seed" in request.options:
        raise UsageError("sample: seed is for the strategy random")
    with formats.reader(request, source) as reader:
        if not 0 <= n <= len(reader):
            raise ArgumentError(f"{source}: expected a number up to {len(reader)} samples, found {n}")
        order = Shuffler(reader, integer(request, "seed")) if strategy == "random" else reader
        _copy(request, order.iter(0, n, yield_key=True, raw=True), target, reader, _advance(request, [reader]))
    return ()


def shuffle(request: Request) -> Iterable[Any]:
    """Copy all samples in random order; there is nothing to print."""
    source, target = _one_to_one(request)
    sizes = {
        name.replace("-", "_"): request.options[name] for name in ("buf-size", "chunk-size") if name in request.options
    }
    if sizes and request.options.get("true-shuffle"):
        raise UsageError("shuffle: --true-shuffle needs neither buf-size nor chunk-size")
    if type(sizes.get("buf_size", 0)) not in (int, float) or type(sizes.get("chunk_size", 1)) is not int:
        raise ArgumentError("buf-size, chunk-size: invalid type: expected a number, and an integer")
    with formats.reader(request, source) as reader:
        seed = integer(request, "seed")
        order = QuasiShuffler(reader, **sizes, seed=seed) if sizes else Shuffler(reader, seed)
        _copy(request, order.iter(yield_key=True, raw=True), target, reader, _advance(request, [reader]))
    return ()


def split(request: Request) -> Iterable[Any]:
    """Copy parts to files of their own; there is nothing to print."""
    source = text(request.words[0], "INPUT")
    points = [_number(word) for word in request.words[1:]]
    stem, suffix = os.path.splitext(source.rstrip(os.sep))
    suffix = suffix or formats.find(source).suffix
    targets = names(request.options.get("outfiles"), "outfiles")
    targets = targets or [f"{stem}-{i}{suffix}" for i in range(len(points) + 1)]
    if len(targets) != len(points) + 1:
        raise ArgumentError(f"outfiles: found {len(targets)} names, expected {len(points) + 1}")
    formats.check_targets(request, [source], targets)
    with formats.reader(request, source) as reader:
        advance = _advance(request, [reader])
        borders = [0, *points, len(reader)]
        if borders != sorted(borders):
            raise ArgumentError(f"{source}: expected ascending numbers up to {len(reader)} samples, found {points}")
        for target, start, stop in zip(targets, borders, borders[1:], strict=False):
            _copy(request, reader.iter(start, stop, yield_key=True, raw=True), target, reader, advance)
    return ()


def merge(request: Request) -> Iterable[Any]:
    """Copy several files to one; there is nothing to print."""
    *sources, target = (text(word, "argument") for word in request.words)
    strategy = _strategy(request, ("random", "concat"))
    seed = integer(request, "seed")
    shuffled = bool(request.options.get("shuffle"))
    if seed is not None and strategy == "concat" and not shuffled:
        raise UsageError("merge: seed is for the strategy random, and for --shuffle")
    formats.check_targets(request, sources, [target])
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(formats.reader(request, source)) for source in sources]
        if len(readers) > 1:
            _warn_of_loss(readers)
        orders = [Shuffler(reader, seed) if shuffled else reader for reader in readers]
        streams = [iter(order.iter(yield_key=True, raw=True)) for order in orders]
        mixed = _mixed if strategy == "random" else _joined
        pairs = mixed(streams, [len(reader) for reader in readers], seed)
        _copy(request, pairs, target, readers[0], _advance(request, readers), is_whole=len(readers) == 1)
    return ()


def _warn_of_loss(readers: list[Any]) -> None:
    for path in [reader.companion_path for reader in readers]:
        if path is not None:
            message = f"{path}: attributes and dimensions are not kept; `ds merge` keeps them"
            warnings.warn(on_one_line(message), LossWarning, stacklevel=3)


def _joined(streams: list[Iterator[Any]], sizes: list[int], seed: int | None) -> Iterator[Any]:
    for stream in streams:
        yield from stream


def _mixed(streams: list[Iterator[Any]], sizes: list[int], seed: int | None) -> Iterator[Any]:
    """Take from one after another at random, so that each order of those that keep the orders of all is as likely."""
    left = list(sizes)
    random = Random(sum(sizes) if seed is None else seed)
    for total in range(sum(sizes), 0, -1):
        place = random.randrange(total)
        for i, n in enumerate(left):
            if place < n:
                left[i] -= 1
                yield next(streams[i])
                break
            place -= n


def _number(word: Any) -> int:
    try:
        return int(text(word, "N"))
    except ValueError:
        raise ArgumentError(
            f"invalid type: expected a number of samples, found {pst.encode([str(word)], False)}"
        ) from None


def _strategy(request: Request, known: tuple[str, ...]) -> str:
    found = request.options.get("strategy", known[0])
    if found not in known:
        raise ArgumentError(f"strategy: expected {' or '.join(known)}, found {pst.encode([found], False)}")
    return str(found)
