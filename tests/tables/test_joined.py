"""Many files as a dataset of pyarrow: what DuckDB, polars and pyarrow make of it, and what is read for it."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.many import pieces, querying

from . import stations

pa = pytest.importorskip("pyarrow", reason="needs pyarrow (extra tables)")
pc = pytest.importorskip("pyarrow.compute")
pads = pytest.importorskip("pyarrow.dataset")
joined = pytest.importorskip("ds_format.tables.joined")

ALL = ["station", "latitude", "height", "network", "filename"]


@pytest.fixture(scope="module", params=["ds", "nc", "json", "h5"])
def paths(request: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return stations.write_all(tmp_path_factory.mktemp("reports"), request.param)


@pytest.fixture
def reports(paths: list[str]) -> Any:
    return ds.dataset(paths, "time", ALL)


def test_all_rows(reports: Any, paths: list[str]) -> None:
    names = ["temperature", "wind", "weather", "is_checked", "station", "latitude", "height", "network"]
    table = reports.to_table()
    assert table.column_names == ["time", *names, "filename"]
    assert list(zip(*table.select(names).to_pydict().values(), strict=True)) == stations.rows(*names)
    assert table["time"].to_pylist()[:2] == [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2)]
    assert table["filename"].to_pylist()[0] == paths[0]
    assert table.schema.equals(reports.schema, check_metadata=True)
    assert reports.count_rows() == len(table) == sum(range(1, stations.N + 1))
    assert reports.head(3).equals(table.slice(0, 3))
    assert reports.take([2, 0]).equals(table.take([2, 0]))
    assert pa.Table.from_batches(reports.to_batches()).equals(table)


def test_other_methods_of_a_dataset_see_all_rows(reports: Any) -> None:
    assert reports.filter(pc.field("wind") > 50).count_rows() == 5
    assert reports.sort_by([("wind", "descending")]).to_table()["wind"][0].as_py() == 55
    names = pa.table({"station": pa.array(["st1"], pa.large_string()), "name": ["one"]})
    assert reports.join(pads.dataset(names), "station", join_type="inner").to_table()["name"].to_pylist() == ["one"] * 2
    assert sum(fragment.count_rows() for fragment in reports.get_fragments()) == 21


CASES = [
    ("wind", lambda: pc.field("wind") > 30, lambda row: row["wind"] > 30, None),
    ("station", lambda: pc.field("station") == "st3", lambda row: row["station"] == "st3", [3]),
    ("latitude", lambda: pc.field("latitude") > -2, lambda row: row["latitude"] > -2, [4, 5]),
    ("height", lambda: pc.field("height").isin([100, 400]), lambda row: row["height"] in (100, 400), [1, 4]),
    ("network", lambda: pc.field("network").is_null(), lambda row: row["network"] is None, [1, 3, 5]),
    (
        "time",
        lambda: pc.field("time") < pa.scalar(datetime.datetime(2026, 1, 2, 1), pa.timestamp("s")),
        lambda row: row["time"] < 25,
        [0, 1],
    ),
    (
        "mixed",
        lambda: (pc.field("station") != "st5") & (pc.field("wind") > 35),
        lambda row: row["station"] != "st5" and row["wind"] > 35,
        [0, 1, 2, 3, 4],
    ),
    (
        "either",
        lambda: (pc.field("latitude") < -5) | (pc.field("wind") > 54),
        lambda row: row["latitude"] < -5 or row["wind"] > 54,
        None,
    ),
]


@pytest.mark.parametrize(("expression", "keep", "files"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_filter_skips_files(reports: Any, expression: Any, keep: Any, files: Any, reads: list[Any]) -> None:
    names = ("time", "wind", "station", "latitude", "height", "network")
    every = [dict(zip(names, row, strict=True)) for row in stations.rows(*names)]
    found = reports.to_table(columns=["temperature", "wind"], filter=expression())
    assert found["wind"].to_pylist() == [row["wind"] for row in every if keep(row)]
    of_values = [positions for positions, columns in reads if "temperature" in columns]
    assert [i for positions in of_values for i in positions] == (list(range(stations.N)) if files is None else files)
    assert reports.count_rows(filter=expression()) == len(found)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, reports: Any) -> list[Any]:
    """Return the positions of files and the names of columns that are read from now on."""
    noted: list[Any] = []
    read = reports._read

    def noting(positions: Any, names: Any) -> Any:
        noted.append((list(positions), list(names)))
        return read(positions, names)

    monkeypatch.setattr(reports, "_read", noting)
    return noted


def test_only_columns_that_are_named_are_read(reports: Any, reads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[Any] = []

    def noting(*arguments: Any, **options: Any) -> Any:
        decoded.append(options["keys"])
        return pieces.merge_pieces(*arguments, **options)

    monkeypatch.setattr(querying, "merge_pieces", noting)
    reports.to_table(columns=["wind"])
    reports.to_table(columns={"double": pc.field("wind") * 2})
    reports.to_table(columns=["station"])
    assert reports.to_table(columns=[]).num_rows == reports.count_rows() == 21
    assert [columns for _, columns in reads] == [["wind"], ["wind"], ["station"], ["time"], ["time"]]
    assert decoded == [["time", "wind"], ["time", "wind"], ["time", "station"], ["time"], ["time"]]


def test_files_are_read_some_at_a_time(reports: Any, reads: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_step", 4)
    batches = reports.to_batches(columns=["wind"])
    next(batches)
    assert [positions for positions, _ in reads] == [[0, 1, 2, 3]]
    assert sum(len(batch) for batch in batches) == 11
    assert [positions for positions, _ in reads] == [[0, 1, 2, 3], [4, 5]]


QUERY = "select station, avg(temperature) as mean, max(wind) as wind from t where wind >= 20 group by 1 order by 1"


def expected() -> Iterator[tuple[Any, ...]]:
    for i in range(2, stations.N):
        rows = [row for row in stations.rows("station", "temperature", "wind") if row[0] == f"st{i}"]
        present = [row[1] for row in rows if row[1] is not None]
        yield f"st{i}", sum(present) / len(present), max(row[2] for row in rows)


def test_duckdb(reports: Any) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB (extra tables)")
    connection = duckdb.connect()
    connection.register("t", reports)
    assert connection.sql(QUERY).fetchall() == list(expected())
    assert ds.sql(QUERY, t=reports).fetchall() == list(expected())


def test_polars(reports: Any) -> None:
    pl = pytest.importorskip("polars", reason="needs polars")
    found = (
        pl
        .scan_pyarrow_dataset(reports)
        .filter(pl.col("wind") >= 20)
        .group_by("station")
        .agg(pl.col("temperature").mean().alias("mean"), pl.col("wind").max())
        .sort("station")
        .collect()
    )
    assert found.rows() == list(expected())


def test_a_pattern_and_default_columns(tmp_path: Path) -> None:
    stations.write_all(tmp_path, "ds")
    found = ds.dataset(tmp_path / "r[01].ds", "time")
    assert found.schema.names[-2:] == ["station", "latitude"]
    assert found.count_rows() == 3


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    paths = stations.write_all(tmp_path, "ds")
    with pytest.raises(ds.MissingError, match=r'r0\.ds: variable "statoin": found no scalar .* mean station\?'):
        ds.dataset(paths, "time", ["statoin"])
    with pytest.raises(ds.MissingError, match='no variable has the dimension "x"'):
        ds.dataset(paths, "x")


def test_a_file_that_differs_is_named(tmp_path: Path) -> None:
    paths = stations.write_all(tmp_path, "ds")
    other = stations.report(2)
    other["wind"] = np_text = other["weather"]
    assert len(np_text) == 3
    ds.write(paths[2], other)
    with pytest.raises(ds.UnsupportedError, match='variable "wind": found values of types float32, unicode'):
        ds.dataset(paths, "time").to_table()
    ds.write(paths[2], {"x": [1], ".": {"x": {".dims": ["time"]}}})
    with pytest.raises(ds.MissingError, match=r'r2\.ds: variable "time": variable not found, expected it in each file'):
        ds.dataset(paths, "time").to_table()


DAYS = {"units": "days since 2000-01-01", "calendar": "standard"}


@pytest.mark.parametrize(
    ("first", "other", "entry", "message"),
    [
        (np.zeros(2, "f4"), np.full(2, 0.1), {}, r'b.ds: variable "x": found double, expected float .* digits would'),
        (np.zeros(2, "i2"), np.full(2, 1 << 20), {}, "found int64, expected int16 as in the first file: Integer value"),
        ([b"a", b"b"], [b"a", b"\xff"], {}, "found large_binary, expected large_string"),
        ([0, 1], [0, -200_000], DAYS, "expected timestamp.* times of another calendar"),
    ],
)
def test_types_are_those_of_the_first_file(
    first: Any, other: Any, entry: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined, "FILES", 1)
    for name, values in {"a": first, "b": other}.items():
        ds.write(tmp_path / f"{name}.ds", {"x": values, ".": {"x": {".dims": ["i"], **entry}}})
    reports = ds.dataset([tmp_path / "a.ds", tmp_path / "b.ds"])
    with pytest.raises(ds.UnsupportedError, match=message):
        reports.to_table()


def test_files_that_are_read_together_share_the_blame(tmp_path: Path) -> None:
    """The first of them is not named alone: it need not be the one that differs."""
    for name, values in {"a": np.zeros(2, "f4"), "b": np.zeros(2, "f4"), "c": np.full(2, 0.1)}.items():
        ds.write(tmp_path / f"{name}.ds", {"x": values, ".": {"x": {".dims": ["i"]}}})
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds \.\.\. .*c\.ds: variable "x": found double, expected float'):
        ds.dataset(tmp_path / "?.ds").to_table()


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_the_first_rows_of_a_large_file_are_enough_for_types(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    ds.write(path, {"x": np.arange(5000), "s": "a", ".": {"x": {".dims": ["i"]}}})
    reports = ds.dataset(path)
    assert reports._step == joined.ROWS // 5000
    assert reports.to_table()["x"].to_pylist() == list(range(5000))


def test_a_variable_that_a_file_lacks_is_null(tmp_path: Path) -> None:
    paths = stations.write_all(tmp_path, "ds")
    ds.write(paths[2], {"time": [1, 2], ".": {"time": {".dims": ["time"], "units": "hours since 2026-01-01"}}})
    reports = ds.dataset(paths[:4], "time", [])
    assert reports.to_table(["wind"])["wind"].to_pylist() == [0, 10, 11, None, None, 30, 31, 32, 33]
    assert reports.count_rows() == 9


def test_a_program_that_stops_early_ends(tmp_path: Path) -> None:
    """Threads of pyarrow that read ahead would wait for the interpreter, which has ended."""
    for i in range(300):
        ds.write(tmp_path / f"{i:03}.ds", stations.report(i % 6))
    code = (
        "import ds_format as ds; from ds_format.tables import joined; joined.FILES = 2; "
        f"t = ds.dataset({str(tmp_path)!r} + '/*.ds', 'time'); "
        "print(t.head(1).num_rows, next(t.to_batches()).num_rows)"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "1 3\n", "")
