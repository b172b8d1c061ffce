"""Datasets of samples in the datadings format, beside datadings 3.4.7 and plain msgpack."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgpack

from ds_format.datadings import messages
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter, RawWriter

from ..data import expect
from ..runner import Bench, Case, Group, SkippedError
from ..timing import Trial, Way, stopwatch
from ..ways import DATADINGS, MSGPACK, OURS
from ..worker import Worker, can_measure_memory
from ..worker.samples import samples
from .large import PACKAGE


def write(bench: Bench, folder: Path) -> Trial:
    """Write samples; the packages write all index files, too."""
    n = bench.sizes.samples
    made = samples(n)
    path, plain = str(folder / "ours.msgpack"), str(folder / "plain")

    def ours() -> None:
        with FileWriter(path, overwrite=True) as writer:
            for sample in made:
                writer.write(sample)

    def check() -> None:
        ours()
        with MsgpackReader(path) as reader:
            expect(OURS, reader[-1]["x"], made[-1]["x"])
            expect(OURS, len(reader), n)

    def bare() -> None:
        pack = msgpack.Packer().pack
        with open(plain, "wb") as file:
            for sample in made:
                file.write(pack({**sample, "x": sample["x"].tobytes()}))

    ours()
    size = Path(path).stat().st_size
    other = partial(_theirs, "records_write", size, path=str(folder / "theirs.msgpack"), n=n)
    return Trial(
        [
            Way(OURS, stopwatch(ours), check, "FileWriter"),
            *_rivals(bench, other),
            Way(MSGPACK, stopwatch(bare), bare, "Packer().pack of the bytes of the array, one file, no index"),
        ],
        n=n,
        size=size // n,
    )


def read(raw: bool, bench: Bench, folder: Path) -> Trial:
    """Read samples in a row."""
    n = bench.sizes.samples
    path = _dataset(folder, n)
    size = Path(path).stat().st_size
    expected = size if raw else sum(i % 10 for i in range(n))
    reader = MsgpackReader(path)

    def ours() -> int:
        if raw:
            return sum(map(len, reader.iter(raw=True)))
        return sum(sample["label"] for sample in reader)

    def bare() -> int:
        with open(path, "rb") as file:
            return sum(sample["label"] for sample in msgpack.Unpacker(file, read_size=1 << 17))

    plain = [] if raw else [_way(MSGPACK, bare, expected, "Unpacker(file), arrays as bytes")]
    other = partial(_theirs, "records_read", expected, path=path, raw=raw)
    return Trial([_way(OURS, ours, expected), *_rivals(bench, other), *plain], n=n, size=size // n)


def get(bench: Bench, folder: Path) -> Trial:
    """Read samples in random order."""
    n = bench.sizes.samples
    path = _dataset(folder, n)
    expected = sum(i % 10 for i in range(n))
    order = list(range(n))
    random.Random(1).shuffle(order)

    def run(reader: MsgpackReader) -> int:
        return sum(reader.get(i)["label"] for i in order)

    mapped = partial(run, MsgpackReader(path, mmap=True))
    return Trial(
        [
            _way(OURS, partial(run, MsgpackReader(path)), expected, "reader.get(i)"),
            _way(f"{OURS}, mapped", mapped, expected, "MsgpackReader(path, mmap=True)"),
            *_rivals(bench, partial(_theirs, "records_get", expected, path=path)),
        ],
        n=n,
        size=Path(path).stat().st_size // n,
    )


def find(bench: Bench, folder: Path) -> Trial:
    """Ask whether keys are there, half of which are."""
    n = bench.sizes.samples
    path = _dataset(folder, n)
    reader = MsgpackReader(path)
    keys = [f"sample-{i:08d}" for i in range(n // 2, n // 2 + n)]
    expected = n - n // 2
    return Trial(
        [
            _way(OURS, lambda: sum(key in reader for key in keys), expected, "key in reader"),
            *_rivals(bench, partial(_theirs, "records_in", expected, path=path)),
        ],
        n=n,
    )


def first_in(bench: Bench, folder: Path) -> Trial:
    """Open a dataset of many samples, and ask for one key."""
    path, key = _keys(folder, bench.sizes.keys)

    def ours() -> bool:
        with MsgpackReader(path) as reader:
            return key in reader

    other = partial(_theirs, "records_open", True, path=path, key=key)
    return Trial([_way(OURS, ours, True, "MsgpackReader(path), key in reader"), *_rivals(bench, other)])


def first_in_memory(bench: Bench, folder: Path) -> Trial:
    """The memory that opening a dataset of many samples and asking for one key takes."""
    if not can_measure_memory():
        raise SkippedError("the system does not tell the memory of a process")
    path, key = _keys(folder, bench.sizes.keys)
    small, other = _keys(folder / "small", 1)

    def run(python: str, environment: str | None) -> float:
        with Worker(python, environment) as worker:
            worker.ask("records_open", path=small, key=other)
            before = worker.memory()
            worker.ask("records_open", path=path, key=key)
            return worker.memory() - before

    ways = [Way(OURS, partial(run, sys.executable, PACKAGE), lambda: None, "beyond that of a dataset of one sample")]
    if bench.reference is not None and _takes_part(bench.reference):
        rival = partial(run, bench.reference.python, bench.reference.path)
        ways.append(Way(DATADINGS, rival, lambda: None))
    return Trial(ways, unit="MB", repetitions=(1, 3))


def _dataset(folder: Path, n: int) -> str:
    path = str(folder / "samples.msgpack")
    with FileWriter(path) as writer:
        for sample in samples(n):
            writer.write(sample)
    return path


def _keys(folder: Path, n: int) -> tuple[str, str]:
    """Write n tiny samples, and return a key of them."""
    path = str(folder / "keys.msgpack")
    message = messages.pack({})
    with RawWriter(path) as writer:
        for i in range(n):
            writer.write(f"sample-{i:08d}", message)
    return path, f"sample-{n // 2:08d}"


def _way(name: str, work: Callable[[], Any], expected: Any, note: str = "") -> Way:
    return Way(name, stopwatch(work), lambda: expect(name, work(), expected), note)


def _takes_part(worker: Worker) -> bool:
    """Whether an environment has datadings, or this package, which the tests put in its place."""
    return worker.path is not None or worker.ask("package") == "datadings"


def _rivals(bench: Bench, make: Callable[[Worker], Way]) -> list[Way]:
    return [make(bench.reference)] if bench.reference is not None and _takes_part(bench.reference) else []


def _theirs(verb: str, expected: Any, worker: Worker, **options: Any) -> Way:
    def check() -> None:
        expect(DATADINGS, worker.ask(verb, **options)[1], expected)

    return Way(DATADINGS, lambda: float(worker.ask(verb, **options)[0]), check)


GROUP = Group(
    "Datasets of samples",
    "20 000 samples of a key, a label and an array of 250 float32, about 1 kB each: times per sample. datadings takes "
    "part where the reference's environment has it. Opening is of a dataset of 1 000 000 samples, of one key each.",
    (
        Case("samples, write", write),
        Case("samples, read in a row", partial(read, False)),
        Case("samples, read in a row, undecoded", partial(read, True)),
        Case("samples, get in random order", get),
        Case("samples, key in reader", find),
        Case("samples, open and first key", first_in),
        Case("samples, open and first key, memory", first_in_memory),
    ),
)
