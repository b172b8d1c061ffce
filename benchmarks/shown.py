"""Which figures the tables of the documents show, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .cases.archive import ORDINARY_FILES, READ_BY_TWO
from .cases.open_many import NAME as OPEN_MANY, ORDINARY_NAME as OPEN_MANY_ORDINARY
from .cases.queries import DUCKDB_CSV, DUCKDB_PARQUET, FILES_OF_STATIONS, ONE_FILE, ONE_PARQUET, POLARS_PARQUET
from .cases.remote import CHUNK, METADATA, REPORTS, SLAB
from .stations import MORE
from .ways import (
    BARE,
    BINPICKLE,
    BYTES,
    CAT,
    COPY,
    DATADINGS,
    FEATHER,
    H5NETCDF,
    H5PY,
    JSON,
    JSON_NPY,
    NETCDF,
    NETCDF_ZLIB,
    NPZ,
    NUMPY,
    OURS,
    PANDAS,
    PARQUET,
    PYARROW,
    PYTHON,
    REFERENCE,
    SAFETENSORS,
    SQLITE,
    TUNED,
    XARRAY,
    ZARR,
)

FACTOR = "netCDF4 / ds_format"
"""In place of a way: the cost of netCDF4, divided by ours."""


class Row(NamedTuple):
    """What a row shows: the figures of one or more cases."""

    words: str
    cases: tuple[str, ...]
    others: Mapping[str, tuple[str, str]] = {}
    """Column → another way than that of the column, and a remark behind its figures. Without a way, only a remark."""
    without: tuple[str, ...] = ()
    """Columns that stay empty. Every other column needs a figure of each case."""


class Shown(NamedTuple):
    """A table."""

    title: str
    columns: Mapping[str, str]
    """Title → the way that its figures are of."""
    rows: Sequence[Row]
    is_turned: bool = False
    """Whether the page has a line for each of the columns: a table of few rows with many columns fits a phone so."""


CONVERTED = {
    "`ds convert`, two jobs, 3 000 classic files, per file": ("archive of ordinary classic files, ds convert",),
    "the same of netCDF-4 classic files": ("archive of ordinary netCDF-4 classic files, ds convert",),
    "the same of netCDF-4 files": ("archive of ordinary netCDF-4 files, ds convert",),
    "plain ones, classic / netCDF-4": ("archive of classic files, ds convert", "archive of netCDF-4 files, ds convert"),
}
ALONE, THEIRS = "system calls or NumPy alone", "ds-format 5.0.2"
USUAL = {"ds_format": OURS, ALONE: BARE, "netCDF4": NETCDF, THEIRS: REFERENCE}
SMALL = {"ds_format": OURS, "system calls": BARE, "netCDF4": NETCDF}
LARGE = {"ds_format": OURS, "NumPy": COPY, "netCDF4": NETCDF}
LISTING = Row(
    "`ds ls x.ds`, whole process",
    ("ds ls x.ds",),
    {ALONE: (PYTHON, "(`python -c pass`)")},
    without=("netCDF4",),
)
CLAIMED = "in 2.0.1"
"""Column of the factors that the documentation of the format has."""
CLAIMS = Shown(
    "all files",
    {"netCDF4": NETCDF, "ds_format": OURS, "factor": FACTOR, CLAIMED: ""},
    tuple(
        Row(f"{words} {files}", (f"{files}, {case}",), {CLAIMED: ("", factor)})
        for words, case, factors in (
            ("write", "write", ("5", "7", "1")),
            ("read", "read", ("10", "9", "1.3")),
            ("size of", "on a disk", ("1", "2", "1")),
        )
        for files, factor in zip(("100 000 tiny files", "100 000 small files", "10 large files"), factors, strict=True)
    ),
)
"""The table of the documentation of the format, version 2.0.1."""
REPORT = Shown(
    "a station report",
    {
        "ds_format": OURS,
        "system calls alone": BARE,
        "netCDF4": NETCDF,
        "h5netcdf": H5NETCDF,
        "xarray": XARRAY,
        "npz": NPZ,
        "JSON + npy": JSON_NPY,
        THEIRS: REFERENCE,
    },
    (
        Row("read", ("stations, read, ordinary",)),
        Row("one variable", ("stations, read one variable, ordinary",)),
        Row("write", ("stations, write, ordinary",)),
        Row("read a plain one", ("stations, read, headers differ",)),
    ),
    is_turned=True,
)
"""Its first column is the picture."""
FORMATS = {
    "ds": OURS,
    "NetCDF (netCDF4)": NETCDF,
    "Zarr 3": ZARR,
    "safetensors": SAFETENSORS,
    "Parquet (PyArrow)": PARQUET,
    "Feather (PyArrow)": FEATHER,
    "HDF5 (h5py)": H5PY,
    "npz (NumPy)": NPZ,
}
"""Of the page that compares them."""
DEFLATED = dict([*FORMATS.items()][:2]) | {"NetCDF, zlib": NETCDF_ZLIB} | FORMATS


def _not(case: str) -> str:
    return f"why not, {case}"


SHORT = Shown(
    "",
    USUAL,
    (
        Row("read a station report", ("stations, read, ordinary",)),
        Row("read a plain one: nine variables of numbers, no gaps", ("stations, read, headers differ",)),
        Row("many as one dataset, `ds.read_many(dim=...)`, per file", ('stations, read_many(dim="time"), ordinary',)),
        Row("write one, atomically", ("stations, write, ordinary",)),
        Row(
            "read / write one as a netCDF-4 file",
            ("ordinary netCDF-4, read", "stations, write netCDF-4, ordinary"),
            without=(ALONE, THEIRS),
        ),
        Row("read / write 400 MB", ("read large", "write large")),
        LISTING,
    ),
)
"""The table of README.md: at most seven rows, for readers who are new to the package."""
PERFORMANCE = (
    REPORT,
    Shown(
        "many station reports",
        SMALL,
        (
            Row("read into a list, `ds.read_many`", ("stations, read_many, ordinary",)),
            Row("merged, `ds.read_many(dim=...)`", ('stations, read_many(dim="time"), ordinary',)),
            Row(
                "plain ones: a list / merged",
                ("stations, read_many, headers differ", 'stations, read_many(dim="time"), headers differ'),
            ),
            Row("read from a disk, nothing cached", ("stations, from a disk",)),
        ),
    ),
    Shown(
        "read / write",
        {"ds_format": OURS, "netCDF4": NETCDF},
        tuple(Row(words, (f"one more, read {words}", f"one more, write {words}")) for words in MORE),
    ),
    Shown(
        "NetCDF files",
        {"ds_format": OURS, "netCDF4": NETCDF},
        (
            *(Row(f"read an {words} report", (f"{words}, read",)) for words in ORDINARY_FILES),
            Row("read a plain one, classic / netCDF-4", ("classic, read", "netCDF-4, read")),
            Row("read a plain one with zlib", ("netCDF-4 with zlib, read",)),
            Row("`ds.read_many` of 2 000 netCDF-4 files, per file", ("ordinary netCDF-4, read_many",)),
            *(
                Row(words, cases, {"netCDF4": (READ_BY_TWO, "(two processes only read)")})
                for words, cases in CONVERTED.items()
            ),
            Row(
                "convert a 1 GB classic file to ds",
                ("classic of 1 GB, convert",),
                {"netCDF4": (NETCDF, "(only reads)")},
            ),
            Row("read a compressed file of 500 MB", ("compressed, read",)),
            Row("one field of a hundred of it", ("compressed, read one field of a hundred",)),
            Row("convert it to ds", ("compressed, convert",), {"netCDF4": (NETCDF, "(only reads)")}),
        ),
    ),
    Shown(
        "large files",
        LARGE,
        (
            Row("read 400 MB", ("read large",), {"NumPy": (BARE, "(`np.fromfile`)")}),
            Row("write 400 MB", ("write large",), {"NumPy": (BARE, "(`tofile`)")}),
            Row("one field of a hundred of 1 GB", ("slab of large",), {"NumPy": (BARE, "(`pread`)")}),
            Row("20 M float64, 30 % missing", ("read masked",), {"NumPy": (COPY, "(a copy)")}),
            Row("10 M booleans", ("read booleans",), {"NumPy": (NUMPY, "(`unpackbits`)")}),
            Row("300 000 strings", ("read strings",), without=("NumPy",)),
            Row(
                "`ds merge` of 1 GB",
                ("ds merge",),
                {"NumPy": (CAT, "(`cat`)")},
                without=("netCDF4",),
            ),
        ),
    ),
    Shown(
        "dask and many files in xarray",
        {"ds_format": OURS, "compared with": BARE},
        (
            Row(
                "`ds.open_many(load=True)`, 2 000 reports / plain ones, per file",
                (OPEN_MANY_ORDINARY, OPEN_MANY),
                {"compared with": (XARRAY, "(`open_mfdataset`)")},
            ),
            Row(
                "write 2 GB from two workers",
                ("dask, write",),
                {"compared with": (BARE, "(one process, half of it)")},
            ),
            Row("mean of 2 GB", ("dask, mean",), {"compared with": (BARE, "(`np.memmap`)")}),
        ),
    ),
    Shown(
        "files on a web server",
        {
            "ds_format": OURS,
            "h5netcdf on fsspec": H5NETCDF,
            "the same, best blocks": TUNED,
            "netCDF-C, `#mode=bytes`": BYTES,
            "Zarr 3": ZARR,
            "urllib3 alone": BARE,
        },
        (
            Row("a slab of a ds file", (SLAB,)),
            Row("metadata of a netCDF-4 file", (METADATA,), without=("Zarr 3", "urllib3 alone")),
            Row("a slab of a netCDF-4 file", (CHUNK,), without=("Zarr 3", "urllib3 alone")),
            Row(
                "300 reports, per file",
                (REPORTS,),
                without=("h5netcdf on fsspec", "the same, best blocks", "netCDF-C, `#mode=bytes`", "Zarr 3"),
            ),
        ),
        is_turned=True,
    ),
    Shown(
        "samples, documents, objects",
        {"ds_format": OURS, "compared with": BARE},
        (
            Row(
                "a sample of 1 kB: in a row / by number",
                ("samples, read in a row", "samples, get in random order"),
                {"compared with": (DATADINGS, "(datadings)")},
            ),
            Row(
                "a JSON document: write / in a row",
                ("documents, W1, 100 k", "documents, R2, 100 k"),
                {"compared with": (SQLITE, "(sqlite3)")},
            ),
            Row("a JSON document by its id", ("documents, QW, 100 k",), {"compared with": (SQLITE, "(sqlite3)")}),
            Row(
                "arrays of 400 MB: dump / load, verified",
                ("objects, dump", "objects, load"),
                {"compared with": (BINPICKLE, "(binpickle)")},
            ),
        ),
    ),
    Shown(
        "tables of text",
        {"ds_format": OURS, "pandas": PANDAS, "pyarrow": PYARROW, "json": JSON},
        (
            Row("CSV, 500 000 rows of 5: read / write", ("CSV, read", "CSV, write"), without=("json",)),
            Row("JSON, 100 000 rows of 5: read / write", ("JSON, read", "JSON, write"), without=("pandas", "pyarrow")),
        ),
    ),
    Shown(
        "queries",
        {
            "ds_format": OURS,
            "DuckDB, Parquet": DUCKDB_PARQUET,
            "DuckDB, CSV": DUCKDB_CSV,
            "polars, Parquet": POLARS_PARQUET,
            "netCDF4, pandas": NETCDF,
        },
        (
            Row("mean and maximum by station, 2 000 files", (FILES_OF_STATIONS,)),
            Row(
                "the same of one file",
                (ONE_FILE,),
                {"DuckDB, Parquet": (ONE_PARQUET, "")},
                without=("DuckDB, CSV", "polars, Parquet", "netCDF4, pandas"),
            ),
        ),
        is_turned=True,
    ),
    CLAIMS,
)
"""docs/performance.md: for users."""
WHY_NOT = (
    Shown(
        "100 000 station reports",
        FORMATS,
        (
            Row("write, per file", (_not("100 000 reports, write"),)),
            Row("read, per file", (_not("100 000 reports, read"),)),
            Row("one variable", (_not("100 000 reports, read one variable"),)),
            Row("on a disk, all", (_not("100 000 reports, on a disk"),)),
        ),
        is_turned=True,
    ),
    Shown(
        "an array of 200 MB",
        DEFLATED,
        (
            Row("write", (_not("a large array, write"),)),
            Row("read", (_not("a large array, read"),)),
            Row("one field of a hundred", (_not("a large array, one field of a hundred"),)),
            Row("on a disk", (_not("a large array, on a disk"),)),
        ),
        is_turned=True,
    ),
    Shown(
        "in xarray",
        {'engine "ds"': OURS, 'engine "netcdf4"': NETCDF, 'engine "h5netcdf"': H5NETCDF, 'engine "zarr"': ZARR},
        (
            Row("open a station report, and load it", ("xarray, load a file of an ordinary station",)),
            Row("the same of a plain one", ("xarray, load a file of a plain station",)),
            Row("open fifty variables", ("xarray, open a file of fifty",)),
            Row("open and load them", ("xarray, load a file of fifty",)),
        ),
        is_turned=True,
    ),
)
"""docs/why_not.md."""
PAGES: Mapping[str, Sequence[Shown]] = {
    "README.md": (SHORT,),
    "docs/performance.md": PERFORMANCE,
    "docs/why_not.md": WHY_NOT,
    "docs/targets.md": (),
}
"""Document → its tables between the marks, in order. docs/targets.md has the summary."""
TARGETS = "docs/targets.md"


def shown_cases() -> set[str]:
    """Return the cases with figures in a table for users."""
    return {case for every in PAGES.values() for shown in every for row in shown.rows for case in row.cases}
