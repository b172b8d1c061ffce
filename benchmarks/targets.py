"""The targets: the rows of the summary, each with several claims about cases and rivals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import NamedTuple

from .cases.archive import ORDINARY_FILES, READ_BY_TWO, TO_NETCDF, WRITTEN_BY_TWO
from .cases.open_many import NAME as OPEN_MANY, ORDINARY_NAME as OPEN_MANY_ORDINARY
from .cases.packs import BY_NAME, FILES as UNPACKED_FILES, JOINED
from .cases.program import HEADER_ONLY
from .cases.queries import (
    DUCKDB_CSV,
    DUCKDB_PARQUET,
    FILES_OF_STATIONS,
    OBJECTS,
    ONE_FILE,
    ONE_PARQUET,
    POLARS_PARQUET,
    TEXT,
)
from .cases.references import FILES as REFERENCES, GRID, KERCHUNK
from .cases.remote import CHUNK, REPORTS, ROUNDS, SLAB, SLAB_BYTES
from .cases.stations import NETCDF_FILES, PLAIN
from .timing import Result
from .ways import (
    BARE,
    BINPICKLE,
    BYTES,
    CAT,
    COPY,
    DATADINGS,
    FASTZDS,
    H5NETCDF,
    HIDEFIX,
    JSON,
    JSONL,
    LOOP,
    NETCDF,
    NUMPY,
    OURS,
    PANDAS,
    PICKLE,
    PYARROW,
    PYTHON,
    READ_MANY,
    REFERENCE,
    SMALLER,
    SQLITE,
    TUNED,
    XARRAY,
    ZARR,
)


class Bound(NamedTuple):
    """The target of a claim for one case."""

    case: str
    limit: float


class Claim(NamedTuple):
    """A target for one or more cases."""

    kind: str
    """`faster`: minimum factor of speed compared with the rival; `within`: maximum multiple of its time; `at most`:
    maximum, in the unit of the case."""
    rival: str
    """A way of the cases; ignored for `at most`."""
    bounds: tuple[Bound, ...]
    words: str = ""
    """Text after the numbers; the name of the rival if empty."""
    unit: str = "MB"
    """`MB`, `s`, or what is counted: unit of `at most`."""

    def text(self) -> str:
        """Return the target as text."""
        limits = [bound.limit for bound in self.bounds]
        shown = limits[:1] if len(set(limits)) == 1 else limits
        words = self.words or self.rival
        if self.kind == "at most":
            return f"{words} ≤ {amount(shown[0], self.unit)}"
        numbers = " / ".join(f"{limit:g}x" for limit in shown)
        if self.kind == "within":
            return f"within {numbers} of {words}"
        return f"faster than {words}" if shown == [1.0] else f"{numbers} faster than {words}"


class Goal(NamedTuple):
    """One row of the summary."""

    work: str
    claims: tuple[Claim, ...]


class Verdict(NamedTuple):
    """Result for one bound."""

    value: float
    """A ratio, as for the kind of the claim, or a number in the unit of the case."""
    reached: bool


def _claim(kind: str, rival: str, bounds: Mapping[str, float], words: str = "") -> Claim:
    return Claim(kind, rival, tuple(Bound(case, limit) for case, limit in bounds.items()), words)


def amount(limit: float, unit: str) -> str:
    """Return a limit as text."""
    return f"{limit * 1e3:g} ms" if unit == "s" else f"{limit:g} {unit}"


def _of_stations(work: str, *limits: float) -> dict[str, float]:
    return {f"stations, {work}, {words}": limit for words, limit in zip(PLAIN.values(), limits, strict=False)}


def _of_all(work: str, limit: float) -> dict[str, float]:
    return {f"documents, {work}, {size}": limit for size in ("10 k", "100 k", "1 M")}


CALLS = "bare open+fstat+read+close"
TWO_PROCESSES = "two processes of netCDF4 that only read them"
RENAMING = "bare open+writev+close+rename"
ORDINARY: tuple[Goal, ...] = (
    Goal(
        "ordinary station reports, per file: `ds.read` / one variable / `ds.read_many` / `ds.read_many(dim=)`",
        (
            _claim(
                "within",
                BARE,
                {
                    "stations, read, ordinary": 3.5,
                    "stations, read one variable, ordinary": 2.5,
                    "stations, read_many, ordinary": 4,
                    'stations, read_many(dim="time"), ordinary': 5,
                },
                CALLS,
            ),
            _claim("faster", NETCDF, {"stations, read, ordinary": 100}),
        ),
    ),
    Goal(
        "`ds.write` of ordinary reports",
        (
            _claim("within", BARE, {"stations, write, ordinary": 2}, RENAMING),
            _claim("faster", NETCDF, {"stations, write, ordinary": 75}),
        ),
    ),
    Goal(
        f"`ds.write` of ordinary reports as {' / '.join(NETCDF_FILES)}",
        (
            _claim(
                "faster",
                NETCDF,
                dict(zip((f"stations, write {how}, ordinary" for how in NETCDF_FILES), (25, 25, 18), strict=True)),
            ),
        ),
    ),
    Goal(
        "`ds.read` of ordinary reports as classic / netCDF-4 classic / netCDF-4 with strings",
        (
            _claim(
                "faster",
                NETCDF,
                {f"{words}, read": limit for words, limit in zip(ORDINARY_FILES, (30, 25, 20), strict=True)},
            ),
        ),
    ),
    Goal(
        "`ds convert` of 3,000 of these files, two jobs",
        (
            _claim(
                "within",
                READ_BY_TWO,
                {f"archive of {words} files, ds convert": 0.33 for words in ORDINARY_FILES},
                TWO_PROCESSES,
            ),
        ),
    ),
    Goal(
        "`ds convert` of 3,000 ordinary ds files to netCDF-4, two jobs",
        (_claim("within", WRITTEN_BY_TWO, {TO_NETCDF: 0.1}, "two processes of netCDF4 that write the same files"),),
    ),
    Goal(
        "`ds.open_many(load=True)` of 2,000 ordinary reports",
        (
            _claim("faster", XARRAY, {OPEN_MANY_ORDINARY: 100}, "`xarray.open_mfdataset` of them as NetCDF, loaded"),
            _claim("within", READ_MANY, {OPEN_MANY_ORDINARY: 1.5}, "`ds.read_many(dim=)`"),
        ),
    ),
)
"""Small files as users have them."""
STATIONS: tuple[Goal, ...] = (
    Goal(
        "plain station reports, per file: `ds.read`, headers equal / differ / all entries differ",
        (
            _claim("within", BARE, _of_stations("read", 1.8, 1.8, 2.4), CALLS),
            _claim("faster", NETCDF, {"stations, read, headers differ": 200}),
        ),
    ),
    Goal(
        "one variable of nine",
        (_claim("within", BARE, {"stations, read one variable, headers differ": 1.8}, CALLS),),
    ),
    Goal("`ds.open` and close", (_claim("within", BARE, {"stations, open and close, headers differ": 1.8}, CALLS),)),
    Goal(
        "`ds.read_many`, headers equal / differ",
        (_claim("within", BARE, _of_stations("read_many", 2.5, 2.5), CALLS),),
    ),
    Goal(
        '`ds.read_many(dim="time")`, headers equal / differ / all entries differ',
        (_claim("within", BARE, _of_stations('read_many(dim="time")', 2, 2, 2), CALLS),),
    ),
    Goal(
        "`ds.write`, one report again and again / each its own",
        (
            _claim("within", BARE, _of_stations("write", 1.7, 1.7), RENAMING),
            _claim("faster", NETCDF, {"stations, write, headers differ": 75}),
        ),
    ),
)
"""Small files of numbers without gaps."""

GOALS: tuple[Goal, ...] = (
    *ORDINARY,
    *STATIONS,
    Goal(
        "read tiny / small, per file, whole `ds.read`",
        (
            _claim("faster", NETCDF, {"read tiny": 80, "read small": 70}),
            _claim("faster", REFERENCE, {"read tiny": 8, "read small": 5}, "ds-format 5.0.2"),
            _claim("within", BARE, {"read tiny": 1.4, "read small": 2}, CALLS),
        ),
    ),
    Goal(
        "write tiny / small, atomically (temporary file and rename)",
        (
            _claim("faster", NETCDF, {"write tiny": 45, "write small": 30}),
            _claim("faster", REFERENCE, {"write tiny": 15, "write small": 15}, "ds-format 5.0.2"),
            _claim("within", BARE, {"write tiny": 1.5, "write small": 1.8}, RENAMING),
        ),
    ),
    Goal(
        "write tiny / small, `atomic=False`, new file",
        (
            _claim("faster", NETCDF, {"write tiny, atomic=False": 60, "write small, atomic=False": 40}),
            _claim(
                "faster",
                REFERENCE,
                {"write tiny, atomic=False": 20, "write small, atomic=False": 20},
                "ds-format 5.0.2",
            ),
            _claim(
                "within",
                BARE,
                {"write tiny, atomic=False": 2.2, "write small, atomic=False": 2.2},
                "bare open+writev+close",
            ),
        ),
    ),
    Goal(
        "100,000 files, tiny / small: write all; read all; size on a disk",
        (
            _claim("faster", NETCDF, {"100 000 tiny files, write": 5, "100 000 small files, write": 7}),
            _claim("faster", NETCDF, {"100 000 tiny files, read": 10, "100 000 small files, read": 9}),
            _claim(
                "within",
                NETCDF,
                {"100 000 tiny files, on a disk": 1, "100 000 small files, on a disk": 0.5},
                "the size of NetCDF files",
            ),
        ),
    ),
    Goal(
        "read / write large (≥ 400 MB)",
        (
            _claim("within", BARE, {"read large": 1.05, "write large": 1.05}, "`np.fromfile` / `tofile`"),
            _claim("at most", "", {"write large, memory above the array": 32}, "memory of writing above the array"),
        ),
    ),
    Goal(
        "open a large file with `mmap=True`",
        (_claim("within", SMALLER, {"open large with mmap=True": 1.25}),),
    ),
    Goal(
        "masked float64, 30 % missing, 20 M values: decode / encode",
        (
            _claim("within", COPY, {"decode masked": 2.5, "encode masked": 2.5}, "one copy of the array, in memory"),
            _claim("within", COPY, {"read masked": 2.5, "write masked": 2.5}, "one copy of the array, with the file"),
            _claim("faster", REFERENCE, {"read masked": 4, "write masked": 10}, "ds-format 5.0.2"),
            _claim("faster", NETCDF, {"read masked": 1, "write masked": 1}),
        ),
    ),
    Goal(
        "booleans, 10 M",
        (
            _claim("within", NUMPY, {"decode booleans": 1.3, "encode booleans": 1.3}, "`np.unpackbits` / `packbits`"),
            _claim(
                "within", NUMPY, {"read booleans": 1.3, "write booleans": 1.3}, "the same with `fromfile` / `tofile`"
            ),
        ),
    ),
    Goal(
        "300 k short strings: read / write",
        (
            _claim("faster", REFERENCE, {"read strings": 4, "write strings": 15}, "ds-format 5.0.2"),
            _claim("faster", NETCDF, {"read strings": 8, "write strings": 8}),
        ),
    ),
    Goal(
        "`ds.read_many` of 50,000 tiny files, list",
        (_claim("faster", LOOP, {"read_many": 1.5}, "the `ds.read` loop"),),
    ),
    Goal(
        '`readdir(dir, merge="time")`, 2,000 files of 10 variables',
        (
            _claim("faster", REFERENCE, {"readdir, merged": 15}, "ds-format 5.0.2"),
            _claim("faster", XARRAY, {"readdir, merged": 30}, "`xarray.open_mfdataset` of the same data as NetCDF"),
        ),
    ),
    Goal(
        "`ds.open_many(load=True)`, 2,000 files of 10 variables",
        (
            _claim("faster", XARRAY, {OPEN_MANY: 100}, "`xarray.open_mfdataset` of the same data as NetCDF, loaded"),
            _claim("within", READ_MANY, {OPEN_MANY: 1.5}, "`ds.read_many(dim=)`"),
        ),
    ),
    Goal(
        "`ds merge time a.ds … out.ds`, 1 GB in all",
        (
            _claim("within", CAT, {"ds merge": 1.5}, "`cat a.ds … >out`"),
            _claim("at most", "", {"ds merge, memory": 200}, "memory of the process"),
        ),
    ),
    Goal(
        "a dask array of 2 GB: written by two worker processes / its mean",
        (
            _claim("within", BARE, {"dask, write": 1.3}, "one process that writes half of it with `tofile`"),
            _claim("within", BARE, {"dask, mean": 1.0}, "the same over `np.memmap`"),
        ),
    ),
    Goal(
        "one slab of 1 % of a 1 GB variable",
        (_claim("within", BARE, {"slab of large": 2}, "`pread` of those bytes"),),
    ),
    Goal(
        "samples of 1 kB in the datadings format: write / read in a row, decoded / undecoded / `get` / `key in reader` "
        "/ open and first key of 1 M, memory for that",
        (
            _claim(
                "faster",
                DATADINGS,
                {
                    "samples, write": 2,
                    "samples, read in a row": 1.5,
                    "samples, read in a row, undecoded": 3,
                    "samples, get in random order": 3,
                    "samples, key in reader": 5,
                    "samples, open and first key": 10,
                },
                "datadings 3.4.7",
            ),
            _claim("at most", "", {"samples, open and first key, memory": 40}, "memory"),
        ),
    ),
    Goal(
        "documents, 10 k / 100 k / 1 M: write dicts (W1) / write lines (W2) / look up (QW)",
        tuple(
            _claim("faster", SQLITE, _of_all(work, limit), f"sqlite3, {work}")
            for work, limit in {"W1": 5, "W2": 15, "QW": 3}.items()
        ),
    ),
    Goal(
        "documents, 10 k / 100 k / 1 M: write dicts (W1) / open and read dicts (R2)",
        (
            _claim("within", JSONL, _of_all("W1", 1.3), "plain JSONL with orjson, W1"),
            _claim("within", JSONL, _of_all("R2", 1.15), "plain JSONL with orjson, R2"),
        ),
    ),
    Goal(
        "documents: new process, 1000 look-ups in 1 M / open, and memory of a 1 M index",
        (
            _claim("faster", FASTZDS, {"documents, QC, 1 M": 3}, "the reference's FastZDSStore"),
            Claim("at most", "", (Bound("documents, open and first id, 1 M", 0.05),), "open and first id", "s"),
            _claim("at most", "", {"documents, open and first id, 1 M, memory": 100}, "memory"),
        ),
    ),
    Goal(
        "objects of 400 MB of arrays in the BinPickle format: dump / load, copied and verified / load mapped",
        (
            _claim("within", BARE, {"objects, dump": 1.3, "objects, load": 1.3}, "`tofile` / `np.fromfile`"),
            _claim("faster", BINPICKLE, {"objects, dump": 1.8}, "binpickle 0.3.4"),
            _claim("within", SMALLER, {"objects, load mapped": 1.25}),
        ),
    ),
    Goal(
        "safe load of an object of 10,000 small arrays",
        (_claim("within", PICKLE, {"objects, load 10 000 small arrays": 2}, "the full unpickler"),),
    ),
    Goal(
        "a small classic NetCDF file: `ds.read` / `ds.read_many` of 2,000",
        (_claim("faster", NETCDF, {"classic, read": 15, "classic, read_many": 30}),),
    ),
    Goal(
        "a small netCDF-4 file: `ds.read`, plain / with zlib / `ds.read_many` of 2,000",
        (_claim("faster", NETCDF, {"netCDF-4, read": 25, "netCDF-4 with zlib, read": 22, "netCDF-4, read_many": 25}),),
    ),
    Goal(
        "`ds convert`, two jobs, 3,000 small files: classic / netCDF-4",
        (
            _claim(
                "within",
                READ_BY_TWO,
                {"archive of classic files, ds convert": 0.33, "archive of netCDF-4 files, ds convert": 0.33},
                TWO_PROCESSES,
            ),
        ),
    ),
    Goal(
        "a classic NetCDF file of 1 GB → ds",
        (_claim("within", BARE, {"classic of 1 GB, convert": 1.3}, "a copy of it"),),
    ),
    Goal(
        "an array of 1 GB → a classic NetCDF file",
        (_claim("within", BARE, {"classic of 1 GB, write": 1.1}, "`tofile`"),),
    ),
    Goal(
        "six variables of 5 MB together → a netCDF-4 file with zlib",
        (_claim("faster", NETCDF, {"compressed, write six variables": 6}),),
    ),
    Goal(
        "a compressed netCDF-4 file of 500 MB: read / one field of a hundred / convert / write",
        (
            _claim("faster", NETCDF, {"compressed, read": 2.8, "compressed, read one field of a hundred": 4}),
            _claim("faster", NETCDF, {"compressed, convert": 2}, "netCDF4 only reads it"),
            _claim("faster", NETCDF, {"compressed, write": 6, "compressed, write, one processor": 4}),
            _claim("within", HIDEFIX, {"compressed, read": 1, "compressed, read one field of a hundred": 1.2}),
        ),
    ),
    Goal(
        "mean and maximum by station of 2,000 ordinary reports, by DuckDB",
        (
            _claim("faster", DUCKDB_PARQUET, {FILES_OF_STATIONS: 10}, "DuckDB on Parquet files"),
            _claim("faster", DUCKDB_CSV, {FILES_OF_STATIONS: 15}, "DuckDB on CSV files"),
            _claim("faster", POLARS_PARQUET, {FILES_OF_STATIONS: 3}, "polars on Parquet files"),
            _claim("faster", NETCDF, {FILES_OF_STATIONS: 50}, "netCDF4 and `pd.concat`"),
        ),
    ),
    Goal(
        "the same of one joined ds file",
        (_claim("within", ONE_PARQUET, {ONE_FILE: 3}, "DuckDB on one Parquet file"),),
    ),
    Goal(
        "text of 2 M rows to Arrow",
        (_claim("faster", OBJECTS, {TEXT: 10}, "`pyarrow.array` of what `ds.read` returns"),),
    ),
    Goal(
        "CSV, 500,000 rows of five columns: read / write",
        (
            _claim("within", PANDAS, {"CSV, read": 6, "CSV, write": 0.5}, "pandas"),
            _claim("within", PYARROW, {"CSV, write": 1.5}, "pyarrow"),
        ),
    ),
    Goal(
        "JSON, 100,000 rows of five columns: read / write",
        (_claim("within", JSON, {"JSON, read": 0.6, "JSON, write": 0.5}, "`json.load` / `json.dump`"),),
    ),
    Goal(
        "ordinary station reports in a pack: one by its name / all joined",
        (
            _claim("within", UNPACKED_FILES, {BY_NAME: 1}, "files"),
            _claim("faster", UNPACKED_FILES, {JOINED: 1.5}, "files"),
        ),
    ),
    Goal(
        "a report of nine variables after ten years of hours, in a series: append it / read all of it",
        (
            Claim("at most", "", (Bound("append a report", 200e-6),), "append", "s"),
            _claim("within", "file", {"read a series": 1.2}, "one file"),
        ),
    ),
    Goal(
        "hash 50 M floats / 20 M floats, 30 % of them missing",
        (_claim("within", BARE, {"hash floats": 1.11, "hash masked": 1.11}, "`hashlib.blake2b` of the file's bytes"),),
    ),
    Goal(
        "references of 2,000 netCDF-4 files, joined / of a grid of 128 MB",
        (
            _claim("faster", KERCHUNK, {REFERENCES: 20}, "kerchunk, which does not join"),
            Claim("at most", "", (Bound(GRID, 5e-3),), "grid", "s"),
        ),
    ),
    Goal(
        '`xarray.open_dataset(path, engine="ds")`, fifty variables: open / open and load',
        (
            _claim("faster", NETCDF, {"xarray, open a file of fifty": 2.5, "xarray, load a file of fifty": 3}),
            _claim("faster", H5NETCDF, {"xarray, open a file of fifty": 20, "xarray, load a file of fifty": 20}),
        ),
    ),
    Goal(
        '`xarray.open_dataset(path, engine="ds")`, fifty variables of a netCDF-4 file: open / open and load',
        (
            _claim(
                "faster",
                NETCDF,
                {"xarray, open a netCDF-4 file of fifty": 2.5, "xarray, load a netCDF-4 file of fifty": 1.5},
            ),
        ),
    ),
    Goal(
        "a slab of a ds file of 128 MB on a web server that answers after 20 ms: time / bytes",
        (
            _claim("faster", H5NETCDF, {SLAB: 5, SLAB_BYTES: 50}, "h5netcdf on fsspec / fewer bytes"),
            _claim("faster", TUNED, {SLAB: 2}, "it with the best blocks"),
            _claim("faster", BYTES, {SLAB: 1.5}, "netCDF-C with `#mode=bytes`"),
            _claim("within", ZARR, {SLAB: 1}, "Zarr 3 with the same chunks"),
        ),
    ),
    Goal(
        "300 station reports on that server, 32 at a time",
        (_claim("within", BARE, {REPORTS: 1.3}, "bare urllib3"),),
    ),
    Goal(
        "a netCDF-4 file on that server: metadata of 9 MB / a slab of 128 MB, compressed",
        (
            Claim("at most", "", (Bound(ROUNDS, 2),), "rounds of requests", "rounds"),
            _claim("faster", TUNED, {CHUNK: 3}, "h5netcdf with the best blocks"),
        ),
    ),
    Goal(
        f"`{' / '.join(name.removesuffix(' x.ds') for name in HEADER_ONLY)}`, wall time",
        (
            _claim("within", PYTHON, dict.fromkeys(HEADER_ONLY, 3.0), "`python -c pass`"),
            _claim("faster", REFERENCE, {"ds ls x.ds": 5}, "the reference's `ds ls`"),
        ),
    ),
)
"""The table of the project's targets."""

OTHERS: tuple[Claim, ...] = (
    _claim(
        "at most", "", {"convert 1.5 GB nc → ds, memory": 256, "convert 1.5 GB ds → nc, memory": 256}, "whole process"
    ),
)
"""Targets outside of the table."""


def of(case: str, rival: str) -> Iterator[tuple[Claim, Bound]]:
    """Iterate over claims and bounds for a case and a rival. The rival OURS has those in absolute numbers."""
    claims = [claim for goal in GOALS for claim in goal.claims]
    for claim in (*claims, *OTHERS):
        if (OURS if claim.kind == "at most" else claim.rival) == rival:
            for bound in claim.bounds:
                if bound.case == case:
                    yield claim, bound


def judge(claim: Claim, bound: Bound, result: Result) -> Verdict | None:
    """Compare a result with a bound; None if the rival was not measured."""
    if claim.kind == "at most":
        value = result.median(OURS)
        return Verdict(value, value <= bound.limit)
    if claim.rival not in result.values:
        return None
    ratio = median(result.ratios(OURS, claim.rival))
    if claim.kind == "faster":
        return Verdict(ratio, ratio >= bound.limit)
    return Verdict(1 / ratio, 1 / ratio <= bound.limit)
