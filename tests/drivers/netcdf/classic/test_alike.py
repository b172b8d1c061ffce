"""Small classic files that are alike are merged as others are."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import netcdf
from ds_format.errors import DsError, FormatError

from ....classic.files import encode
from ....classic.same import exact
from .test_recalled import CHANGES, station


def told(dataset: Any) -> Any:
    return {key: exact(value) if key == "." else repr(value) for key, value in dataset.items()}


def merged(paths: list[Path], **options: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            dataset = ds.read_many(paths, **options)
        except DsError as error:
            return type(error), str(error)
    return told(dataset), [str(warning.message) for warning in caught]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("dim", ["time", "station", "new"])
@pytest.mark.parametrize("variables", [None, ["temperature"], ["name", "x"], ["scalar"]])
def test_alike_files_are_merged_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], dim: str, variables: list[str] | None
) -> None:
    paths = []
    for i, changes in enumerate([{}, {}, {"fill": 2.0}, change, change, {}]):
        paths.append(tmp_path / f"{i}.nc")
        paths[-1].write_bytes(encode(station(**{"day": i + 1} | changes)))
    ds.write(paths[2].with_suffix(".ds"), ds.read(paths[2]))
    paths.insert(3, paths[2].with_suffix(".ds"))
    found = merged(paths, dim=dim, variables=variables)
    monkeypatch.delattr(netcdf, "alike_files")
    assert found == merged(paths, dim=dim, variables=variables)


def test_runs_are_made(tmp_path: Path) -> None:
    paths = []
    for i, n in enumerate([2, 2, 2, 3]):
        paths.append(str(tmp_path / f"{i}.nc"))
        Path(paths[-1]).write_bytes(encode(station(i, n=n, scalar=False)))
    run = netcdf.alike_files(paths[0], None, "time", ["title", "none"])
    assert run is not None
    assert [run.add_file(path) for path in paths[1:]] == [True, True, False]
    assert run.paths == paths[:3]
    assert run.noted == [{"title": f"day {i}"} for i in range(3)]
    assert run.first["."]["title"] == "day 0"
    assert run.meta["."]["title"] == "day 2"
    assert run.read("x").shape == (1, 3)
    values = run.read("temperature")
    assert values.shape == (3, 2, 3)
    assert values[:, 0, 0].tolist() == [0, 1, 2]
    assert np.ma.getmaskarray(values)[:, :, 1].all()


def test_what_is_no_small_classic_file_begins_no_run(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    ds.write(path, {"x": np.arange(3)})
    assert netcdf.alike_files(str(path)) is None
    ds.write(path, {"x": np.arange(30_000.0)}, format="NETCDF3_CLASSIC")
    assert netcdf.alike_files(str(path)) is None


@pytest.mark.parametrize("n", range(0, 400, 7))
def test_a_cut_file_in_a_run_is_told_of(tmp_path: Path, n: int) -> None:
    content = encode(station(scalar=False))
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    paths[0].write_bytes(content)
    paths[1].write_bytes(content[: len(content) - n - 1])
    with pytest.raises(FormatError, match=r"b\.nc"):
        ds.read_many(paths, dim="time")
