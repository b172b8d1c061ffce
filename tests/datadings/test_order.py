"""Orders: those of the reference, from every place on, of readers and of one another."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ds_format.datadings.base import Samples
from ds_format.datadings.lists import ListReader
from ds_format.datadings.order import Cycler, QuasiShuffler, Range, Repeater, SampleOrder, Shuffler
from ds_format.datadings.reader import MsgpackReader

from .made import GOLDEN, reference, skip_without_reference, values, write_numbers

CASES = json.loads((GOLDEN / "37_shuffle_orders" / "expected.json").read_text())


def numbers(n: int) -> ListReader:
    return ListReader([{"key": f"k{i}", "v": i} for i in range(n)])


@pytest.mark.parametrize("case", CASES["shuffler"], ids=lambda case: f"{case['n']}-{case['seed']}")
def test_shuffler_has_the_golden_orders(case: dict[str, Any]) -> None:
    order = Shuffler(numbers(case["n"]), case["seed"])
    assert [values(order), values(order)] == [case["epoch0"], case["epoch1"]]
    assert [list(order.indices(epoch)) for epoch in (0, 1)] == [case["epoch0"], case["epoch1"]]


@pytest.mark.parametrize("case", CASES["quasi_shuffler"], ids=lambda case: f"{case['n']}-{case['seed']}")
def test_quasi_shuffler_has_the_golden_orders_from_every_place_on(case: dict[str, Any]) -> None:
    n = case["n"]
    order = QuasiShuffler(numbers(n), case["buf_size"], case["chunk_size"], case["seed"])
    assert (order.buf_size, order.seed) == (case["effective_buf_size"], case["effective_seed"])
    assert [values(order), values(order)] == [case["epoch0"], case["epoch1"]]
    assert [list(order.indices(epoch)) for epoch in (0, 1)] == [case["epoch0"], case["epoch1"]]
    for place in range(2 * n):
        order.seek(place)
        epoch, i = divmod(place, n)
        assert values(order) == case[f"epoch{epoch}"][i:]
        assert order.tell() == (epoch + 1) * n
    for start in range(0, n, 3):
        for stop in range(start, n + 1):
            assert values(order.iter(start, stop, epoch=1)) == case["epoch1"][start:stop]


REFERENCE_ORDERS = """
from datadings.reader import ListReader, Shuffler, QuasiShuffler
result = []
for n, seed, buf_size, chunk_size in {settings}:
    reader = ListReader([{{"v": i}} for i in range(n)])
    orders = [Shuffler(reader, seed), QuasiShuffler(reader, buf_size, chunk_size, seed)]
    result.append([[[sample["v"] for sample in order] for epoch in range(3)] for order in orders])
