"""Parquet and Arrow files: what other programs read and write, what is read of a file, and files that are refused."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import drivers
from ds_format.base.text import escape
from ds_format.body.body import Stream
from ds_format.drivers.arrow_ import sink
from ds_format.testing import require_same
from ds_format.timeaxis import to_iso
from tests import strategies

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

SUFFIXES = [".parquet", ".arrow"]
START = datetime.datetime(2026, 1, 2, 3)
DAYS = {"units": "days since 2026-01-01", "calendar": "standard"}
RAIN = {
    "time": np.array([0, 1, 2], "i4"),
    "half": np.array([0.5, 1.5, 2.25]),
    "rain": np.ma.MaskedArray([1.5, 0.0, np.nan], [False, True, False]),
    "site": np.array(["a", "", "ž"], object),
    "raw": np.array([b"a", b"\xff", b""], object),
    "wet": np.array([True, False, True]),
    ".": {
        **{name: {".dims": ["time"]} for name in ("rain", "site", "raw", "wet")},
        "time": {".dims": ["time"], **DAYS},
        "half": {".dims": ["time"], **DAYS, "valid": np.int16(3), "PARQUET:x": "y"},
        ".": {"title": "Rain", "levels": [1, 2], "pandas": "no JSON"},
    },
}


def put(path: Path, table: Any) -> None:
    (parquet.write_table if path.suffix == ".parquet" else feather.write_feather)(table, path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_times_and_attributes_come_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.write(path, RAIN)
    require_same(RAIN, ds.read(path))
    with contextlib.closing(drivers.open_source(path)) as source:
        assert source.meta["time"][".type"] == "int32"
        assert [source.meta[key][".missing"] for key in ("time", "rain")] == [False, True]


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Draw variables of one length, some of which are times."""
    n, dims = draw(st.integers(0, 5)), draw(st.lists(strategies.texts, min_size=1, max_size=2))
    keys = draw(st.lists(strategies.names, min_size=1, max_size=4, unique=True))
    d: dict[str, Any] = {".": {".": {}}}
    for key in map(escape, keys):
        d[key] = draw(strategies.arrays((n,)))
        d["."][key] = {".dims": [draw(st.sampled_from(dims))]}
        if d[key].dtype.kind in "iu" and draw(st.booleans()):
            units = draw(st.sampled_from(["days", "seconds", "microseconds", "nanoseconds"]))
            d["."][key]["units"] = f"{units} since {draw(st.sampled_from(['1970-01-01', '2000-02-29 12:00']))}"
    return d


@pytest.mark.hypothesis
@given(tables(), st.sampled_from(SUFFIXES), st.integers(1, 4))
def test_all_that_is_written_is_read(d: dict[str, Any], suffix: str, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink, "GROUP_ROWS", rows)
        found = ds.loads(ds.dumps(d, format=suffix[1:]), format=suffix[1:])
    require_same(d, found)


def read_polars(path: Path) -> dict[str, list[Any]]:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return (polars.read_parquet if path.suffix == ".parquet" else polars.read_ipc)(path).to_dict(as_series=False)


def read_pandas(path: Path) -> dict[str, list[Any]]:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = (pandas.read_parquet if path.suffix == ".parquet" else pandas.read_feather)(path)
    return {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame}


def read_duckdb(path: Path) -> dict[str, list[Any]]:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    found = duckdb.sql(f"FROM '{path}'")
    return dict(zip(found.columns, map(list, zip(*found.fetchall(), strict=True)), strict=True))


@pytest.mark.parametrize(
    ("read", "suffix"),
    [
        *((read, suffix) for read in (read_polars, read_pandas) for suffix in SUFFIXES),
        (read_duckdb, ".parquet"),  # it reads no Arrow files by itself
    ],
)
def test_others_read_what_we_write(read: Callable[[Path], dict[str, list[Any]]], suffix: str, tmp_path: Path) -> None:
    ds.write(tmp_path / f"a{suffix}", RAIN)
    found = read(tmp_path / f"a{suffix}")
    first = datetime.datetime(2026, 1, 1)
    assert found["time"] == [first + datetime.timedelta(days) for days in (0, 1, 2)]
    assert found["half"] == [first + datetime.timedelta(days) for days in (0.5, 1.5, 2.25)]
    assert found["rain"][:2] == [1.5, None] and (found["rain"][2] is None or np.isnan(found["rain"][2]))
    assert (found["site"], found["wet"]) == (["a", "", "ž"], [True, False, True])
    assert found["raw"] == [b"a", b"\xff", b""]


