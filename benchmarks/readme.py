"""`python -m benchmarks.readme REPORT.json ...`: put what was measured into the tables of the documents.

Only tables between the marks `<!-- benchmarks -->` and `<!-- /benchmarks -->` are changed; what is said around them is
not. Later reports replace what earlier ones say of the same cases.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .cases.archive import READ_BY_TWO
from .cases.open_many import NAME as OPEN_MANY
from .cases.stations import HEADERS
from .table import quantity, summary
from .timing import Result
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

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(?<=<!-- benchmarks -->\n).*(?=<!-- /benchmarks -->)", re.DOTALL)
TABLES = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


class Row(NamedTuple):
    """What a row shows: the figures of one or more cases."""

    words: str
    cases: tuple[str, ...]
    others: Mapping[str, tuple[str, str]] = {}
    """Column → another way than that of the column, and a remark behind its figures."""


class Short(NamedTuple):
    """A table of the README."""

    title: str
    columns: Mapping[str, str]
    """Title → the way whose figures stand there."""
    rows: Sequence[Row]


ALONE, THEIRS = "system calls or NumPy alone", "ds-format 5.0.2"
USUAL = {"ds_format": OURS, ALONE: BARE, "netCDF4": NETCDF, THEIRS: REFERENCE}
SHORT = (
    Short(
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
            Row("read from a disk, nothing cached", ("stations, from a disk",)),
        ),
    ),
    Short(
        "in xarray",
        {'engine "ds"': OURS, ALONE: BARE, 'engine "netcdf4"': NETCDF, 'engine "h5netcdf"': H5NETCDF},
        (
            Row("open a file of fifty variables", ("xarray, open a file of fifty",)),
            Row("open and load it", ("xarray, load a file of fifty",)),
            Row(
                "`ds.open_many(load=True)`, 2 000 files of 10 variables, per file",
                (OPEN_MANY,),
                {ALONE: (READ_MANY, "(`ds.read_many`)"), 'engine "netcdf4"': (XARRAY, "(`open_mfdataset`)")},
            ),
            Row("write 2 GB from two workers of a cluster", ("dask, write",), {ALONE: (BARE, "(one, half of it)")}),
            Row("mean of 2 GB by dask", ("dask, mean",), {ALONE: (BARE, "(`np.memmap`)")}),
        ),
    ),
    Short(
        "NetCDF",
        {"ds_format": OURS, ALONE: BARE, "netCDF4": NETCDF, "h5netcdf": H5NETCDF, "hidefix": HIDEFIX},
        (
            Row("read a report in a classic file", ("classic, read",)),
            Row("`ds.read_many` of 2 000 such, per file", ("classic, read_many",)),
            Row(
                "`ds convert`, two jobs, of 3 000 such, per file",
                ("archive of classic files, ds convert",),
                {"netCDF4": (READ_BY_TWO, "(two processes, reading only)")},
            ),
            Row(
                "the same of netCDF-4 files, per file",
                ("archive of netCDF-4 files, ds convert",),
                {"netCDF4": (READ_BY_TWO, "(two processes, reading only)")},
            ),
            Row(
                "a classic file of 1 GB to ds",
                ("classic of 1 GB, convert",),
                {ALONE: (BARE, "(a copy)"), "netCDF4": (NETCDF, "(reading only)")},
            ),
            Row("read a compressed file of 500 MB", ("compressed, read",), {ALONE: (COPY, "(one copy)")}),
            Row("one field of a hundred of it", ("compressed, read one field of a hundred",)),
            Row("to ds", ("compressed, convert",), {"netCDF4": (NETCDF, "(reading only)")}),
        ),
    ),
    Short(
        "",
        USUAL,
        (
            Row("read a tiny file (10 values)", ("read tiny",)),
            Row("read a small file (1000 values)", ("read small",)),
            Row("write a tiny file, whole or absent", ("write tiny",)),
            Row("write a tiny file, `atomic=False`", ("write tiny, atomic=False",)),
            Row("100 000 tiny files: write / read", ("100 000 tiny files, write", "100 000 tiny files, read")),
            Row("100 000 small files: write / read", ("100 000 small files, write", "100 000 small files, read")),
            Row(
                "100 000 files on a disk: tiny / small / station reports",
                tuple(f"100 000 {kind}, on a disk" for kind in ("tiny files", "small files", "station reports")),
            ),
        ),
    ),
    Short(
        "",
        USUAL,
        (
            Row("one variable of fifty", ("one of fifty, large",)),
            Row("read 400 MB", ("read large",)),
            Row("write 400 MB", ("write large",)),
            Row("read 20 M float64, 30 % missing", ("read masked",), {ALONE: (COPY, "(one copy)")}),
            Row("read 10 M booleans", ("read booleans",), {ALONE: (NUMPY, "")}),
            Row("read 300 000 strings", ("read strings",)),
            Row("write 300 000 strings", ("write strings",)),
            Row(
                "read 50 000 tiny files, `ds.read_many`, per file",
                ("read_many",),
                {ALONE: (LOOP, "(a loop of `ds.read`)")},
            ),
            Row(
                "`readdir(..., merge=...)`, 2 000 files of 10 variables",
                ("readdir, merged",),
                {"netCDF4": (XARRAY, "(xarray, of NetCDF files)")},
            ),
            Row("one field of a hundred of 1 GB", ("slab of large",)),
            Row("`ds merge` of 1 GB, whole process", ("ds merge",), {ALONE: (CAT, "(`cat`)")}),
            Row(
                "a sample of 1 kB, in a row / by number",
                ("samples, read in a row", "samples, get in random order"),
                {THEIRS: (DATADINGS, "(datadings)")},
            ),
            Row(
                "a JSON document of 207 bytes: write / in a row / by id",
                ("documents, W1, 100 k", "documents, R2, 100 k", "documents, QW, 100 k"),
                {ALONE: (JSONL, "(JSONL with orjson, no index)"), THEIRS: (SQLITE, "(sqlite3)")},
            ),
            Row(
                "an object of 400 MB of arrays: dump / load, verified",
                ("objects, dump", "objects, load"),
                {THEIRS: (BINPICKLE, "(binpickle)")},
            ),
            Row("`ds ls x.ds`, whole process", ("ds ls x.ds",), {ALONE: (PYTHON, "(`python -c pass`)")}),
        ),
    ),
)


def short_table(short: Short, results: Mapping[str, Result]) -> str:
    """Return a table with what was measured, and nothing in the cells of those that took no part."""
    lines = [[short.title, *short.columns], ["---"] * (1 + len(short.columns))]
    for row in short.rows:
        found = [results[case] for case in row.cases if case in results]
        lines.append([row.words])
        for column, usual in short.columns.items():
            way, remark = row.others.get(column, (usual, ""))
            figures = [quantity(result.median(way), result.unit) for result in found if way in result.values]
            lines[-1].append(f"{' / '.join(figures)} {remark}".strip() if figures else "")
    return _lines(lines)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def narrow(table: str) -> str:
    """Return a table without what makes its columns even."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return _lines([rows[0], ["---"] * len(rows[0]), *rows[2:]])


