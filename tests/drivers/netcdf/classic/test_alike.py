"""Small classic files that are alike are merged as others are."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.alike import AlikeFiles
from ds_format.drivers.netcdf import opening
from ds_format.errors import DsError, FormatError
from ds_format.many import reading

from ....classic.files import Attribute, encode
from ....classic.same import exact
from ..files import CHANGES, station


def held(path: str) -> Any:
    return opening.hold(path, bytearray(Path(path).read_bytes()))


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
    monkeypatch.setattr(opening, "SMALL", opening.SMALL._replace(hold=lambda path, content: None))
    assert found == merged(paths, dim=dim, variables=variables)


def test_runs_are_made(tmp_path: Path) -> None:
    paths = []
    for i, n in enumerate([2, 2, 2, 3]):
        paths.append(str(tmp_path / f"{i}.nc"))
        Path(paths[-1]).write_bytes(encode(station(i, n=n, scalar=False)))
    run = AlikeFiles(opening.SMALL, paths[0], held(paths[0]), None, "time", ["title", "none"])
    assert [run.add(path, held(path)) for path in paths[1:]] == [True, True, False]
    assert run.paths == paths[:3]
    assert run.dataset_attributes == [{"title": f"day {i}"} for i in range(3)]
    assert run.first["."]["title"] == "day 0"
    assert run.meta["."]["title"] == "day 2"
    assert run.read("x").shape == (1, 3)
    values = run.read("temperature")
    assert values.shape == (3, 2, 3)
    assert values[:, 0, 0].tolist() == [0, 1, 2]
    assert np.ma.getmaskarray(values)[:, :, 1].all()


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize(
    ("marks", "is_taken"), [({}, True), ({"_FillValue": -1}, True), ({"missing_value": [-1, -2]}, False)]
)
def test_files_with_scalars(tmp_path: Path, format: str, marks: dict[str, Any], is_taken: bool) -> None:
    """Metadata of scalars that several numbers mark as missing depend on their values."""
    paths = [str(tmp_path / f"{i}.nc") for i in range(3)]
    for i, path in enumerate(paths):
        meta = {"x": {".dims": ["t"], "_FillValue": np.float32(-1)}, "s": {".dims": [], **marks}}
        x = np.ma.MaskedArray([i, -1], [False, True], dtype="f4")
        ds.write(path, {"x": x, "s": np.int16(i), ".": meta}, format=format)
    row = AlikeFiles(opening.SMALL, paths[0], held(paths[0]))
    assert [row.add(path, held(path)) for path in paths[1:]] == [is_taken] * 2
    if is_taken:
        assert row.read("s").tolist() == [0, 1, 2]
        assert row.read("x").tolist() == [[0, None], [1, None], [2, None]]


def test_what_is_no_netcdf_file_or_says_more_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    path.write_bytes(b"neither of both kinds")
    assert held(str(path)) is None
    path.write_bytes(encode(station()._replace(attributes=[Attribute(b"ds_format", 2, b"{}")])))
    assert held(str(path)) is None
    path.write_bytes(encode(station()))
    assert held(str(path)) is not None


@pytest.mark.parametrize("size", [reading.SMALL_SIZE, opening.SMALL.size])
def test_files_read_together_alone_and_opened_are_the_same(tmp_path: Path, size: int) -> None:
    paths = [tmp_path / f"{i}.nc" for i in range(3)]
    for path, n in zip(paths, (0, -1, 1), strict=True):
        ds.write(
            path,
            {"x": np.arange(size // 8 + 8 * n, dtype="f8"), ".": {"x": {".dims": ["x"]}}},
            format="NETCDF3_CLASSIC",
        )
    merged = ds.read_many(paths, dim="x")["x"]
    each = ds.read_many(paths)
    for path, one in zip(paths, each, strict=True):
        assert told(one) == told(ds.read(path))
    assert merged.tolist() == np.concatenate([one["x"] for one in each]).tolist()


@pytest.mark.parametrize("n", range(0, 400, 7))
def test_a_cut_file_in_a_run_is_told_of(tmp_path: Path, n: int) -> None:
    content = encode(station(scalar=False))
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    paths[0].write_bytes(content)
    paths[1].write_bytes(content[: len(content) - n - 1])
    with pytest.raises(FormatError, match=r"b\.nc"):
        ds.read_many(paths, dim="time")
