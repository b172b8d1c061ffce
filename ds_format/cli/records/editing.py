"""Tools of `ds records` that write: `put`, `delete`, `import`, `export`, `sample`, `shuffle`, `split` and `merge`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, BinaryIO

from ... import drivers
from ...base.progress import Advance
from ...base.text import on_one_line
from ...body.target import Target, naming
from ...datadings.order import QuasiShuffler, Shuffler
from ...drivers.base import LossWarning
from ...errors import DsError, MissingError
from ...kernels.files.names import exists, is_file
from ...zds.format import DEFAULT_COLLECTION
from ...zds.store import ZDSStore
from ..arguments import ArgumentError, Request, UsageError, choice, text
from . import record_readers
from .printing import over_records


def put(request: Request) -> Iterable[Any]:
    """Store a document; there is nothing to print."""
    path = record_readers.store(request, "put", is_made=True)
    key = text(request.words[1], "KEY")
    given = text(request.words[2], "JSON") if len(request.words) > 2 else sys.stdin.read()
    try:
        document = json.loads(given, parse_constant=_refuse)
    except ValueError as error:
        hint = "; put it after --, where words are literal" if len(request.words) > 2 else ""
        raise ArgumentError(f"expected an object in JSON, found {given!r:.60}: {error}{hint}") from None
    if not isinstance(document, dict):
        raise ArgumentError(f"expected an object in JSON, found {given!r:.60}")
    with _writable(request, path) as store:
        try:
            store.put(key, document)
        except DsError as error:
            raise error.at(path=path)
    return ()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


def delete(request: Request) -> Iterable[Any]:
    """Delete all given documents or none; there is nothing to print."""
    path = record_readers.store(request, "delete")
    keys = [text(word, "KEY") for word in request.words[1:]]
    with _writable(request, path) as store:
        for key in keys:
            if key not in store:
                raise MissingError(f"no document with the id {key!r:.60}", path=path)
        for key in dict.fromkeys(keys):
            store.delete(key)
    return ()


def _writable(request: Request, path: str) -> ZDSStore:
    wanted = request.get("collection")
    if wanted is None:
        is_there = is_file(path) or drivers.of_folder(path) is not None
        wanted = record_readers.collection_of(path, None, is_made=True) if is_there else DEFAULT_COLLECTION
    return ZDSStore.open(path, wanted, mode="a", layout=request.get("layout"))


def import_(request: Request) -> Iterable[Any]:
    """Store all documents from lines of JSON or none; there is nothing to print."""
    path = record_readers.store(request, "import", is_made=True)
    source = text(request.words[1], "FILE")
    with open(source, "rb") as file, _writable(request, path) as store:
        store.write_jsonl(_ReportingFile(file, Advance(request.progress, os.stat(source).st_size)))
    return ()


class _ReportingFile:
    """A file that reports progress while it is read."""

    def __init__(self, file: BinaryIO, advance: Advance):
        self.name = file.name
        self._file, self._advance = file, advance

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self._advance.add(len(data))
        return data


def export(request: Request) -> Iterable[Any]:
    """Write records as lines of JSON; there is nothing to print."""
    path, file = text(request.words[0], "INPUT"), text(request.words[1], "FILE")
    if exists(file) and not request.flag("y"):
        raise ArgumentError(f"{file}: file exists; -y replaces it")
    with record_readers.reader(request, path) as reader:
        target = Target(file)
        try:
            with naming(file), open(target.create(), "wb") as out:
                lines = (line + b"\n" for line in reader.lines())
                out.writelines(over_records(lines, request.progress, reader))
            target.commit()
        except BaseException:
            target.abort()
            raise
    return ()


def _advance(request: Request, sources: Sequence[Any]) -> Advance:
    return Advance(request.progress, sum(source.data_size for source in sources))


def _copy(
    request: Request,
    pairs: Iterable[tuple[str, bytes]],
    target: str,
    of: Any,
    advance: Advance,
    *,
    is_whole: bool = True,
) -> None:
    with of.writer(target, is_whole, request.get("layout")) as writer:
        for key, message in pairs:
            advance.add(writer.write(key, message))


def _one_to_one(request: Request) -> tuple[str, str]:
    source, target = text(request.words[0], "INPUT"), text(request.words[1], "OUTPUT")
    record_readers.check_targets(request, [source], [target])
    return source, target


def sample(request: Request) -> Iterable[Any]:
    """Copy some samples; there is nothing to print."""
    source, target = _one_to_one(request)
    n = _number(request.words[2])
    strategy = _strategy(request, "sequential")
    if strategy == "sequential" and "seed" in request.options:
        raise UsageError("sample: seed is only possible with strategy: random")
    with record_readers.reader(request, source) as reader:
        if not 0 <= n <= len(reader):
            raise ArgumentError(
                f"{source}: expected a number from 0 to {len(reader)}, the number of samples, found {n}"
            )
        order = Shuffler(reader, request.get("seed")) if strategy == "random" else reader
        _copy(request, order.iter(0, n, yield_key=True, raw=True), target, reader, _advance(request, [reader]))
    return ()


def shuffle(request: Request) -> Iterable[Any]:
    """Copy all samples in random order; there is nothing to print."""
    source, target = _one_to_one(request)
    sizes = {
        name.replace("-", "_"): request.options[name] for name in ("buf-size", "chunk-size") if name in request.options
    }
    if sizes and request.flag("true-shuffle"):
        raise UsageError("shuffle: --true-shuffle excludes buf-size and chunk-size")
    if type(sizes.get("buf_size", 0)) not in (int, float) or type(sizes.get("chunk_size", 1)) is not int:
        raise ArgumentError("buf-size, chunk-size: invalid type: expected a number, and an integer")
    with record_readers.reader(request, source) as reader:
        seed = request.get("seed")
        order = QuasiShuffler(reader, **sizes, seed=seed) if sizes else Shuffler(reader, seed)
        _copy(request, order.iter(yield_key=True, raw=True), target, reader, _advance(request, [reader]))
    return ()


def split(request: Request) -> Iterable[Any]:
    """Copy parts to separate files; there is nothing to print."""
    source = text(request.words[0], "INPUT")
    points = [_number(word) for word in request.words[1:]]
    stem, suffix = os.path.splitext(source.rstrip(os.sep))
    suffix = suffix or record_readers.find(source).suffix
    targets = request.get("outfiles", [])
    targets = targets or [f"{stem}-{i}{suffix}" for i in range(len(points) + 1)]
    if len(targets) != len(points) + 1:
        raise ArgumentError(f"outfiles: found {len(targets)} names, expected {len(points) + 1}")
    record_readers.check_targets(request, [source], targets)
    with record_readers.reader(request, source) as reader:
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
    strategy = _strategy(request, "concat")
    seed = request.get("seed")
    shuffled = request.flag("shuffle")
    if seed is not None and strategy == "concat" and not shuffled:
        raise UsageError("merge: seed is only possible with strategy: random or --shuffle")
    record_readers.check_targets(request, sources, [target])
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(record_readers.reader(request, source)) for source in sources]
        if len(readers) > 1:
            _warn_of_loss(readers)
        orders = [Shuffler(reader, seed) if shuffled else reader for reader in readers]
        streams = [iter(order.iter(yield_key=True, raw=True)) for order in orders]
        sizes = [len(reader) for reader in readers]
        pairs = _mixed(streams, sizes, seed) if strategy == "random" else itertools.chain(*streams)
        _copy(request, pairs, target, readers[0], _advance(request, readers), is_whole=len(readers) == 1)
    return ()


def _warn_of_loss(readers: list[Any]) -> None:
    for path in [reader.sidecar_path for reader in readers]:
        if path is not None:
            message = f"{path}: attributes and dimensions are not kept; `ds merge` keeps them"
            warnings.warn(on_one_line(message), LossWarning, stacklevel=3)


def _mixed(streams: list[Iterator[Any]], sizes: list[int], seed: int | None) -> Iterator[Any]:
    """Mix sources at random. Every order that keeps the order within each source is equally likely."""
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


def _strategy(request: Request, other: str) -> str:
    found: str = choice("random", other)("strategy", request.options.get("strategy", "random"))
    return found


def _number(word: Any) -> int:
    try:
        return int(text(word, "N"))
    except ValueError:
        raise ArgumentError(f"invalid type: expected a number of samples, found {text(word, 'N')}") from None


TOOLS: dict[str, Callable[[Request], Iterable[Any]]] = {
    "put": put,
    "delete": delete,
    "export": export,
    "import": import_,
    "sample": sample,
    "shuffle": shuffle,
    "split": split,
    "merge": merge,
}
"""Name of a subcommand → function of the request without this name, which returns the items to print."""
