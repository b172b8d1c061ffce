"""Objects with their arrays in BinPickle files, beside binpickle 0.3.4, pickle, joblib and numpy.savez."""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ds_format import binpickle

from ..data import expect
from ..runner import Bench, Case, Group, need_room
from ..timing import Trial, Way, stopwatch
from ..ways import BARE, BINPICKLE, JOBLIB, OURS, PICKLE, SAVEZ, SMALLER, calls, remove
from ..worker import Worker
from ..worker.objects import PARTS, arrays

Objects = dict[str, Any]


def dump(bench: Bench, folder: Path) -> Trial:
    """Write arrays to a new file, uncompressed, with checksums where the format has them."""
    n = bench.sizes.large
    need_room(folder, 8 * n * 8)
    made = arrays(n)
    path = str(folder / "x")

    def bare() -> None:
        with open(path, "wb") as file:
            for array in made.values():
                array.tofile(file)

    def pickled() -> None:
        with open(path, "wb") as file:
            pickle.dump(made, file, protocol=5)

    ways = [
        _writes(OURS, lambda: binpickle.dump(made, path, codec=None), path, partial(binpickle.load, path), made),
        _writes(BARE, bare, path, partial(_from_file, path, n), made, "ndarray.tofile, no checksum"),
        *_rivals(bench, "objects_dump", path, n),
        _writes(PICKLE, pickled, path, partial(_unpickle, path), made, "protocol 5, no checksum"),
        _writes(SAVEZ, lambda: np.savez(path, **made), path + ".npz", partial(_savez, path), made, "CRC-32"),
    ]
    library = _joblib()
    if library is not None:
        work = partial(library.dump, made, path)
        ways.append(_writes(JOBLIB, work, path, partial(library.load, path), made, "no checksum"))
    return Trial(ways, size=8 * n)


def load(bench: Bench, folder: Path) -> Trial:
    """Read arrays as writable copies, and verify the checksums where the format has them."""
    n = bench.sizes.large
    need_room(folder, 8 * n * 6)
    made = arrays(n)
    names = (OURS, BARE, PICKLE, SAVEZ, JOBLIB)
    path = dict(zip(names, (str(folder / name) for name in ("ours", "bare", "pickle", "x.npz", "joblib")), strict=True))
    binpickle.dump(made, path[OURS], codec=None)
    with open(path[BARE], "wb") as file:
        for array in made.values():
            array.tofile(file)
    with open(path[PICKLE], "wb") as file:
        pickle.dump(made, file, protocol=5)
    np.savez(path[SAVEZ], **made)
    ways = [
        _reads(OURS, partial(binpickle.load, path[OURS]), made, "safe, verified"),
        _reads(BARE, partial(_from_file, path[BARE], n), made, "np.fromfile, no checksum"),
        *_rivals(bench, "objects_load", path[OURS], n),
        _reads(PICKLE, partial(_unpickle, path[PICKLE]), made, "no checksum"),
        _reads(SAVEZ, partial(_savez, path[SAVEZ].removesuffix(".npz")), made, "CRC-32 verified"),
    ]
    library = _joblib()
    if library is not None:
        library.dump(made, path[JOBLIB])
        ways.append(_reads(JOBLIB, partial(library.load, path[JOBLIB]), made, "no checksum"))
    return Trial(ways, size=8 * n)


def load_mapped(bench: Bench, folder: Path) -> Trial:
    """Map a file, and take the last value of each array."""
    paths = {}
    for name, n in ((OURS, bench.sizes.large), (SMALLER, bench.sizes.large // 100)):
        paths[name] = str(folder / str(n))
        binpickle.dump(arrays(n), paths[name], mappable=True)
    repeat = bench.sizes.calls

    def last(path: str) -> Any:
        with binpickle.BinPickleFile(path, direct=True) as file:
            return [array[-1] for array in file.load().values()]

    return Trial(
        [
            calls(name, partial(last, path), [array[-1] for array in binpickle.load(path).values()], repeat)
            for name, path in paths.items()
        ],
        n=repeat,
    )


def load_small(bench: Bench, folder: Path) -> Trial:
    """Read a dict of many small arrays."""
    made = {f"array_{i}": np.arange(8) + i for i in range(bench.sizes.objects)}
    path = str(folder / "small")
    binpickle.dump(made, path, codec=None)
    return Trial([
        _reads(OURS, partial(binpickle.load, path), made, "safe"),
        _reads(PICKLE, partial(binpickle.load, path, trusted=True), made, "the full unpickler, the same file"),
        *_rivals(bench, "objects_load", path, None),
    ])  # fmt: skip


def _joblib() -> Any:
    try:
        return importlib.import_module("joblib")
    except ImportError:
        return None


def _from_file(path: str, n: int) -> Objects:
    with open(path, "rb") as file:
        return {name: np.fromfile(file, np.float64, n // PARTS) for name in arrays(PARTS)}


def _unpickle(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


def _savez(path: str) -> Objects:
    with np.load(path + ".npz") as found:
        return dict(found)


def _writes(
    name: str, work: Callable[[], Any], path: str, read: Callable[[], Any], expected: Any, note: str = ""
) -> Way:
    def check() -> None:
        remove([path])
        work()
        expect(name, read(), expected)

    return Way(name, stopwatch(work, lambda: remove([path])), check, note)


def _reads(name: str, work: Callable[[], Any], expected: Any, note: str = "") -> Way:
    return Way(name, stopwatch(work), lambda: expect(name, work(), expected), note)


def _rivals(bench: Bench, verb: str, path: str, n: int | None) -> list[Way]:
    """The way of binpickle, where the environment of the reference has it; `n` None: the size is not known."""
    worker = bench.reference
    if worker is None or not (worker.path is not None or worker.ask("objects_package") == "binpickle"):
        return []
    return [Way(BINPICKLE, partial(_theirs, worker, verb, path, n), lambda: None, "codec=None")]


def _theirs(worker: Worker, verb: str, path: str, n: int | None) -> float:
    if verb == "objects_dump":
        remove([path])
        seconds, size = worker.ask(verb, path=path, n=n)
        expect(BINPICKLE, size > 8 * (n or 0), True)
        os.unlink(path)
    else:
        seconds, found = worker.ask(verb, path=path)
        expect(BINPICKLE, found >= (n or 0) // PARTS, True)
    return float(seconds)


GROUP = Group(
    "Objects",
    "A dict of 8 float64 arrays, 400 MB in all, uncompressed; a dict of 10 000 arrays of 8 integers. Files of "
    "BinPickle version 1, which has a checksum (Adler-32) of each array. binpickle takes part where the reference's "
    "environment has it: it verifies nothing when it loads.",
    (
        Case("objects, dump", dump),
        Case("objects, load", load),
        Case("objects, load mapped", load_mapped),
        Case("objects, load 10 000 small arrays", load_small),
    ),
)
