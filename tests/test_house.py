"""The structure of the package, as `python -m benchmarks.house` counts it, gets no worse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks import house


@pytest.mark.parametrize(
    ("counted", "most"),
    [
        (house.shared_class_names, 40),
        (house.loads_by_name, 18),
        (lambda: house.knows("fd"), 33),
        (lambda: house.knows("fsdecode"), 39),
    ],
    ids=["class names that two modules define", "modules loaded by name", "modules that know fd", "os.fsdecode"],
)
def test_no_more_than_before(counted: house.Counted, most: int) -> None:
    assert len(counted()) <= most


def test_no_larger_circles() -> None:
    sizes = [len(group) for group in house.circles()]
    assert len(sizes) <= 4 and sum(sizes) <= 82, house.circles()


def test_the_modules_that_the_first_read_loads(tmp_path: Path) -> None:
    house.prepare(tmp_path)
    python, kernels = house.first_read(tmp_path)
    assert len(python) + len(kernels) <= 60 and len(kernels) <= 10


def test_the_files_that_one_read_runs(tmp_path: Path) -> None:
    house.prepare(tmp_path)
    assert len(house.files_that_run(tmp_path, house.WORK["ds.read with sel"])) <= 24


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_how_often_one_read_goes_by_the_path_of_a_netcdf4_file(tmp_path: Path) -> None:
    house.prepare(tmp_path)
    opens, stats = map(int, house.path_calls(tmp_path).split(" + "))
    assert opens <= 4 and stats <= 2, (tmp_path / "calls").read_text()
