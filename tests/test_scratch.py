"""Memory for bytes on the way, which calls use again."""

from __future__ import annotations

import itertools
import mmap
import os
import threading
from collections import deque
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.base import scratch
from ds_format.base.scratch import HUGE_PAGE, MAX_SIZE, MIN_SIZE, lent

SIZES = [0, 1, MIN_SIZE - 1, MIN_SIZE, HUGE_PAGE, HUGE_PAGE + 1, MAX_SIZE, MAX_SIZE + 1]


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> deque[Any]:
    found: deque[Any] = deque(maxlen=2)
    monkeypatch.setattr(scratch, "_kept", found)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lacks", [(), ("MADV_HUGEPAGE",), ("MADV_FREE",), ("MAP_ANONYMOUS",)])
def test_all_of_it_can_be_used(
    size: int, lacks: tuple[str, ...], kept: deque[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in lacks:
        monkeypatch.delattr(mmap, name, raising=False)
    for number in (7, 8):
        with lent(size) as buffer:
            buffer[:] = number
            assert buffer.shape == (size,)
            assert buffer.dtype == np.dtype(np.uint8)
            assert (buffer == number).all()
    is_kept = hasattr(mmap, "MAP_ANONYMOUS") and hasattr(mmap, "MADV_FREE") and MIN_SIZE <= size <= MAX_SIZE
    assert len(kept) == is_kept


@pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="memory cannot be given back to the operating system")
def test_it_is_used_again(kept: deque[Any]) -> None:
    with lent(HUGE_PAGE + 1) as first:
        first[:] = 1
        assert not kept
    with lent(MIN_SIZE) as second:
        assert np.shares_memory(first, second)
        with lent(MIN_SIZE) as third, lent(MIN_SIZE) as fourth:
            assert not any(itertools.starmap(np.shares_memory, itertools.combinations([second, third, fourth], 2)))
    assert len(kept) == 2
    with lent(2 * HUGE_PAGE + 1) as large:
        large[:] = 1
    assert sum(each.buffer.size for each in kept) <= 2 * MAX_SIZE


def test_it_is_not_used_again_after_an_error(kept: deque[Any]) -> None:
    """Another thread may have it still."""
    with pytest.raises(KeyboardInterrupt), lent(MIN_SIZE):
        raise KeyboardInterrupt
    assert not kept


@pytest.mark.parametrize("sizes", [*itertools.permutations([MIN_SIZE, HUGE_PAGE, HUGE_PAGE + 1])])
def test_threads_do_not_share_it(sizes: tuple[int, ...]) -> None:
    wrong = []

    def work(number: int) -> None:
        for size in sizes * 5:
            with lent(size) as buffer:
                buffer[:] = number
                if not (buffer == number).all():
                    wrong.append(number)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_its_own(kept: deque[Any]) -> None:
    with lent(MIN_SIZE) as buffer:
        buffer[:] = 1
    child = os.fork()
    if not child:
        os._exit(len(kept))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [2**62, 2**64])
def test_too_much(size: int) -> None:
    with pytest.raises(MemoryError), lent(size):
        pass


STORAGE: dict[str, dict[str, Any]] = {
    "a": {"chunksizes": (1, 300, 400), "zlib": True, "shuffle": True},
    "b": {"chunksizes": (3, 100, 400), "zlib": True, "shuffle": False, "fletcher32": True},
    "c": {"chunksizes": (2, 300, 177), "shuffle": True, "fletcher32": True},
    "d": {"chunksizes": (1, 299, 399), "zlib": True, "endian": "big", "fill_value": 3},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scratch") / "a.nc"
    rng = np.random.default_rng(0)
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("t", 6), ("y", 300), ("x", 400)):
            file.createDimension(name, n)
        for name, storage in STORAGE.items():
            code = ">f4" if "endian" in storage else "<f4"
            file.createVariable(name, code, ("t", "y", "x"), **storage)[:] = rng.integers(0, 500, (6, 300, 400))
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from([*STORAGE]), st.integers(0, 5)), min_size=1, max_size=12), st.integers(0, 255)
)
def test_what_was_read_before_does_not_matter(
    path: Path, kept: deque[Any], reads: list[tuple[str, int]], garbage: int
) -> None:
    with netCDF4.Dataset(path) as file:
        expected = {name: file[name][:] for name in STORAGE}
    for name, t in reads:
        for each in kept:
            each.buffer[:] = garbage
        found = ds.read(path, [name], {"t": t})[name]
        mask = np.ma.getmaskarray(expected[name][t])
        assert mask.any() == (name == "d")
        assert np.array_equal(np.ma.getmaskarray(found), mask)
        assert np.array_equal(found.data, expected[name].data[t])
