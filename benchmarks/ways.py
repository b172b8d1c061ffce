"""How ways are timed and checked: reading, writing, calling, and the reference program in its own environment."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .data import Data, expect
from .peers import read_netcdf
from .runner import Bench
from .timing import Way, stopwatch

OURS = "ds_format"
NETCDF = "netCDF4"
CLASSIC = "netCDF4, classic format"
NETCDF_ZLIB = "netCDF4, zlib"
ZARR = "Zarr 3"
SAFETENSORS = "safetensors"
PARQUET = "Parquet"
FEATHER = "Feather"
PANDAS = "pandas"
PYARROW = "pyarrow"
H5PY = "h5py"
H5NETCDF = "h5netcdf"
TUNED = "h5netcdf, tuned"
BYTES = "netCDF-C, #mode=bytes"
HIDEFIX = "hidefix"
NCCOPY = "nccopy"
SCIPY = "scipy.io.netcdf_file"
NPZ = "npz"
JSON_NPY = "JSON + npy"
JSON = "json.loads"
ORJSON = "orjson.loads"
REFERENCE = "ds-format"
BARE = "bare"
COPY = "one copy"
SMALLER = "a file of a hundredth"
NUMPY = "NumPy"
XARRAY = "xarray"
READ_MANY = "ds.read_many"
LOOP = "a loop of ds.read"
CAT = "cat"
DATADINGS = "datadings"
MSGPACK = "msgpack"
SQLITE = "sqlite3"
JSONL = "JSONL + orjson"
FASTZDS = "FastZDSStore"
DUCKDB = "DuckDB"
BINPICKLE = "binpickle"
PICKLE = "pickle"
JOBLIB = "joblib"
SAVEZ = "numpy.savez"
PYTHON = "python -c pass"
DS_FILE = "a ds file of the same"
ALONE = "one process"


def is_ours(name: str) -> bool:
    """Whether a way is one of ds_format."""
    return name.partition(",")[0] == OURS


def _itself(value: Any) -> Any:
    return value


def reads(
    name: str,
    read: Callable[[Any], Any],
    paths: Sequence[Any],
    expected: Any,
    *,
    note: str = "",
    value: Callable[[Any], Any] = _itself,
) -> Way:
    """A way to read files one after another.

    Parameters
    ----------
    name, note : str
        As in `Way`.
    read : callable
        Path → what was read.
    paths : sequence
    expected : array or dict of arrays
    value : callable
        Turns what `read` returned into what can be compared with `expected`; not timed.
    """

    def check() -> None:
        for path in (paths[0], paths[-1]):
            expect(name, value(read(path)), expected)

    return each(name, read, paths, check, len(paths), note=note)


def writes(
    name: str,
    write: Callable[[str], Any],
    paths: Sequence[str],
    expected: Any,
    read: Callable[[str], Any] = read_netcdf,
    *,
    note: str = "",
) -> Way:
    """A way to write files one after another, none of which exists.

    Parameters
    ----------
    name, note : str
        As in `Way`.
    write : callable
        Writes to a path.
    paths : sequence of str
    expected : array or dict of arrays
    read : callable
        Path → what can be compared with `expected`.
    """

    def work() -> None:
        for path in paths:
            write(path)

    def check() -> None:
        remove(paths)
        work()
        for path in (paths[0], paths[-1]):
            expect(name, read(path), expected)

    return Way(name, stopwatch(work, lambda: remove(paths)), check, note)


def each(
    name: str,
    call: Callable[[Any], Any],
    pieces: Sequence[Any],
    check: Callable[[], None],
    n: int,
    *,
    note: str = "",
    **options: Any,
) -> Way:
    """A way to do the same work with one piece after another.

    Parameters
    ----------
    name, note : str
        As in `Way`.
    call : callable
        Piece → something.
    pieces : sequence
    check : callable
        As in `Way`.
    n : int
        Pieces of the trial. If these are fewer, what they take is scaled up.
    **options
        For `stopwatch`.
    """

    def work() -> Any:
        for piece in pieces:
            found = call(piece)
        return found

    return scaled(Way(name, stopwatch(work, **options), check, note), len(pieces), n)


def scaled(way: Way, done: int, n: int) -> Way:
    """Return a way that did so many of n pieces of work, with the time that it would take for all."""
    if n == done:
        return way
    note = f"{way.note}; {done} files" if way.note else f"{done} files"
    return way._replace(run=lambda: way.run() * n / done, note=note)


def remove(paths: Sequence[str]) -> None:
    """Remove those files that exist."""
    for path in paths:
        if os.path.exists(path):
            os.unlink(path)


def calls(name: str, call: Callable[[], Any], expected: Any, n: int = 1, *, note: str = "") -> Way:
    """A way to compute something, n times in a row."""

    def work() -> Any:
        for _ in range(n):
            found = call()
        return found

    return Way(name, stopwatch(work), lambda: expect(name, call(), expected), note)


def reference_reads(
    bench: Bench,
    folder: Path,
    paths: Sequence[str],
    expected: Any,
    *,
    note: str = "",
    compare: Callable[[str, Any, Any], None] = expect,
    **options: Any,
) -> list[Way]:
    """The reference's way to read files; none without a reference.

    Parameters
    ----------
    bench : Bench
    folder : Path
        For a temporary file.
    paths : sequence of str
    expected : dict of arrays
        What the first file has.
    compare : callable
        `expect`, or `expect_whole` where metadata matter.
    **options
        `variables`, and `sel` with lists in place of slices.
    """
    worker = bench.reference
    if worker is None:
        return []
    files = list(paths)

    def check() -> None:
        pickled = folder / "read.pickle"
        worker.ask("dump", path=files[0], pickled=str(pickled), **options)
        with open(pickled, "rb") as file:
            found = pickle.load(file)
        pickled.unlink()
        compare(REFERENCE, found, expected)

    return [Way(REFERENCE, lambda: float(worker.ask("read", paths=files, **options)), check, note)]


def reference_writes(
    bench: Bench,
    folder: Path,
    paths: Sequence[str],
    datasets: Sequence[Data],
    read: Callable[[str], Any],
    compare: Callable[[str, Any, Any], None] = expect,
) -> list[Way]:
    """The reference's way to write datasets in turn to files, none of which exists; none without a reference."""
    worker = bench.reference
    if worker is None:
        return []
    files = list(paths)

    def run() -> float:
        remove(files)
        return float(worker.ask("write", paths=files))

    def check() -> None:
        pickled = folder / "write.pickle"
        with open(pickled, "wb") as file:
            pickle.dump(list(datasets), file, protocol=5)
        worker.ask("load", path=str(pickled))
        pickled.unlink()
        remove(files[:1])
        worker.ask("write", paths=files[:1])
        compare(REFERENCE, read(files[0]), datasets[0])

    return [Way(REFERENCE, run, check)]
