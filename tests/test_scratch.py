"""Memory that steps of one call use in turn."""

from __future__ import annotations

import itertools
import mmap
import threading

import numpy as np
import pytest

from ds_format.base.scratch import HUGE_PAGE, Scratch

SIZES = [0, 1, 5000, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 3 * HUGE_PAGE]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("has_large_pages", [True, False])
def test_all_of_it_can_be_used(size: int, has_large_pages: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_large_pages:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    with Scratch().lent(size) as buffer:
        buffer[:] = 7
        assert buffer.shape == (size,)
        assert buffer.dtype == np.dtype(np.uint8)


def test_it_is_used_again() -> None:
    scratch = Scratch()
    with scratch.lent(5000) as first:
        where = first.__array_interface__["data"][0]
    with scratch.lent(400) as second:
        assert second.__array_interface__["data"][0] == where
        with scratch.lent(400) as third:
            assert not np.shares_memory(second, third)
    with scratch.lent(3 * HUGE_PAGE) as large:
        assert large.size == 3 * HUGE_PAGE


@pytest.mark.parametrize("sizes", [*itertools.permutations([10, 5000, HUGE_PAGE])])
def test_threads_do_not_share_it(sizes: tuple[int, ...]) -> None:
    scratch, wrong = Scratch(), []

    def work(number: int) -> None:
        for size in sizes * 20:
            with scratch.lent(size) as buffer:
                buffer[:] = number
                if not (buffer == number).all():
                    wrong.append(number)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_too_much() -> None:
    with pytest.raises(MemoryError), Scratch().lent(2**62):
        pass
