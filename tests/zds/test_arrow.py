"""Collections as Arrow tables and back."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ds_format.errors import DriverError, DsWarning, MissingError, UnsupportedError
from ds_format.tables import document_columns
from ds_format.tables.document_columns import MAX_DEPTH, MAX_MEMBERS, ROWS, Columns
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore
from ds_format.zds.tables import from_arrow, to_arrow

pa = pytest.importorskip("pyarrow")


def made(path: Path, documents: list[dict[str, Any]], collection: str = "default") -> Path:
    with ZDSStore.open(path, collection, mode="w") as store:
        store.put_many(documents)
    return path


def stored(path: Path, collection: str = "default") -> list[dict[str, Any]]:
    with ZDSStore.open(path, collection) as store:
        return list(store.scan())


def types(*values: Any) -> Any:
    """Return the type of a column with these values."""
    documents = [{"_id": str(i), "x": value} for i, value in enumerate(values)]
    return Columns(lambda: documents, "_id").schema.field("x").type


NESTED: Any = 1
for _ in range(MAX_DEPTH + 1):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, None], pa.null()),
        ([True, None], pa.bool_()),
        ([1, None, -5], pa.int64()),
        ([-(2**63), 2**63 - 1], pa.int64()),
        ([2**63, 0], pa.uint64()),
        ([2**64 - 1], pa.uint64()),
        ([1, 2.5], pa.float64()),
        ([2**53, 2.5, -(2**53)], pa.float64()),
        (["a", None], pa.string()),
        ([[1], [], None, [2.5]], pa.list_(pa.float64())),
        ([[]], pa.list_(pa.null())),
        ([[[1]], [[None]]], pa.list_(pa.list_(pa.int64()))),
        ([{"a": 1}, {"b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ([[{"a": 1}, {"a": 2.5}]], pa.list_(pa.struct([("a", pa.float64())]))),
        ([{}, {"a": 1}], pa.struct([("a", pa.int64())])),
    ],
)
def test_types_are_the_narrowest_that_hold_all_values(values: list[Any], kind: Any) -> None:
    assert types(*values) == kind
    documents = [{"_id": str(i), "x": value} for i, value in enumerate(values)]
    found = pa.table(Columns(lambda: documents, "_id")).column("x").to_pylist()
    assert len(found) == len(values)
    if not pa.types.is_struct(kind) and not pa.types.is_list(kind):
        assert found == values


@pytest.mark.parametrize(
    "values",
    [
        [1, "a"],
        [True, 1],
        [[1], {"a": 1}],
        [2**64],
        [2**63, -1],
        [-(2**63) - 1],
        [2**53 + 1, 0.5],
        [-(2**53) - 1, 0.5],
        [{}],
        [{str(i): i for i in range(MAX_MEMBERS + 1)}],
    ],
    ids=lambda values: repr(values)[:20],
)
def test_what_no_type_holds_becomes_json(values: list[Any]) -> None:
    documents = [{"_id": str(i), "x": value} for i, value in enumerate(values)] + [
        {"_id": "none"},
        {"_id": "z", "x": None},
    ]
    with pytest.warns(DsWarning, match=r"they become JSON texts: x \("):
        found = pa.table(Columns(lambda: documents, "_id")).column("x").to_pylist()
    assert [json.loads(text) for text in found[:-2]] == values
    assert found[-2:] == [None, None]


def test_json_inside_of_lists_and_objects() -> None:
    documents: list[dict[str, Any]] = [
        {"_id": "a", "x": {"p": 1, "q": [1, "b", None]}},
        {"_id": "b", "x": {"p": {"r": "é"}}},
        {"_id": "c", "x": None},
        {"_id": "d", "x": {"q": None}},
        {"_id": "e", "x": {}},
    ]
    with pytest.warns(DsWarning, match=r"x\.p \(dict, int\), x\.q\[\] \(int, str\)$"):
        found = pa.table(Columns(lambda: documents, "_id")).column("x").to_pylist()
    empty = {"p": None, "q": None}
    assert found == [{"p": "1", "q": ["1", '"b"', None]}, {"p": '{"r":"é"}', "q": None}, None, empty, empty]


def test_deep_values_become_json_where_it_is_too_deep() -> None:
    with pytest.warns(DsWarning, match="JSON"):
        table = pa.table(Columns(lambda: [{"_id": "a", "x": NESTED}], "_id"))
    (value,) = table.column("x").to_pylist()
    for _ in range(MAX_DEPTH):
        (value,) = value
    assert value == "[1]"


def test_documents_may_have_more_fields_than_a_struct() -> None:
    fields = {f"x{i}": i for i in range(MAX_MEMBERS)}
    documents: list[dict[str, Any]] = [{"_id": "a", **fields, "y": True}, {"_id": "b", "z": 0.5}]
    assert pa.table(Columns(lambda: documents, "_id")).to_pylist() == [
        {"_id": "a", **fields, "y": True, "z": None},
        {"_id": "b", **dict.fromkeys(fields), "y": None, "z": 0.5},
    ]


def test_rows_are_never_shifted(tmp_path: Path) -> None:
    n = 2 * ROWS + 7
    documents = [{"_id": f"d{i}"} | ({"x": i} if i % 3 else {}) | ({"y": [i]} if i >= ROWS else {}) for i in range(n)]
    table = to_arrow(made(tmp_path / "s", documents))
    assert table.column_names == ["_id", "x", "y"]
    assert table.column("x").num_chunks == 3
    assert table.column("_id").to_pylist() == [f"d{i}" for i in range(n)]
    assert table.column("x").to_pylist() == [i if i % 3 else None for i in range(n)]
    assert table.column("y").to_pylist() == [[i] if i >= ROWS else None for i in range(n)]


def test_fields_where_and_stores(tmp_path: Path) -> None:
    documents = [{"_id": f"d{i}", "x": i, "home": {"city": "abc"[i]}} for i in range(3)]
    path = made(tmp_path / "s", documents)
    made(path, [{"_id": "other"}], "more")
    expected = {"_id": ["d1", "d2"], "home.city": ["b", "c"], "nowhere": [None, None]}
    assert to_arrow(path, fields=["home.city", "nowhere"], where="x>=1").to_pydict() == expected
    assert to_arrow(path, fields=iter(["x"])).column("x").to_pylist() == [0, 1, 2]
    assert to_arrow(path, fields="x,-_id").to_pydict() == {"x": [0, 1, 2]}
    assert to_arrow(path, "more").to_pydict() == {"_id": ["other"]}
    with ZDSStore.open(path) as store:
        assert to_arrow(store, where={"x": 2}).column("_id").to_pylist() == ["d2"]
        assert to_arrow(store, "more").num_rows == 1
        assert len(store) == 3
        assert pa.table(store).column_names == ["_id", "x", "home"]


def test_the_warning_is_one_of_stores(tmp_path: Path) -> None:
    path = made(tmp_path / "s", [{"_id": "a", "x": 1}, {"_id": "b", "x": "y"}])
    with pytest.warns(ZdsWarning, match=r"x \(int, str\)$"):
        assert to_arrow(path).column("x").to_pylist() == ["1", '"y"']
    with ZDSStore.open(path) as store, pytest.warns(ZdsWarning, match=r"x \(int, str\)$"):
        assert pa.table(store).num_rows == 2


def test_an_empty_collection_has_ids(tmp_path: Path) -> None:
    table = to_arrow(made(tmp_path / "s", []))
    assert table.schema == pa.schema([("_id", pa.string())])
    assert table.num_rows == 0


def test_a_schema_decides(tmp_path: Path) -> None:
    path = made(
        tmp_path / "s", [{"_id": "a", "t": "2026-01-02T03:04:05", "n": 1, "z": "left out"}, {"_id": "b", "n": 7}]
    )
    schema = pa.schema([("t", pa.timestamp("s")), ("n", pa.int8())])
    found = to_arrow(path, schema=schema)
    assert found.schema == schema
    assert found.to_pydict() == {"t": [datetime.datetime(2026, 1, 2, 3, 4, 5), None], "n": [1, 7]}
    with pytest.raises(ValueError, match="expected"):
        to_arrow(path, fields=["n"], schema=schema)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.list_(pa.int32()), [1, 1.5]), (pa.struct([("p", pa.list_(pa.int8()))]), {"p": [0.5]}), (pa.int64(), 1e300)],
)
def test_numbers_are_not_cut_off(kind: Any, value: Any) -> None:
    source = Columns(lambda: [{"_id": "a", "x": value}], "_id", schema=pa.schema([("x", kind)]))
    with pytest.raises(UnsupportedError, match="field 'x' of document 'a'"):
        list(source.batches())


def test_whole_floats_are_integers() -> None:
    source = Columns(lambda: [{"_id": "a", "x": [1.0, None]}], "_id", schema=pa.schema([("x", pa.list_(pa.int32()))]))
    assert next(source.batches()).to_pydict() == {"x": [[1, None]]}


def test_a_name_that_arrow_would_cut_off() -> None:
    with pytest.warns(DsWarning, match="JSON"):
        table = pa.table(Columns(lambda: [{"_id": "a", "x": {"p\0q": 1}}], "_id"))
    assert table.column("x").to_pylist() == ['{"p\\u0000q":1}']
    with pytest.raises(UnsupportedError, match="NUL"):
        list(Columns(lambda: [{"_id": "a", "x\0y": 1}], "_id").batches())


@pytest.mark.parametrize("value", ["x", 300, 1.5, [1]])
def test_a_value_that_does_not_fit_is_named(value: Any, tmp_path: Path) -> None:
    path = made(tmp_path / "s", [{"_id": "good", "n": 1}, {"_id": "bad", "n": value}])
    schema = pa.schema([("_id", pa.string()), ("n", pa.int8())])
    with pytest.raises(UnsupportedError, match=r"field 'n' of document 'bad': .* is not of type int8"):
        to_arrow(path, schema=schema)


def test_new_fields_are_not_lost_silently() -> None:
    documents: list[dict[str, Any]] = [{"_id": "a"}]
    source = Columns(lambda: documents, "_id")
    assert source.schema.names == ["_id"]
    documents.append({"_id": "b", "x": 1})
    with pytest.raises(UnsupportedError, match="new fields"):
        list(source.batches())


def test_a_stream_can_be_read_again_and_again(tmp_path: Path) -> None:
    with ZDSStore.open(made(tmp_path / "s", [{"_id": "a", "x": 1}])) as store:
        for _ in range(2):
            table = pa.RecordBatchReader._import_from_c_capsule(store.__arrow_c_stream__()).read_all()
            assert table.to_pydict() == {"_id": ["a"], "x": [1]}
        wider = pa.schema([("_id", pa.string()), ("x", pa.float64())])
        assert pa.RecordBatchReader.from_stream(store, wider).read_all().schema == wider


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.filterwarnings("ignore:no Arrow type")
@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), max_size=5))
def test_any_documents_become_a_table_row_by_row(given: list[dict[str, Any]]) -> None:
    documents = [{"_id": str(i)} | document for i, document in enumerate(given)]
    source = Columns(lambda: documents, "_id")
    texts = {name for name in source.schema.names if source.schema.field(name).type == pa.string()}
    for row, document in zip(pa.table(source).to_pylist(), documents, strict=True):
        assert row["_id"] == document["_id"]
        for name, value in row.items():
            is_scalar = not isinstance(document.get(name), list | dict)
            if document.get(name) is None:
                assert value is None
            elif name not in texts and is_scalar:
                assert value == document[name]


def test_there_and_back(tmp_path: Path) -> None:
    documents: list[dict[str, Any]] = [
        {"_id": "a", "x": 1, "s": "é", "l": [1, 2], "d": {"p": 1, "q": {"r": True}}},
        {"_id": "b", "l": [], "d": {"q": {"r": False}}},
    ]
    table = to_arrow(made(tmp_path / "s", documents))
    from_arrow(table, tmp_path / "t")
    assert stored(tmp_path / "t") == documents


def test_times_become_texts_and_nulls_missing_fields(tmp_path: Path) -> None:
    table = pa.table({
        "day": [datetime.date(2026, 1, 2), None],
        "at": pa.array([0, 1], pa.timestamp("ms", tz="UTC")),
        "of": [[{"t": datetime.time(1, 2), "u": None}], None],
        "word": pa.array(["x", None]).dictionary_encode(),
    })
    from_arrow(table, tmp_path / "s")
    assert stored(tmp_path / "s") == [
        {
            "_id": "0",
            "day": "2026-01-02",
            "at": "1970-01-01T00:00:00+00:00",
            "of": [{"t": "01:02:00"}],
            "word": "x",
        },
        {"_id": "1", "at": "1970-01-01T00:00:00.001000+00:00"},
    ]


def test_streams_of_batches_are_numbered_through(tmp_path: Path) -> None:
    table = pa.table({"x": range(ROWS + 5)})
    from_arrow(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(1000)), tmp_path / "s", "numbers")
    assert stored(tmp_path / "s", "numbers") == [{"_id": str(i), "x": i} for i in range(ROWS + 5)]


def test_ids_come_from_a_column(tmp_path: Path) -> None:
    table = pa.table({"k": [7, 8], "x": ["a", "b"]})
    from_arrow(table, tmp_path / "s", id_column="k")
    assert stored(tmp_path / "s") == [{"_id": "7", "k": 7, "x": "a"}, {"_id": "8", "k": 8, "x": "b"}]
    from_arrow(pa.table({"x": [1], "_id": [7]}), tmp_path / "s", "more")
    assert stored(tmp_path / "s", "more") == [{"_id": "7", "x": 1}]
    from_arrow(pa.table({"k": [8, 9]}), tmp_path / "s", id_column="k", mode="a")
    assert sorted(stored(tmp_path / "s"), key=lambda each: each["_id"]) == [
        {"_id": "7", "k": 7, "x": "a"},
        {"_id": "8", "k": 8},
        {"_id": "9", "k": 9},
    ]


@pytest.mark.parametrize(
    ("table", "id_column", "error", "message"),
    [
        ({"_id": ["a", "a"]}, None, UnsupportedError, "row 1: id 'a' occurs twice"),
        ({"_id": ["a", None]}, None, UnsupportedError, "row 1 has no id"),
        ({"_id": ["a", ""]}, None, UnsupportedError, "row 1 has no id"),
        ({"_id": ["a", "../b"]}, None, UnsupportedError, "b"),
        ({"k": [1.5, float("nan")]}, "k", UnsupportedError, "row 1 has no id"),
        ({"k": [1]}, "x", MissingError, "no column 'x'; columns are k"),
        ({"_id": ["a"], "k": [1]}, "k", UnsupportedError, "there is a column '_id', too"),
        ({"x": [1, float("nan")]}, None, UnsupportedError, "document '1': "),
        ({"_id": ["a", "b", "b"]}, None, UnsupportedError, r"^[^:]*row 2: id 'b' occurs twice"),
        ({"x": [b"bytes"]}, None, UnsupportedError, "document '0': "),
    ],
)
def test_tables_that_are_refused_leave_the_collection_as_it_was(
    table: Any, id_column: str | None, error: type[Exception], message: str | None, tmp_path: Path
) -> None:
    made(tmp_path / "s", [{"_id": "old"}])
    with pytest.raises(error, match=message):
        from_arrow(pa.table(table), tmp_path / "s", id_column=id_column)
    assert stored(tmp_path / "s") == [{"_id": "old"}]


def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(UnsupportedError, match='found two columns "x"'):
        from_arrow(table, tmp_path / "s")
    with pytest.raises(ValueError, match="mode 'x': expected 'w' or 'a'"):
        from_arrow(pa.table({"x": [1]}), tmp_path / "s", mode="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call", [lambda: to_arrow("s"), lambda: from_arrow(None, "s"), lambda: Columns(list, "_id").schema]
)
def test_an_absent_library_is_named_with_its_extra(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr("ds_format.base.optional.importlib.import_module", absent)
    with pytest.raises(DriverError, match=r"cannot import pyarrow: pip install 'ds-format-cython\[tables\]'"):
        call()


def test_memory_is_that_of_some_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    made_, alive = 0, 0

    class Text(str):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def scan() -> Any:
        nonlocal made_, alive
        for i in range(100):
            made_, alive = made_ + 1, alive + 1
            assert alive <= 2 * 8 + 1
            yield {"_id": "x", "t": Text(i)}

    monkeypatch.setattr(document_columns, "ROWS", 8)
    batches = Columns(scan, "_id", schema=pa.schema([("_id", pa.string()), ("t", pa.string())])).batches()
    assert sum(batch.num_rows for batch in batches) == made_ == 100
