"""Files of stations merged into a ragged array, and read back station by station."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from benchmarks.stations import ordinary
from tests.same import same_data

ROWS = ("time", "temperature", "dew_point", "pressure", "humidity", "wind_speed", "weather", "is_checked")
SCALARS = ("station_id", "latitude", "longitude")


def _write(folder: Path, n: int, suffix: str = "ds") -> list[str]:
    paths = []
    for i in range(n):
        paths.append(str(folder / f"st{i:03}.{suffix}"))
        ds.write(paths[-1], ordinary(i))
    return paths


def _expect_station(found: dict[str, Any], report: dict[str, Any], names: tuple[str, ...] = (*ROWS, *SCALARS)) -> None:
    for name in names:
        assert same_data(found[name], report[name])
    for name in ("history", "station_name", "elevation"):
        value = found[name]
        assert (value.item() if isinstance(value, np.generic) else value) == report["."]["."][name]


@pytest.mark.parametrize("suffix", ["ds", "nc", "h5"])
@pytest.mark.parametrize("output", ["ds", "nc"])
def test_each_station_survives(tmp_path: Path, suffix: str, output: str) -> None:
    paths = _write(tmp_path, 5, suffix)
    path = tmp_path / f"all.{output}"
    assert ds.merge_ragged(paths, path) == 5
    whole = ds.read(path)
    assert whole["row_size"].tolist() == [24] * 5
    assert whole["."]["row_size"]["sample_dimension"] == "obs"
    assert whole["."]["."]["featureType"] == "timeSeries"
    assert whole["."]["."]["title"] == ordinary(0)["."]["."]["title"]
    for i, each in enumerate(paths):
        report = ds.read(each)
        for at in ({"station_id": f"ST{i:010d}"}, {"station": f"{10000 + i}"}):
            _expect_station(ds.read(path, at=at), report)
        assert same_data(ds.read(path, sel={"station": [i]})["time"], report["time"])


def test_stored_numbers_stay_packed(tmp_path: Path) -> None:
    paths = _write(tmp_path, 3)
    ds.merge_ragged(paths, tmp_path / "all.ds")
    stored = ds.read(tmp_path / "all.ds", unpack=False)["pressure"]
    assert stored.dtype == np.int16
    assert same_data(stored, np.ma.concatenate([ordinary(i)["pressure"] for i in range(3)]))


def test_several_stations(tmp_path: Path) -> None:
    paths = _write(tmp_path, 6)
    ds.merge_ragged(paths, tmp_path / "all.ds")
    for wanted in ([4, 1], [2], list(range(6))):
        found = ds.read(tmp_path / "all.ds", ["temperature"], sel={"station": wanted})
        parts = [np.ma.array(ordinary(i)["temperature"]) for i in wanted]
        assert same_data(found["temperature"], np.ma.concatenate(parts))


def test_a_selection_of_rows_and_stations(tmp_path: Path) -> None:
    ds.merge_ragged(_write(tmp_path, 3), tmp_path / "all.ds")
    with pytest.warns(ds.DsWarning, match="leaves nothing"):
        assert ds.read(tmp_path / "all.ds", ["time"], sel={"station": []})["time"].size == 0
    found = ds.read(tmp_path / "all.ds", ["time"], sel={"station": 1}, range_={"obs": (30, None)})
    assert same_data(found["time"], ordinary(1)["time"][6:])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_stations_of_any_length(tmp_path_factory: pytest.TempPathFactory, counts: list[int], data: Any) -> None:
    folder = tmp_path_factory.mktemp("ragged")
    paths, start = [], 0
    for i, n in enumerate(counts):
        values = np.arange(start, start + n, dtype=np.float64)
        start += n
        meta: dict[str, Any] = {"x": {".dims": ["t"]}, "name": {".dims": []}, ".": {"number": i}}
        d: dict[str, Any] = {"x": values, "name": f"n{i}", ".": meta}
        if i % 2:
            d["late"] = np.int32(i)  # which the first file has not
            d["."]["."]["extra"] = f"e{i}"
        paths.append(folder / f"p{i}.ds")
        ds.write(paths[-1], d)
    ds.merge_ragged(paths, folder / "all.ds")
    chosen = data.draw(st.integers(0, len(counts) - 1))
    found = ds.read(folder / "all.ds", at={"station": f"p{chosen}"})
    assert same_data(found["x"], ds.read(paths[chosen])["x"])
    assert found["name"] == f"n{chosen}"
    assert found["row_size"] == counts[chosen]
    if len(counts) > 1:
        assert found["number"] == chosen
        assert np.ma.is_masked(found["late"]) == (chosen % 2 == 0)
        extra = found.get("extra", found["."]["."].get("extra"))
        assert np.ma.is_masked(extra) == (chosen % 2 == 0)


def test_xarray_reads_it(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray", reason="needs xarray")
    paths = _write(tmp_path, 4)
    for name in ("all.ds", "all.nc"):
        ds.merge_ragged(paths, tmp_path / name)
        with xarray.open_dataset(tmp_path / name, **({"engine": "ds"} if name == "all.ds" else {})) as found:
            assert dict(found.sizes) == {"obs": 96, "station": 4}
            ends = np.cumsum(found["row_size"].values)
            rows = found.isel(obs=slice(int(ends[1]), int(ends[2])))
            assert same_data(np.ma.masked_invalid(rows["temperature"].values), ordinary(2)["temperature"])


def _one(path: Path, **more: Any) -> str:
    ds.write(path, {"x": [1.0, 2.0], **more, ".": {"x": {".dims": ["t"]}, ".": {"kind": "a"}}})
    return str(path)


def test_the_same_file_name_in_two_folders(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    paths = [_one(tmp_path / name / "x.ds") for name in "ab"]
    ds.merge_ragged(paths, tmp_path / "all.ds")
    assert ds.read(tmp_path / "all.ds")["station"].tolist() == ["a/x", "b/x"]


@pytest.mark.parametrize(
    ("more", "arguments", "message"),
    [
        ({}, {"along": "z"}, "z"),
        ({"y": np.zeros(3)}, {"along": "t", "dim": "y_1"}, 'there is a dimension "y_1" already'),
        ({"row_size": 3}, {}, "there is a variable of this name already"),
        ({"station": "same"}, {}, "found 'same' in .*a.ds, too"),
    ],
)
def test_what_cannot_be_merged(tmp_path: Path, more: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    paths = [_one(tmp_path / f"{name}.ds", **more) for name in "ab"]
    with pytest.raises(ds.DsError, match=message):
        ds.merge_ragged(paths, tmp_path / "all.ds", **arguments)
    assert not (tmp_path / "all.ds").exists()


@pytest.mark.parametrize("counts", [[2, -1], [2, 2], [1 << 62, 1 << 62], [1.0, 1.0]])
def test_counts_that_are_not_those_of_the_rows(tmp_path: Path, counts: list[Any]) -> None:
    meta = {"row_size": {".dims": ["station"], "sample_dimension": "obs"}, "x": {".dims": ["obs"]}}
    ds.write(tmp_path / "x.ds", {"row_size": counts, "x": [1, 2, 3], ".": meta})
    with pytest.raises(ds.UnsupportedError, match='does not count the rows of "obs"'):
        ds.read(tmp_path / "x.ds", sel={"station": 0})
    assert ds.read(tmp_path / "x.ds")["x"].tolist() == [1, 2, 3]
