"""Results of threads: their order, how many are made ahead, and their errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from ds_format.base import threads


@pytest.fixture(params=[1, 4])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
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
    def work(i: int) -> int:
        if i == 5:
            raise ValueError("five")
        return i

    found: list[int] = []
    with pytest.raises(ValueError, match="five"):
        found.extend(iter(threads.results(work, range(1000), most)))
    assert threading.active_count() < 20
