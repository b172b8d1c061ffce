"""SQL over collections."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ds_format.errors import DriverError, MissingError
from ds_format.zds.archiving import pack
from ds_format.zds.store import ZDSStore
from ds_format.zds.tables import sql

pa: Any = pytest.importorskip("pyarrow")
duckdb: Any = pytest.importorskip("duckdb")

PEOPLE: list[dict[str, Any]] = [
    {"_id": "ann", "age": 30, "home": {"city": "Oslo"}, "born": "1996-01-02", "tags": ["x", "y"]},
    {"_id": "bob", "age": 8, "home": {"city": "Rome"}},
    {"_id": "cid", "age": 41.5, "big": 2**63},
]
ORDERS: list[dict[str, Any]] = [{"_id": "o1", "who": "ann", "sum": 10}, {"_id": "o2", "who": "ann", "sum": 5}]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "shop"
    for collection, documents in {"people": PEOPLE, "all-orders": ORDERS, "default": []}.items():
        with ZDSStore.open(path, collection, mode="w") as opened:
            opened.put_many(documents)
    return path


def test_collections_are_tables(store: Path) -> None:
    found = sql(store, 'SELECT p._id, sum(o."sum") FROM people p JOIN "all-orders" o ON o.who = p._id GROUP BY ALL')
    assert found.fetchall() == [("ann", 15)]
    assert sql(store, "SELECT home.city FROM People ORDER BY age").fetchall() == [("Rome",), ("Oslo",), (None,)]
    assert sql(store, "SELECT a._id FROM people a JOIN people b USING (_id) ORDER BY 1").fetchall() == [
        ("ann",),
        ("bob",),
        ("cid",),
    ]
    assert sql(store, 'SELECT count(*) FROM "default"').fetchall() == [(0,)]


def test_values_are_exact_and_texts_stay_texts(store: Path) -> None:
    found = sql(store, "SELECT * FROM people ORDER BY _id")
    assert found.columns == ["_id", "age", "home", "born", "tags", "big"]
    assert found.fetchall() == [
        ("ann", 30.0, {"city": "Oslo"}, "1996-01-02", ["x", "y"], None),
        ("bob", 8.0, {"city": "Rome"}, None, None, None),
        ("cid", 41.5, None, None, None, 2**63),
    ]


@pytest.mark.parametrize("kind", ["archive", "docs", "changed"])
def test_every_way_to_store_answers_alike(kind: str, store: Path, tmp_path: Path) -> None:
    query = "SELECT _id, age, home, born, tags, big FROM people ORDER BY _id"
    expected = sql(store, query)
    if kind == "archive":
        path = tmp_path / "shop.zds"
        pack(store, path)
    elif kind == "docs":
        path = tmp_path / "docs"
        with ZDSStore.open(path, "people", mode="w", layout="docs") as opened:
            opened.put_many(PEOPLE)
    else:
        path = store
        opened = ZDSStore.open(path, "people", mode="a")
        opened.put_many([{"_id": "ann", "age": "was changed"}, {"_id": "dan"}, PEOPLE[0]])
        opened.flush()
    try:
        found = sql(path, query)
        assert (found.columns, found.types) == (expected.columns, expected.types)
        assert found.fetchall() == expected.fetchall() + ([("dan",) + (None,) * 5] if kind == "changed" else [])
    finally:
        if kind == "changed":
            opened.close()


def test_a_relation_can_be_asked_in_several_ways_and_twice(store: Path) -> None:
    found = sql(store, "SELECT _id FROM people WHERE age > 20 ORDER BY _id")
    for _ in range(2):
        assert found.fetchall() == [("ann",), ("cid",)]
    assert pa.table(found).to_pydict() == {"_id": ["ann", "cid"]}
    assert found.aggregate("count(*)").fetchall() == [(2,)]


def test_parameters_are_bound(store: Path) -> None:
    assert sql(store, "SELECT _id FROM people WHERE age = ?", [8]).fetchall() == [("bob",)]
    assert sql(store, "SELECT _id FROM people WHERE home.city = $c", {"c": "Oslo"}).fetchall() == [("ann",)]
    hostile = "x' OR 1=1; DROP TABLE people; --"
    assert sql(store, "SELECT _id FROM people WHERE home.city = ?", [hostile]).fetchall() == []


def test_all_tables_are_listed(store: Path) -> None:
    assert sql(store, "SHOW TABLES").fetchall() == [("all-orders",), ("default",), ("people",)]


def test_only_collections_that_are_named_are_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    real = ZDSStore.open

    def recorded(path: Any, collection: str = "default", **options: Any) -> Any:
        opened.append(collection)
        return real(path, collection, **options)

    monkeypatch.setattr(ZDSStore, "open", recorded)
    sql(store, "SELECT 1 FROM people").fetchall()
    assert opened == ["people"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{0}')",
        "SELECT * FROM read_text('{0}')",
        "SELECT * FROM read_json('{0}')",
        "SELECT * FROM read_blob('{0}')",
        "SELECT * FROM '{0}'",
        "SELECT * FROM glob('{1}/*')",
        "COPY (SELECT 1) TO '{0}' (USE_TMP_FILE false)",
        "COPY people TO '{1}/new.csv'",
        "EXPORT DATABASE '{1}/new'",
        "ATTACH '{1}/new.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET python_enable_replacements = true",
        "SET GLOBAL lock_configuration = false",
        "RESET enable_external_access",
        "SELECT * FROM secret_table",
    ],
)
def test_a_query_reaches_nothing_else(query: str, store: Path, tmp_path: Path) -> None:
    secret_table = [1, 2]
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(duckdb.Error):
        sql(store, query.format(secret, tmp_path) + " ").fetchall()
    assert secret.read_text() == "a\n1\n" and secret_table
    assert sorted(os.listdir(tmp_path)) == before


def test_what_is_made_lasts_as_long_as_the_query(store: Path) -> None:
    sql(store, "CREATE TABLE t AS SELECT * FROM people")
    with pytest.raises(duckdb.CatalogException):
        sql(store, "SELECT * FROM t")
    assert len(sql(store, "SELECT * FROM people").fetchall()) == 3


def test_mistakes_are_told_by_duckdb(store: Path) -> None:
    with pytest.raises(duckdb.ParserException):
        sql(store, "SELEC 1")
    with pytest.raises(duckdb.BinderException):
        sql(store, "SELECT nowhere FROM people")


def test_a_store_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises((OSError, MissingError)):
        sql(tmp_path / "nowhere", "SELECT 1 FROM people")


def test_an_absent_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr("ds_format.base.optional.importlib.import_module", absent)
    with pytest.raises(DriverError, match=r"cannot import duckdb: pip install 'ds-format-cython\[tables\]'"):
        sql("s", "SELECT 1")
