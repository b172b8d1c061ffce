"""One question to the files of many stations: by SQL and by data frames, from each format that people use for this."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import ds_format as ds

from ..data import words
from ..runner import Bench, Case, Group, SkippedError
from ..stations import ordinary
from ..timing import Trial, Way
from ..ways import NETCDF, OURS, each

QUERY = "select station_id, avg(temperature), max(wind_speed) from {} group by 1 order by 1"
DUCKDB_PARQUET, DUCKDB_CSV, POLARS_PARQUET = "DuckDB, Parquet", "DuckDB, CSV", "polars, Parquet"
POLARS, ONE_PARQUET = "polars, ds_format", "DuckDB, one Parquet file"
OBJECTS = "ds_format.read, pyarrow"
FILES_OF_STATIONS, ONE_FILE, TEXT = (
    f"queries, {words}" for words in ("one file for each station", "one file", "text to Arrow")
)
NAMES = ["station_id", "temperature", "wind_speed"]


def _has(*names: str) -> bool:
    return all(importlib.util.find_spec(name) for name in names)


def _way(name: str, ask: Callable[[], Sequence[tuple[Any, ...]]], expected: Sequence[tuple[Any, ...]]) -> Way:
    def check() -> None:
        found = ask()
        assert [row[0] for row in found] == [row[0] for row in expected]
        assert np.allclose([row[1:] for row in found], [row[1:] for row in expected], rtol=1e-5)

    return each(name, lambda _: ask(), [None], check, 1)


def _by_duckdb(paths: Any) -> Any:
    """Return the answer from files of ds, by the connection that DuckDB has for its module."""
    duckdb = importlib.import_module("duckdb")
    duckdb.register("reports", ds.dataset(paths, "time"))
    return duckdb.sql(QUERY.format("reports")).fetchall()


def _expected(n: int) -> list[tuple[Any, ...]]:
    reports = [ordinary(i) for i in range(n)]
    return [
        (each["station_id"].decode(), float(np.ma.mean(each["temperature"])), float(each["wind_speed"].max()))
        for each in reports
    ]


def question(bench: Bench, folder: Path) -> Trial:
    """Ask for mean and maximum by station."""
    n = bench.sizes.files
    expected = _expected(n)
    arrow, duckdb = importlib.import_module("pyarrow"), importlib.import_module("duckdb")
    parquet, csv = importlib.import_module("pyarrow.parquet"), importlib.import_module("pyarrow.csv")
    for suffix in ("ds", "nc"):
        (folder / suffix).mkdir(exist_ok=True)
        for i in range(n):
            ds.write(folder / suffix / f"{i:05}.{suffix}", ordinary(i))
    ours = [str(folder / "ds" / f"{i:05}.ds") for i in range(n)]
    tables = [arrow.table(table) for table in map(_table, ours)]
    for suffix, write in {"parquet": parquet.write_table, "csv": csv.write_csv}.items():
        (folder / suffix).mkdir(exist_ok=True)
        for i, table in enumerate(tables):
            write(table, folder / suffix / f"{i:05}.{suffix}")

    def by_polars(frame: Any) -> Any:
        of = polars.col
        means = frame.group_by("station_id").agg(of("temperature").mean(), of("wind_speed").max())
        return means.sort("station_id").collect().rows()

    def by_netcdf4() -> Any:
        frames = []
        for i in range(n):
            with netCDF4.Dataset(folder / "nc" / f"{i:05}.nc") as file:
                columns = {name: np.ma.filled(file[name][:], np.nan) for name in NAMES[1:]}
                frames.append(pandas.DataFrame(columns).assign(station_id=file["station_id"][...].tobytes().decode()))
        found = pandas.concat(frames).groupby("station_id").agg({"temperature": "mean", "wind_speed": "max"})
        return list(found.itertuples(name=None))

    def sql(table: str) -> Any:
        return duckdb.sql(QUERY.format(table)).fetchall()

    ways = [
        _way(OURS, partial(_by_duckdb, ours), expected),
        _way(DUCKDB_PARQUET, partial(sql, f"'{folder}/parquet/*.parquet'"), expected),
        _way(DUCKDB_CSV, partial(sql, f"'{folder}/csv/*.csv'"), expected),
    ]
    if _has("polars"):
        polars = importlib.import_module("polars")
        ways += [
            _way(POLARS, lambda: by_polars(polars.scan_pyarrow_dataset(ds.dataset(ours, "time"))), expected),
            _way(POLARS_PARQUET, lambda: by_polars(polars.scan_parquet(folder / "parquet" / "*.parquet")), expected),
        ]
    if _has("pandas"):
        pandas = importlib.import_module("pandas")
        ways.append(_way(NETCDF, by_netcdf4, expected))
    return Trial(ways)


def _table(path: str) -> Any:
    """Return the rows of a file with its scalars."""
    with ds.open(path) as file:
        return file.table("time", explode=True)


def joined(bench: Bench, folder: Path) -> Trial:
    """Ask one file of all stations."""
    n = bench.sizes.files
    paths = [str(folder / f"{i:05}.ds") for i in range(n)]
    for i, path in enumerate(paths):
        ds.write(path, ordinary(i))
    table = ds.dataset(paths, "time").to_table()
    one = folder / "all.ds"
    ds.write(one, table)
    importlib.import_module("pyarrow.parquet").write_table(table, folder / "all.parquet")
    duckdb, expected = importlib.import_module("duckdb"), _expected(n)
    return Trial([
        _way(OURS, partial(_by_duckdb, one), expected),
        _way(ONE_PARQUET, lambda: duckdb.sql(QUERY.format(f"'{folder}/all.parquet'")).fetchall(), expected),
    ])


def text(bench: Bench, folder: Path) -> Trial:
    """Make an Arrow column of text."""
    arrow = importlib.import_module("pyarrow")
    n = bench.sizes.rows * 4
    names = words(n)
    path = str(folder / "text.ds")
    ds.write(path, {"x": np.array(names, object)})

    def ours() -> Any:
        with ds.open(path) as file:
            return arrow.table(file.table())["x"]

    def objects() -> Any:
        return arrow.array(ds.read(path)["x"])

    def way(name: str, make: Callable[[], Any]) -> Way:
        def check() -> None:
            assert make().to_pylist() == names

        return each(name, lambda _: make(), [None], check, 1)

    return Trial([way(OURS, ours), way(OBJECTS, objects)])


def _of_arrow(case: Callable[[Bench, Path], Trial]) -> Callable[[Bench, Path], Trial]:
    """Return a case that says what it lacks."""

    def run(bench: Bench, folder: Path) -> Trial:
        if not _has("pyarrow", "duckdb"):
            raise SkippedError("needs pyarrow and DuckDB")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.DsWarning)
            return case(bench, folder)

    return run


GROUP = Group(
    "Queries",
    "Reports of ordinary stations: 14 variables of 24 hours, with gaps, packed numbers, text, flags and scalars. The "
    "question is the mean of one column and the maximum of another by station. Parquet and CSV files have the same "
    "columns, and the scalars in each row.",
    (
        Case(FILES_OF_STATIONS, _of_arrow(question)),
        Case(ONE_FILE, _of_arrow(joined)),
        Case(TEXT, _of_arrow(text)),
    ),
)
