"""The structure of the package, as `python -m benchmarks.house` counts it, gets no worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import house


@pytest.mark.parametrize(
    ("counted", "most"),
    [
        (house.shared_class_names, 40),
        (house.loads_by_name, 18),
        (lambda: [name for name in house.knows("fd") if not name.startswith("ds_format.body")], 0),
        (lambda: house.knows("fsdecode"), 3),
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
