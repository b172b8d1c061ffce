"""Threads: which runs they do, the order of results, how many are made ahead, and their errors."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ds_format.base import threads


@pytest.fixture(params=[1, 4])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(threads, "processors", lambda: 8)
    return int(request.param)


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_results_are_in_order(n: int, most: int) -> None:
    def work(i: int) -> int:
        time.sleep(0.001 * (i % 3))
        return i * i

    assert [*threads.results(work, range(n), most)] == [i * i for i in range(n)]


def test_few_results_are_made_ahead(most: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            yield i

    found = threads.results(lambda i: i, items(), most)
    for i in range(60):
        assert next(found) == i
        assert len(taken) - i <= 2 * most + 1
    found.close()  # type: ignore[attr-defined]
    assert len(taken) < 100


def test_an_error_ends_it(most: int) -> None:
    before = threading.active_count()  # other tests leave some of dask

    def work(i: int) -> int:
        if i == 5:
            raise ValueError("five")
        return i

    found: list[int] = []
    with pytest.raises(ValueError, match="five"):
        found.extend(iter(threads.results(work, range(1000), most)))
    assert threading.active_count() < before + 20


def test_the_caller_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 2)
    both, idents = threading.Barrier(2, timeout=60), set()

    def work(first: int, last: int) -> None:
        both.wait()
        idents.add(threading.get_ident())

    threads.each(work, 2, 1)
    assert len(idents) == 2
    assert threading.get_ident() in idents


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (7, 3), (1000, 3)])
def test_each_item_is_worked_on_once(most: int, n: int, step: int) -> None:
    found: list[int] = []
    threads.each(lambda first, last: found.extend(range(first, last)), n, step, most)
    assert sorted(found) == [*range(n)]


def test_the_error_of_the_first_run_is_raised(most: int) -> None:
    before = threading.active_count()  # other tests leave some of dask
    done: list[int] = []

    def work(first: int, last: int) -> None:
        if first in (4, 5):
            time.sleep(0.02 * (5 - first))  # the second one fails first
            raise ValueError(str(first))
        done.append(first)
        time.sleep(0.001)

    with pytest.raises(ValueError, match="4"):
        threads.each(work, 20_000, 1, most)
    assert len(done) < 10_000
    assert threading.active_count() < before + 20


def test_work_is_done_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of an interpreter."""

    def start_new_thread(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "processors", lambda: 4)
    monkeypatch.setattr("_thread.start_new_thread", start_new_thread)
    found: list[int] = []
    threads.each(lambda first, last: found.append(first), 10, 1)
    assert found == [*range(10)]


def test_a_thread_that_begins_late_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[tuple[Any, Any]] = []
    monkeypatch.setattr(threads, "processors", lambda: 4)
    monkeypatch.setattr("_thread.start_new_thread", lambda work, arguments: late.append((work, arguments)))
    done: list[tuple[int, int]] = []
    threads.each(lambda first, last: done.append((first, last)), 10, 3)
    assert done == [(0, 3), (3, 6), (6, 9), (9, 10)] and len(late) == 3
    for work, arguments in late:
        work(*arguments)
    assert len(done) == 4


def test_nothing_works_when_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that hold runs are waited for, after an error and after an interrupt of the caller, too."""
    monkeypatch.setattr(threads, "processors", lambda: 4)
    caller, working = threading.get_ident(), []
    for error in (ValueError, KeyboardInterrupt):
        started = threading.Semaphore(0)

        def work(
            first: int, last: int, error: type[BaseException] = error, started: threading.Semaphore = started
        ) -> None:
            if threading.get_ident() == caller:
                assert started.acquire(timeout=60)
                raise error
            working.append(first)
            started.release()
            time.sleep(0.02)
            working.remove(first)

        with pytest.raises(error):
            threads.each(work, 100, 1)
        assert not working


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the operating system has no affinity")
def test_a_process_of_one_processor_has_no_other_threads() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        idents = set()
        threads.each(lambda first, last: idents.add(threading.get_ident()), 10, 1)
    finally:
        os.sched_setaffinity(0, before)
    assert idents == {threading.get_ident()}


@pytest.mark.parametrize("processors", [1, 2])
def test_calls_are_made_behind_in_their_order(monkeypatch: pytest.MonkeyPatch, processors: int) -> None:
    monkeypatch.setattr(threads, "processors", lambda: processors)
    found: list[int] = []
    idents = set()

    def work(i: int) -> None:
        time.sleep(0.001 * (i % 3))
        idents.add(threading.get_ident())
        found.append(i)

    with threads.Behind(3) as behind:
        for i in range(20):
            behind.call(work, i)
            assert len(found) >= i - 3
    assert found == [*range(20)]
    assert len(idents) == 1 and (threading.get_ident() in idents) == (processors == 1)


@pytest.mark.parametrize("waits", [True, False])
def test_an_error_behind_is_raised(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 2)

    def work(i: int) -> None:
        raise ValueError(str(i))

    def block() -> None:
        with threads.Behind() as behind:
            behind.call(work, 0)
            if waits:
                behind.wait()

    with pytest.raises(ValueError, match="0"):
        block()


def test_nothing_runs_behind_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 2)
    begun, found = threading.Event(), []

    def work(i: int) -> None:
        begun.set()
        time.sleep(0.05)
        found.append(i)

    def block() -> None:
        with threads.Behind(5) as behind:
            for i in range(5):
                behind.call(work, i)
            begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    n = len(found)
    assert 1 <= n < 5
    time.sleep(0.1)
    assert len(found) == n


def test_calls_are_made_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "processors", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start", start)
    found: list[int] = []
    with threads.Behind() as behind:
        for i in range(5):
            behind.call(found.append, i)
    assert found == [*range(5)]
