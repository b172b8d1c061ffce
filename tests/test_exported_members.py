"""The public names: a sorted list, each of which can be loaded, has a docstring, and is in the manual."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ds_format
from ds_format import misc

MANUAL = "".join(path.read_text() for path in (Path(__file__).parents[1] / "docs" / "python").glob("*.md"))


def test_names_are_sorted() -> None:
    assert ds_format.__all__ == sorted(ds_format.__all__)


@pytest.mark.parametrize("name", ds_format.__all__)
def test_each_name_can_be_loaded(name: str) -> None:
    assert getattr(ds_format, name) is getattr(ds_format, name)


def test_what_is_not_listed_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ds_format.nothing  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", ds_format.__all__)
def test_no_module_hides_a_name(name: str) -> None:
    found = importlib.util.find_spec(f"ds_format.{name}")
    assert found is None or getattr(ds_format, name).__name__ == found.name


MODULES = {
    "op": (
        *("ALLOWED_TYPES", "apply", "attr", "attrs", "copy", "dim", "dims", "find", "findall", "get_attrs", "get_dims"),
        *("get_meta", "get_vars", "group_by", "merge", "meta", "rename", "rename_attr", "rename_attr_m", "rename_dim"),
        *("rename_dim_m", "rename_m", "require", "rm", "rm_attr", "select", "size", "split", "time", "time_dt"),
        *("type_", "var", "vars_"),
    ),
    "io": ("index", "read", "readdir", "write"),
    "misc": ("TYPE_TO_DTYPE", "UsageError", "dtype_to_type", "escape", "type_to_dtype", "unescape", "with_mode"),
}
"""Of ds-format 5.0.2, with what scripts import of them."""


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_the_reference(name: str) -> None:
    module = importlib.import_module(f"ds_format.{name}")
    assert getattr(ds_format, name) is module
    assert set(MODULES[name]) <= set(module.__all__)
    for member in MODULES[name]:
        plain = member.removesuffix("_")
        found = getattr(module, member)
        assert getattr(ds_format, plain, found) is found


def test_types_by_their_dtypes() -> None:
    for name, dtype in misc.TYPE_TO_DTYPE.items():
        assert misc.type_to_dtype(name) == dtype
        if dtype.kind != "O":
            assert misc.dtype_to_type(dtype) == name
    assert misc.dtype_to_type(np.dtype("S3")) == "str"
    assert misc.dtype_to_type(np.dtype("U3")) == "unicode"
    assert misc.dtype_to_type(np.dtype("O"), np.array([b"a"], object)) == "str"


def test_the_modules_are_those_of_the_reference(reference_python: str) -> None:
    script = (
        f"import importlib; print([(m, n) for m, names in {MODULES}.items() for n in names"
        " if not hasattr(importlib.import_module('ds_format.' + m), n)])"
    )
    assert subprocess.run([reference_python, "-I", "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_dir_is_the_list_and_what_needs_xarray() -> None:
    with_xarray = {"from_xarray", "open_many", "to_xarray"}
    assert dir(ds_format) == sorted([*ds_format.__all__, *with_xarray, "indent", "mode", "output", "set"])
    script = "import importlib.util as u; f = u.find_spec\n"
    script += "u.find_spec = lambda name, *more: None if name == 'xarray' else f(name, *more)\n"
    script += f"import ds_format; assert {with_xarray}.isdisjoint(dir(ds_format)); assert 'read' in dir(ds_format)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", [name for name in ds_format.__all__ if name != "__version__"])
def test_each_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(ds_format, name))
    assert re.search(rf"[ ~]ds_format\.{name}\n", MANUAL)
