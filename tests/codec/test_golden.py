"""Files of the reference programs and files made by hand are read as their `expected.json` say."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.base.text import escape
from ds_format.datasets import as_array, attrs

from .. import golden_ds as golden
from ..same import same_value

GOOD = [(folder, name) for folder in ("v1", "v2", "hand") for name in golden.present(folder)]
TWO_DOT = {"float": "float", "int": "int", "uint": "uint"}


def check(dataset: Any, content: dict[str, Any], name: str) -> None:
    variable = content["variables"][name]
    key = escape(name)
    data = dataset[key]
    assert same_value(golden.as_list(data), golden.value(variable["data"])), name
    meta = dataset["."][key]
    assert same_value(attrs(meta), golden.value(variable["attrs"])), name
    assert meta.get(".dims") == variable["dims"]
    if variable["size"] is None:
        assert data is None
        return
    shape = [] if variable["size"] == 1 else variable["size"]
    assert list(np.shape(data)) == shape
    assert meta[".size"] == shape
    full = variable["type"] + str(variable["dsize"]) if variable["type"] in TWO_DOT else variable["type"]
    assert meta[".type"] == full
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind != "O":
        assert data.dtype == np.dtype(full)
        assert data.dtype.isnative


@pytest.mark.parametrize(("folder", "name"), GOOD)
def test_a_golden_file_reads_as_expected(folder: str, name: str) -> None:
    content = golden.expected(folder, name)
    path = golden.FOLDER / folder / f"{name}.ds"
    dataset = ds.read(path, full=True)
    assert set(dataset) - {"."} == {escape(variable) for variable in content["variables"]}
    assert same_value(attrs(dataset["."]["."]), golden.value(content["dataset_attrs"]))
    for variable in content["variables"]:
        check(dataset, content, variable)


@pytest.mark.parametrize(("folder", "name"), GOOD)
def test_a_golden_file_reads_the_same_in_every_way(folder: str, name: str) -> None:
    path = golden.FOLDER / folder / f"{name}.ds"
    whole = ds.read(path)
    for mmap in (False, True):
        with ds.open(path, mmap=mmap) as file:
            for key, data in whole.items():
                if key == ".":
                    continue
                variable = file[ds.unescape(key)]
                assert same_value(golden.as_list(variable[...]), golden.as_list(data)), key
                blocks = [block.reshape(-1) for block in variable.blocks(64)]
                if blocks:
                    flat = np.ma.concatenate(blocks).tolist()
                    assert same_value(flat, as_array(data).reshape(-1).tolist()), key


@pytest.mark.parametrize(("folder", "name"), GOOD)
def test_a_golden_file_survives_being_written_again(folder: str, name: str, tmp_path: Any) -> None:
    path = golden.FOLDER / folder / f"{name}.ds"
    content = golden.expected(folder, name)
    ds.write(tmp_path / "again.ds", ds.read(path))
    dataset = ds.read(tmp_path / "again.ds")
    for variable in content["variables"]:
        check(dataset, content, variable)
    ds.convert(path, tmp_path / "converted.ds")
    dataset = ds.read(tmp_path / "converted.ds")
    for variable in content["variables"]:
        check(dataset, content, variable)


def test_no_golden_file_is_missing() -> None:
    counts = {folder: len(golden.present(folder)) for folder in ("v1", "v2", "hand", "v1_broken", "v2_broken")}
    assert counts == {"v1": 72, "v2": 50, "hand": 31, "v1_broken": 3, "v2_broken": 5}


@pytest.mark.parametrize("name", ["masked_unicode_then_int", "masked_unicode_then_int8_long"])
def test_shifted_files_of_the_reference_are_read_by_their_true_lengths(name: str) -> None:
    path = golden.FOLDER / "v1_broken" / f"{name}.ds"
    content = golden.expected("v1_broken", name)
    with pytest.warns(UserWarning, match="true lengths"):
        dataset = ds.read(path)
    for variable in content["variables"]:
        check(dataset, content, variable)
    for variable in content["variables"]:
        with pytest.warns(UserWarning, match="true lengths"):
            check(ds.read(path, [variable]), content, variable)


def test_offsets_shifted_by_byte_strings_are_put_right(tmp_path: Any) -> None:
    # What ds-format 5.0.2 writes for object arrays of bytes: .len counts the characters of b'x' and b'yy'.
    header = (
        b'{"a": {".size": [2], ".offset": 0, ".len": 25, ".type": "str", ".missing": false, ".endian": "l"}, '
        b'"b": {".size": [4], ".offset": 25, ".len": 4, ".type": "int8", ".missing": false, ".endian": "b"}}'
    )
    path = tmp_path / "shifted.ds"
    path.write_bytes(
        b"ds-1.0\n" + header + b"\n" + b"\x01" + bytes(7) + b"\x02" + bytes(7) + b"xyy" + bytes([0, 1, 2, 3])
    )
    with pytest.warns(UserWarning, match="true lengths"):
        assert ds.read(path, "b")["b"].tolist() == [0, 1, 2, 3]


def test_masked_bytes_of_the_reference_are_read_as_the_text_they_are_marked_as() -> None:
    content = golden.expected("v1_broken", "masked_bytes_object")
    check(ds.read(golden.FOLDER / "v1_broken" / "masked_bytes_object.ds"), content, "a")


@pytest.mark.parametrize("name", ["bytes_then_int", "bytes_object", "masked_unicode"])
def test_strings_of_2_0_1_are_read_as_they_were_meant(name: str) -> None:
    content = golden.expected("v2_broken", name)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        dataset = ds.read(golden.FOLDER / "v2_broken" / f"{name}.ds")
    for variable in content["variables"]:
        check(dataset, content, variable)


@pytest.mark.filterwarnings("ignore:the masks of a, b may be")
def test_a_mask_of_another_variable_is_refused_where_it_shows() -> None:
    with pytest.raises(ds.FormatError, match=r'two_masked_counts_differ.ds: variable "a": .len'):
        ds.read(golden.FOLDER / "v2_broken" / "two_masked_counts_differ.ds")


def test_a_mask_of_another_variable_is_warned_of_where_it_may_be() -> None:
    with pytest.warns(UserWarning, match="the masks of a, b may be those of other variables"):
        ds.read(golden.FOLDER / "v2_broken" / "two_masked.ds")
