"""Reading, opening and writing: names, modes, paths, and what users get wrong."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.api.creation import created
from ds_format.base import modes
from ds_format.errors import MissingError, UnsupportedError
from ds_format.views.subset import Subset

from .formats import SUFFIXES
from .numpy_versions import needs_numpy_2
from .same import same_data

"""One of each format."""


def masked(data: Any, mask: Any) -> Any:
    return np.ma.MaskedArray(data, mask)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    dataset = {
        "t": np.arange(4.0),
        "temp": np.arange(12).reshape(4, 3),
        "temperature": np.array(["a", "ž"], object),
        "\\.hidden": 5,
        "none": None,
        ".": {"t": {".dims": ["time"], "units": "K"}, "temp": {".dims": ["time", "x"]}, ".": {"title": "T"}},
    }
    ds.write(tmp_path / "x.ds", dataset)
    return tmp_path / "x.ds"


def test_paths_of_every_kind(path: Path) -> None:
    for name in (path, str(path), os.fsencode(path)):
        assert ds.read(name)["\\.hidden"] == 5
        with ds.open(name) as file:
            assert file[".hidden"][()] == 5
        ds.write(name, ds.read(name))
        ds.convert(name, name)
    upper = path.with_suffix(".DS")
    ds.write(upper, {"x": 1})
    assert ds.read(upper)["x"] == 1


def test_some_variables(path: Path) -> None:
    for wanted in ("temperature", ["temperature"], ("temperature",), iter(["temperature", "temperature"])):
        dataset = ds.read(path, wanted)
        assert [key for key in dataset if key != "."] == ["temperature"]
        assert dataset["."].keys() == {"temperature", "."}
    assert ds.read(path, [".hidden"])["\\.hidden"] == 5
    assert ds.read(path, []) == {".": {".": {"title": "T"}}}
    assert ds.read(path, "t", full=True)["."].keys() == ds.read(path)["."].keys()
    assert ds.read(path, "t", {"time": 0}, full=True)["."].keys() == ds.read(path)["."].keys()


def test_names_that_do_not_exist(path: Path) -> None:
    for sel in (None, {"time": 0}):
        with modes.use("soft"):
            assert [*ds.read(path, ["nope", "t"], sel)] == ["t", "."]
        with pytest.warns(UserWarning, match=r'x.ds: variable "nope" not found'):
            assert [*ds.read(path, ["nope", "t"], sel)] == ["t", "."]
        with modes.use("moderate"), pytest.warns(UserWarning, match=r'x.ds: variable "nope" not found'):
            ds.read(path, ["nope", "t"], sel)
        with modes.use("strict"), pytest.raises(ds.MissingError, match=r'x.ds: variable "nope" not found'):
            ds.read(path, ["nope", "t"], sel)
    with modes.use("strict"), pytest.raises(NameError, match='dimension "nope" not found'):
        ds.read(path, sel={"nope": 0})
    with modes.use("strict"), pytest.raises(KeyError, match='variable "nope" not found'):
        ds.convert(path, path, ["nope"])
    with ds.open(path) as file, pytest.raises(KeyError, match=r'x.ds: variable "nope": variable not found'):
        file["nope"]
    with pytest.raises(ValueError, match="mode: found 'hard'"):
        modes.use("hard")


def test_the_mode_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DS_MODE", "strict")
    assert modes.get() == "strict"
    with modes.use("soft"):
        assert modes.get() == "soft"
    monkeypatch.setenv("DS_MODE", "nonsense")
    assert modes.get() == "soft"


def test_an_open_file(path: Path) -> None:
    with ds.open(path) as file:
        assert list(file) == ["t", "temp", "temperature", ".hidden", "none"]
        assert len(file) == 5
        assert file.attrs == {"title": "T"}
        assert file.dims == {"time": 4, "x": 3, "temperature_1": 2}
        variable = file["temp"]
        assert (variable.shape, variable.ndim, variable.size, len(variable)) == ((4, 3), 2, 12, 4)
        assert (variable.dims, variable.dtype, variable.type) == (("time", "x"), np.dtype("i8"), "int64")
        assert file["t"].attrs == {"units": "K"}
        assert file["temperature"].dtype == object
        assert file["none"].shape is None
        assert file["none"][...] is None
        assert np.asarray(variable).sum() == 66
        assert np.asarray(variable, "f4").dtype == np.float32
        assert repr(variable) == "<ds_format.Variable 'temp' (time: 4, x: 3) int64>"
        assert repr(file).endswith("x.ds': 5 variables>")
        with pytest.raises(ds.UnsupportedError, match=r'x.ds: variable "none": has no known type: found None'):
            _ = file["none"].dtype
        with pytest.raises(TypeError, match="without dimensions"):
            len(file[".hidden"])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (4, "index 4 is out of bounds for dimension 0 of size 4"),
        ((0, -4), "index -4 is out of bounds for dimension 1 of size 3"),
        ([0, 9], "index 9 is out of bounds"),
        ([True, False], "found 2 booleans as index of dimension 0, expected 4"),
        ((0, 0, 0), "found 3 indexes, expected at most 2"),
        ((..., ...), "only one ellipsis"),
        ("a", "found 'a' as index of dimension 0"),
        (1.5, "found 1.5 as index"),
        (True, "found True as index"),
        ([[0]], "found 2-d int64 as index"),
        ([0.5, 1.0], "found 1-d float64 as index"),
        (["0"], "found 1-d <U1 as index"),
        (None, "found None as index"),
    ],
)
def test_a_wrong_index(index: Any, message: str, path: Path) -> None:
    with ds.open(path) as file, pytest.raises(IndexError, match=message):
        file["temp"][index]


def test_a_wrong_selection_names_file_and_variable(path: Path) -> None:
    for call in (lambda: ds.read(path, sel={"time": 9}), lambda: ds.convert(path, path, sel={"time": 9})):
        with pytest.raises(IndexError, match=r'x.ds: variable "t": index 9 is out of bounds for dimension "time"'):
            call()


@needs_numpy_2
def test_text_as_numpy_has_it(path: Path) -> None:
    text = ds.read(path, strings="numpy")["temperature"]
    assert text.dtype == np.dtypes.StringDType()
    assert text.tolist() == ["a", "ž"]
    with ds.open(path, strings="numpy") as file:
        assert file["temperature"][1:].tolist() == ["ž"]
    ds.write(path, {"x": text, "bytes": masked(np.array([b"a", b""], object), [False, True])})
    assert ds.read(path)["x"].tolist() == ["a", "ž"]
    assert ds.read(path, strings="numpy")["bytes"].tolist() == [b"a", None]
    with pytest.raises(ValueError, match="strings: found 'nonsense'"):
        ds.read(path, strings="nonsense")


def test_text_as_numpy_has_it_needs_numpy_2(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np.dtypes, "StringDType", raising=False)
    for read in (ds.read, ds.open):
        with pytest.raises(ds.DriverError, match=rf'^strings="numpy" needs NumPy 2, found NumPy {np.__version__}'):
            read(path, strings="numpy")
    assert ds.read(path)["temperature"].tolist() == ["a", "ž"]


def test_maps(path: Path) -> None:
    temp = ds.read(path, mmap=True)["temp"]
    temp[0] = -1
    assert temp.flags.writeable
    assert ds.read(path)["temp"][0, 0] == 0
    netcdf = path.with_suffix(".nc")
    ds.write(netcdf, {"x": np.arange(3)})
    with pytest.raises(ds.DriverError, match=r"x.nc: mmap is not possible"):
        ds.read(netcdf, mmap=True)


def test_arrays_read_may_be_changed(path: Path) -> None:
    dataset = ds.read(path)
    dataset["t"][0] = 9
    dataset["."]["t"][".dims"].append("more")
    dataset["."]["."]["title"] = "other"
    again = ds.read(path)
    assert again["t"][0] == 0
    assert again["."]["t"][".dims"] == ["time"]
    assert again["."]["."]["title"] == "T"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for read in (ds.read, ds.open):
        with pytest.raises(FileNotFoundError, match="nope"):
            read(tmp_path / "nope.ds")
        with pytest.raises(FileNotFoundError, match="nope"):
            read(tmp_path / "nope.xyz")
        (tmp_path / "x.xyz").touch()
        with pytest.raises(ds.DriverError, match=r"x.xyz: unknown file format: expected one of .*\.ds"):
            read(tmp_path / "x.xyz")
        (tmp_path / "folder.ds").mkdir(exist_ok=True)
        with pytest.raises(IsADirectoryError, match="folder"):
            read(tmp_path / "folder.ds")
    with pytest.raises(ds.DriverError, match=r"y.xyz"):
        ds.write(tmp_path / "y.xyz", {})
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ds.write(tmp_path / "nowhere" / "x.ds", {"x": 1})
    with pytest.raises(FileNotFoundError, match=r"nowhere/x\.nc'?$"):
        ds.write(tmp_path / "nowhere" / "x.nc", {"x": 1})


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([1], "a dataset must be a dict"),
        ({".": []}, "metadata .* must be a dict"),
        ({"x": 1, ".": {"x": 5}}, 'the metadata of "x" must be a dict'),
        ({"x": [1], ".": {"x": {".dims": ["a", "b"]}}}, r'variable "x": found 2 dimension names .* expected 1'),
        (
            {"x": [1], "y": [1, 2], ".": {"x": {".dims": ["a"]}, "y": {".dims": ["a"]}}},
            'dimension "a" has size 2, but 1',
        ),
        ({"x": [[1, 2]], ".": {"x": {".dims": ["a", "a"]}}}, 'dimension "a" has size 2, but 1'),
    ],
)
def test_datasets_that_make_no_sense(dataset: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        ds.validate(dataset)
    for name in ("x.ds", "x.nc"):
        with pytest.raises(ds.UnsupportedError, match=message):
            ds.write(tmp_path / name, dataset)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, np.int64(5)),
        (1 << 63, np.uint64(1 << 63)),
        (2.5, np.float64(2.5)),
        (True, np.bool_(True)),
        ("a\0", "a\0"),
        (b"a\0", b"a\0"),
        ([1, None], masked([1, 0], [0, 1])),
        ([[1, None], [3, 4]], masked([[1, 0], [3, 4]], [[0, 1], [0, 0]])),
        ([True, None], masked([True, False], [0, 1])),
        ([1, 2.5], np.array([1, 2.5])),
        (["a\0", None], masked(np.array(["a\0", ""], object), [0, 1])),
        ([1 << 63, 5], np.array([1 << 63, 5], "u8")),
        ([], np.array([])),
        ((1, 2), np.array([1, 2])),
        (np.array(["ab", "c"]), np.array(["ab", "c"], object)),
        (np.array([b"ab", b"c"]), np.array([b"ab", b"c"], object)),
        (np.array(["a", None], object), masked(np.array(["a", ""], object), [0, 1])),
        (np.ma.masked, masked(0.0, True)),
        (np.float32(0.5), np.float32(0.5)),
    ],
)
def test_data_of_every_kind(given: Any, expected: Any, tmp_path: Path) -> None:
    ds.write(tmp_path / "x.ds", {"x": given})
    found = ds.read(tmp_path / "x.ds")["x"]
    assert same_data(found, expected)
    assert isinstance(found, np.ma.MaskedArray) == isinstance(expected, np.ma.MaskedArray)


def test_a_missing_scalar_keeps_its_type(tmp_path: Path) -> None:
    ds.write(tmp_path / "x.ds", {"x": np.ma.masked, ".": {"x": {".type": "int16"}}})
    found = ds.read(tmp_path / "x.ds")
    assert found["x"].dtype == np.int16
    assert found["."]["x"][".type"] == "int16"
    ds.write(tmp_path / "y.ds", found)
    assert (tmp_path / "y.ds").read_bytes() == (tmp_path / "x.ds").read_bytes()


def test_the_body_and_large_variables_are_aligned(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    ds.write(
        path, {"a": np.arange(3, dtype="i1"), "b": np.arange(5.0), "c": np.arange(2, dtype="i2"), "d": np.arange(1e4)}
    )
    content = path.read_bytes()
    body = content.index(b"\n", 7) + 1
    assert body % 64 == 0
    assert content.index(np.arange(1e4).tobytes()) % 64 == 0
    assert all(array.flags.aligned for key, array in ds.read(path, mmap=True).items() if key != ".")


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    for i in range(8):
        ds.write(tmp_path / f"{i}.ds", {"x": np.full(1000, i), "m": masked(np.full(99, i), np.arange(99) % 2)})

    def work(n: int) -> bool:
        dataset = ds.read(tmp_path / f"{n % 8}.ds")
        ds.write(tmp_path / f"out{n}.ds", dataset)
        return bool((dataset["x"] == n % 8).all() and dataset["m"].sum() == 50 * (n % 8))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(ds.FormatError("wrong", path="x.ds", variable="x")))
    assert str(error) == 'x.ds: variable "x": wrong'


def test_progress_of_a_conversion_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subset, "blocks", functools.partialmethod(Subset.blocks, budget=16))
    ds.write(tmp_path / "a.ds", {"x": np.arange(4.0), "nothing": None, "y": np.arange(8, dtype="i2"), "z": 1.5})
    told: list[tuple[int, int]] = []
    ds.convert(tmp_path / "a.ds", tmp_path / "b.json", progress=lambda *both: told.append(both))
    assert told == [(16, 56), (32, 56), (48, 56), (56, 56)]


@pytest.mark.parametrize("version", ["3", "1", "", 1.0])
def test_a_version_that_does_not_exist(version: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r'a\.ds: version: found .*, expected "1.0" or "2.0.1"'):
        ds.write(tmp_path / "a.ds", {"x": [1]}, version=version)
    with pytest.raises(UnsupportedError, match="version"), created(tmp_path / "a.ds", {}, version=version):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".nc3", ".tsv"])
@pytest.mark.parametrize("key", [".x", "..", ".x.y"])
def test_a_key_that_begins_with_a_dot_is_refused_with_the_escaped_name(suffix: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    message = f'found the key "{key}", expected "{ds.escape(key)}"'
    for dataset in ({key: [1, 2]}, {key: np.arange(2), ".": {}}, {"y": np.arange(2), ".": {key: {".dims": ["t"]}}}):
        with pytest.raises(ds.UnsupportedError, match=re.escape(message)):
            ds.write(path, {"y": np.arange(2), **dataset})
    assert not path.exists()
    with pytest.raises(ds.UnsupportedError, match=re.escape(message)):
        ds.validate({key: 1})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_address_as_a_path_has_lost_a_slash(suffix: str) -> None:
    path = Path(f"https://a.b/x{suffix}")
    reads: list[Callable[[], object]] = [
        lambda: ds.read(path),
        lambda: ds.read(path, "x", sel={"t": 0}),
        lambda: ds.open(path),
        lambda: ds.from_netcdf(path),
        lambda: ds.read_many([path]),
        lambda: ds.read_many([path], dim="t"),
        lambda: ds.convert(path, "out.ds"),
        lambda: ds.merge_files("t", [path], "out.ds"),
        lambda: ds.diff(path, path),
    ]
    for read in reads:
        with pytest.raises(FileNotFoundError, match="give an address as text"):
            read()
    assert ds.verify(path)[0].message.startswith("give an address as text")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_folder_of_an_output_does_not_exist(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "nodir" / f"x{suffix}"
    ds.write(tmp_path / "a.ds", {"x": [1.0, 2.0], ".": {"x": {".dims": ["t"]}}})
    for write in (
        lambda: ds.write(path, {"x": [1.0], ".": {"x": {".dims": ["t"]}}}),
        lambda: ds.convert(tmp_path / "a.ds", path),
        lambda: ds.merge_files("t", [tmp_path / "a.ds"], path),
    ):
        with pytest.raises(FileNotFoundError, match=re.escape(f"the folder {path.parent} does not exist")):
            write()
    with pytest.raises(FileNotFoundError, match="give an address as text"):
        ds.write(Path(f"s3://bucket/x{suffix}"), {"x": [1.0], ".": {"x": {".dims": ["t"]}}})


def test_a_variable_in_a_group_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "g.ds"
    ds.write(path, {"a/x": [1], "b/x": [2]})
    with ds.with_mode("strict"), pytest.raises(MissingError, match="did you mean a/x\\?"):
        ds.read(path, "x")
    with ds.with_mode("strict"), pytest.raises(MissingError, match="did you mean a/x\\?"):
        ds.read_many([path], "x", dim="t")
    with ds.open(path) as file:
        assert "x" not in file
        assert "a/x" in file
        with pytest.raises(MissingError, match="did you mean a/x\\?"):
            file["x"]
