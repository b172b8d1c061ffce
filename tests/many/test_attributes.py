"""Joins: attributes of the dataset that differ between files are reported, or become variables along the dimension."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.cli.main import main
from ds_format.model.dataset_attributes import OF_FILE

from .conftest import KINDS, into_a_file, into_memory, of_datasets, written

xr = pytest.importorskip("xarray")


def as_xarray(paths: list[str], **options: Any) -> Any:
    """Open files as one dataset of xarray, and return it as those of other joins."""
    return ds.from_xarray(ds.open_many(paths, "time", load=True, **options))


def with_preprocess(paths: list[str], **options: Any) -> Any:
    return as_xarray(paths, preprocess=lambda x: x, **options)


JOINS: list[Callable[..., Any]] = [into_memory, into_a_file, of_datasets, as_xarray, with_preprocess]
XARRAY = (as_xarray, with_preprocess)


def dataset(i: int, **attributes: Any) -> dict[str, Any]:
    """Return a dataset of i + 1 times."""
    meta = {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}, ".": attributes}
    return {"time": np.arange(i + 1.0), "x": np.arange(i + 1.0) * 2, ".": meta}


STATIONS = [
    dataset(0, title="Rain", station="Kenton", height=12, lat=np.float32(50.5), network="a", history="made"),
    dataset(0, title="Rain", station="Kenton", height=12, lat=np.float32(50.5), network="a", history="changed"),
    dataset(1, title="Rain", station="Lydd", height=3, lat=np.float32(51.5), network="b", history="other"),
    dataset(0, title="Snow", station="Rye", height=5, lat=np.float32(52.5), network="c", history="again"),
]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_warning_names_two_files_and_values(join: Any, kind: str, tmp_path: Path) -> None:
    paths = written(tmp_path, kind, STATIONS)
    with pytest.warns(ds.DsWarning) as record:
        merged = join(paths)
    names = ("dataset 1", "dataset 3") if join is of_datasets else (paths[0], paths[2])
    kept = "first" if join in XARRAY else "last"
    [message] = [str(warning.message) for warning in record]
    assert message == (
        f"attributes of the dataset differ in {names[0]} and {names[1]}: \"station\" is 'Kenton' and 'Lydd', "
        f'"height" is 12 and 3, "lat" is 50.5 and 51.5 and 1 more. The values of the {kept} dataset that has them are '
        'kept; name them in `attributes` to keep all of them as variables along "time"'
    )
    assert Path(record[0].filename).parent == Path(__file__).parent
    assert merged["."]["."]["station"] == ("Kenton" if kept == "first" else "Rye")


@pytest.mark.parametrize("join", JOINS)
def test_an_error_in_strict_mode(join: Any, tmp_path: Path) -> None:
    paths = written(tmp_path, "a.ds", STATIONS)
    with ds.with_mode("strict"), pytest.raises(ds.UnsupportedError, match=r"\"station\" is 'Kenton' and 'Lydd'"):
        join(paths)
    assert not (tmp_path / "out.ds").exists()


ALL = ["title", "station", "height", "lat", "network"]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kind", KINDS)
def test_requested_attributes_become_variables(join: Any, kind: str, tmp_path: Path) -> None:
    merged = join(written(tmp_path, kind, STATIONS), attributes=ALL)
    assert merged["station"].tolist() == ["Kenton", "Kenton", "Lydd", "Lydd", "Rye"]
    assert merged["height"].tolist() == [12, 12, 3, 3, 5]
    assert merged["lat"].tolist() == [50.5, 50.5, 51.5, 51.5, 52.5]
    assert ds.dims(merged, "station") == ["time"]
    assert set(merged["."]["."]) - {".netcdf"} == {"history"}
    assert list(merged)[-1] == "." or join is not into_a_file


@pytest.mark.parametrize("join", JOINS)
def test_other_attributes_are_still_compared(join: Any, tmp_path: Path) -> None:
    with pytest.warns(
        ds.DsWarning, match=r"\"station\" is 'Kenton' and 'Lydd', \"height\" .*\"lat\" is 50.5 and 51.5\."
    ):
        merged = join(written(tmp_path, "a.ds", STATIONS), attributes="network")
    assert merged["network"].tolist() == ["a", "a", "b", "b", "c"]


@pytest.mark.parametrize("join", JOINS)
def test_a_new_dimension(join: Any, tmp_path: Path) -> None:
    datasets = [{"x": np.array([1.0, i]), ".": {"x": {".dims": ["i"]}, ".": {"run": f"r{i}"}}} for i in range(3)]
    merged = join(written(tmp_path, "a.ds", datasets), attributes="run")
    assert merged["run"].tolist() == ["r0", "r1", "r2"]
    assert (ds.dims(merged, "run"), ds.dims(merged, "x")) == (["time"], ["time", "i"])


@pytest.mark.parametrize("join", JOINS)
def test_what_a_file_lacks_is_missing(join: Any, tmp_path: Path) -> None:
    paths = written(tmp_path, "a.ds", [dataset(0, run=1), dataset(1), dataset(0, run=3)])
    if join in XARRAY:
        with pytest.raises(ds.MissingError, match='attribute "run" of the dataset not found'):
            join(paths, attributes="run")
        return
    run = join(paths, attributes="run")["run"]
    assert run.mask.tolist() == [False, True, True, False]
    assert run.compressed().tolist() == [1, 3]
    with pytest.warns(ds.DsWarning, match='attribute "rum" of the dataset not found: did you mean run'):
        assert "rum" not in join([paths[0]], attributes="rum")
    paths = written(tmp_path, "a.ds", [dataset(0, x=1)])
    with pytest.raises(ds.UnsupportedError, match='variable "x": both a variable and an attribute'):
        join(paths, attributes="x")


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kind", KINDS)
def test_attributes_of_a_file_are_not_reported(join: Any, kind: str, tmp_path: Path) -> None:
    names = [name.upper() if name in ("cdo", "nco") else name for name in sorted(OF_FILE)]
    join(written(tmp_path, kind, [dataset(i, **dict.fromkeys(names, f"value {i}")) for i in range(3)]))


SAME: list[tuple[Any, Any]] = [
    (np.float32(0.1), 0.1),
    (5, np.int16(5)),
    (np.float64("nan"), float("nan")),
    ([1.5, 2.5], np.array([1.5, 2.5])),
    ("é", "é"),
]
UNLIKE: list[tuple[Any, Any]] = [(1, 2), (1.5, "1.5"), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ("a", "b"), (1, None)]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("kinds", [("ds", "ds"), ("ds", "nc"), ("nc", "ds")])
def test_values_in_several_types(join: Any, kinds: tuple[str, str], tmp_path: Path) -> None:
    for number, (left, right) in enumerate(SAME + UNLIKE):
        paths = [str(tmp_path / f"{number}{i}.{kind}") for i, kind in enumerate(kinds)]
        for path, value in zip(paths, (left, right), strict=True):
            ds.write(path, dataset(1, **({} if value is None else {"a": value})))
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            join(paths)
        assert len(record) == (number >= len(SAME) and right is not None), (left, right)


@pytest.mark.filterwarnings("default::ds_format.DsWarning")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path(), "b.nc", STATIONS)
    inputs = ["0.nc", "1.nc", "2.nc"]
    assert main(["merge", "time", *inputs, "out.ds"]) == 0
    text = "ds merge: warning: attributes of the dataset differ in 0.nc and 2.nc: \"station\" is 'Kenton' and 'Lydd', "
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(text)
    assert main(["merge", "time", *inputs, "out.ds", "attributes:", "{", *ALL, "}"]) == 0
    assert capsys.readouterr().err == ""
    assert ds.read("out.ds")["station"].tolist() == ["Kenton", "Kenton", "Lydd", "Lydd"]
    assert list(ds.read("out.ds")) == ["time", "x", *ALL, "."]
    assert main(["-s", "merge", "time", *inputs, "other.ds"]) == 1
    assert not Path("other.ds").exists()


@settings(deadline=None)
@given(
    st.sampled_from(["a.ds", "b.nc", "c.nc4", "d.h5"]),
    st.lists(st.tuples(*[st.sampled_from([None, "a", "b", 1])] * 3, st.integers(0, 2)), min_size=2, max_size=6),
)
def test_the_first_two_files_that_differ_are_found(kind: str, drawn: list[tuple[Any, ...]]) -> None:
    """In whatever way files are read: some are alike, others are not."""
    names = ("p", "q", "history")
    each = [
        {name: value for name, value in zip(names, values, strict=True) if value is not None} for *values, _ in drawn
    ]
    first: dict[str, int] = {}
    expected = None
    for i, attributes in enumerate(each):
        others = [first.setdefault(name, i) for name in attributes]
        found = [
            j for name, j in zip(attributes, others, strict=True) if name != "history" and differ(each, name, i, j)
        ]
        if found:
            expected = (found[0], i)
            break
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), kind, [dataset(one[-1], **own) for one, own in zip(drawn, each, strict=True)])
        for join in (into_memory, into_a_file, as_xarray):
            with warnings.catch_warnings(record=True) as record:
                warnings.simplefilter("always")
                join(paths)
            texts = [re.search(r"differ in (\S+) and (\S+): ", str(one.message)) for one in record]
            assert [one and one.groups() for one in texts] == (
                [] if expected is None else [tuple(paths[i] for i in expected)]
            )


def differ(each: list[dict[str, Any]], name: str, i: int, j: int) -> bool:
    return bool(each[i][name] != each[j][name])
