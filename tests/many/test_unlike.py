"""Joins: variables without the dimension that differ between files are reported, or get the dimension."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.cli.main import main
from ds_format.many import merging

from ..same import same_data
from . import conftest
from .conftest import KINDS, into_a_file, into_memory, of_datasets, written


def station(i: int, **constants: Any) -> dict[str, Any]:
    """Return a dataset of i + 1 times, and variables without the dimension."""
    times = np.arange(i + 1.0)
    dims = {name: [f"n_{name}"][: np.ndim(value)] for name, value in constants.items()}
    meta = {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}, **{name: {".dims": d} for name, d in dims.items()}}
    return {"time": times, "x": times * 2, **constants, ".": {**meta, ".": {"history": "x" * i}}}


JOINS: list[Callable[..., Any]] = [into_memory, into_a_file, of_datasets]
THREE = [
    station(0, name="Kenton", lat=np.float64(50.25), level=np.array([1, 2], "i4")),
    station(0, name="Kenton", lat=np.float64(50.25), level=np.array([1, 2], "i4")),
    station(1, name="Lydd", lat=np.float64(50.25), level=np.array([1, 3], "i4")),
]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_names_the_first_two_files_and_both_values(join: Any, kind: str, tmp_path: Path) -> None:
    paths = written(
        tmp_path, kind, [*THREE, station(0, name="Rye", lat=np.float64(50.25), level=np.array([0, 0], "i4"))]
    )
    with pytest.warns(ds.DsWarning) as record:
        merged = join(paths)
    assert merged["name"] == "Kenton"
    first, other = ("dataset 1", "dataset 3") if join is of_datasets else (paths[0], paths[2])
    found = [str(warning.message) for warning in record]
    texts = (
        f"variable \"name\": found 'Kenton' in {first}, but 'Lydd' in {other}. ",
        f'variable "level": found 2 at [1] in {first}, but 3 in {other}. ',
    )
    end = 'It has no dimension "time", so only the first value is kept; '
    assert len(found) == 2
    assert all(any(text.startswith(one + end) for text in found) for one in texts)
    assert all("`stack`" in text for text in found)
    assert {warning.filename for warning in record} == {conftest.__file__}


@pytest.mark.parametrize("join", JOINS)
def test_an_error_in_strict_mode(join: Any, tmp_path: Path) -> None:
    paths = written(tmp_path, "a.ds", THREE)
    with ds.with_mode("strict"), pytest.raises(ds.UnsupportedError, match=r"found 'Kenton' in .*, but 'Lydd'"):
        join(paths)
    assert not (tmp_path / "out.ds").exists()


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kind", KINDS)
def test_stacked_variables_get_the_dimension(join: Any, kind: str, tmp_path: Path) -> None:
    paths = written(tmp_path, kind, THREE)
    merged = join(paths, stack=["name", "level"])
    assert merged["name"].tolist() == ["Kenton", "Kenton", "Lydd", "Lydd"]
    assert merged["level"].tolist() == [[1, 2], [1, 2], [1, 3], [1, 3]]
    assert merged["lat"] == 50.25
    assert ds.dims(merged, "level") == ["time", "n_level"]
    xr = pytest.importorskip("xarray")
    opened = ds.open_many(paths, "time", stack=["name", "level"])
    assert isinstance(opened, xr.Dataset)
    assert opened["name"].values.tolist() == ["Kenton", "Kenton", "Lydd", "Lydd"]
    assert opened["level"].values.tolist() == merged["level"].tolist()


@pytest.mark.parametrize("join", JOINS)
def test_what_a_file_lacks_is_missing_where_it_has_the_dimension(join: Any, tmp_path: Path) -> None:
    lacking, empty = station(1), station(-1, name="nowhere")
    paths = written(tmp_path, "a.ds", [THREE[0], lacking, empty, THREE[2]])
    name = join(paths, stack=["name", "level"])["name"]
    assert name.mask.tolist() == [False, True, True, False, False]
    assert name.compressed().tolist() == ["Kenton", "Lydd", "Lydd"]


@pytest.mark.parametrize("join", JOINS)
def test_a_new_dimension(join: Any, tmp_path: Path) -> None:
    datasets = [{"x": np.array([i, 2]), "y": 5 + i, "z": 3, ".": {"x": {".dims": ["i"]}}} for i in range(3)]
    paths = written(tmp_path, "a.ds", datasets)
    with pytest.warns(ds.DsWarning, match=r'"y": found 5 in .*, but 6 in'):
        merged = join(paths, stack="x")
    assert merged["x"].tolist() == [[0, 2], [1, 2], [2, 2]]
    assert (merged["y"], merged["z"]) == (5, 3)
    assert join(paths)["y"].tolist() == [5, 6, 7]


@pytest.mark.parametrize("join", JOINS)
def test_names_that_do_not_exist(join: Any, tmp_path: Path) -> None:
    paths = written(tmp_path, "a.ds", THREE[:2])
    with pytest.warns(ds.DsWarning, match='variable "nmae" not found: did you mean name'):
        join(paths, stack="nmae")


@pytest.mark.filterwarnings("default::ds_format.DsWarning")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path(), "b.nc", THREE)
    inputs = ["0.nc", "1.nc", "2.nc"]
    status = main(["merge", "time", *inputs, "out.ds"])
    lines = sorted(capsys.readouterr().err.splitlines())
    assert lines[1].startswith("ds merge: warning: variable \"name\": found 'Kenton' in 0.nc, but 'Lydd' in 2.nc.")
    assert (status, len(lines)) == (0, 2)
    assert main(["merge", "time", *inputs, "out.ds", "stack:", "{", "name", "level", "}"]) == 0
    assert capsys.readouterr().err == ""
    assert ds.read("out.ds")["name"].tolist() == ["Kenton", "Kenton", "Lydd", "Lydd"]
    assert main(["-s", "merge", "time", *inputs, "other.ds"]) == 1
    assert not Path("other.ds").exists()


SAME: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "NaN": [(np.array([np.nan, 1]), {}), (np.array([-np.nan, 1]), {})],
    "zeros": [(np.array([0.0, 1]), {}), (np.array([-0.0, 1]), {})],
    "missing": [(np.ma.MaskedArray([1, 2], [True, False]), {}), (np.ma.MaskedArray([5, 2], [True, False]), {})],
    "an empty mask": [(np.ma.MaskedArray([1, 2], [False, False]), {}), (np.array([1, 2]), {})],
    "precision": [(np.array([50.1, 3], "f4"), {}), (np.array([50.1, 3], "f8"), {})],
    "types": [(np.array([1, 2], "i2"), {}), (np.array([1, 2], "i8"), {})],
    "attributes": [(np.array([1, 2]), {"long_name": "a"}), (np.array([1, 2]), {"long_name": "b"})],
    "packing": [(np.array([10, 20], "i2"), {"scale_factor": 0.5}), (np.array([20, 40], "i2"), {"scale_factor": 0.25})],
    "times": [
        (np.array([1.0, 2]), {"units": "days since 2000-01-01"}),
        (np.array([0.0, 24]), {"units": "hours since 2000-01-02"}),
    ],
    "nothing": [(np.zeros(0), {}), (np.zeros(0), {})],
}
UNLIKE: dict[str, tuple[list[tuple[Any, dict[str, Any]]], str]] = {
    "missing": (
        [(np.ma.MaskedArray([1, 2], [True, False]), {}), (np.array([1, 2]), {})],
        r"found no value at \[0\] in .*, but 1 in",
    ),
    "sizes": ([(np.array([1, 2]), {}), (np.array([1, 2, 3]), {})], r"found size \[2\] in .*, but size \[3\] in"),
    "size 0": ([(np.zeros(0), {}), (np.zeros(3), {})], r"found size \[0\] in .*, but size \[3\] in"),
    "units": (
        [(np.array([1, 2]), {"units": "m"}), (np.array([1, 2]), {"units": "km"})],
        r"found 1 in units 'm' at \[0\] in .*, but 1 in units 'km' in",
    ),
    "a time and a length": (
        [(np.array([1.0, 2]), {"units": "days since 2000-01-01"}), (np.array([1.0, 2]), {"units": "m"})],
        r"found 1.0 in units 'days since 2000-01-01' at \[0\] in .*, but 1.0 in units 'm' in",
    ),
    "packing": (
        [(np.array([10, 20], "i2"), {"scale_factor": 0.5}), (np.array([10, 20], "i2"), {"scale_factor": 0.25})],
        r"found 5.0 at \[0\] in .*, but 2.5 in",
    ),
    "kinds": ([(np.array(["1"]), {}), (np.array([1]), {})], r"found '1' in .*, but 1 in"),
    "long text": (
        [(np.array(["a" * 99]), {}), (np.array(["b" * 99]), {})],
        r"found 'a{50,60}\.\.\.' in .*, but 'b{50,60}\.\.\.' in",
    ),
}  # fmt: skip


def pair(kind: str, folder: Path, both: Sequence[tuple[Any, dict[str, Any]]]) -> list[str]:
    datasets = [station(1, c=value) for value, _ in both]
    for dataset, (_, attributes) in zip(datasets, both, strict=True):
        dataset["."]["c"].update(attributes)
    return written(folder, kind, datasets)


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("order", [1, -1])
def test_the_same_values_need_no_warning(join: Any, case: str, order: int, tmp_path: Path) -> None:
    assert "c" in join(pair("a.ds", tmp_path, SAME[case][::order]))


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("case", UNLIKE)
def test_different_values(join: Any, case: str, tmp_path: Path) -> None:
    both, text = UNLIKE[case]
    with pytest.warns(ds.DsWarning, match=f'"c": {text}'):
        join(pair("a.ds", tmp_path, both))


@pytest.mark.parametrize("budget", [1, 64, 500])
def test_large_variables_are_compared_in_blocks(budget: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "BLOCK_SIZE", budget)
    grid = np.arange(60.0).reshape(3, 4, 5)
    other = grid.copy()
    other[2, 1, 3] = -1
    meta = {"x": {".dims": ["time"]}, "grid": {".dims": ["i", "j", "k"]}, "same": {".dims": ["i", "j", "k"]}}
    datasets = [{"x": [1.0], "grid": values, "same": grid, ".": meta} for values in (grid, grid, other)]
    paths = written(tmp_path, "b.nc", datasets)
    with pytest.warns(ds.DsWarning, match=r'"grid": found 48.0 at \[2, 1, 3\] in .*0.nc, but -1.0 in .*2.nc') as record:
        into_a_file(paths)
    assert len(record) == 1


def test_a_wrong_length_in_a_header_hides_nothing(tmp_path: Path) -> None:
    """`.len` is not used for reading, either."""
    for i, text in enumerate(("ab", "cd")):
        path = tmp_path / f"{i}.ds"
        ds.write(path, station(0, name=text))
        path.write_bytes(re.sub(rb'("name".*?"\.len": )10', rb"\g<1> 0", path.read_bytes(), count=1))
        assert b'".len":  0' in path.read_bytes()
    with pytest.warns(ds.DsWarning, match="found 'ab' in .*, but 'cd' in"):
        into_memory([str(tmp_path / "0.ds"), str(tmp_path / "1.ds")])


def test_a_value_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    paths = written(tmp_path, "a.ds", [station(0, name=name) for name in ("ab", "cd")])
    data = Path(paths[1]).read_bytes()
    at = data.index(b"cd", data.index(b"\n", 8))
    Path(paths[1]).write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    with pytest.raises(ds.FormatError, match=r'1\.ds: variable "name"'):
        into_memory(paths)


VALUES: dict[str, list[Any]] = {
    "s": ["a", "bc", "de"],
    "n": [np.int32(1), np.int32(2), np.ma.MaskedArray(np.int32(1), True)],
    "v": [np.array([1.0, np.nan]), np.array([1.0, 2.0]), np.ma.MaskedArray([1.0, 2.0], [False, True])],
    "b": [np.array([True, False]), np.array([True, True])],
}


@settings(deadline=None)
@given(
    st.sampled_from(["a.ds", "b.nc", "c.nc4"]),
    st.lists(
        st.tuples(*(st.integers(0, len(values) - 1) for values in VALUES.values()), st.integers(0, 2)),
        min_size=2,
        max_size=6,
    ),
)
def test_the_first_file_that_differs_is_found(kind: str, drawn: list[tuple[int, ...]]) -> None:
    """In whatever way files are read: some are alike, others are not."""
    keys = [key for key in VALUES if kind != "b.nc" or key != "b"]
    datasets = [
        station(i, **{key: VALUES[key][k] for key, k in zip(VALUES, chosen, strict=True) if key in keys})
        for *chosen, i in drawn
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), kind, datasets)
        expected = {}
        for key in keys:
            values = [ds.read(path)[key] for path in paths]
            other = next((k for k, value in enumerate(values) if not equal(value, values[0])), None)
            if other is not None:
                expected[key] = paths[other]
        for join in (into_memory, into_a_file):
            with warnings.catch_warnings(record=True) as record:
                warnings.simplefilter("always")
                join(paths)
            texts = [str(warning.message) for warning in record]
            found = [re.search(r'variable "(.)": found .* but .* in (\S+)\. It has no', text) for text in texts]
            assert {one[1]: one[2] for one in found if one is not None} == expected
            assert len(found) == len(expected)


def equal(left: Any, right: Any) -> bool:
    left, right = np.ma.asanyarray(left), np.ma.asanyarray(right)
    return same_data(np.ma.getmaskarray(left), np.ma.getmaskarray(right)) and np.array_equal(
        left.compressed(), right.compressed(), equal_nan=left.dtype.kind == "f"
    )