def replaced(document: str, tables: Sequence[str]) -> str:
    """Return a document with other tables between its marks.

    Raises
    ------
    ValueError
        If it has not as many tables there.
    """
    marked = MARKED.search(document)
    found = TABLES.findall(marked[0]) if marked else []
    if marked is None or len(found) != len(tables):
        raise ValueError(f"found {len(found)} tables between marks, expected {len(tables)}")
    new = iter(tables)
    text = TABLES.sub(lambda _: next(new), marked[0])
    return document[: marked.start()] + text + document[marked.end() :]


def load(paths: Sequence[str]) -> dict[str, Result]:
    """Return the results of reports, by case."""
    results: dict[str, Result] = {}
    for path in paths:
        for fields in json.loads(Path(path).read_text(encoding="utf-8"))["results"]:
            results[fields["case"]] = Result(**fields)
    return results


def tables(results: Mapping[str, Result]) -> dict[str, list[str]]:
    """Return the tables of each document."""
    return {
        "README.md": [short_table(short, results) for short in SHORT],
        "docs/performance.md": [narrow(summary(results))],
    }


def main(paths: Sequence[str]) -> None:
    """Change the documents."""
    for name, new in tables(load(paths)).items():
        path = ROOT / name
        path.write_text(replaced(path.read_text(encoding="utf-8"), new), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
