"""How many requests a ds file takes that is elsewhere, and that its values are those of a local file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.drivers.ds import source as ds_source, whole
from ds_format.drivers.ds.source import DsHandle, DsSource
from ds_format.model.index import normalize
from tests.far import FarBody
from tests.same import same_data
from tests.strategies import arrays

GRID = (40, 100, 360)
"""Numbers of a plane take more than the gap between two ranges that are merged."""


def with_grids() -> dict[str, Any]:
    generator = np.random.default_rng(1)
    mask = generator.random(GRID) < 0.3
    numbers = generator.integers(0, 1000, GRID)
    plane = GRID[:2]
    data: dict[str, Any] = {
        "x": numbers.astype("f8"),
        "big": numbers.astype(">i4"),
        "masked": np.ma.MaskedArray(numbers.astype("f8"), mask),
        "flag": numbers > 500,
        "text": np.array([f"{'ä' * (i % 5)}{i}" for i in range(plane[0] * plane[1])], object).reshape(plane),
        "note": np.ma.MaskedArray(np.array(["a", "", "b"], object), np.array([False, True, False])),
        "small": np.ma.MaskedArray(np.arange(40.0), np.arange(40) % 3 == 0),
    }
    dims = {name: {".dims": ["z", "y", "x"][: np.ndim(value)]} for name, value in data.items()}
    return {**data, ".": {**dims, "note": {".dims": ["n"]}, ".": {"title": "grids"}}}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("far") / "grids.ds"
    ds.write(path, with_grids())
    return path


@pytest.fixture
def far(path: Path) -> Iterator[tuple[FarBody, DsSource]]:
    with opened(path.read_bytes()) as found:
        yield found


@contextmanager
def opened(data: bytes) -> Iterator[tuple[FarBody, DsSource]]:
    """Open a source whose body is far."""
    body = FarBody(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ds_source, "open_body", lambda path: body)
        source = DsSource("far")
    source.meta  # noqa: B018
    yield body, source


def index_of(source: DsSource, name: str, index: Any) -> Any:
    return normalize(index, source.variable(name).size or ())


def test_opening_takes_one_request(far: tuple[FarBody, DsSource]) -> None:
    body, source = far
    assert "title" in source.meta["."]
    assert (body.requests, body.rounds) == (1, 1)


@pytest.mark.parametrize(
    ("name", "index", "n_rounds", "n_requests"),
    [
        ("x", 5, 1, 1),
        ("big", (slice(5, 7), slice(3, 10)), 1, 1),
        ("x", (slice(None), 50), 1, 40),  # rows that are further apart than ranges that are merged
        ("x", ([3, 30], slice(None), slice(0, 9)), 1, 2),
        ("flag", (slice(2, 30), 3), 1, 1),
        ("text", (30, slice(5, 9)), 1, 1),
        ("small", slice(3, 5), 0, 0),
        ("note", 2, 0, 0),
        ("masked", 20, 2, 2),
        ("masked", (slice(0, 40, 13), slice(3, 5)), 2, 5),
    ],
)
def test_a_slab(
    far: tuple[FarBody, DsSource], name: str, index: Any, n_rounds: int, n_requests: int, path: Path
) -> None:
    body, source = far
    body.forget()
    found = source.read(name, index_of(source, name, index))
    assert body.rounds <= n_rounds
    assert body.requests <= n_requests
    with ds.open(path) as file:
        assert same_data(found, file[name][index])
    before = body.fetched
    source.read(name, index_of(source, name, index))
    assert body.fetched == before


def test_the_mask_is_read_once(far: tuple[FarBody, DsSource]) -> None:
    body, source = far
    source.read("masked", index_of(source, "masked", 3))
    body.forget()
    source.read("masked", index_of(source, "masked", 30))
    assert (body.requests, body.rounds) == (1, 1)


def test_whole_variables(far: tuple[FarBody, DsSource], path: Path) -> None:
    body, source = far
    expected = ds.read(path)
    for name in expected:
        if name != ".":
            body.forget()
            assert same_data(source.read(name), expected[name])
            assert body.rounds <= 1
            assert body.fetched <= expected[name].nbytes + 300_000


def test_whole_variables_together(path: Path) -> None:
    body = FarBody(path.read_bytes())
    dataset = whole.read_body(body, None, False, False, None)
    expected = ds.read(path)
    assert all(same_data(dataset[name], expected[name]) for name in expected if name != ".")
    assert body.rounds == 2
    assert body.requests == 1 + -(-(path.stat().st_size - 65536) // (8 << 20))


def test_slabs_together(far: tuple[FarBody, DsSource], path: Path) -> None:
    body, source = far
    body.forget()
    reads = {name: index_of(source, name, 7) for name in ("x", "masked", "flag", "text", "big")}
    source.announce(reads)
    rounds = body.rounds
    assert rounds == 2  # with the mask, and after the mask
    with ds.open(path) as file:
        for name, index in reads.items():
            assert same_data(source.read(name, index), file[name][7])
    assert body.rounds == rounds


def test_a_handle(far: tuple[FarBody, DsSource], path: Path) -> None:
    with closing(DsSource(path)) as source, ds.open(path) as file:
        for name, n_first in {"x": 1, "flag": 1, "masked": 2, "text": 1}.items():
            handle = source.handle(name)
            assert isinstance(handle, DsHandle)
            for i in range(10, 40, 5):
                body = FarBody(path.read_bytes(), 0)
                found = handle._read(body, normalize(i, handle.shape or ()))
                assert same_data(found, file[name][i])
                assert body.rounds <= (n_first if i == 10 else 1)


@pytest.mark.parametrize("length", [0, 1, 15_000, 1 << 40])
def test_a_length_that_is_wrong(path: Path, length: int) -> None:
    """The hint is too small or too large: values are right, and the rest is fetched by at most two more rounds."""
    data = path.read_bytes()
    end = data.index(b"\n", 7)
    header = re.sub(rb'("\.len": )(\d+)', lambda match: b"%s%d" % (match[1], length), data[7:end])
    expected = ds.read(path)
    for name in ("masked", "text", "note", "flag"):
        with opened(data[:7] + header + data[end:]) as (body, source):
            body.forget()
            assert same_data(source.read(name), expected[name])
            assert body.rounds <= (3 if length < 1 << 20 else 1)


READS = st.lists(st.tuples(st.sampled_from("abc"), st.data()), max_size=5)


@settings(deadline=None)
@given(st.data())
def test_any_reads_in_any_order(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """They give what a local file gives, in whatever pieces, and no read waits after an announcement of all."""
    path = tmp_path_factory.mktemp("any") / "a.ds"
    names = "abc"
    dataset = {name: data.draw(arrays()) for name in names}
    ds.write(
        path,
        {**dataset, ".": {name: {".dims": [f"{name}{i}" for i in range(np.ndim(dataset[name]))]} for name in names}},
    )
    with pytest.MonkeyPatch.context() as patch, closing(DsSource(path)) as local:
        patch.setattr(FarBody, "gap", data.draw(st.sampled_from([0, 8, 1 << 18])))
        patch.setattr(FarBody, "batch", data.draw(st.sampled_from([16, 100, 1 << 23])))
        with opened(path.read_bytes()) as (body, far):
            for _ in range(data.draw(st.integers(1, 4))):
                reads = {
                    name: data.draw(indexes(np.shape(dataset[name])))
                    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
                }
                body.batch = data.draw(st.sampled_from([16, 1 << 23]))
                if data.draw(st.booleans()):
                    far.announce(reads)
                    rounds = body.rounds
                    for name, index in reads.items():
                        assert same_data(far.read(name, index), local.read(name, index))
                    assert body.rounds == rounds
                else:
                    for name, index in reads.items():
                        assert same_data(far.read(name, index), local.read(name, index))


@st.composite
def indexes(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw a normalized index, or None."""
    if draw(st.booleans()):
        return None
    items: list[Any] = []
    for n in shape:
        kinds: list[Any] = [st.slices(n)]
        if n:
            kinds += [st.integers(0, n - 1), st.lists(st.integers(0, n - 1), max_size=4)]
        items.append(draw(st.one_of(kinds)))
    return normalize(tuple(items), shape)
