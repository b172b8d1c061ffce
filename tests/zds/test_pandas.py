"""Collections as DataFrames and back."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.errors import DriverError, MissingError, UnsupportedError
from ds_format.tables.document_columns import ROWS
from ds_format.zds.store import ZDSStore
from ds_format.zds.tables import flat, read_zds, to_zds

pd = pytest.importorskip("pandas")


def made(path: Path, documents: list[dict[str, Any]], collection: str = "default") -> Path:
    with ZDSStore.open(path, collection, mode="w") as store:
        store.put_many(documents)
    return path


def stored(path: Path, collection: str = "default") -> list[dict[str, Any]]:
    with ZDSStore.open(path, collection) as store:
        return list(store.scan())


def test_rows_are_documents(tmp_path: Path) -> None:
    documents: list[dict[str, Any]] = [
        {"_id": "a", "n": 1, "s": "x", "ok": True, "d": {"p": [1]}},
        {"_id": "b", "s": "y", "f": 0.5},
        {"_id": "c", "n": 3, "s": None},
    ]
    frame = read_zds(made(tmp_path / "s", documents))
    assert frame.columns.tolist() == ["_id", "n", "s", "ok", "d", "f"]
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["_id"].tolist() == ["a", "b", "c"]
    assert frame["n"].dtype == "float64" and frame["n"].isna().tolist() == [False, True, False]
    assert frame["d"][0] == {"p": [1]}
    assert frame["ok"][0] is True and frame["ok"].isna().tolist() == [False, True, True]


def test_columns_without_gaps_keep_their_types(tmp_path: Path) -> None:
    frame = read_zds(made(tmp_path / "s", [{"_id": "a", "n": 1, "ok": True}, {"_id": "b", "n": 2, "ok": False}]))
    assert frame.dtypes.astype(str).tolist()[1:] == ["int64", "bool"]


def test_fields_where_and_collection(tmp_path: Path) -> None:
    path = made(tmp_path / "s", [{"_id": f"d{i}", "x": i, "home": {"city": "abc"[i]}} for i in range(3)], "people")
    frame = read_zds(path, "people", fields=["home.city", "nowhere"], where={"x": {"ge": 1}})
    assert frame.columns.tolist() == ["_id", "home.city", "nowhere"]
    assert frame["home.city"].tolist() == ["b", "c"]
    assert frame["nowhere"].isna().all()
    assert read_zds(path, "people", fields=iter(["x"]))["x"].tolist() == [0, 1, 2]
    assert read_zds(path, "people", fields="x,-_id").columns.tolist() == ["x"]
    assert read_zds(path, "people", fields=["home", "-_id"], flatten=True).columns.tolist() == ["home.city"]


def test_ids_come_first_and_nothing_is_a_frame(tmp_path: Path) -> None:
    assert read_zds(made(tmp_path / "s", [])).columns.tolist() == ["_id"]
    assert len(read_zds(tmp_path / "s")) == 0
    assert read_zds(tmp_path / "s", fields=["a"]).columns.tolist() == ["_id", "a"]


@pytest.mark.parametrize(
    "values", [[2**53 + 1, None], [2**60 + 1, 0.5], [-(2**60) - 1, None], [2**64, None], [2**63, -1]]
)
def test_no_integer_is_rounded(values: list[Any], tmp_path: Path) -> None:
    documents = [{"_id": f"d{i}"} | ({} if value is None else {"x": value}) for i, value in enumerate(values)]
    frame = read_zds(made(tmp_path / "s", documents))
    assert [value for value in frame["x"].tolist() if value == value] == [
        value for value in values if value is not None
    ]


def test_large_floats_stay_floats(tmp_path: Path) -> None:
    frame = read_zds(made(tmp_path / "s", [{"_id": "a", "x": 1e300}, {"_id": "b", "x": 1}, {"_id": "c", "x": 2**53}]))
    assert frame["x"].dtype == "float64"


def test_objects_as_columns(tmp_path: Path) -> None:
    documents: list[dict[str, Any]] = [
        {"_id": "a", "d": {"p": 1, "q": {"r": "x"}}, "l": [{"p": 1}], "e": {}},
        {"_id": "b", "d": 5},
    ]
    frame = read_zds(made(tmp_path / "s", documents), flatten=True)
    assert frame.columns.tolist() == ["_id", "d.p", "d.q.r", "l", "e", "d"]
    assert frame["l"][0] == [{"p": 1}] and frame["e"][0] == {}
    with pytest.raises(UnsupportedError, match=r"document 'a' has two fields 'd\.p' when flattened"):
        flat({"_id": "a", "d": {"p": 1}, "d.p": 2})


def test_there_and_back(tmp_path: Path) -> None:
    documents = [{"_id": f"d{i}", "n": i, "s": f"é{i}", "d": {"p": [i, None], "q": None}} for i in range(3)]
    to_zds(read_zds(made(tmp_path / "s", documents)), tmp_path / "t", "other")
    assert stored(tmp_path / "t", "other") == documents


def test_values_become_those_of_json(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "i": np.array([1, 2], "int8"),
            "f": np.array([0.5, np.nan], "float32"),
            "ok": [True, False],
            "s": ["x", None],
            "n": pd.array([2**60 + 1, None], "Int64"),
            "t": [pd.Timestamp("2026-01-02T03:04:05.5", tz="UTC"), pd.NaT],
            "dt": [pd.Timedelta("1h"), None],
            "day": [datetime.date(2026, 1, 2), None],
            "c": pd.Categorical(["u", "v"]),
            "o": [{"a": np.int64(1), "t": pd.Timestamp("2026-01-02")}, np.arange(2)],
            "l": [(1, None), [pd.Timestamp("2026-01-02")]],
            7: [None, "seven"],
        },
        index=["a", "b"],
    )
    to_zds(frame, tmp_path / "s")
    assert stored(tmp_path / "s") == [
        {
            "_id": "a",
            "i": 1,
            "f": 0.5,
            "ok": True,
            "s": "x",
            "n": 2**60 + 1,
            "t": "2026-01-02T03:04:05.500000+00:00",
            "dt": "P0DT1H0M0S",
            "day": "2026-01-02",
            "c": "u",
            "o": {"a": 1, "t": "2026-01-02T00:00:00"},
            "l": [1, None],
        },
        {"_id": "b", "i": 2, "ok": False, "c": "v", "o": [0, 1], "l": ["2026-01-02T00:00:00"], "7": "seven"},
    ]


def test_ids_from_index_column_or_id(tmp_path: Path) -> None:
    frame = pd.DataFrame({"k": ["u", "v"], "x": [1, 2]})
    to_zds(frame, tmp_path / "s")
    assert stored(tmp_path / "s")[1] == {"_id": "1", "k": "v", "x": 2}
    to_zds(frame, tmp_path / "s", id_column="k")
    assert stored(tmp_path / "s")[1] == {"_id": "v", "k": "v", "x": 2}
    to_zds(frame.rename(columns={"k": "_id"}), tmp_path / "s", "more")
    assert stored(tmp_path / "s", "more")[1] == {"_id": "v", "x": 2}
    to_zds(pd.DataFrame({"_id": ["v", "w"]}), tmp_path / "s", "more", mode="a")
    assert {"_id": "w"} in stored(tmp_path / "s", "more") and len(stored(tmp_path / "s", "more")) == 3
    assert len(stored(tmp_path / "s")) == 2


def test_many_rows(tmp_path: Path) -> None:
    n = 2 * ROWS + 3
    x = [float(i) if i % 3 else math.nan for i in range(n)]
    to_zds(pd.DataFrame({"x": x}, index=range(n, 0, -1)), tmp_path / "s")
    expected = [{"_id": str(n - i)} | ({"x": float(i)} if i % 3 else {}) for i in range(n)]
    assert stored(tmp_path / "s") == expected


@pytest.mark.parametrize(
    ("frame", "id_column", "error", "message"),
    [
        (pd.DataFrame({"x": [1, 2]}, index=["a", "a"]), None, UnsupportedError, "id 'a' occurs twice"),
        (
            pd.DataFrame({"x": [1, 2]}, index=pd.Index([1, "1"], dtype=object)),
            None,
            UnsupportedError,
            "'1' occurs twice",
        ),
        (pd.DataFrame({"_id": ["a", None]}), None, UnsupportedError, "row 1 has no id"),
        (pd.DataFrame({"_id": ["../a"]}), None, UnsupportedError, "a"),
        (pd.DataFrame({"k": [1.0, np.nan]}), "k", UnsupportedError, "row 1 has no id"),
        (pd.DataFrame({"k": [1]}), "x", MissingError, "no column 'x'; columns are k"),
        (pd.DataFrame({"k": [1], "_id": ["a"]}), "k", UnsupportedError, "there is a column '_id', too"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), None, UnsupportedError, 'two columns "x"'),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), None, UnsupportedError, 'two columns "1"'),
        (
            pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
            None,
            UnsupportedError,
            "columns of several",
        ),
        (
            pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)])),
            None,
            UnsupportedError,
            "an index of several",
        ),
        (pd.DataFrame({"x": [1, math.inf]}), None, UnsupportedError, "document '1': "),
        (pd.DataFrame({"x": [object()]}), None, UnsupportedError, None),
        (pd.DataFrame({"x": [[math.nan]]}), None, UnsupportedError, None),
        (pd.DataFrame({"x": [[pd.NaT]]}), None, UnsupportedError, None),
    ],
)
def test_frames_that_are_refused_leave_the_collection_as_it_was(
    frame: Any, id_column: str | None, error: type[Exception], message: str | None, tmp_path: Path
) -> None:
    made(tmp_path / "s", [{"_id": "old"}])
    with pytest.raises(error, match=message):
        to_zds(frame, tmp_path / "s", id_column=id_column)
    assert stored(tmp_path / "s") == [{"_id": "old"}]


@pytest.mark.parametrize("call", [lambda: read_zds("s"), lambda: to_zds(None, "s")])
def test_an_absent_library_is_named_with_its_extra(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr("ds_format.base.optional.importlib.import_module", absent)
    with pytest.raises(DriverError, match=r"cannot import pandas: pip install 'ds-format-cython\[pandas\]'"):
        call()