"""


def test_orders_are_those_of_the_reference(reference_python: str, tmp_path: Path) -> None:
    skip_without_reference(reference_python)
    settings: list[tuple[Any, ...]] = [
        (n, seed, buf, chunk) for n in (1, 17, 64, 301) for seed in (None, 5) for buf, chunk in ((9, 4), (40, 7))
    ]
    settings.append((1700, None, 0.01, 16))
    found = []
    for n, seed, buf_size, chunk_size in settings:
        orders = [Shuffler(numbers(n), seed), QuasiShuffler(numbers(n), buf_size, chunk_size, seed)]
        found.append([[values(order) for _ in range(3)] for order in orders])
    assert found == reference(reference_python, REFERENCE_ORDERS.format(settings=settings), tmp_path)


ORDERS: dict[str, Callable[[Samples], SampleOrder]] = {
    "range": lambda reader: Range(reader, 3, -2),
    "shuffler": lambda reader: Shuffler(reader, seed=1),
    "quasi": lambda reader: QuasiShuffler(reader, buf_size=8, chunk_size=4),
    "repeater": lambda reader: Repeater(reader, 3),
    "cycler": Cycler,
    "range of shuffler": lambda reader: Range(Shuffler(reader), 5, 20),
    "range of quasi": lambda reader: Range(QuasiShuffler(reader, 8, 4), 5, 20),
    "shuffler of range": lambda reader: Shuffler(Range(reader, 5, 20)),
    "quasi of range": lambda reader: QuasiShuffler(Range(reader, 5, 30), 8, 4),
    "quasi of shuffler": lambda reader: QuasiShuffler(Shuffler(reader), 8, 4),
    "repeated shuffler": lambda reader: Repeater(Shuffler(reader), 2),
    "cycled quasi": lambda reader: Cycler(QuasiShuffler(reader, 8, 4)),
    "range of range": lambda reader: Range(Range(reader, 5), 0, 7),
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> MsgpackReader:
    return MsgpackReader(write_numbers(tmp_path_factory.mktemp("order") / "data.msgpack", 37))


@pytest.mark.parametrize("name", ORDERS)
def test_all_ways_to_read_an_order_agree(name: str, reader: MsgpackReader) -> None:
    order = ORDERS[name](reader)
    n = len(order)
    for epoch in (0, 1, 2):
        expected = list(order.indices(epoch))
        assert len(expected) == n
        assert values(order.iter(epoch=epoch)) == expected
        order.seek(epoch * n)
        assert values(islice(order, n)) == expected
        order.seek(epoch * n)
        assert [order.get(i)["v"] for i in range(-n, n)] == expected * 2
        assert values(order[2:9]) == values(order.slice(2, 9)) == expected[2:9]
        assert values(order[::-3]) == expected[::-3]
        assert list(order.iter(1, 4, yield_key=True, raw=True)) == [
            (f"k{i}", reader.get(i, raw=True)) for i in expected[1:4]
        ]
        keys = [order.find_key(i) for i in range(n)]
        assert keys == [f"k{i}" for i in expected]
        assert [order.find_index(key) for key in keys] == [keys.index(key) for key in keys]
        assert all(key in order for key in keys)
        assert order.tell() == epoch * n


@pytest.mark.parametrize("name", ORDERS)
def test_a_broken_off_iteration_goes_on_where_it_stopped(name: str, reader: MsgpackReader) -> None:
    whole = ORDERS[name](reader)
    n = len(whole)
    expected = [i for epoch in range(3) for i in whole.indices(epoch)]
    for stop in range(2 * n):
        order = ORDERS[name](reader)
        order.seek(stop // n * n)
        list(islice(order, stop % n))
        order = pickle.loads(pickle.dumps(order))
        assert order.tell() == stop
        assert values(islice(order, n - stop % n)) == expected[stop : (stop // n + 1) * n]


def test_iterators_do_not_disturb_one_another() -> None:
    order = Shuffler(numbers(10))
    one, two = iter(order), iter(order)
    assert [(a["v"], b["v"]) for a, b in zip(one, two, strict=True)] == [(i, i) for i in order.indices(0)]
    assert order.epoch == 1


@given(n=st.integers(0, 60), buf=st.integers(0, 70), chunk=st.integers(1, 20), place=st.integers(0, 150))
def test_quasi_shuffler_gives_each_sample_once(n: int, buf: int, chunk: int, place: int) -> None:
    order = QuasiShuffler(numbers(n), buf, chunk, seed=3)
    assert sorted(order.indices(0)) == list(range(n))
    order.seek(place)
    epoch, i = divmod(place, n) if n else (0, 0)
    assert values(order) == list(order.indices(epoch))[i:]


def test_chunk_size_of_an_iteration_changes_no_order(reader: MsgpackReader) -> None:
    order = QuasiShuffler(reader, buf_size=4, chunk_size=4)
    assert values(order.iter(chunk_size=2, epoch=0)) == values(order.iter(epoch=0))


def test_fractions_of_a_buffer_are_fractions() -> None:
    assert [QuasiShuffler(numbers(1000), buf_size).buf_size for buf_size in (0.01, 0.5, 0.9, 1, 33)] == [
        16,
        512,
        912,
        16,
        48,
    ]


def test_copy_is_passed_on(reader: MsgpackReader) -> None:
    for order in (QuasiShuffler(reader, 8, 4), Range(reader, 2)):
        kinds = {type(message) for message in order.iter(raw=True, copy=False, epoch=0)}
        assert kinds == {memoryview}


@pytest.mark.parametrize(
    ("start", "stop", "expected"), [(0, None, 10), (3, 5, 2), (5, 3, 0), (-3, None, 3), (10, None, 0)]
)
def test_length_of_a_range(start: int, stop: int | None, expected: int) -> None:
    order = Range(numbers(10), start, stop)
    assert len(order) == len(list(order)) == expected


def test_lengths() -> None:
    assert len(Repeater(numbers(10), 3)) == 30
    assert len(Repeater(numbers(10), 0)) == 0
    assert len(Cycler(numbers(10))) == 10
    assert len(Repeater(Range(numbers(10), 4), 2)) == 12


def test_orders_of_nothing_are_empty() -> None:
    for order in (Range, Shuffler, QuasiShuffler, Cycler, lambda reader: Repeater(reader, 2)):
        made = order(numbers(0))
        assert list(made) == list(made) == []
        assert len(made) == made.epoch == 0


def test_cycler_never_ends() -> None:
    order = Cycler(Shuffler(numbers(3)))
    assert values(islice(order, 7)) == [i for epoch in range(3) for i in order.indices(epoch)][:7]
    assert order.tell() == 7


def test_keys_outside_of_a_range_are_missing() -> None:
    order = Range(numbers(10), 2, 5)
    assert "k2" in order
    assert "k5" not in order
    with pytest.raises(KeyError, match="k5"):
        order.find_index("k5")
    with pytest.raises(IndexError):
        order.get(3)


def test_mistakes_are_errors() -> None:
    with pytest.raises(IndexError, match="-1"):
        Shuffler(numbers(3)).seek(-1)
    for buf_size, chunk_size in ((-1, 16), (4, 0)):
        with pytest.raises(ValueError, match="expected 0 or more"):
            QuasiShuffler(numbers(3), buf_size, chunk_size)
    with pytest.raises(ValueError, match="expected 0 or more"):
        Repeater(numbers(3), -1)


def test_leaving_an_order_closes_the_reader(tmp_path: Path) -> None:
    with Shuffler(MsgpackReader(write_numbers(tmp_path / "x.msgpack", 3))) as order:
        assert len(list(order.rawiter())) == 3
    assert isinstance(order.reader, MsgpackReader)
    assert order.reader._opened is None
    assert len(list(copy.copy(order))) == 3
