"""Variables of many files as one array: what does not fit together, or was changed since it was opened."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.errors import FormatError, MissingError, ReplacedError, UnsupportedError

from .files_as_one import expected, make, opened, read_all, same, values, write


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
    assert same(values(found, "y"), make(0, 2)["y"])
    assert values(found, "site") == "here"
    assert found.meta["t"]["units"] == "s"
    assert same(values(found, "k"), expected(paths, "k"))


def test_index_coordinates_of_the_first_alone(tmp_path: Path) -> None:
    paths = write(tmp_path, make(0, 2), changed("values"))
    assert same(values(opened(paths, overrides_indexes=True), "y"), make(0, 2)["y"])
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
    assert same(values(found, "x", (range(3), range(4))), expected(paths[:2], "x", 1)[:, :4])


def test_another_host_sees_other_inodes(paths: list[str]) -> None:
    found = opened(paths)
    found.files.host = "elsewhere"
    found.files.stamps[:, 2] += 1
    assert same(values(found, "x"), expected(paths, "x", 1))
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
