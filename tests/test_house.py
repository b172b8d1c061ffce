"""The structure of the package, as `python -m benchmarks.house` counts it, gets no worse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import house


def test_one_class_of_a_name() -> None:
    assert house.shared_class_names() == {}


def test_only_the_face_of_the_package_loads_modules_by_name() -> None:
    assert [where.partition(":")[0] for where in house.loads_by_name()] == ["ds_format"]


def test_descriptors_stay_in_the_body_room() -> None:
    assert house.knows("fd", outside="ds_format.body") == []


def test_body_makes_paths_text() -> None:
    """But errors, which are below it, and the entry point of xarray, which loads nothing before a file is opened."""
    assert house.knows("fsdecode", outside="ds_format.body") == ["ds_format.errors", "ds_format.xarray_.entrypoint"]


def test_no_circle() -> None:
    """The registry of formats loads them, and what it loads does not import the registry."""
    assert house.circles() == []


def test_the_modules_that_the_first_read_loads(tmp_path: Path) -> None:
    house.prepare(tmp_path)
    python, kernels = house.first_read(tmp_path)  # of a file with masks, text and packed numbers
    assert len(python) + len(kernels) <= 43 and len(kernels) <= 13, python
    python, kernels = house.first_read(tmp_path, "plain")
    assert len(python) + len(kernels) <= 41, python


def test_the_first_read_loads_no_slow_modules(tmp_path: Path) -> None:
    """Each takes longer to load than a small file to read. Masked arrays need `numpy.ma`."""
    house.prepare(tmp_path)
    slow = {"dataclasses", "importlib.metadata", "json", "numpy.ma", "numpy.typing"}
    by_numpy = house.loaded(tmp_path, "import numpy").keys()
    for name, needed in (("plain", set()), ("sample", {"numpy.ma"})):
        by_read = house.loaded(tmp_path, house.READ.format(name)).keys()
        assert by_read & slow - by_numpy <= needed


@pytest.mark.parametrize(("work", "most"), [*zip(house.WORK, [24, 37, 43, 57, 25], strict=True)])
def test_the_files_that_run(tmp_path: Path, work: str, most: int) -> None:
    if "engine" in work:
        pytest.importorskip("xarray")
    house.prepare(tmp_path)
    files = house.files_that_run(tmp_path, house.WORK[work])
    assert len(files) <= most, files


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_how_often_one_read_goes_by_the_path_of_a_netcdf4_file(tmp_path: Path) -> None:
    house.prepare(tmp_path)
    opens, stats = map(int, house.path_calls(tmp_path).split(" + "))
    assert opens <= 4 and stats <= 2, (tmp_path / "calls").read_text()
