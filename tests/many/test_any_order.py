"""What is remembered between files: any order of any related files gives what a fresh process gives.

`python -m tests.many.test_any_order` is the fresh process: it has read nothing, and forks for each question.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.errors import DsError

from ..same import same_data, same_value

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")

ROOT = Path(__file__).parents[2]
FEWER = settings(
    max_examples=max(settings().max_examples // 3, 10),  # each starts processes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read(path: str) -> Any:
    """Return a dataset, its metadata by `open`, and one variable through a handle."""
    with ds.open(path) as file:
        meta = {key: dict(entry) for key, entry in file.meta.items()}
        handles = {name: file[name].handle() for name in file if file[name].shape}
    return {**ds.read(path), "meta": meta, "handles": {name: handle.read() for name, handle in handles.items()}}


def convert(path: str) -> Any:
    """Return the bytes of a file converted to ds."""
    out = path + ".out.ds"
    ds.convert(path, out)
    return Path(out).read_bytes()


def many(paths: str) -> Any:
    """Return files one by one, and as one dataset."""
    names = json.loads(paths)
    return {"each": [dict(dataset) for dataset in ds.read_many(names)], "all": dict(ds.read_many(names, dim="t"))}


def merge(paths: str) -> Any:
    """Return the bytes of merged files."""
    names = json.loads(paths)
    out = names[0] + ".merged.ds"
    ds.merge_files("t", names, out)
    return Path(out).read_bytes()


def lazily(paths: str) -> Any:
    """Return files opened as one, in two passes and in one."""
    names = json.loads(paths)
    with ds.open_many(names, "t", missing="fill") as lazy:
        found = {
            name: (variable.dims, variable.values, dict(variable.attrs)) for name, variable in lazy.variables.items()
        }
    with ds.open_many(names, "t", missing="fill", load=True) as loaded:
        values = {name: (variable.dims, variable.values) for name, variable in loaded.variables.items()}
    return {"lazy": found, "loaded": values, "attributes": dict(loaded.attrs)}


VERBS: dict[str, Callable[[str], Any]] = {verb.__name__: verb for verb in (read, convert, many, merge, lazily)}


def outcome(verb: str, argument: str) -> Any:
    """Return what a verb gives, or the error with its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return VERBS[verb](argument)
        except (DsError, OSError) as error:
            return type(error).__name__, str(error)


def serve() -> None:
    """Answer each line of the input, a verb and an argument as JSON, by a pickle, made by a new child."""
    ours = [module.name for module in pkgutil.walk_packages(ds.__path__, "ds_format.", onerror=lambda name: None)]
    for module in ("netCDF4", *ours):  # so that children need not, each for itself
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    for line in sys.stdin:
        reader, writer = os.pipe()
        if os.fork() == 0:
            with os.fdopen(writer, "wb") as file:
                pickle.dump(outcome(*json.loads(line)), file)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            answer = file.read()
        os.wait()
        sys.stdout.buffer.write(len(answer).to_bytes(8, "little") + answer)
        sys.stdout.buffer.flush()


class Fresh:
    """A process that has read nothing."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, verb: str, argument: str) -> Any:
        """Return what a verb gives there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, argument]).encode() + b"\n")
        self._process.stdin.flush()
        size = int.from_bytes(self._process.stdout.read(8), "little")
        return pickle.loads(self._process.stdout.read(size))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.fixture(scope="module")
def fresh() -> Iterator[Fresh]:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    process = Fresh()
    yield process
    process.close()


