"""SQL over datasets, files and tables; and that a query reaches nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ds_format as ds

from . import stations

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB (extra tables)")
pa = pytest.importorskip("pyarrow", reason="needs pyarrow (extra tables)")

RAIN = {"rain": np.ma.MaskedArray([0.0, 1.5, 4.5], [True, False, False]), ".": {"rain": {".dims": ["day"]}}}


def test_each_kind_of_table(tmp_path: Path) -> None:
    paths = stations.write_all(tmp_path, "ds")
    with ds.open(paths[2]) as file, pytest.warns(ds.DsWarning, match="left out profile"):
        table = file.table("time")
    tables = {
        "a": RAIN,
        "b": str(tmp_path / "*.ds"),
        "c": paths[:2],
        "d": ds.dataset(paths[0], "time"),
        "e": pa.table({"x": [1]}),
        "f": table,
        "g": tmp_path / "r5.ds",
    }
    found = [ds.sql(f"select count(*) from {name}", **tables).fetchall()[0][0] for name in "bcdefg"]
    assert found == [21, 3, 1, 1, 3, 6]
    assert ds.sql("select avg(rain), count(rain), count(*) from a", **tables).fetchall() == [(3.0, 2, 3)]


def test_parameters() -> None:
    assert ds.sql("select rain from t where rain > ?", [2], t=RAIN).fetchall() == [(4.5,)]
    assert ds.sql("select rain from t where rain < $most", {"most": 2}, t=RAIN).fetchall() == [(1.5,)]


@pytest.mark.parametrize(
    "query",
    [
        "select * from '{path}'",
        "select * from read_csv('{path}')",
        "select * from read_parquet('{path}')",
        "select * from read_text('{path}')",
        "select * from glob('{folder}/*')",
        "copy (select 1) to '{folder}/stolen.csv'",
        "copy t from '{path}'",
        "attach '{folder}/x.db' as x",
        "install httpfs",
        "load httpfs",
        "export database '{folder}/out'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set python_enable_replacements = true",
        "reset enable_external_access",
        "set profiling_output = '{folder}/profile.json'",
        "pragma profiling_output = '{folder}/profile.json'",
        "select * from secret",
        "select getenv('HOME')",
        "create persistent secret s (type s3)",
    ],
)
def test_a_query_reaches_nothing_else(query: str, tmp_path: Path) -> None:
    secret = pa.table({"x": [1]})  # noqa: F841 - the query must not find it
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(duckdb.Error):
        ds.sql(query.format(path=path, folder=tmp_path), t=RAIN).fetchall()
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_relation_is_a_table_for_write(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", ds.sql("select rain * 2 as twice from t", t=RAIN))
    found = ds.read(tmp_path / "a.ds")
    assert found["twice"].tolist() == [None, 3.0, 9.0]
