"""Files that differ in their headers, straight into one dataset: what reading each and merging them gives."""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.drivers.alike import AlikeFiles
from ds_format.drivers.ds.alike import SMALL
from ds_format.errors import DsError

from ..conftest import ROOT
from ..same import same_dataset
from ..strategies import attributes, texts


def merged(paths: list[Path], variables: Any, dim: str, unpack: bool | None) -> Any:
    return ds.merge([ds.read(path, variables, unpack=unpack) for path in paths], dim, jd=None)


def outcome(work: Any) -> Any:
    """Return what comes of it, or the error with its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except (DsError, OSError) as error:
            return type(error), str(error)


DTYPES = ["f8", ">f4", "i2", ">i4", "u1", "?"]
UNITS = ["K", "hours since 2000-01-01", "days since 2001-01-01", 1, 1.0]
own = st.fixed_dictionaries(
    {},
    optional={
        "units": st.sampled_from(UNITS),
        "calendar": st.sampled_from(["standard", "360_day"]),
        "scale_factor": st.sampled_from([0.5, 2, 2.0, np.float32(2)]),
        "valid_max": st.sampled_from([400, np.int16(7), 0.0, -0.0]),
        "history": texts,
        "list": st.sampled_from([[], [1, 2], [1.0, 2], {"a": [None]}, np.array([1, 2], "i1")]),
        ".netcdf": st.sampled_from([{"packed": True}, {"packed": True, "fill": 1}, {"fill": 1}]),
    },
)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw datasets that have most in common, as the files of an archive do."""
    names = draw(st.lists(st.sampled_from(["x", "y", "text", "site"]), min_size=1, unique=True))
    kinds = {name: draw(st.sampled_from(DTYPES)) for name in names}
    common = {name: draw(own) for name in names}
    datasets = []
    for i in range(draw(st.integers(1, 5))):
        n = draw(st.sampled_from([2, 2, 2, 0, 3]))
        dataset: dict[str, Any] = {}
        meta: dict[str, Any] = {}
        for name in names if draw(st.integers(0, 5)) else names[1:]:
            dims = {"site": [], "y": ["k", "t"]}.get(name, ["t"])
            shape = {"site": (), "y": (3, n)}.get(name, (n,))
            kind = kinds[name] if draw(st.integers(0, 9)) else draw(st.sampled_from(DTYPES))
            data: Any = (np.arange(np.prod(shape, dtype=int)).reshape(shape) + i).astype(kind)
            if name == "text":
                texts_here = [f"ž{i}{k}" for k in range(n)]
                is_text = draw(st.integers(0, 4)) > 0
                data = np.array(texts_here if is_text else [text.encode() for text in texts_here], object)
            if draw(st.integers(0, 4)) == 0:
                data = np.ma.MaskedArray(data, draw(st.lists(st.booleans(), min_size=data.size, max_size=data.size)))
                data = data.reshape(shape)
            dataset[name] = None if draw(st.integers(0, 19)) == 0 else data
            entry = {**common[name], **({} if draw(st.integers(0, 3)) else draw(own))}
            meta[name] = {".dims": dims, **entry, "note": draw(texts)}
        meta["."] = draw(attributes) if draw(st.booleans()) else {"station": f"{i}", "height": i / 2}
        datasets.append({**dataset, ".": meta})
    return datasets


def write_as_older_ones(path: Path) -> None:
    """Give strings a `.len` that is wrong, which makes all offsets doubtful, as files of older writers have it."""
    content = path.read_bytes()
    path.write_bytes(re.sub(rb'(\.len": )\d(\d+, "\.type": "(str|unicode)")', rb"\g<1> \2", content))


@given(rows(), st.sampled_from(["t", "t", "k", "new"]), st.sampled_from([None, ["x", "site"]]), st.data())
def test_as_reading_each_and_merging_them(
    datasets: list[dict[str, Any]], dim: str, variables: Any, data: st.DataObject
) -> None:
    unpack = data.draw(st.sampled_from([None, True, False]))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{i}.ds") for i in range(len(datasets))]
        for path, dataset in zip(paths, datasets, strict=True):
            ds.write(path, dataset)
        if data.draw(st.integers(0, 4)) == 0:
            damaged = data.draw(st.sampled_from(paths))
            content = damaged.read_bytes()
            damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])
        for path in data.draw(st.lists(st.sampled_from(paths), max_size=2)):
            write_as_older_ones(path)
        expected = outcome(lambda: merged(paths, variables, dim, unpack))
        found = outcome(lambda: ds.read_many(paths, variables, dim=dim, unpack=unpack))
        if isinstance(expected, dict) and isinstance(found, dict):
            assert same_dataset(found, expected)
        else:
            assert found == expected