def same(left: Any, right: Any) -> bool:
    """Whether two outcomes are the same, type by type and value by value."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return type(left) is type(right) and same_data(left, right)
    return same_value(left, right)


def base() -> dict[str, Any]:
    """Return a station report."""
    return {
        "t": np.array([0.0, 1.0]),
        "x": np.array([1, 2], "i2"),
        "y": np.array([0.5, 1.5], "f4"),
        "z": np.arange(6.0).reshape(2, 3),
        ".": {
            "t": {".dims": ["t"], "units": "days since 2000-01-01", "valid_range": np.array([0.0, 9.0])},
            "x": {".dims": ["t"], "units": "K", "flags": np.array([1, 2], "i1")},
            "y": {".dims": ["t"], "units": "m", "_FillValue": np.float32(-1)},
            "z": {".dims": ["t", "k"], "units": "1"},
            ".": {"title": "report", "station": "1", "levels": np.array([1.0, 2.0])},
        },
    }


def _set(key: str, name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda dataset: dataset["."].get(key, {}).__setitem__(name, value)


def _drop(key: str, name: str) -> Callable[[dict[str, Any]], None]:
    def apply(dataset: dict[str, Any]) -> None:
        dataset["."].get(key, {}).pop(name, None)

    return apply


def _data(key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(dataset: dict[str, Any]) -> None:
        if key in dataset:
            dataset[key] = change(dataset[key])

    return apply


def _remove(key: str) -> Callable[[dict[str, Any]], None]:
    def apply(dataset: dict[str, Any]) -> None:
        dataset.pop(key, None)
        dataset["."].pop(key, None)

    return apply


def _add_scalar(dataset: dict[str, Any]) -> None:
    dataset["n"] = np.array(len(dataset), "i4")
    dataset["."]["n"] = {".dims": []}


def _reverse(dataset: dict[str, Any]) -> None:
    meta = dataset.pop(".")
    for key in list(reversed(dataset)):
        dataset[key] = dataset.pop(key)
        meta[key] = meta.pop(key)
    dataset["."] = meta


CHANGES: list[Callable[[dict[str, Any]], None]] = [
    _set(".", "station", "22"),
    _set(".", "extra", "added"),
    _set(".", "levels", np.array([1.0, 3.0])),
    _drop(".", "station"),
    _drop(".", "levels"),
    _set("x", "units", "degC"),
    _set("x", "flags", np.array([3], "i1")),
    _set("t", "units", "days since 2001-01-01"),
    _drop("y", "_FillValue"),
    _set("z", "note", "text"),
    _set("z", ".dims", ["t", "level"]),
    _remove("y"),
    _remove("z"),
    _add_scalar,
    _remove("x"),
    _reverse,
    _data("x", lambda data: data.astype("i4")),
    _data("z", lambda data: data[:, :2]),
    _data("y", lambda data: np.ma.MaskedArray(data, [True, False])),
    _data("y", lambda data: data * 0 - 1),
]
FORMATS = [("ds", None), ("nc", "NETCDF3_CLASSIC"), ("nc", "NETCDF3_64BIT_DATA"), ("nc", "NETCDF4")]


@st.composite
def pools(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    """Draw related datasets, each with the suffix of its file."""
    suffix, kind = draw(st.sampled_from(FORMATS))
    unlimited = draw(st.booleans())
    pool = []
    for changes in draw(st.lists(st.lists(st.sampled_from(CHANGES), max_size=2), min_size=2, max_size=4)):
        dataset = base()
        for change in changes:
            change(dataset)
        if kind is not None:
            record = {"format": kind} | ({"unlimited": ["t"]} if unlimited else {})
            dataset["."]["."][".netcdf"] = record
        pool.append((suffix, dataset))
    return pool


def _written(pool: list[tuple[str, dict[str, Any]]], folder: str) -> list[str]:
    paths = []
    for i, (suffix, dataset) in enumerate(pool):
        paths.append(f"{folder}/{i}.{suffix}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ds.write(paths[-1], dataset)
    return paths


@given(pools(), st.lists(st.tuples(st.sampled_from(["read", "convert"]), st.integers(0, 3)), min_size=3, max_size=9))
@FEWER
def test_one_after_another(fresh: Fresh, pool: Any, order: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = _written(pool, folder)
        expected: dict[tuple[str, str], Any] = {}
        for verb, i in order:
            path = paths[i % len(paths)]
            if (verb, path) not in expected:
                expected[verb, path] = fresh(verb, path)
            assert same(outcome(verb, path), expected[verb, path])


@given(pools(), st.lists(st.integers(0, 3), min_size=2, max_size=6))
@FEWER
def test_many(fresh: Fresh, pool: Any, order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = _written(pool, folder)
        names = [paths[i % len(paths)] for i in order]
        argument = json.dumps(names)
        found = outcome("many", argument)
        assert same(found, fresh("many", argument))
        assert same(outcome("merge", argument), fresh("merge", argument))
        if isinstance(found, dict):
            each = [fresh("read", name) for name in names]
            for dataset in each:
                del dataset["meta"], dataset["handles"]
            assert same(found["each"], each)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = dict(ds.merge(each, "t"))
            for key, values in found["all"].items():
                if not isinstance(values, np.ma.MaskedArray) and isinstance(expected[key], np.ma.MaskedArray):
                    assert not expected[key].mask.any()
                    expected[key] = expected[key].data  # numbers of `merge` are always masked arrays
            for meta in (found["all"]["."], expected["."]):
                for entry in meta.values():  # which values are unwritten shows when they are written
                    kept = {n: value for n, value in entry.pop(".netcdf", {}).items() if n not in ("fill", "mark")}
                    entry.update({".netcdf": kept} if kept else {})
            assert same(found["all"], expected)


@given(pools(), st.lists(st.integers(0, 3), min_size=2, max_size=5))
@FEWER
def test_opened_as_one(fresh: Fresh, pool: Any, order: list[int]) -> None:
    pytest.importorskip("xarray")
    with tempfile.TemporaryDirectory() as folder:
        paths = _written(pool, folder)
        argument = json.dumps([paths[i % len(paths)] for i in order])
        found = outcome("lazily", argument)
        assert same(found, fresh("lazily", argument))
        if isinstance(found, dict):
            assert found["loaded"].keys() == found["lazy"].keys()
            assert all(same(found["loaded"][name], found["lazy"][name][:2]) for name in found["loaded"])


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_a_scalar_that_the_first_file_lacks(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("dask.array", reason="needs xarray and dask")
    for i, n in enumerate((None, 3, 4)):
        dataset = {"x": np.array([1.0, 2.0]), ".": {"x": {".dims": ["t"]}}}
        if n is not None:
            dataset |= {"n": np.int32(n), ".": {"x": {".dims": ["t"]}, "n": {".dims": []}}}
        options: dict[str, Any] = {"format": "NETCDF3_CLASSIC"} if suffix == "nc" else {}
        ds.write(tmp_path / f"{i}.{suffix}", dataset, **options)
    for order in ((0, 1, 1), (0, 0, 1), (0, 1, 1, 1, 0, 1), (1, 0, 1)):
        paths = [tmp_path / f"{i}.{suffix}" for i in order]
        every: tuple[dict[str, Any], ...] = ({}, {"load": True}, {"chunks": {}})
        for options in every:
            with ds.open_many(paths, "t", missing="fill", **options) as found:
                assert (found["n"].dims, found["n"].values.tolist()) == ((), 3)
        with pytest.raises(ds.DsError, match=r'variable "n": other values than in '):
            ds.open_many([*paths, tmp_path / f"2.{suffix}"], "t", missing="fill")


def test_a_file_equal_to_the_one_before_the_last_has_its_own_attributes(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.ds", "b.ds", "c.ds")]
    for path, station in zip(paths, ("1", "2", "1"), strict=True):
        dataset = base()
        dataset["."]["."]["station"] = station
        ds.write(path, dataset)
    assert ds.read_many(paths, dim="t")["."]["."]["station"] == "1"


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_a_file_with_fewer_variables_leaves_nothing_of_its_own(tmp_path: Path, kind: str) -> None:
    paths = [str(tmp_path / name) for name in ("a.nc", "b.nc")]
    for path, change in zip(paths, (None, _remove("z")), strict=True):
        dataset = base()
        if change is not None:
            change(dataset)
        dataset["."]["."][".netcdf"] = {"format": kind, "dimensions": {"t": 2, "k": 3}}
        ds.write(path, dataset)
    first = [convert(path) for path in paths]
    assert [convert(path) for path in (*paths, *paths)] == first * 2


if __name__ == "__main__":
    serve()
