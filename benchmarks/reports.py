"""Station reports as files of all programs, and the ways to read them: one after another, into a list, and merged."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from . import peers
from .data import Data, expect, expect_report, of_arrays, settled
from .programs import Program, arrays_of
from .runner import Bench
from .stations import station
from .timing import Way, stopwatch
from .ways import BARE, each, reference_reads, scaled

Paths = Sequence[str]


class Reports:
    """Files of the same reports in one folder.

    Parameters
    ----------
    bench : Bench
    folder : Path
    kind : str
        As in `stations.station`.
    names : sequence of str, optional
        Of the variables that are wanted; all by default.
    """

    def __init__(self, bench: Bench, folder: Path, kind: str, names: Sequence[str] | None = None):
        self.bench = bench
        self.folder = folder
        self.kind = kind
        self.names = names
        self.n = bench.sizes.files
        self.ours = self.paths(".ds")
        for i, path in enumerate(self.ours):
            ds.write(path, station(i, kind), atomic=False)

    def paths(self, suffix: str, share: int = 1) -> list[str]:
        """Return where files go: one for so many reports."""
        return [str(self.folder / f"{i:06d}{suffix}") for i in range(-(-self.n // share))]

    def written(self, program: Program) -> list[str]:
        """Write the files of a program, and return their paths."""
        paths = self.paths(program.suffix, program.share)
        for i, path in enumerate(paths):
            program.write(path, program.made(station(i, self.kind)))
        return paths

    def expected(self, i: int) -> Data:
        """Return what is to be read of a report."""
        data = station(i, self.kind)
        return data if self.names is None else of_arrays({name: data[name] for name in self.names}, data["."])

    def reads(
        self, name: str, read: Callable[[str], Any], paths: Paths, note: str = "", value: Any = None, **options: Any
    ) -> Way:
        """A way to read one file after another; `value` returns the dataset in what was read."""

        def check() -> None:
            for i in (0, len(paths) - 1):
                found = read(paths[i])
                expect_report(name, value(found) if value else found, self.expected(i))

        return each(name, read, paths, check, self.n, note=note, **options)

    def lists(
        self,
        name: str,
        read: Callable[[Paths], Sequence[Any]],
        paths: Paths,
        note: str = "",
        value: Any = None,
        **options: Any,
    ) -> Way:
        """A way to read all files, and to keep what was read."""

        def check() -> None:
            found = read(paths)
            expect(f"{name}: files", len(found), len(paths))
            for i in (0, len(paths) - 1):
                expect_report(name, value(found[i]) if value else found[i], self.expected(i))

        way = Way(name, stopwatch(lambda: read(paths), **options), check, note)
        return scaled(way, len(paths), self.n)

    def merges(
        self, name: str, read: Callable[[Paths], Any], paths: Paths, note: str = "", scalars: bool = True
    ) -> Way:
        """A way to read all files as one dataset, with what is scalar in a file repeated, unless `scalars` is false."""

        def check() -> None:
            expect(name, self.values(read(paths)), self.merged(len(paths), scalars))

        return scaled(Way(name, stopwatch(lambda: read(paths)), check, note), len(paths), self.n)

    def merged(self, n: int, scalars: bool = True) -> dict[str, Any]:
        """Return the arrays of the first reports, one behind another."""
        return joined([settled(station(i, self.kind)) for i in range(n)], scalars)

    def values(self, found: Any) -> Data:
        """Return the variables of a dataset, or those of xarray, in the form of `merged`."""
        return values_of(found, station(0, self.kind)["."])

    def bare(self, **options: Any) -> Way:
        """The system calls without which no file is read."""

        def check() -> None:
            if peers.read_bare(self.ours[0]) != Path(self.ours[0]).read_bytes():
                raise ValueError("not the bytes of the file")

        return each(BARE, peers.read_bare, self.ours, check, self.n, note="open, fstat, read, close", **options)

    def program_reads(self, program: Program, **options: Any) -> Way:
        """One file after another, with another program."""

        def read(path: str) -> Any:
            return program.read(path, self.names)

        return self.reads(program.name, read, self.written(program), program.reading, program.value, **options)

    def program_lists(self, program: Program) -> Way:
        """All files into a list, with another program."""

        def read(paths: Paths) -> list[Any]:
            return [program.read(path, self.names) for path in paths]

        return self.lists(program.name, read, self.written(program), program.reading, program.value)

    def program_merges(self, program: Program) -> Way:
        """All files as one dataset, with another program that can do no more than read them."""

        def read(paths: Paths) -> dict[str, Any]:
            return joined([program.read(path, self.names) for path in paths])

        return self.merges(program.name, read, self.written(program), "a list, np.concatenate")

    def reference(self, expected: Data, **options: Any) -> list[Way]:
        """One file after another, with the reference; none without one."""
        return reference_reads(self.bench, self.folder, self.ours, expected, compare=expect_report, **options)


def joined(datasets: Sequence[Data], scalars: bool = True) -> dict[str, Any]:
    """Return the arrays of datasets, one behind another; scalars, unless left out, are repeated for all times."""
    found = {}
    for name, first in datasets[0].items():
        if name != "." and (scalars or np.ndim(first)):
            parts = [data[name] for data in datasets]
            join = np.ma.concatenate if np.ma.is_masked(first) else np.concatenate
            found[name] = join(parts) if np.ndim(first) else _repeated(parts, len(datasets[0]["time"]))
    return found


def values_of(found: Any, meta: Mapping[str, Any]) -> Data:
    """Return the variables of a dataset, or those of xarray, as `joined` has them."""
    arrays = arrays_of(getattr(found, "variables", found))
    return settled({**{name: arrays[name] for name in arrays if name in meta}, ".": meta})


def _repeated(scalars: Sequence[Any], n: int) -> Any:
    return np.repeat([np.asanyarray(scalar).item() for scalar in scalars], n)


def writes_into(program: Program, folder: Path, n: int, datasets: Sequence[Data]) -> Way:
    """A way to write n files into an empty folder, one after another: the datasets in turn."""
    folder.mkdir()
    paths = [str(folder / f"{i:06d}{program.suffix}") for i in range(-(-n // program.share))]
    made = [program.made(data) for data in datasets[: len(paths)]]
    pieces = list(zip(paths, itertools.cycle(made), strict=False))

    def clear() -> None:
        for path in folder.iterdir():
            remove(path)

    def check() -> None:
        clear()
        for i in {0, len(pieces) - 1}:
            program.write(*pieces[i])
            found = program.value(program.read(paths[i], None))
            expect_report(program.name, found, datasets[i % len(made)])

    return each(
        program.name,
        lambda piece: program.write(*piece),
        pieces,
        check,
        n,
        note=program.writing,
        prepare=clear,
    )


def remove(path: Path) -> None:
    """Remove a file, or a folder that is one to its program."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
