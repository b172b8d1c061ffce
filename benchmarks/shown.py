"""Which figures the tables of the documents show, and under which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .cases.archive import READ_BY_TWO
from .cases.open_many import NAME as OPEN_MANY
from .cases.stations import HEADERS
from .ways import (
    BARE,
    BINPICKLE,
    CAT,
    COPY,
    DATADINGS,
    H5NETCDF,
    HIDEFIX,
    JSON_NPY,
    JSONL,
    LOOP,
    NETCDF,
    NPZ,
    NUMPY,
    OURS,
    PYTHON,
    READ_MANY,
    REFERENCE,
    SQLITE,
    XARRAY,
)


class Row(NamedTuple):
    """What a row shows: the figures of one or more cases."""

    words: str
    cases: tuple[str, ...]
    others: Mapping[str, tuple[str, str]] = {}
    """Column → another way than that of the column, and a remark behind its figures."""
    without: tuple[str, ...] = ()
    """Columns that stay empty. Every other column needs a figure of each case."""


class Shown(NamedTuple):
    """A table."""

    title: str
    columns: Mapping[str, str]
    """Title → the way whose figures stand there."""
    rows: Sequence[Row]


ALONE, THEIRS = "system calls or NumPy alone", "ds-format 5.0.2"
USUAL = {"ds_format": OURS, ALONE: BARE, "netCDF4": NETCDF, THEIRS: REFERENCE}
ENGINES = ('engine "netcdf4"', 'engine "h5netcdf"')
HDF5 = ("h5netcdf", "hidefix")
LISTING = Row(
    "`ds ls x.ds`, whole process",
    ("ds ls x.ds",),
    {ALONE: (PYTHON, "(`python -c pass`)")},
    without=("netCDF4",),
)
FULL = (
    Shown(
        "a report of a station",
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
            *(Row(f"read, {words}", (f"stations, read, {words}",)) for words in HEADERS.values()),
            Row("read one variable of nine", ("stations, read one variable",)),
            Row("open and close", ("stations, open and close",)),
            Row("`ds.read_many`, into a list", ("stations, read_many, headers differ",)),
            Row('`ds.read_many(dim="time")`, merged', ('stations, read_many(dim="time"), headers differ',)),
            Row("write, whole or absent", ("stations, write, headers differ",)),
            Row(
                "read from a disk, nothing cached",
                ("stations, from a disk",),
                without=("h5netcdf", "xarray", "npz", "JSON + npy", THEIRS),
            ),
        ),
    ),
    Shown(
        "in xarray",
        {'engine "ds"': OURS, ALONE: BARE, ENGINES[0]: NETCDF, ENGINES[1]: H5NETCDF},
        (
            Row("open a file of fifty variables", ("xarray, open a file of fifty",), without=(ALONE,)),
            Row("open and load it", ("xarray, load a file of fifty",), without=(ALONE,)),
            Row(
                "`ds.open_many(load=True)`, 2 000 files of 10 variables, per file",
                (OPEN_MANY,),
                {ALONE: (READ_MANY, "(`ds.read_many`)"), ENGINES[0]: (XARRAY, "(`open_mfdataset`)")},
                without=ENGINES[1:],
            ),
            Row(
                "write 2 GB from two workers of a cluster",
                ("dask, write",),
                {ALONE: (BARE, "(one, half of it)")},
                without=ENGINES,
            ),
            Row("mean of 2 GB by dask", ("dask, mean",), {ALONE: (BARE, "(`np.memmap`)")}, without=ENGINES),
        ),
    ),
    Shown(
        "NetCDF",
        {"ds_format": OURS, ALONE: BARE, "netCDF4": NETCDF, "h5netcdf": H5NETCDF, "hidefix": HIDEFIX},
        (
            Row("read a report in a classic file", ("classic, read",), without=HDF5),
            Row("`ds.read_many` of 2 000 such, per file", ("classic, read_many",), without=HDF5),
            Row(
                "`ds convert`, two jobs, of 3 000 such, per file",
                ("archive of classic files, ds convert",),
                {"netCDF4": (READ_BY_TWO, "(two processes, reading only)")},
                without=(ALONE, *HDF5),
            ),
            Row(
                "the same of netCDF-4 files, per file",
                ("archive of netCDF-4 files, ds convert",),
                {"netCDF4": (READ_BY_TWO, "(two processes, reading only)")},
                without=(ALONE, *HDF5),
            ),
            Row(
                "a classic file of 1 GB to ds",
                ("classic of 1 GB, convert",),
                {ALONE: (BARE, "(a copy)"), "netCDF4": (NETCDF, "(reading only)")},
                without=HDF5,
            ),
            Row("read a compressed file of 500 MB", ("compressed, read",), {ALONE: (COPY, "(one copy)")}),
            Row("one field of a hundred of it", ("compressed, read one field of a hundred",), without=(ALONE,)),
            Row(
                "to ds",
                ("compressed, convert",),
                {"netCDF4": (NETCDF, "(reading only)")},
                without=(ALONE, *HDF5),
            ),
        ),
    ),
    Shown(
        "",
        USUAL,
        (
            Row("read a tiny file (10 values)", ("read tiny",)),
            Row("read a small file (1000 values)", ("read small",)),
            Row("write a tiny file, whole or absent", ("write tiny",)),
            Row("write a tiny file, `atomic=False`", ("write tiny, atomic=False",)),
        ),
    ),
    Shown(
        "",
        {column: way for column, way in USUAL.items() if column != ALONE},
        (
            Row("100 000 tiny files: write / read", ("100 000 tiny files, write", "100 000 tiny files, read")),
            Row("100 000 small files: write / read", ("100 000 small files, write", "100 000 small files, read")),
            Row(
                "100 000 files on a disk: tiny / small / station reports",
                tuple(f"100 000 {kind}, on a disk" for kind in ("tiny files", "small files", "station reports")),
            ),
        ),
    ),
    Shown(
        "",
        USUAL,
        (
            Row("one variable of fifty", ("one of fifty, large",)),
            Row("read 400 MB", ("read large",)),
            Row("write 400 MB", ("write large",)),
            Row("read 20 M float64, 30 % missing", ("read masked",), {ALONE: (COPY, "(one copy)")}),
            Row("read 10 M booleans", ("read booleans",), {ALONE: (NUMPY, "")}),
            Row("read 300 000 strings", ("read strings",), without=(ALONE,)),
            Row("write 300 000 strings", ("write strings",), without=(ALONE,)),
            Row(
                "read 50 000 tiny files, `ds.read_many`, per file",
                ("read_many",),
                {ALONE: (LOOP, "(a loop of `ds.read`)")},
                without=("netCDF4", THEIRS),
            ),
            Row(
                "`readdir(..., merge=...)`, 2 000 files of 10 variables",
                ("readdir, merged",),
                {"netCDF4": (XARRAY, "(xarray, of NetCDF files)")},
                without=(ALONE,),
            ),
            Row("one field of a hundred of 1 GB", ("slab of large",)),
            Row(
                "`ds merge` of 1 GB, whole process",
                ("ds merge",),
                {ALONE: (CAT, "(`cat`)")},
                without=("netCDF4",),
            ),
            Row(
                "a sample of 1 kB, in a row / by number",
                ("samples, read in a row", "samples, get in random order"),
                {THEIRS: (DATADINGS, "(datadings)")},
                without=(ALONE, "netCDF4"),
            ),
            Row(
                "a JSON document of 207 bytes: write / in a row",
                ("documents, W1, 100 k", "documents, R2, 100 k"),
                {ALONE: (JSONL, "(JSONL with orjson, no index)"), THEIRS: (SQLITE, "(sqlite3)")},
                without=("netCDF4",),
            ),
            Row(
                "a JSON document of 207 bytes: by id",
                ("documents, QW, 100 k",),
                {THEIRS: (SQLITE, "(sqlite3)")},
                without=(ALONE, "netCDF4"),
            ),
            Row(
                "an object of 400 MB of arrays: dump / load, verified",
                ("objects, dump", "objects, load"),
                {THEIRS: (BINPICKLE, "(binpickle)")},
                without=("netCDF4",),
            ),
            LISTING,
        ),
    ),
)
"""What docs/performance.md has before its table of targets."""
SHORT = Shown(
    "",
    USUAL,
    (
        Row("read a station report: 9 variables, 55 attributes", ("stations, read, headers differ",)),
        Row(
            "many as one dataset, `ds.read_many(dim=...)`, per file",
            ('stations, read_many(dim="time"), headers differ',),
        ),
        Row("write one, atomically", ("stations, write, headers differ",)),
        Row("read / write 400 MB", ("read large", "write large")),
        Row("one field of a hundred of 1 GB", ("slab of large",)),
        LISTING,
    ),
)
"""The table of README.md: at most six rows, for readers who are new to the package."""