def write_polars(path: Path, columns: dict[str, Any]) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(columns)
    (frame.write_parquet if path.suffix == ".parquet" else frame.write_ipc)(path)


def write_pandas(path: Path, columns: dict[str, Any]) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pandas.DataFrame(columns).set_index("time").to_parquet(path)


def write_duckdb(path: Path, columns: dict[str, Any]) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = arrow.table(columns)
    duckdb.connect().register("given", table).sql("FROM given").write_parquet(str(path))


@pytest.mark.parametrize(
    ("write", "dim", "suffix"),
    [
        *((write_polars, "i", suffix) for suffix in SUFFIXES),
        *((lambda path, columns: put(path, arrow.table(columns)), "i", suffix) for suffix in SUFFIXES),
        (write_pandas, "time", ".parquet"),
        (write_duckdb, "i", ".parquet"),
    ],
)
def test_what_others_write_is_read(write: Any, dim: str, suffix: str, tmp_path: Path) -> None:
    columns = {"time": [START, START], "n": [1, 2], "x": [0.5, None], "s": ["ž", None]}
    write(tmp_path / f"a{suffix}", columns)
    found = ds.read(tmp_path / f"a{suffix}")
    assert found["n"].tolist() == [1, 2] and found["x"].tolist()[0] == 0.5 and found["s"].tolist() == ["ž", None]
    units = found["."]["time"]["units"]
    assert to_iso(found["time"], units).tolist() == ["2026-01-02T03:00:00"] * 2
    assert {name: found["."][name][".dims"] for name in columns} == {name: [dim] for name in columns}
    assert found["."]["."] == {}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_the_requested_columns_and_rows_are_read(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, path = 400_000, tmp_path / f"a{suffix}"
    columns = {name: np.random.default_rng(0).random(n) for name in "abcd"}
    monkeypatch.setattr(sink, "GROUP_ROWS", n // 8)
    ds.write(path, {**columns, ".": {name: {".dims": ["i"]} for name in "abcd"}}, compression="none")
    sizes: list[int] = []

    class Counted(Stream):
        def readinto(self, buffer: Any) -> int:
            sizes.append(super().readinto(buffer))
            return sizes[-1]

    monkeypatch.setattr("ds_format.drivers.arrow_.containers.Stream", Counted)
    with contextlib.closing(drivers.open_source(path)) as source:
        if suffix == ".parquet":  # record batches have their lengths next to their values
            assert sum(sizes) < 100_000
        sizes.clear()
        assert source.read("c").tolist() == columns["c"].tolist()
        assert 8 * n <= sum(sizes) < 11 * n
        sizes.clear()
        assert source.read("c", (range(n - 1, n - 5, -2),)).tolist() == columns["c"][[-1, -3]].tolist()
        assert source.read("c", (np.array([n - 1, 0, n - 1]),)).tolist() == columns["c"][[-1, 0, -1]].tolist()
        assert sum(sizes) < 5 * n
        sizes.clear()
        blocks = source.blocks("c", 1 << 16)
        assert next(blocks).tolist() == columns["c"][: 1 << 13].tolist()
        assert sum(sizes) < 4 * n


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_types_of_times(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    zone = arrow.array([START], arrow.timestamp("us", "Europe/Prague"))
    put(
        path,
        arrow.table({
            "date": arrow.array([START.date()], arrow.date32()),
            "ns": arrow.array([START], arrow.timestamp("ns")),
            "zone": zone,
            "wait": arrow.array([datetime.timedelta(hours=1)], arrow.duration("s")),
            "kind": arrow.array(["a"]).dictionary_encode(),
            "none": arrow.nulls(1),
        }),
    )
    with pytest.warns(ds.DsWarning, match="times in the zone Europe/Prague become UTC"):
        found = ds.read(path)
    seconds = int(START.replace(tzinfo=datetime.UTC).timestamp())
    assert found["date"].tolist() == [seconds - 3 * 3600]
    assert found["ns"].tolist() == [seconds * 10**9] and found["zone"].tolist() == [seconds * 10**6]
    assert found["wait"].tolist() == [3600] and found["."]["wait"]["units"] == "seconds"
    assert found["kind"].tolist() == ["a"] and found["none"].tolist() == [None]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_lost_is_reported(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    d = {"t": np.array([0.1 + 1e-9, np.nan]), "s": 3, ".": {"t": {".dims": ["t"], "units": "seconds since 2000-01-01"}}}
    with pytest.warns(ds.LossWarning, match=r'scalars \("s"; .*\); exact times \("t", read to the microsecond'):
        ds.write(path, d)
    found = ds.read(path)
    assert found["t"].tolist() == [0.1, None] and "s" not in found
    with pytest.warns(ds.LossWarning, match="exact times"):
        ds.write(path, d, scalars=True)
    assert ds.read(path)["s"].tolist() == [3, 3]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("values", "units"),
    [
        ([0, 1], "days since 2000-01-01"),  # of 360 days
        ([-(10**18), 10**18], "days since 1970-01-01"),  # more than a million years away
        ([-(1 << 62), 1 << 62], "hours since 1970-01-01"),
    ],
)
def test_other_times_stay_numbers(suffix: str, values: list[int], units: str, tmp_path: Path) -> None:
    calendar = "360_day" if "2000" in units else "proleptic_gregorian"
    d = {"t": np.array(values), ".": {"t": {".dims": ["t"], "units": units, "calendar": calendar}, ".": {}}}
    ds.write(tmp_path / f"a{suffix}", d)
    require_same(d, ds.read(tmp_path / f"a{suffix}"))
    read_table = parquet.read_table if suffix == ".parquet" else feather.read_table
    assert read_table(tmp_path / f"a{suffix}").schema.field("t").type == arrow.int64()


def parquet_bytes(**columns: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(arrow.table(columns), out)
    return out.getvalue()


WHOLE = parquet_bytes(x=[1.0, 2.0])
REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "text": (b"a,b\n1,2\n", "not Parquet, but text: 'a,b"),
    "truncated": (WHOLE[: len(WHOLE) // 2], "the pyarrow library: Parquet magic bytes not found"),
    "a footer that is cut": (WHOLE[:4] + WHOLE[-20:], "the pyarrow library: "),
    "encrypted": (b"PARE" + bytes(50) + b"PARE", "not Parquet, but an encrypted Parquet file"),
    "encrypted columns": (WHOLE[:-4] + b"PARE", "the pyarrow library: Could not read encrypted metadata"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(ds.FormatError) as caught:
        ds.read(tmp_path / "a.parquet")
    assert str(tmp_path / "a.parquet") in str(caught.value) and message in str(caught.value)
    with pytest.raises(ds.FormatError):
        ds.convert(tmp_path / "a.parquet", tmp_path / "out.ds")
    assert not (tmp_path / "out.ds").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([[1], [2]], "list<"),
        ([{"a": 1}, {"a": 2}], "struct<"),
        ([decimal.Decimal("1.5")] * 2, "decimal128"),
        ([datetime.time(1)] * 2, "time64"),
    ],
)
def test_a_column_of_another_type_is_a_fault(suffix: str, column: list[Any], kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    put(path, arrow.table({"c": column, "x": [1.0, 2.0]}))
    assert ds.read(path, ["x"])["x"].tolist() == [1.0, 2.0]
    with pytest.raises(ds.UnsupportedError, match=rf'a\{suffix}: variable "c": found the type {kind}'):
        ds.read(path)
    with pytest.warns(ds.LossWarning, match='variable "c": .*; it is left out'):
        assert list(ds.read(path, skip_unsupported=True)) == ["x", "."]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_columns_of_one_name_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    table = arrow.table([[1], [2]], ["x", "x"])
    with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    if suffix == ".parquet":
        parquet.write_table(table, path)
    with pytest.raises(ds.UnsupportedError, match=rf'a\{suffix}: found two columns "x"'):
        ds.read(path)


@pytest.mark.parametrize(
    ("suffix", "options", "message"),
    [
        (".parquet", {"compression": "zlib"}, "compression: found 'zlib', expected one of zstd, snappy"),
        (".parquet", {"level": 30}, "level: found 30, expected 1 to 22 for zstd"),
        (".arrow", {"compression": "snappy"}, "expected one of none, lz4, zstd"),
        (".arrow", {"level": 1}, "level: found 1, expected none for none"),
    ],
)
def test_options(suffix: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ds.DriverError, match=message):
        ds.write(tmp_path / f"a{suffix}", RAIN, **options)
    assert not any(tmp_path.iterdir())
    ds.write(tmp_path / f"a{suffix}", RAIN, compression="zstd", level=5)
    require_same(RAIN, ds.read(tmp_path / f"a{suffix}"))
