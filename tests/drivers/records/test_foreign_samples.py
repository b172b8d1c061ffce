"""Samples of other programs as variables."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.datadings import messages
from ds_format.datadings.writer import FileWriter, RawWriter
from tests.same import same_data

Masked: Any = np.ma.MaskedArray
GOLDEN = Path(__file__).parents[2] / "golden" / "datadings"


def write(path: Path, values: list[Any]) -> Path:
    with FileWriter(path) as writer:
        for i, value in enumerate(values):
            writer.write({"key": f"k{i}"} if value is ... else {"key": f"k{i}", "v": value})
    return path


HELD = [
    ([1, 2], np.array([1, 2])),
    ([1, 1 << 63], np.array([1, 1 << 63], "u8")),
    ([1, 2.5], np.array([1, 2.5])),
    ([1, None, 3], Masked([1, 0, 3], [0, 1, 0])),
    ([..., 2.5], Masked([0, 2.5], [1, 0])),
    ([None, None], Masked([0.0, 0.0], True)),
    ([True, False], np.array([True, False])),
    (["a", "žluť"], np.array(["a", "žluť"], object)),
    ([b"a\0", b"\xff"], np.array([b"a\0", b"\xff"], object)),
    ([np.float32(0.5), np.float32(1)], np.array([0.5, 1], "f4")),
    ([np.int64(1), 2], np.array([1, 2])),
    ([np.array([1, 2], ">i2"), np.array([3, 4], "i2")], np.array([[1, 2], [3, 4]], "i2")),
    ([np.array(1, "u1"), np.array(2, "u1")], np.array([1, 2], "u1")),
    ([np.zeros((2, 0)), np.zeros((2, 0))], np.zeros((2, 2, 0))),
    ([np.array([1.5]), None], Masked([[1.5], [0]], [[0], [1]])),
    ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
    ([[1, None], [3, 4]], Masked([[1, 0], [3, 4]], [[0, 1], [0, 0]])),
    ([["a", "b"], ["c", "d"]], np.array([["a", "b"], ["c", "d"]], object)),
    ([np.array(["a", "bc"]), np.array(["d", "e"])], np.array([["a", "bc"], ["d", "e"]], object)),
    ([np.array([b"a"]), np.array([b"b"])], np.array([[b"a"], [b"b"]], object)),
]


@pytest.mark.parametrize(("values", "expected"), HELD, ids=range(len(HELD)))
def test_entries_of_one_kind(values: list[Any], expected: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "a.msgpack", values)
    found = ds.read(path)
    assert found["key"].tolist() == [f"k{i}" for i in range(len(values))]
    assert same_data(found["v"], expected)
    ds.convert(path, tmp_path / "b.ds")
    assert same_data(ds.read(tmp_path / "b.ds")["v"], expected)
    ds.convert(tmp_path / "b.ds", tmp_path / "c.msgpack")
    again = ds.read(tmp_path / "c.msgpack")
    assert same_data(again["v"], expected) and again["key"].tolist() == found["key"].tolist()


REFUSED = [
    ([np.zeros(2), np.zeros(3)], r"found the shapes \[2\], \[3\], expected one"),
    ([np.zeros(i) for i in range(9)], r"found the shapes \[0\], \[1\], \[2\], \[3\], ..., expected one"),
    ([1, "a"], "found values of the types int, unicode, expected one type that holds all"),
    ([1, 1 << 63, -1], "found values of the types int, expected one type"),
    ([0.5, (1 << 53) + 1], "found values of the types float64, int, expected one type"),
    ([np.int8(1), np.int16(1)], "found values of the types int8, int16"),
    ([{"a": 1}, 1], "found values of type dict, which a dataset cannot hold"),
    ([1j], "found values of type complex"),
    ([np.zeros(2, "i4,f4")], "found values of type "),
    ([[1, "a"]], "found values of type list"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=range(len(REFUSED)))
def test_entries_that_are_no_variables(values: list[Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.msgpack", values)
    with ds.open(path) as file:
        assert list(file) == ["key", "v"]
        assert file["v"].shape is None
    assert ds.read(path, "key")["key"].tolist() == [f"k{i}" for i in range(len(values))]
    with pytest.raises(ds.UnsupportedError, match=f'a.msgpack: variable "v": {message}'):
        ds.read(path)
    with pytest.raises(ds.UnsupportedError, match='variable "v": '):
        ds.convert(path, tmp_path / "b.ds")
    with pytest.warns(ds.LossWarning, match=f'variable "v": {message}.*; it is left out'):
        ds.convert(path, tmp_path / "b.ds", skip_unsupported=True)
    assert list(ds.read(tmp_path / "b.ds")) == ["key", "."]


def test_samples_that_are_no_maps(tmp_path: Path) -> None:
    with RawWriter(tmp_path / "a.msgpack") as writer:
        writer.write("a", messages.pack({"v": 1}))
        writer.write("b", messages.pack([1]))
    with pytest.raises(ds.FormatError, match=r"a.msgpack: sample 1: found list, expected a map"):
        ds.read(tmp_path / "a.msgpack")


def test_keys_come_from_the_index(tmp_path: Path) -> None:
    with RawWriter(tmp_path / "a.msgpack") as writer:
        writer.write("a", messages.pack({"v": 1, 2: 3}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ds.read(tmp_path / "a.msgpack", ["key", "v"])["key"].tolist() == ["a"]


def test_golden_datasets() -> None:
    found = ds.read(GOLDEN / "13_unicode_keys" / "data.msgpack")
    expected = json.loads((GOLDEN / "13_unicode_keys" / "expected.json").read_text(encoding="utf-8"))
    assert found["key"].tolist() == expected["keys"]
    assert ds.read(GOLDEN / "30_legacy_index" / "data.msgpack", "v")["v"].tolist() == list(range(6))


def test_the_reference_reads_what_is_written(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    python = pytestconfig.getoption("reference_python")
    if python is None:
        pytest.skip("needs --reference-python")
    meta = {"t": {".dims": ["t"]}, "x": {".dims": ["t", "y"]}, "s": {".dims": ["t"]}}
    x = Masked(np.arange(6.0, dtype="f4").reshape(3, 2), [[0, 1], [0, 0], [0, 0]])
    ds.write(tmp_path / "a.msgpack", {"t": [1, 2, 3], "x": x, "s": ["a", None, "c"], ".": meta}, key="t")
    code = (
        "import json, sys, warnings; warnings.simplefilter('error')\n"
        "from datadings.reader import MsgpackReader\n"
        "with MsgpackReader(sys.argv[1]) as reader:\n"
        "    assert reader.verify_data() and '2' in reader and reader.find_index('3') == 2\n"
        "    found = [{k: v.tolist() if hasattr(v, 'tolist') else v for k, v in s.items()} for s in reader]\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [python, "-I", "-c", code, str(tmp_path / "a.msgpack")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'datadings'" in done.stderr:
        pytest.skip("the reference has no datadings")
    assert json.loads(done.stdout) == [
        {"key": "1", "t": 1, "x": [0.0, 0.0], "x.mask": [False, True], "s": "a"},
        {"key": "2", "t": 2, "x": [2.0, 3.0], "x.mask": [False, False], "s": None},
        {"key": "3", "t": 3, "x": [4.0, 5.0], "x.mask": [False, False], "s": "c"},
    ]
