"""The program that reads mutated HDF5 files: some of them here; hundreds of thousands by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ds_format.hdf5 import arrays, header

from .. import fuzz_hdf5 as fuzz
from .damage import Anatomy
from .hostile import base
from .reference import WrongError, parse

ROOT = Path(__file__).parents[2]
COUNT = 1500
FEW = 100


@pytest.mark.slow
def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    """In a process of its own, which may end."""
    words = [sys.executable, "-X", "faulthandler", "tests/fuzz_hdf5.py"]
    words += ["--count", str(COUNT), "--seed", "test", "--store", str(tmp_path), "--seconds", "10"]
    words += ["--library", "0.2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, (done.stdout[-1000:], done.stderr[-1000:])
    counts = {name: int(n) for n, name in (line.split(maxsplit=1) for line in done.stdout.splitlines()[1:-1])}
    assert counts["files"] == COUNT
    # damage is found in some, and in others it is in what does not count
    assert min(counts[name] for name in ("read", "FormatError", "Unusual", "values: FormatError")) > COUNT // 50
    assert counts["compared"] > COUNT // 100
    assert counts["h5py: same values"] > COUNT // 10
    assert fuzz.stored(tmp_path / "test-0")[:4] == b"\x89HDF"


def test_most_checksums_are_right_again() -> None:
    dice = Random(5)
    a = base("few")
    n_wrong = 0
    for _ in range(FEW):
        try:
            parse(fuzz.mutated(dice, a))
        except WrongError as error:
            n_wrong += "checksum" in str(error)
        except Exception:  # noqa: BLE001  something else is wrong with it
            continue
    assert n_wrong < FEW // 4


@pytest.fixture
def whole_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is mutated, and all that is read is compared."""
    monkeypatch.setattr(fuzz, "COMPARED", 1)
    monkeypatch.setattr(fuzz, "mutated", lambda dice, a: a.data)
    monkeypatch.setattr(fuzz, "seeds", lambda: [base("few")])


def test_files_that_are_not_mutated_are_read_alike(whole_files: None) -> None:
    *_, tally = fuzz.run(3, "a")
    unread = "structures that reading does not need: right"
    assert tally == {"files": 3, "read": 3, "compared": 3, unread: 3, "values: read": 3}


def test_a_kernel_of_metadata_that_is_wrong_is_found_out(whole_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    right = header.read_file

    def wrong(*args: Any, **options: Any) -> Any:
        found = right(*args, **options)
        return found._replace(datasets=[each._replace(order=7) for each in found.datasets])

    monkeypatch.setattr(header, "read_file", wrong)
    with pytest.raises(fuzz.FoundError, match="datasets, 0, order: 7 ≠ 0"):
        list(fuzz.run(1, "a"))


def test_a_kernel_of_values_that_is_wrong_is_found_out(whole_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    right = arrays.values

    def wrong(*args: Any, **options: Any) -> Any:
        found, may_be_there = right(*args, **options)
        return found + 1, may_be_there

    monkeypatch.setattr(arrays, "values", wrong)
    with pytest.raises(fuzz.FoundError, match="x: the kernel reads"):
        list(fuzz.run(1, "a"))


def test_other_errors_are_found_out(whole_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **options: Any) -> Any:
        raise OverflowError("too large")

    monkeypatch.setattr(arrays, "place_of", wrong)
    with pytest.raises(fuzz.FoundError, match="file 0: OverflowError: too large"):
        list(fuzz.run(1, "a"))


def test_a_file_that_takes_much_is_found_out(whole_files: None) -> None:
    with pytest.raises(fuzz.FoundError, match=r"file 0 took"):
        list(fuzz.run(1, "a", seconds=0))


def test_what_was_patched_is_as_it_was_but_for_the_patch() -> None:
    a: Anatomy = base("netcdf4")
    assert a.patched((0, a.data[:100])) == a.data
    changed = a.patched((a.find(b"BTHD") + 5, b"\x01"))
    assert 1 < sum(one != other for one, other in zip(a.data, changed, strict=True)) <= 5
