"""The public names: a sorted list, each of which can be loaded, has a docstring, and is in the manual."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import pytest

import ds_format

MANUAL = Path(__file__).parents[1] / "docs" / "api.md"


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
    assert importlib.util.find_spec(f"ds_format.{name}") is None


def test_dir_is_the_list() -> None:
    assert dir(ds_format) == sorted([*ds_format.__all__, "mode"])


@pytest.mark.parametrize("name", [name for name in ds_format.__all__ if name != "__version__"])
def test_each_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(ds_format, name))
    assert f" ds_format.{name}\n" in MANUAL.read_text()