def test_gaps_and_texts_that_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ds_format.drivers.alike.MANY_ARRAYS", 3)
    paths = []
    for i in range(20):
        x = np.ma.MaskedArray([i, i + 0.5], [i % 4 == 3, False]) if i % 4 > 1 else np.array([i, i + 0.5])
        dataset = {
            "t": np.array([i, i + 0.5]),
            "x": x,
            "name": np.array([b"a" * i, b"b"], object),
            "flag": np.array([i % 2 == 0, True]),
            "id": f"station {i}",
        }
        meta = {key: {".dims": ["t"]} for key in ("t", "x", "name", "flag")}
        paths.append(tmp_path / f"{i}.ds")
        ds.write(paths[-1], {**dataset, ".": meta})
    found, each = ds.read_many(paths, dim="t", stack=["id"]), ds.read_many(paths)
    assert found["t"].tolist() == [i + half for i in range(20) for half in (0, 0.5)]
    assert found["x"].tolist() == [each for i in range(20) for each in (None if i % 4 == 3 else i, i + 0.5)]
    for key in ("name", "flag"):
        assert found[key].tolist() == [value for one in each for value in one[key]]
    assert found["id"].tolist() == [f"station {i}" for i in range(20) for _ in range(2)]


def test_values_stand_in_the_order_of_files_of_which_one_was_written_otherwise(tmp_path: Path) -> None:
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"{i}.ds")
        ds.write(paths[-1], {"x": np.arange(3) + 10 * i, "s": np.array([b"ab", b"c", b"%d" % i], object), ".": {}})
    before = paths[1].read_bytes()
    write_as_older_ones(paths[1])
    assert paths[1].read_bytes() != before
    for expected in ([0, 1, 2, 3, 4], [1, 0, 2, 3, 4]):
        found = ds.read_many([paths[i] for i in expected], dim="i")
        assert found["x"].tolist() == [[10 * i + k for k in range(3)] for i in expected]
        assert found["s"].tolist() == [[b"ab", b"c", b"%d" % i] for i in expected]


