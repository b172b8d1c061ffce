"""Appending to files and series gives what a merge of all pieces gives, and errors name what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.body.lock import Lock
from ds_format.cli.info import facts_of
from ds_format.drivers.ds import series as series_driver
from ds_format.many import segments

from ..same import same_data, same_dataset

BOTH = pytest.mark.parametrize("series", [False, True])


def report(start: int, n: int = 1, **attributes: Any) -> dict[str, Any]:
    """Make a dataset with records from `start` on, of several types, and a variable without the dimension."""
    x = np.ma.MaskedArray(np.arange(2.0 * n).reshape(n, 2) + start, np.arange(2 * n).reshape(n, 2) % 3 == start % 3)
    return {
        "time": np.arange(start, start + n),
        "x": x if x.mask.any() else x.data,
        "name": np.array([f"record {i}" for i in range(start, start + n)], object),
        "lat": np.array([1.5, 2.5]),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2000-01-01", "calendar": "proleptic_gregorian"},
            "x": {".dims": ["time", "lat"], "units": "K"},
            "name": {".dims": ["time"]},
            "lat": {".dims": ["lat"]},
            ".": {"title": "Reports", **attributes},
        },
    }


def names(path: Path) -> list[str]:
    return sorted(name for name in os.listdir(path) if name != ".lock")


@BOTH
def test_appending_is_merging(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    pieces = [report(0, 3), report(3), report(4), report(5, 2)]
    for i, piece in enumerate(pieces):
        ds.append(path, piece, "time", series=series)
        assert same_dataset(ds.read(path), ds.merge(pieces[: i + 1], "time"))
    assert path.is_dir() is series
    assert names(tmp_path) == ["all.ds"]
    ds.compact(path)
    assert path.is_file()
    assert same_dataset(ds.read(path), ds.merge(pieces, "time"))
    assert names(tmp_path) == ["all.ds"]


@BOTH
def test_files_are_appended_in_one_step(series: bool, tmp_path: Path) -> None:
    pieces = [report(0, 2), report(2), report(3)]
    files = [tmp_path / "a.ds", tmp_path / "b.nc", tmp_path / "c.ds"]
    for file, piece in zip(files, pieces, strict=True):
        ds.write(file, piece)
    path = tmp_path / "all.ds"
    ds.append(path, files[0], "time", series=series)
    ds.append(path, files[1:], "time")
    ds.merge_files("time", files, tmp_path / "merged.ds")
    assert same_dataset(ds.read(path), ds.read(tmp_path / "merged.ds"))
    if series:
        assert names(path) == ["00000001.ds", "00000002.ds", "series.json"]


def test_a_file_becomes_a_series_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    ds.write(path, report(0, 3))
    ds.append(path, report(3), "time", series=True)
    ds.append(path, report(4), "time")
    assert names(path) == ["00000001.ds", "00000002.ds", "series.json"]
    assert same_dataset(ds.read(path), ds.merge([report(0, 3), report(3), report(4)], "time"))
    ds.write(tmp_path / "x.nc", report(0))
    with pytest.raises(ds.DriverError, match=r"x\.nc: only a ds file can become a series"):
        ds.append(tmp_path / "x.nc", report(3), "time", series=True)


@BOTH
@pytest.mark.parametrize("n_before", [1, 4])
def test_times_that_exist(series: bool, n_before: int, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    for i in range(n_before):
        ds.append(path, report(i), "time", series=series)
    before = ds.read(path)
    again = report(n_before - 1, 2, title="New")
    with pytest.raises(ds.UnsupportedError, match=rf'"time": 1 of .* already: 2000-01-01T0{n_before - 1}:00:00;'):
        ds.append(path, again, "time")
    assert same_dataset(ds.read(path), before)
    with pytest.warns(ds.DsWarning, match="title.*are kept$"):
        ds.append(path, again, "time", duplicates="last")
    found = ds.read(path)
    assert found["time"].tolist() == [*range(n_before + 1)]
    assert same_data(found["x"][-2:], again["x"])
    assert found["."]["."] == {"title": "New"}


@BOTH
def test_replaced_records_are_at_the_end(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    for i in range(5):
        ds.append(path, report(i), "time", series=series)
    ds.append(path, report(2), "time", duplicates="last")
    assert ds.read(path)["time"].tolist() == [0, 1, 3, 4, 2]
    assert ds.read(path)["name"].tolist()[-1] == "record 2"
    with pytest.raises(ds.UnsupportedError, match="2000-01-01T03:00:00"):  # the series is not sorted any more
        ds.append(path, report(3), "time")
    ds.append(path, report(1, 9), "time", duplicates="last")
    assert ds.read(path)["time"].tolist() == [*range(10)]
    if series:
        assert names(path) == ["00000001.ds", "00000002-00000007.ds", "series.json"]


@BOTH
def test_times_in_other_units_are_compared(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    ds.append(path, report(0, 30), "time", series=series)
    other = report(0, 2)
    other["time"], other["."]["time"]["units"] = np.array([1.0, 2.0]), "days since 2000-01-01"
    with pytest.raises(ds.UnsupportedError, match=r"1 of the new value exists already: 2000-01-02T00:00:00;"):
        ds.append(path, other, "time")
    other["time"] = np.array([1.25, 1.5])
    ds.append(path, other, "time")
    assert ds.read(path)["time"].tolist() == [*range(30), 30.0, 36.0]


@BOTH
def test_conflicts_are_those_of_a_merge(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    ds.append(path, report(0), "time", series=series)
    ds.append(path, report(1), "time")
    before, listing = ds.read(path), names(path) if series else []
    wrong = report(2)
    wrong["x"] = np.zeros((1, 3))
    wrong["lat"] = np.zeros(3)
    with pytest.raises(ds.UnsupportedError, match=r'"x": incompatible sizes'):
        ds.append(path, wrong, "time")
    with pytest.raises(ds.MissingError, match='dimension "time" not found'):
        ds.append(path, {"lat": [1.5, 2.5], ".": {"lat": {".dims": ["lat"]}}}, "time")
    with pytest.raises(ValueError, match="duplicates"):
        ds.append(path, report(2), "time", duplicates="first")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ds.append(tmp_path / "none" / "all.ds", report(2), "time")
    with pytest.raises(ds.UnsupportedError, match="local files"):
        ds.append("https://host/all.ds", report(2), "time")
    assert same_dataset(ds.read(path), before)
    if series:
        with pytest.raises(ds.UnsupportedError, match='along the dimension "time", found "lat"'):
            ds.append(path, report(2), "lat")
        assert names(path) == listing


@BOTH
def test_what_is_not_along_the_dimension_is_that_of_the_first(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    ds.append(path, report(0), "time", series=series)
    for i in (1, 2):
        other = report(i)
        other["lat"] = np.array([1.5, 9.0])
        with pytest.warns(ds.DsWarning, match='variable "lat": found 2.5 at .* in .* but 9.0') as told:
            ds.append(path, other, "time")
        assert str(told[0].message).endswith("only the first value is kept")  # there is no option that keeps others
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds.append(path, report(3), "time")
        assert ds.read(path)["lat"].tolist() == [1.5, 2.5]
    with pytest.warns(ds.DsWarning), ds.with_mode("moderate"):
        ds.append(path, other | {"time": np.array([9])}, "time")
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3, 9]
    ds.compact(path)
    assert ds.read(path)["lat"].tolist() == [1.5, 2.5]


def test_variables_that_segments_lack(tmp_path: Path) -> None:
    pieces = [report(i) for i in range(4)]
    del pieces[1]["x"], pieces[1]["."]["x"], pieces[2]["name"], pieces[2]["."]["name"]
    pieces[3]["x"] = pieces[3]["x"].astype(np.float32)
    pieces[3]["more"], pieces[3]["."]["more"] = np.array([7]), {".dims": ["time"]}
    for piece in pieces:
        ds.append(tmp_path / "all.ds", piece, "time", series=True)
    merged = ds.merge(pieces, "time")
    assert same_dataset(ds.read(tmp_path / "all.ds"), merged)
    with ds.open(tmp_path / "all.ds") as file:
        for key in ("time", "x", "name", "more", "lat"):
            assert same_data(file[key][:], merged[key])
            assert same_data(file[key].handle().read(), merged[key])


PIECES = st.lists(
    st.tuples(st.sampled_from(["append", "last", "compact", "start"]), st.integers(0, 30), st.integers(1, 3))
)


@settings(max_examples=40, deadline=None)
@given(PIECES, st.integers(1, 4))
def test_any_order_gives_what_a_merge_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]], fanout: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "all.ds"
    records: list[int] = []
    versions: dict[int, dict[str, Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "FANOUT", fanout)
        patch.setattr(segments, "SMALL_SIZE", 0 if fanout == 2 else segments.SMALL_SIZE)
        for step, (what, start, n) in enumerate(steps):
            if what == "compact":
                if path.exists():
                    ds.compact(path)
            else:
                new = [*range(start, start + n)]
                found = {one: report(one) for one in new}
                for one in found.values():
                    one["x"] = one["x"] + 100.0 * step
                piece = ds.merge([*found.values()], "time")
                if what != "last" and not set(records).isdisjoint(new):
                    with pytest.raises(ds.UnsupportedError, match="already"):
                        ds.append(path, piece, "time", series=what == "start")
                    continue
                duplicates: Any = "last" if what == "last" else "error"
                ds.append(path, piece, "time", series=what == "start", duplicates=duplicates)
                records = [one for one in records if one not in new] + new
                versions |= found
            if records:
                merged = ds.merge([versions[one] for one in records], "time")
                assert same_dataset(ds.read(path), merged)
                ds.write(path.with_name("merged.ds"), merged)
                some = {"time": slice(len(records) // 2, None, 2)}
                assert same_dataset(ds.read(path, sel=some), ds.read(path.with_name("merged.ds"), sel=some))
                path.with_name("merged.ds").unlink()
                assert ds.verify(path) == []
    assert names(path.parent) in ([], ["all.ds"])
    shutil.rmtree(path.parent)


def test_many_appends_leave_few_segments(tmp_path: Path) -> None:
    for i in range(400):
        ds.append(tmp_path / "all.ds", report(i), "time", series=True)
    assert len(names(tmp_path / "all.ds")) < 1 + 8 + 8
    assert ds.read(tmp_path / "all.ds")["time"].tolist() == [*range(400)]


def make(path: Path, n: int = 4) -> None:
    for i in range(n):
        ds.append(path, report(i), "time", series=True)


def test_what_is_wrong_with_a_series_is_named(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)

    def refused(error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            ds.read(path)
        with pytest.raises(error, match=match):
            ds.append(path, report(9), "time")

    (path / "00000002.ds").rename(tmp_path / "2.ds")
    refused(ds.FormatError, r"all\.ds: segment 00000002\.ds is missing")
    (tmp_path / "2.ds").rename(path / "00000002.ds")
    (path / "other.ds").write_bytes(b"")
    refused(ds.FormatError, r'found "other\.ds" in a series')
    (path / "other.ds").rename(path / "00000002-00000009.ds")
    (path / "00000009-00000012.ds").write_bytes(b"")
    refused(ds.FormatError, r"overlaps 00000009-00000012\.ds")
    (path / "00000002-00000009.ds").unlink()
    (path / "00000009-00000012.ds").unlink()
    (path / "00000003-00000004.ds").write_bytes(b"ds-1.0\n{")
    refused(ds.FormatError, r"00000003-00000004\.ds")
    (path / "00000003-00000004.ds").unlink()
    marker = (path / "series.json").read_bytes()
    for text, error in (
        (b"{", ds.FormatError),
        (b"[]", ds.FormatError),
        (b'{"format": "ds-series-2"}', ds.VersionError),
    ):
        (path / "series.json").write_bytes(text)
        refused(error, r"series\.json")
    (path / "series.json").unlink()
    refused(IsADirectoryError, r"all\.ds")
    (path / "series.json").write_bytes(marker)
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3]
    (path / "00000001.ds").write_bytes((path / "00000002.ds").read_bytes()[:-4])
    with pytest.raises(ds.TruncatedError, match=r"00000001\.ds"):
        ds.read(path)
    assert {problem.severity for problem in ds.verify(path)} == {"error"}


def test_a_segment_that_is_missing_at_an_end(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)
    (path / "00000004.ds").unlink()  # as before the last append
    assert ds.read(path)["time"].tolist() == [0, 1, 2]
    ds.append(path, report(7), "time")
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 7]
    (path / "00000001.ds").unlink()
    for use in (ds.read, ds.compact, lambda path: ds.append(path, report(8), "time")):
        with pytest.raises(ds.FormatError, match=r"all\.ds: segment 00000001\.ds is missing"):
            use(path)


FOREIGN: dict[str, tuple[Any, type[Exception], str]] = {
    "other dimension": ({"y": [1], ".": {"y": {".dims": ["i"]}}}, ds.FormatError, 'without its dimension "time"'),
    "other sizes": (report(9) | {"x": np.zeros((1, 5)), "lat": np.zeros(5)}, ds.UnsupportedError, "incompatible sizes"),
    "other types": (report(9) | {"x": np.array([["a", "b"]], object)}, ds.UnsupportedError, '"x"'),
    "netcdf": (b"CDF\x01" + bytes(28), ds.FormatError, "not a ds file"),
    "empty": (b"", ds.FormatError, "the file is empty"),
    "folder": (None, IsADirectoryError, "directory"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_segment_of_another_series(what: str, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)
    foreign = path / "00000005.ds"
    data, error, match = FOREIGN[what]
    if isinstance(data, dict):
        ds.write(foreign, data)
    elif data is None:
        foreign.mkdir()
    else:
        foreign.write_bytes(data)
    listing = names(path)
    for use in (ds.read, ds.open, ds.compact, lambda path: ds.append(path, report(8), "time")):
        with pytest.raises(error, match=match):
            use(path)
    assert names(path) == listing
    assert names(tmp_path) == ["all.ds"]
    foreign.rmdir() if data is None else foreign.unlink()
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3]


def test_leftovers_of_killed_processes_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path, 4)
    segments.join(str(path), series_driver.listed(str(path))[0][:3], str(path / "00000001-00000003.ds"))
    (path / ".00000005.ds.1-2.tmp").write_bytes(b"ds-1.0\n")
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3]
    ds.append(path, report(4), "time")
    assert names(path) == ["00000001-00000003.ds", "00000004.ds", "00000005.ds", "series.json"]
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("change", ["compact", "replace", "remove"])
def test_a_handle_is_not_one_of_another_series(change: str, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)
    with ds.open(path) as file:
        if change == "compact":
            ds.compact(path)
        else:
            shutil.rmtree(path)
        if change == "replace":
            for i in range(4):
                ds.append(path, report(i + 4), "time", series=True)
        assert file["time"][:].tolist() == [0, 1, 2, 3]
        with pytest.raises((ds.ReplacedError, FileNotFoundError)):
            file["time"].handle()


@BOTH
def test_the_second_appender_waits_or_is_refused(series: bool, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    ds.append(path, report(0), "time", series=series)
    name = path / ".lock" if series else tmp_path / ".all.ds.lock"
    lock = Lock(str(name), str(path), stays=series)
    owner = "" if series else f": pid={os.getpid()}"
    with pytest.raises(ds.BusyError, match=rf"all\.ds: another process is writing to it{owner}"):
        ds.append(path, report(1), "time", timeout=0.01)
    with pytest.raises(ds.BusyError):
        ds.compact(path, timeout=0)
    waiting = threading.Thread(target=ds.append, args=(path, report(1), "time"))
    waiting.start()
    lock.release(remove=True)
    waiting.join()
    assert ds.read(path)["time"].tolist() == [0, 1]


def test_an_open_series_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)
    with ds.open(path) as file:
        handle = file["x"].handle()
        ds.append(path, report(4), "time")
        assert file["time"][:].tolist() == handle.read().shape[:1] == [0, 1, 2, 3] or handle.read().shape == (4, 2)
        ds.compact(path)
        assert file["time"][:].tolist() == [0, 1, 2, 3]
    with pytest.raises(ds.ReplacedError):
        handle.read()


def test_commands_and_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    make(path)
    merged = ds.merge([report(i) for i in range(4)], "time")
    ds.convert(path, tmp_path / "one.ds")
    assert same_dataset(ds.read(tmp_path / "one.ds"), merged)
    ds.write(tmp_path / "two.ds", report(4))
    both = ds.read_many([path, tmp_path / "two.ds"], dim="time")
    assert both["time"].tolist() == [0, 1, 2, 3, 4]
    ds.merge_files("time", [path, tmp_path / "two.ds"], tmp_path / "both.ds")
    assert same_dataset(ds.read(tmp_path / "both.ds"), ds.merge([report(i) for i in range(5)], "time"))
    assert next(iter(ds.readdir(tmp_path)))["time"].tolist() == [0, 1, 2, 3]
    assert not ds.diff(path, tmp_path / "one.ds")
    facts = facts_of(str(path))
    assert (facts["format"], facts["dimensions"]["time"]["size"]) == ("ds series, 4 segments", 4)


def test_a_series_among_inputs_is_one_file(tmp_path: Path) -> None:
    make(tmp_path / "a.ds")
    ds.write(tmp_path / "b.ds", report(4, 2))
    merged = ds.merge([*(report(i) for i in range(4)), report(4, 2)], "time")
    listed: Any = [tmp_path / "a.ds", tmp_path / "b.ds"]
    for inputs in (listed, str(tmp_path / "*.ds")):
        assert same_dataset(ds.read_many(inputs, dim="time"), merged)
    assert [one["time"].tolist() for one in ds.readdir(tmp_path)] == [[0, 1, 2, 3], [4, 5]]
    records = ds.convert_many(tmp_path, tmp_path / "out", to="nc")
    assert [os.path.basename(record.input) for record in records] == ["a.ds", "b.ds"]
    assert ds.read(tmp_path / "out" / "a.nc")["time"].tolist() == [0, 1, 2, 3]
    assert [file.name for file in sorted((tmp_path / "out").glob("*.nc"))] == ["a.nc", "b.nc"]


def test_open_many_with_a_series(tmp_path: Path) -> None:
    pytest.importorskip("xarray", reason="xarray is not installed")
    make(tmp_path / "a.ds")
    ds.write(tmp_path / "b.ds", report(4, 2))
    with ds.open_many([tmp_path / "a.ds", tmp_path / "b.ds"], "time") as found:
        assert found["name"].values.tolist() == [f"record {i}" for i in range(6)]
    with ds.open_many(tmp_path / "*.ds", "time") as found:
        ds.append(tmp_path / "a.ds", report(9), "time")
        with pytest.raises(ds.ReplacedError):
            found["x"].load()


def test_5_0_2_reads_a_compacted_file(tmp_path: Path, reference_python: str) -> None:
    path = tmp_path / "all.ds"
    make(path, 20)
    expected = ds.read(path)
    ds.compact(path)
    code = "import sys, ds_format as ds; d = ds.read(sys.argv[1]); ds.write(sys.argv[2], d); print(d['name'][-1])"
    command = [reference_python, "-I", "-c", code, str(path), str(tmp_path / "again.ds")]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"record 19\n"
    found = ds.read(tmp_path / "again.ds")
    for key in expected:
        if key != ".":
            assert same_data(found[key], expected[key])


def test_a_series_in_xarray(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    path = tmp_path / "all.ds"
    make(path)
    with xr.open_dataset(path) as found:
        assert found["name"].values.tolist() == [f"record {i}" for i in range(4)]
        assert found["time"].values[-1] == np.datetime64("2000-01-01T03")
        more = found.isel(time=[3]).load()
    more["time"] = more["time"] + np.timedelta64(1, "h")
    ds.append(path, more, "time")
    assert ds.read(path)["time"].tolist() == [0, 1, 2, 3, 4]


ODD: dict[str, Any] = {
    "no data": (None, {".type": "float64"}),
    "scalar": (2.5, {}),
    "text": ("station", {}),
    "bool": (np.array([[True, False]]), {".dims": ["time", "k"]}),
    "second": (np.array([[1.5], [2.5]]), {".dims": ["lat", "time"]}),
    "list": (np.array([1, 2], "i2"), {".dims": ["k"], "flag_values": np.array([1, 2], "i2")}),
    "all missing": (np.ma.masked_all((1, 2)), {".dims": ["time", "k"]}),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_variables(what: str, tmp_path: Path) -> None:
    value, meta = ODD[what]
    pieces = [report(i) | {"odd": value} for i in range(10)]
    for i, piece in enumerate(pieces):
        piece["."]["odd"] = meta
        ds.append(tmp_path / "all.ds", piece, "time", series=True)
        assert same_dataset(ds.read(tmp_path / "all.ds"), ds.merge(pieces[: i + 1], "time"))
    with ds.open(tmp_path / "all.ds") as file:
        handle = file["odd"].handle()
        assert same_data(handle.read(), ds.merge(pieces, "time")["odd"])


def test_no_records(tmp_path: Path) -> None:
    pieces = [report(i) for i in (0, 0, 1, 1, 2)]
    for piece in pieces:
        del piece["name"], piece["."]["name"]  # empty text has another type
    for empty in pieces[0:3:2]:
        empty.update(time=empty["time"][:0], x=empty["x"][:0])
    for piece in pieces:
        ds.append(tmp_path / "all.ds", piece, "time", series=True)
    assert same_dataset(ds.read(tmp_path / "all.ds"), ds.merge(pieces, "time"))
