"""The golden files: what is in them, and that all of it comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.api import conversion
from ds_format.drivers.netcdf import NetCDFWarning
from ds_format.errors import UnsupportedError

from ..netcdf_compare import differences
from .files import convert, read_all, same

GOLDEN = Path(__file__).parents[2] / "golden" / "netcdf"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.nc"))

SEVERAL_SENTINELS = ["missing_value"]
REFUSED = ["compound"]
MASKED_BY_RANGE = ["valid_range"]
UNPACKED = ["packed"]
TYPES = {"|S1": "str", "EnumType cloud_t": "uint8"}
OTHER_STRINGS = ["char_array_full", "char_array_nul"]
PLAIN = [name for name in NAMES if name not in (*SEVERAL_SENTINELS, *REFUSED)]


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.expected.json").read_text())
    return found


def content_names(content: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    found = {prefix + name: variable for name, variable in content["variables"].items()}
    for name, group in content.get("groups", {}).items():
        found |= content_names(group, f"{prefix}{name}/")
    return found


def test_no_golden_file_is_lost() -> None:
    assert len(NAMES) == 24


@pytest.mark.parametrize("name", PLAIN)
def test_metadata_are_those_of_the_file(name: str) -> None:
    meta, _ = read_all(GOLDEN / f"{name}.nc")
    content = expected(name)["netcdf_content"]
    assert meta["."].get(".netcdf", {}).get("format", "NETCDF4") == content["model"]
    for attribute, told in content["attributes"].items():
        check_attribute(meta["."][attribute], told)
    variables = content_names(content)
    assert set(meta) - {"."} == set(variables)
    for key, told in variables.items():
        properties = meta[key]
        assert properties[".type"] == (TYPES.get(told["type"]) or np.dtype(told["type"]).name)
        for attribute, value in told["attributes"].items():
            check_attribute(properties[attribute], value)
        assert [key for key in properties if key[0] != "."] == list(told["attributes"])


def check_attribute(value: Any, told: dict[str, Any]) -> None:
    if told["type"] == "str" or told["type"] == "list":
        assert value == told["value"]
    else:
        want = told["value"]
        numbers = float(want["$float"]) if isinstance(want, dict) else want
        assert value.dtype == told["type"]
        np.testing.assert_array_equal(value, np.array(numbers, told["type"]))


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in (*MASKED_BY_RANGE, *UNPACKED, *OTHER_STRINGS)])
def test_values_are_those_of_the_reference(name: str) -> None:
    _, data = read_all(GOLDEN / f"{name}.nc")
    for key, told in expected(name).get("variables", {}).items():
        if key == "nofill" or told["data"] is None:
            # the reference masks what is not missing, and loses what has a size of 0
            continue
        value = np.ma.asarray(data[key])
        flat = told["data"] if isinstance(told["data"], list) else [told["data"]]
        want = np.array([None if item is None else item for item in flatten(flat)], dtype=object)
        mask = np.array([item is None for item in want])
        np.testing.assert_array_equal(np.ma.getmaskarray(value).ravel(), mask)
        assert value.compressed().tolist() == [item for item in want if item is not None]


def flatten(items: list[Any]) -> list[Any]:
    return [leaf for item in items for leaf in (flatten(item) if isinstance(item, list) else [item])]


@pytest.mark.parametrize("budget", [1, 40, 1 << 20])
@pytest.mark.parametrize("name", PLAIN)
def test_all_comes_back(name: str, budget: int, tmp_path: Path) -> None:
    convert(GOLDEN / f"{name}.nc", tmp_path / "back.nc", budget)
    assert differences(GOLDEN / f"{name}.nc", tmp_path / "back.nc") == []


@pytest.mark.parametrize("name", PLAIN)
def test_blocks_are_the_variable(name: str) -> None:
    meta, data = read_all(GOLDEN / f"{name}.nc")
    _, blocks = read_all(GOLDEN / f"{name}.nc", budget=24)
    for key, value in data.items():
        flat = [np.ma.asarray(block).ravel() for block in blocks[key]]
        assert all(block.ndim == len(meta[key][".size"]) for block in blocks[key])
        whole: Any = np.ma.asarray(value, dtype=object if isinstance(value, (str, bytes)) else None).ravel()
        assert same(np.ma.concatenate(flat) if flat else whole, whole)


def test_several_sentinels_are_kept_by_ds_files(tmp_path: Path) -> None:
    conversion.convert(GOLDEN / "missing_value.nc", tmp_path / "a.ds")
    conversion.convert(tmp_path / "a.ds", tmp_path / "back.nc")
    found = differences(GOLDEN / "missing_value.nc", tmp_path / "back.nc")
    assert not [one for one in found if ": fill: " not in one]


def test_compound_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r'compound\.nc: variable "cmp": the compound type "c_t"'):
        read_all(GOLDEN / "compound.nc")


def test_compound_names_the_option_that_leaves_it_out(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="`--skip-unsupported` leaves it out"):
        conversion.convert(GOLDEN / "compound.nc", tmp_path / "x.ds")


def test_compound_can_be_left_out(tmp_path: Path) -> None:
    with pytest.warns(NetCDFWarning) as caught:
        meta, data = read_all(GOLDEN / "compound.nc", skip_unsupported=True)
    assert list(data) == ["ok"]
    assert any('variable "cmp": left out: the compound type "c_t"' in str(warning.message) for warning in caught)
    assert meta["ok"][".dims"] == ["n"]
