"""Names: what is refused, with the variable, is what the library would refuse or change."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ds_format.drivers.netcdf import format
from ds_format.errors import UnsupportedError

from .files import read_all, var, write_all

ODD = ["", ".", "..", " a", "a ", "a\n", "-a", "a/b", "a\x7f", "é", "e\u0301", "a" * 255, "a" * 257, "ž" * 129, "\x85"]


def is_possible(name: str, check: Any, *arguments: str) -> bool:
    try:
        check(name, *arguments)
    except UnsupportedError:
        return False
    return True


def is_held_by_the_library(folder: str, kind: str, name: str) -> bool:
    """Return whether the library takes the name of a variable or attribute, and tells it as it was given."""
    try:
        with netCDF4.Dataset(f"{folder}/a.nc", "w") as file:
            if kind == "variable":
                file.createVariable(name, "i1")
            else:
                file.setncattr(name, 1)
    except (RuntimeError, AttributeError, ValueError):
        return False
    with netCDF4.Dataset(f"{folder}/a.nc") as file:
        return name in (file.variables if kind == "variable" else file.ncattrs())


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6))
def test_any_name_is_taken_or_refused_as_by_the_library(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if "/" not in name and name not in ("", ".", ".."):
            assert is_possible(name, format.check_path) == is_held_by_the_library(folder, "variable", name)
            assert is_possible(name, format.check_attribute, "NETCDF4") == is_held_by_the_library(folder, "", name)


for odd in ODD:
    test_any_name_is_taken_or_refused_as_by_the_library = example(odd)(
        test_any_name_is_taken_or_refused_as_by_the_library
    )


@pytest.mark.parametrize("name", sorted(format.RESERVED))
def test_reserved_names_of_attributes(name: str, tmp_path: Path) -> None:
    data = {"x": np.int8(1)}
    for meta in ({"x": var([], [], "int8", **{name: 1}), ".": {}}, {"x": var([], [], "int8"), ".": {name: 1}}):
        with pytest.raises(UnsupportedError, match=f'attribute "{name}": the name is not possible .*reserved'):
            write_all(tmp_path / "a.nc", meta, data)
        write_all(tmp_path / "a.nc", meta, data, format="NETCDF3_CLASSIC")
        (tmp_path / "a.nc").unlink()


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"a\n": var([], [], "int8")}, r'variable "a\\n": the name "a\\n" is not possible'),
        ({"x": var(["a "], [2], "int8")}, 'variable "x": the name "a " is not possible'),
        ({"x": var(["e\u0301"], [2], "int8")}, 'variable "x": the name "e\u0301" .* accents'),
        ({"x": var(["d"], [2], "int8", **{"a/b": 1})}, 'variable "x": attribute "a/b": the name is not possible'),
        ({"x": var([], [], "int8"), "x/y": var([], [], "int8")}, 'variable "x": the name "x" is that of a group'),
        ({"x": var([], [], "int8"), ".": {"/a": 1}}, 'attribute "/a": there is no group ""'),
        ({"y": var(["g"], [2], "int8"), "g/y": var([], [], "int8")}, 'variable "y": the name "g" is that of a group'),
    ],
    ids=range(7),
)
def test_the_variable_is_named(meta: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=message):
        write_all(tmp_path / "a.nc", meta, {})
    assert not list(tmp_path.iterdir())


def test_names_that_look_odd_come_back(tmp_path: Path) -> None:
    meta = {name: var([name], [1], "int8", **{name: 1}) for name in ("é", "a b", "a-b", "0", "_x", "😀", "a\x85")}
    write_all(tmp_path / "a.nc", meta, {name: np.zeros(1, "i1") for name in meta})
    found, _ = read_all(tmp_path / "a.nc")
    assert [key for key in found if key != "."] == list(meta)
    assert all(found[name][name] == 1 for name in meta)
