"""What is made when it is first asked for: by one thread or many."""

from __future__ import annotations

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ds_format.base.once import once

N_THREADS = 8


class Slow:
    """Makes its list when all threads have asked for it."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(N_THREADS)
        self.made: list[list[int]] = []

    @once
    def items(self) -> list[int]:
        """Some items."""
        self.barrier.wait(60)
        items = [1, 2]
        self.made.append(items)
        return items


def test_all_threads_get_the_same() -> None:
    slow = Slow()
    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(lambda _: slow.items, range(N_THREADS)))
    assert len(slow.made) == N_THREADS
    assert all(items is slow.items for items in found)


def test_it_is_made_again_after_an_error() -> None:
    class Fails:
        fails = True

        @once
        def value(self) -> int:
            if self.fails:
                raise OSError("not yet")
            return 5

    one = Fails()
    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            one.value  # noqa: B018 - a property
    one.fails = False
    assert one.value == 5
    one.fails = True
    assert one.value == copy.copy(one).value == 5


def test_the_class_has_the_property() -> None:
    assert Slow.__dict__["items"] is Slow.items
    assert Slow.items.__doc__ == "Some items."
