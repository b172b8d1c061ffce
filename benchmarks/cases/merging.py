"""Files merged into one along their first dimension, by the command line: how fast, and with how much memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ..data import dataset, expect, floats
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..stations import SCALARS, ordinary
from ..timing import Trial, Way, stopwatch
from ..ways import CAT, OURS, READ_MANY, REFERENCE, each, remove
from ..worker import Worker, can_measure_memory, environment
from .large import PACKAGE
from .program import command

FILES = 10
STEPS = 10
"""Of time, in each file."""


def merge(bench: Bench, folder: Path) -> Trial:
    """Merge files with `ds merge`, beside what the system needs to put them into one."""
    size = bench.sizes.merged
    need_room(folder, 5 * size)
    sources = _write(folder, size)
    merged, joined, theirs = (str(folder / name) for name in ("merged.ds", "joined", "theirs.ds"))
    words = ["merge", "time", *sources]
    ways = [
        _way(OURS, [*command(), *words, merged], merged, sources, "ds merge time a.ds … out.ds", environment(PACKAGE)),
        Way(CAT, stopwatch(lambda: _cat(sources, joined), lambda: remove([joined])), lambda: None, "cat a.ds … >out"),
    ]
    if bench.reference is not None:
        script = Path(bench.reference.python).with_name("ds")
        if script.exists():
            ways.append(
                _way(REFERENCE, [str(script), *words, theirs], theirs, sources, "", bench.reference.environment)
            )
    return Trial(ways, size=size, repetitions=(1, 5))


def ragged(bench: Bench, folder: Path) -> Trial:
    """Merge the reports of stations into a ragged array, which keeps each of them."""
    n = bench.sizes.files
    paths = [str(folder / f"{i:05}.ds") for i in range(n)]
    for i, path in enumerate(paths):
        ds.write(path, ordinary(i))
    target = str(folder / "ragged.ds")

    def check() -> None:
        ds.merge_ragged(paths, target)
        one = ds.read(target, at={"station_id": f"ST{n - 1:010}"})
        expect(OURS, {name: one[name] for name in ("time", "humidity")}, ds.read(paths[-1], ["time", "humidity"]))

    files = [paths]
    return Trial(
        [
            each(OURS, lambda some: ds.merge_ragged(some, target), files, check, 1),
            each(READ_MANY, lambda some: ds.read_many(some, dim="time", stack=SCALARS), files, lambda: None, 1),
        ],
        n=n,
    )


def memory(bench: Bench, folder: Path) -> Trial:
    """The most memory that a process has held when it has merged files."""
    if not can_measure_memory():
        raise SkippedError("the system does not tell the memory of a process")
    size = bench.sizes.merged
    need_room(folder, 3 * size)
    words = ["merge", "time", *_write(folder, size), str(folder / "merged.ds")]

    def run() -> float:
        with Worker(sys.executable, PACKAGE) as worker:
            worker.ask("command", words=words)
            return worker.memory()

    return Trial([Way(OURS, run, lambda: None, "whole process")], unit="MB", repetitions=(1, 1))


def _write(folder: Path, size: int) -> list[str]:
    """Write files of a float64 and a float32 variable and their times, of so many bytes in all."""
    n = max(size // (FILES * STEPS * 12), 1)
    values = floats(STEPS * n).reshape(STEPS, n)
    paths = [str(folder / f"{i}.ds") for i in range(FILES)]
    for i, path in enumerate(paths):
        data = dataset(["time", "cell"], x=values + i, y=values.astype(np.float32))
        data["time"], data["."]["time"] = np.arange(STEPS) + STEPS * i, {".dims": ["time"], "units": "h"}
        ds.write(path, data)
    return paths


def _way(name: str, words: Sequence[str], target: str, sources: Sequence[str], note: str, variables: Any) -> Way:
    def work() -> None:
        subprocess.run(words, check=True, env=variables)

    def check() -> None:
        remove([target])
        work()
        for i, source in enumerate(sources):
            steps = {"time": slice(STEPS * i, STEPS * (i + 1))}
            expect(name, ds.read(target, sel=steps), ds.read(source))
        remove([target])

    return Way(name, stopwatch(work, lambda: remove([target])), check, note)


def _cat(sources: Sequence[str], target: str) -> None:
    with open(target, "wb") as file:
        subprocess.run(["cat", *sources], check=True, stdout=file)


GROUP = Group(
    "Merging files",
    "Ten files of two variables and ten steps of time each, 1 GB in all, merged along their first dimension. Memory is "
    "the most that a process held, Python and the libraries included. `merge_ragged` makes a file of reports of "
    "stations; `read_many` only reads them.",
    (
        Case("ds merge", merge),
        Case("ds merge, memory", memory),
        Case("merge_ragged", ragged),
    ),
)
