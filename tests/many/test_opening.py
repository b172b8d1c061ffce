"""Many files opened as one: variables as one array, what does not fit, and files that were replaced."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.datasets import as_array, dims
from ds_format.drivers.ds import alike
from ds_format.errors import DsError, FormatError, MissingError, ReplacedError, UnsupportedError
from ds_format.many import opening, pieces, reading
from ds_format.many.opening import ManyFiles
from ds_format.model.index import normalize, shape_of
from tests.descriptors import n_open

from ..same import same_data
from .files_as_one import NAMES, SIZES, expected, make, opened, read_all, values, write

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")


@pytest.mark.parametrize("at_once", [frozenset(), None])
def test_whole_variables(paths: list[str], at_once: Any) -> None:
    found = opened(paths, at_once=at_once)
    for name in NAMES:
        assert same_data(values(found, name), expected(paths, name, 1 if name == "x" else 0)), name
    assert same_data(values(found, "y"), make(0, 1)["y"])
    assert values(found, "site") == "here"
    assert found.meta["x"] == {".dims": ["y", "t"], ".size": [3, 15], ".type": "int16", ".missing": True}
    assert found.meta["."] == {"number": 0, "name": "file 0", "title": "all"}
    assert found.lengths.tolist() == SIZES


def indexes(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    def item(n: int) -> st.SearchStrategy[Any]:
        lists = st.lists(st.integers(-n, n - 1), max_size=6).map(lambda found: np.array(found, np.int64))
        return st.one_of(st.integers(-n, n - 1), st.slices(n), lists)

    return st.tuples(*map(item, shape))


@pytest.fixture(scope="module", params=["batch", "large"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    paths = write(tmp_path_factory.mktemp("shared"), *(make(i, n) for i, n in enumerate(SIZES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH", 3)
        if request.param == "large":
            patch.setattr(reading, "SMALL_SIZE", 8)
            patch.setattr(alike, "SMALL", alike.SMALL._replace(size=8))
        yield {name: expected(paths, name, 1 if name == "x" else 0) for name in NAMES}, opened(paths)


@given(data=st.data())
def test_parts(shared: tuple[dict[str, Any], ManyFiles], data: st.DataObject) -> None:
    wholes, found = shared
    name = data.draw(st.sampled_from(NAMES))
    whole = wholes[name]
    index = normalize(data.draw(indexes(whole.shape)), whole.shape)
    part = whole
    for axis, item in enumerate(index):
        part = part.take(np.array([item] if isinstance(item, int) else item, np.int64), axis=axis)
    read = values(found, name, index)
    assert same_data(np.ma.asanyarray(as_array(read)).reshape(-1), np.ma.asanyarray(part).reshape(-1))
    assert np.shape(read) == shape_of(index)


def test_only_files_that_are_needed_are_opened(paths: list[str]) -> None:
    found = opened(paths)
    os.unlink(paths[1])
    x = found.lazy["x"]
    assert same_data(
        x.read((range(3), np.array([14, 0, 1, 9, 14]))), expected(paths[:1] + paths[2:], "x", 1)[:, [11, 0, 1, 6, 11]]
    )
    with pytest.raises(ReplacedError, match=r'f01\.ds: variable "x": the file was opened, and is not there any more'):
        x.read((0, 3))


def test_never_many_files_are_open(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0

    def again(*args: Any, **options: Any) -> Iterator[Any]:
        nonlocal most
        for piece in pieces.read_pieces(*args, **options):
            most = max(most, n_open(*paths))
            yield piece

    monkeypatch.setattr(opening, "read_pieces", again)
    values(opened(paths), "x")
    assert most <= 3
    assert not n_open(*paths)


@pytest.mark.parametrize("at_once", [frozenset(), None])
def test_a_new_dimension(tmp_path: Path, at_once: Any) -> None:
    datasets: list[dict[str, Any]] = [
        {
            "lat": [1.0, 2.0],
            "lat_bnds": [[0, 1], [1, 2]],
            "area": [[1, 2]],
            "crs": 0,
            "x": np.ma.MaskedArray([i, i + 1], [i == 1, False]),
            "when": i,
            "note": f"n{i}",
            ".": {
                "lat": {".dims": ["lat"], "bounds": "lat_bnds"},
                "lat_bnds": {".dims": ["lat", "two"]},
                "area": {".dims": ["one", "lat"]},
                "x": {".dims": ["lat"], "coordinates": "when area", "grid_mapping": "crs"},
            },
        }
        for i in range(3)
    ]
    found = opened(write(tmp_path, *datasets), "when", at_once=at_once)
    assert {key: dims(key, entry, len(entry[".size"])) for key, entry in found.meta.items() if key != "."} == {
        "lat": ["lat"],
        "lat_bnds": ["lat", "two"],
        "area": ["one", "lat"],
        "crs": [],
        "x": ["when", "lat"],
        "when": ["when"],
        "note": ["when"],
    }
    assert same_data(values(found, "x"), np.ma.stack([dataset["x"] for dataset in datasets]))
    assert same_data(values(found, "x", (np.array([2, 1, 2]), 0)), np.ma.MaskedArray([2, 1, 2], [False, True, False]))
    assert values(found, "note", (1,)) == "n1"
    assert values(found, "when").tolist() == [0, 1, 2]
    chosen = opened(write(tmp_path, *datasets), "n", stack=frozenset({"x", "when", "note", "area"}), at_once=at_once)
    assert chosen.meta["area"][".dims"] == ["n", "one", "lat"]


@pytest.mark.parametrize("at_once", [frozenset(), None])
@pytest.mark.parametrize(
    "suffixes", [(".ds", ".ds"), (".nc", ".ds"), (".ds", ".nc"), (".json", ".ds"), (".nc", ".json")]
)
def test_units_calendars_and_packing_become_those_of_the_first(
    tmp_path: Path, suffixes: tuple[str, str], at_once: Any
) -> None:
    first = {
        "time": np.array([0, 6], "f8"),
        "p": np.array([1, 2], "i2"),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2000-01-01", "calendar": "standard"},
            "p": {".dims": ["time"], "scale_factor": 0.5, "add_offset": 1.0, "units": "K", "long_name": "pressure"},
        },
    }
    second = {
        "time": np.array([0.5, 1.0]),
        "p": np.ma.MaskedArray(np.array([4, 8], "i2"), [False, True]),
        ".": {
            "time": {".dims": ["time"], "units": "days since 2000-01-01", "calendar": "proleptic_gregorian"},
            "p": {".dims": ["time"], "scale_factor": 0.25, "units": "K"},
        },
    }
    paths = [str(tmp_path / f"{i}{suffix}") for i, suffix in enumerate(suffixes)]
    for path, dataset in zip(paths, (first, second), strict=True):
        ds.write(path, dataset)
    found = opened(paths, "time", at_once=at_once)
    assert values(found, "time").tolist() == [0, 6, 12, 24]
    assert found.meta["time"]["units"] == "hours since 2000-01-01"
    assert values(found, "p").tolist() == [1.5, 2, 1, None]
    assert values(found, "p", (range(3, 1, -1),)).tolist() == [None, 1]
    assert "scale_factor" not in found.meta["p"]
    assert found.meta["p"]["units"] == "K"
    assert found.meta["p"][".type"] == "float64"
    assert found.meta["p"]["long_name"] == "pressure"
    assert values(found, "p", (2,)) == 1


def test_many_units_are_conversions_once_each(tmp_path: Path) -> None:
    units = ["days since 2000-01-01", "hours since 2000-01-01"]
    datasets = [
        {"time": [24.0 * i], "x": [i], ".": {"time": {".dims": ["t"], "units": units[i % 2]}, "x": {".dims": ["t"]}}}
        for i in range(6)
    ]
    found = opened(write(tmp_path, *datasets))
    time, x = found.lazy["time"], found.lazy["x"]
    assert isinstance(time, opening.Concatenation)
    assert isinstance(x, opening.Concatenation)
    assert (len(time.conversions), len(x.conversions)) == (3, 1)
    assert time.read().tolist() == [0, 1, 48, 3, 96, 5]


def test_attributes_as_variables(paths: list[str]) -> None:
    found = opened(paths, attributes=("number", "name"))
    assert found.meta["."] == {"title": "all"}
    assert values(found, "number").tolist() == np.repeat(np.arange(len(SIZES)), SIZES).tolist()
    assert values(found, "name", (range(2, 15, 12),)).tolist() == ["file 1", "file 7"]
    assert found.meta["name"] == {".dims": ["t"], ".size": [15], ".type": "unicode", ".missing": False}
    with pytest.raises(MissingError, match='attribute "nmae" of the dataset not found: did you mean name'):
        opened(paths, attributes=("nmae",))
    with pytest.raises(UnsupportedError, match='variable "x": both a variable and an attribute'):
        opened(paths, attributes=("x",), fills=True)


@pytest.mark.parametrize("headers", [{}, {"long_name": "own"}])
def test_attributes_of_headers_alike_or_not(tmp_path: Path, headers: dict[str, str]) -> None:
    given_attributes: list[dict[str, Any]] = [
        {"a": 1},
        {"a": 1},
        {},
        {"a": 2.5},
        {"a": 2.5},
        {"a": np.float32(0.1)},
        {},
    ]
    datasets = [
        {"t": [i], ".": {"t": {".dims": ["t"], **{k: v + str(i) for k, v in headers.items()}}, ".": attributes}}
        for i, attributes in enumerate(given_attributes)
    ]
    found = opened(write(tmp_path, *datasets), attributes=("a",), fills=True)
    wanted = [attributes.get("a") for attributes in given_attributes]
    assert values(found, "a").tolist() == [None if value is None else float(value) for value in wanted]
    with pytest.raises(MissingError, match=r'f02\.ds: attribute "a"'):
        opened(write(tmp_path, *datasets), attributes=("a",))


def test_what_a_file_lacks_is_filled(tmp_path: Path) -> None:
    datasets: list[dict[str, Any]] = [make(i, 2) for i in range(4)]
    for name in ("x", "s", "y"):
        del datasets[0][name], datasets[2][name]
    del datasets[3]["y"]
    paths = write(tmp_path, *datasets)
    each: list[Any] = [frozenset(), None]
    for at_once in each:
        found = opened(paths, fills=True, at_once=at_once)
        assert same_data(values(found, "y"), make(0, 2)["y"])
        assert found.meta["x"][".missing"] is True
        x = values(found, "x")
        assert x.mask[:, [0, 1, 4, 5]].all()
        assert same_data(x[:, 2:4], datasets[1]["x"])
        assert same_data(values(found, "x", (range(3), np.array([7, 0, 3])))[:, 0], datasets[3]["x"][:, 1])
        assert values(found, "s").tolist() == [None, None, "", "ž1", None, None, "", "ž3"]
        assert values(found, "s", (0,)) is np.ma.masked or values(found, "s", (0,)).mask
    datasets[1]["y"] = datasets[1]["y"] + 1
    datasets[3]["y"] = make(0, 2)["y"]
    with pytest.raises(UnsupportedError, match=r'f03\.ds: variable "y": other values than in .*f01\.ds'):
        opened(write(tmp_path, *datasets), fills=True)


def test_order_and_duplicates_are_kept(paths: list[str]) -> None:
    twice = [paths[4], paths[0], paths[4], paths[1]]
    found = opened(twice)
    assert values(found, "t").tolist() == [40, 0, 1, 40, 10, 11, 12]
    found = opened(twice, sortby="t")
    assert [values(found, name).tolist() for name in ("t", "flag")] == [
        [0, 1, 10, 11, 12, 40, 40],
        expected([paths[0], paths[1], paths[4], paths[4]], "flag").tolist(),
    ]
    assert opened(twice, sortby="number", attributes=("number",)).files.paths == [paths[i] for i in (0, 1, 4, 4)]
    for name in ("k", "site", "none"):
        with pytest.raises(UnsupportedError, match=f'variable "{name}": cannot sort by it, expected'):
            opened(twice, sortby=name)


def test_metadata_are_kept_once(tmp_path: Path) -> None:
    """However many files differ in size or units, what is kept of each is little."""
    paths = write(tmp_path, *(make(i, i % 3) for i in range(9)))
    inputs = [len({id(entry) for entry in opened(paths[:n]).meta.values()}) for n in (3, 9)]
    assert inputs[0] == inputs[1]


def test_no_variables(tmp_path: Path) -> None:
    found = opened(write(tmp_path, {}, {}))
    assert found.meta == {".": {}}
    assert not found.lazy and not found.arrays


def test_errors_travel() -> None:
    error = ReplacedError("replaced", path="a.ds", variable="x")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, DsError)
    assert str(again) == str(error)


def changed(what: str) -> dict[str, Any]:
    """Return a dataset that does not fit those of `make`."""
    dataset = make(5, 2)
    meta = dataset["."]
    if what == "lacks":
        del dataset["x"]
    elif what == "more":
        dataset["more"] = 1
    elif what == "size":
        dataset["k"] = dataset["k"][:, :1]
    elif what == "type":
        dataset["x"] = dataset["x"].astype("f4")
    elif what == "text":
        dataset["s"] = np.arange(2)
    elif what == "units":
        meta["t"]["units"] = "ms"
    elif what == "no units":
        del meta["t"]["units"]
    elif what == "values":
        dataset["y"] = np.array([1.0, np.nan, 4.0])
    elif what == "mask":
        dataset["y"] = np.ma.MaskedArray([1.0, np.nan, 3.0], [False, False, True])
    elif what == "scalar":
        dataset["site"] = "there"
    elif what == "no data":
        dataset["k"] = None
    return dataset


REFUSED = {
    "lacks": (MissingError, r'f02\.ds: variable "x": variable not found, expected as in .*f00\.ds; missing="fill"'),
    "more": (MissingError, r'f00\.ds: variable "more": variable not found, expected as in .*f02\.ds'),
    "size": (UnsupportedError, r'f02\.ds: variable "k": size of dimension "z": found 1, expected 2 as in .*f00\.ds'),
    "type": (UnsupportedError, r'f02\.ds: variable "x": type: found float32, expected int16 as in'),
    "text": (UnsupportedError, r'f02\.ds: variable "s": type: found int64, expected unicode as in'),
    "units": (UnsupportedError, r"f02\.ds: variable \"t\": units: found 'ms', .* expected 's' as in"),
    "no units": (UnsupportedError, r"f02\.ds: variable \"t\": units: found none, .* expected 's' as in"),
    "values": (UnsupportedError, r'f02\.ds: variable "y": other values than in .*f00\.ds.*compat="override"'),
    "mask": (UnsupportedError, r'f02\.ds: variable "y": other values'),
    "scalar": (UnsupportedError, r'f02\.ds: variable "site": other values'),
    "no data": (UnsupportedError, r'f02\.ds: variable "k": found no data, expected data as in'),
}


@pytest.mark.parametrize("at_once", [frozenset(), None])
@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit(tmp_path: Path, what: str, at_once: Any) -> None:
    kind, message = REFUSED[what]
    paths = write(tmp_path, make(0, 2), make(1, 3), changed(what), make(4, 2))
    with pytest.raises(kind, match=message):
        opened(paths, at_once=at_once)


@pytest.mark.parametrize("at_once", [frozenset(), None])
@pytest.mark.parametrize("what", ["values", "mask", "scalar", "units", "no units"])
def test_what_is_taken_of_the_first(tmp_path: Path, what: str, at_once: Any) -> None:
    paths = write(tmp_path, make(0, 2), make(1, 3), changed(what), make(4, 2))
    found = opened(paths, overrides=True, overrides_indexes=True, first_units=True, at_once=at_once)
    assert same_data(values(found, "y"), make(0, 2)["y"])
    assert values(found, "site") == "here"
    assert found.meta["t"]["units"] == "s"
    assert same_data(values(found, "k"), expected(paths, "k"))


def test_index_coordinates_of_the_first_alone(tmp_path: Path) -> None:
    paths = write(tmp_path, make(0, 2), changed("values"))
    assert same_data(values(opened(paths, overrides_indexes=True), "y"), make(0, 2)["y"])
    with pytest.raises(UnsupportedError, match='variable "site"'):
        opened(write(tmp_path, make(0, 2), changed("scalar")), overrides_indexes=True)


def test_other_dimensions(tmp_path: Path) -> None:
    first, second = make(0, 2), make(1, 2)
    second["."]["k"][".dims"] = ["t", "w"]
    with pytest.raises(
        UnsupportedError, match=r"variable \"k\": dimensions: found \['t', 'w'\], expected \['t', 'z'\]"
    ):
        opened(write(tmp_path, first, second))


def replace(path: str) -> None:
    ds.write(path, make(9, 3))


def rewrite(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(b"ds-1.0")


def shorten(path: str) -> None:
    os.truncate(path, os.stat(path).st_size - 1)


def restore(path: str) -> None:
    """Put another file into the place of one, of the same size and time."""
    status = os.stat(path)
    data = Path(path).read_bytes()
    os.unlink(path)
    Path(path).write_bytes(data.replace(b'"title": "all"', b'"title": "ALL"'))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replace, "the file was replaced or changed after it was opened"),
        (rewrite, "it was written since"),
        (shorten, "found [0-9]+ bytes, expected"),
        (os.unlink, "is not there any more"),
        (restore, "open it again"),
    ],
)
def test_a_file_that_is_another_one_by_now(paths: list[str], change: Any, message: str) -> None:
    found = pickle.loads(pickle.dumps(opened(paths)))
    change(paths[2])
    with pytest.raises(ReplacedError, match=rf'f02\.ds: variable "x": .*{message}'):
        values(found, "x")
    assert same_data(values(found, "x", (range(3), range(4))), expected(paths[:2], "x", 1)[:, :4])


def test_another_host_sees_other_inodes(paths: list[str]) -> None:
    found = opened(paths)
    found.files.host = "elsewhere"
    found.files.stamps[:, 2] += 1
    assert same_data(values(found, "x"), expected(paths, "x", 1))
    restore(paths[2])
    with pytest.raises(ReplacedError, match="its header differs"):
        values(found, "x")
    os.unlink(paths[2])
    with pytest.raises(ReplacedError, match="the file was opened on elsewhere; there is none of this name on"):
        values(found, "x")


def test_a_netcdf_file_that_is_another_one_by_now(tmp_path: Path) -> None:
    data = {"x": [1.0, 2.0], ".": {"x": {".dims": ["t"]}}}
    paths = write(tmp_path, data, data, suffix=".nc")
    x = opened(paths).lazy["x"]
    assert x.read((3,)) == 2
    ds.write(paths[1], {**data, "x": [3.0, 4.0]})
    with pytest.raises(ReplacedError, match=r'f01\.nc: variable "x": the file was replaced'):
        x.read()
    assert x.read((1,)) == 2


def test_damaged_files(paths: list[str]) -> None:
    os.truncate(paths[2], os.stat(paths[2]).st_size - 100)
    found = opened(paths, overrides=True, overrides_indexes=True)
    with pytest.raises(FormatError, match=r'f02\.ds: variable "'):
        read_all(found)
    with pytest.raises(FormatError, match=r'f02\.ds: variable "'):
        opened(paths, at_once=None)
    os.truncate(paths[2], 20)
    with pytest.raises(FormatError, match=r"f02\.ds"):
        opened(paths)
    os.unlink(paths[2])
    with pytest.raises(FileNotFoundError, match=r"f02\.ds"):
        opened(paths)