def test_a_damaged_file_leaves_nothing(tmp_path: Path) -> None:
    """Neither values nor metadata of it are those of a later file."""
    contents = []
    for i in range(4):
        ds.write(tmp_path / "x.ds", {"x": [b"a" * i, b"b"], "y": [i], ".": {"x": {"note": i // 2}}})
        contents.append(bytearray((tmp_path / "x.ds").read_bytes()))
    piece = AlikeFiles(SMALL, "0", contents[0])
    assert piece.add("1", contents[1])
    with pytest.raises(ds.FormatError, match="2: variable"):
        piece.add("2", contents[2][:-12])
    assert piece.meta["x"]["note"] == 0
    assert piece.add("3", contents[3])
    assert piece.meta["x"]["note"] == 1
    assert [piece.read(key).tolist() for key in "xy"] == [[[b"a" * i, b"b"] for i in (0, 1, 3)], [[0], [1], [3]]]


def station(i: int, **attributes: Any) -> dict[str, Any]:
    return {
        "t": np.array([i, i + 0.5]),
        "x": np.array([i, -i], "i2"),
        ".": {
            "t": {".dims": ["t"], "units": "s"},
            "x": {".dims": ["t"], "valid_range": [0, 400], **attributes},
            ".": {"station": f"name {i}", "height": i * 1.5},
        },
    }


def alike(datasets: list[dict[str, Any]], tmp_path: Path, **how: Any) -> tuple[Any, list[bool]]:
    """Return the files of datasets as one, and which of them it took."""
    contents = []
    for i, dataset in enumerate(datasets):
        ds.write(tmp_path / f"{i}.ds", dataset)
        contents.append(bytearray((tmp_path / f"{i}.ds").read_bytes()))
    piece = AlikeFiles(SMALL, "0", contents[0], **how)
    return piece, [piece.add(str(i), data) for i, data in enumerate(contents) if i]


def test_attributes_may_differ(tmp_path: Path) -> None:
    piece, taken = alike([station(0), station(1, note="a"), station(2, note="b", more=[1]), station(3)], tmp_path)
    assert taken == [True] * 3
    assert piece.paths == ["0", "1", "2", "3"]
    assert piece.meta["."] == {"station": "name 3", "height": 4.5}
    assert piece.meta["x"]["note"] == "b"
    assert piece.first["."] == {"station": "name 0", "height": 0.0}
    assert "note" not in piece.first["x"]
    assert piece.read("x").tolist() == [[0, 0], [1, -1], [2, -2], [3, -3]]


@pytest.mark.parametrize(
    ("first", "other", "is_taken"),
    [
        ({"units": "K"}, {"units": "K"}, True),
        ({"units": "K"}, {"units": "C"}, False),
        ({"units": "K"}, {}, False),
        ({}, {"calendar": "standard"}, False),
        ({"scale_factor": 1}, {"scale_factor": 1.0}, False),
        ({"scale_factor": 0.0}, {"scale_factor": -0.0}, False),
        ({"scale_factor": float("nan")}, {"scale_factor": float("nan")}, True),
        ({"units": [1, {"a": True}]}, {"units": [1, {"a": True}]}, True),
        ({"units": [1, {"a": True}]}, {"units": [1, {"a": 1}]}, False),
        ({"units": [1]}, {"units": [1, 1]}, False),
        ({"v": np.int8(1)}, {"v": np.int8(2)}, True),
        ({"v": np.int8(1)}, {"v": np.int16(1)}, False),
    ],
)
def test_what_decides_must_not_differ(first: Any, other: Any, is_taken: bool, tmp_path: Path) -> None:
    assert alike([station(0, **first), station(1, **other)], tmp_path)[1] == [is_taken]


def test_only_the_first_is_taken_of_what_is_not_joined(tmp_path: Path) -> None:
    datasets = [{"t": [i], "s": i, "b": f"{i}", ".": {"t": {".dims": ["t"]}}} for i in range(3)]
    piece, taken = alike(datasets, tmp_path, dim="t")
    assert taken == [True, True]
    assert [piece.read(key).tolist() for key in ("t", "s", "b")] == [[[0], [1], [2]], [0], ["0"]]
    piece, taken = alike(datasets, tmp_path, keys=["s"], dim="t")  # of which none has the dimension
    assert piece.read("s").tolist() == [0, 1, 2]


OLD = sorted((ROOT / "tests" / "golden" / "ds" / "v1_broken").glob("*.ds"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_offsets_of_older_writers_are_corrected_in_each_file(path: Path) -> None:
    found = ds.read_many([path] * 3, dim="new")
    assert same_dataset(found, ds.merge([ds.read(path) for _ in range(3)], "new"))


def test_a_last_member_that_is_no_attributes(tmp_path: Path) -> None:
    entry = '{".dims": ["t"], ".size": [1], ".type": "uint8", ".len": 1'
    whole = f'ds-1.0\n{{"x": {entry}, "a": {{"b": 1, ".": {{}}}}}}}}\n7'.encode()
    piece = AlikeFiles(SMALL, "a", bytearray(whole))
    with pytest.raises(ds.FormatError, match="b: header"):  # a brace is missing
        AlikeFiles(SMALL, "b", bytearray(whole.replace(b"}}}\n", b"}}\n")))
    assert not piece.add("b", bytearray(whole.replace(b"}}}\n", b"}}\n")))
    assert piece.add("c", bytearray(whole.replace(b"{}}}", b'{"c": 1}}}')))
    assert piece.paths == ["a", "c"]


@pytest.mark.parametrize("attribute", ['"a": 1, "a": 2', '".size": 1', '"\\\\b": 1', '"a": 01', '"a": "\udcff"', '"a"'])
def test_unusual_attributes_are_left_to_the_decoder(attribute: str, tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", station(1))
    content = (tmp_path / "a.ds").read_bytes()
    at = content.index(b', ".": ') + len(b', ".": ')
    body = content[content.index(b"\n", at) :]
    (tmp_path / "b.ds").write_bytes(content[:at] + f"{{{attribute}}}}}".encode("utf-8", "surrogateescape") + body)
    paths = [tmp_path / "a.ds", tmp_path / "b.ds"]
    expected = outcome(lambda: merged(paths, None, "t", None))
    found = outcome(lambda: ds.read_many(paths, dim="t"))
    assert same_dataset(found, expected) if isinstance(expected, dict) else found == expected


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    for i in range(4):
        ds.write(tmp_path / f"{i}.ds", station(i, note="bad" if i == 2 else "good"))
    paths = [tmp_path / f"{i}.ds" for i in range(4)]
    paths[2].write_bytes(paths[2].read_bytes()[:-1])
    told: list[tuple[str, str]] = []
    found = ds.readdir(tmp_path, merge="t", warnings=told)
    assert [message.partition(":")[0] for message, _ in told] == [os.fspath(paths[2])]
    assert found["t"].tolist() == [0, 0.5, 1, 1.5, 3, 3.5]
    assert found["x"].tolist() == [0, 0, 1, -1, 3, -3]
    assert found["."]["x"]["note"] == "good"


@pytest.mark.parametrize("kind", ["uint8", "bool", "unicode"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("size", [300, 300_000])  # read in one piece, or in parts
def test_a_promise_is_compared_with_the_file_before_anything_is_allocated(
    kind: str, missing: bool, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {".dims": ["t"], ".size": [10**12], ".type": kind, ".missing": missing, ".len": 9}
    content = b"ds-1.0\n" + json.dumps({"x": entry, ".": {}}).encode() + b"\n"
    (tmp_path / "a.ds").write_bytes(content.ljust(size, b"\0"))

    def refuse(shape: Any, *args: Any) -> Any:
        raise AssertionError(shape)

    for name in ("zeros", "full", "ones", "empty"):
        monkeypatch.setattr(np, name, refuse)
    with pytest.raises(ds.TruncatedError, match=r'a\.ds: variable "x": '):
        ds.read_many([tmp_path / "a.ds"], dim="t")
