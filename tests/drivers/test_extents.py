"""Variables of netCDF-4 that are shorter than their unlimited dimensions, held equal to what h5py finds in the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.drivers import hdf5, netcdf
from ds_format.drivers.library.catalog import joinable
from ds_format.drivers.netcdf import source as netcdf_source
from ds_format.drivers.netcdf.hdf5 import auditing

h5py = pytest.importorskip("h5py")

KINDS: tuple[Any, ...] = ("f4", "i2", ">f8", "u1", str, "S1")
GIVEN_FILLS = {"f4": 7.5, "i2": 7, ">f8": 7.5, "u1": 7, "S1": b"f"}


class Drawn(NamedTuple):
    """A variable: the size that each of its axes has for itself, unless its dimension is not unlimited."""

    dims: tuple[str, ...]
    extent: tuple[int, ...]
    kind: Any
    fill: Any
    """None: the default; False: nothing is filled; True: one that is given."""
    group: str


class Content(NamedTuple):
    """What a file is made of."""

    sizes: dict[str, int | None]
    variables: list[Drawn]


@st.composite
def contents(draw: st.DrawFn) -> Content:
    sizes = {name: draw(st.sampled_from([None, None, 1, 3])) for name in "txs"}
    variables = []
    for _ in range(draw(st.integers(1, 3))):
        dims = tuple(draw(st.lists(st.sampled_from("txs"), min_size=1, max_size=3)))
        variables.append(
            Drawn(
                dims=dims,
                extent=tuple(draw(st.integers(0, 5)) for _ in dims),
                kind=draw(st.sampled_from(KINDS)),
                fill=draw(st.sampled_from([None, None, False, True])),
                group=draw(st.sampled_from(["", "", "g", "g/h"])),
            )
        )
    return Content(sizes, variables)


TWO = Content(
    {"t": None, "x": 3, "s": None},
    [Drawn(("t", "x", "s"), (2, 3, 4), "f4", None, ""), Drawn(("t", "x", "s"), (8, 3, 4), "f4", None, "")],
)
BEHIND = Content(
    {"t": None, "x": 3, "s": 1},
    [Drawn(("x", "t"), (3, 2), "f4", None, ""), Drawn(("x", "t"), (3, 5), str, None, "g")],
)


def name_of(drawn: Drawn, i: int) -> str:
    return f"{drawn.group}/v{i}".removeprefix("/")


def make(path: Path, content: Content) -> dict[str, Any]:
    """Write a file, and return what it holds, without masks."""
    with netCDF4.Dataset(path, "w") as file:
        for name, size in content.sizes.items():
            file.createDimension(name, size)
        for i, drawn in enumerate(content.variables):
            fill = GIVEN_FILLS.get(drawn.kind) if drawn.fill is True else drawn.fill
            variable: Any = cast("Any", file).createVariable(
                name_of(drawn, i),
                drawn.kind,
                drawn.dims,
                fill_value=fill,
                chunksizes=[1] * len(drawn.dims),
                endian="big" if drawn.kind == ">f8" else "native",
            )
            limits = [content.sizes[dim] for dim in drawn.dims]
            shape = [n if limit is None else limit for n, limit in zip(drawn.extent, limits, strict=True)]
            if 0 not in shape:
                variable[tuple(slice(0, n) for n in shape)] = values(shape, drawn.kind)
    with netCDF4.Dataset(path) as file, h5py.File(path) as stored:
        names = {name_of(drawn, i): drawn for i, drawn in enumerate(content.variables)}
        apart = not_joined(content)
        return {name: truth(stored[name], file[name].shape, drawn, name not in apart) for name, drawn in names.items()}


def not_joined(content: Content) -> set[str]:
    """Return the variables of characters that share their last dimension with others, or have it twice."""
    names = [name_of(drawn, i) for i, drawn in enumerate(content.variables)]
    codes = ["S1" if drawn.kind == "S1" else "other" for drawn in content.variables]
    joins = joinable(names, ((drawn.dims, code) for drawn, code in zip(content.variables, codes, strict=True)))
    pairs = zip(names, content.variables, strict=True)
    return {name for name, drawn in pairs if drawn.kind == "S1" and drawn.dims[-1] not in joins}


def values(shape: list[int], kind: Any) -> Any:
    numbers = (np.arange(np.prod(shape)) % 9 + 1).reshape(shape)
    if kind is str:
        return np.array([f"text {n}" for n in numbers.ravel()], dtype=object).reshape(shape)
    return numbers.astype(kind)


def truth(dataset: Any, shape: tuple[int, ...], drawn: Drawn, is_joined: bool) -> Any:
    if drawn.kind is str:
        found = np.full(shape, "", dtype=object)
        found[tuple(slice(0, n) for n in dataset.shape)] = dataset.asstr()[...]
        return found
    given = drawn.fill is True
    fill = GIVEN_FILLS[drawn.kind] if given else netCDF4.default_fillvals[np.dtype(drawn.kind).str[1:]]
    found = np.full(shape, fill, dtype=np.dtype(drawn.kind).newbyteorder("="))
    found[tuple(slice(0, n) for n in dataset.shape)] = dataset[...]
    if drawn.kind != "S1":
        return found
    if not is_joined:
        return found.astype(object)
    joined = np.empty(shape[:-1], dtype=object)
    for index in np.ndindex(*shape[:-1]):
        joined[index] = found[index].tobytes().rstrip(b"\0")
    return joined


@st.composite
def items(draw: st.DrawFn, n: int) -> Any:
    """Draw one item of an index."""
    form = draw(st.sampled_from(["all", "range", "steps", "positions", *(["one"] if n else [])]))
    if form == "all":
        return range(n)
    if form == "one":
        return draw(st.integers(0, n - 1))
    if form == "positions":
        return np.array(draw(st.lists(st.integers(0, n - 1), max_size=4)) if n else [], dtype=np.int64)
    start, stop = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    return range(start, stop, 1 if form == "range" else 2)


def picked(array: Any, index: tuple[Any, ...]) -> Any:
    """Return what an index selects, axis by axis."""
    for axis in reversed(range(len(index))):
        array = array.take(index[axis] if isinstance(index[axis], int) else list(index[axis]), axis=axis)
    return array


def check(source: Any, expected: dict[str, Any], draw: Callable[[Any], Any]) -> None:
    """Compare a whole file, a part of each variable, and blocks."""
    try:
        for name, whole in expected.items():
            assert source.meta[name][".size"] == list(whole.shape)
            same(source.read(name), whole)
            index = draw(st.tuples(*(items(n) for n in whole.shape)))
            same(source.read(name, index), picked(whole, index))
            budget = draw(st.sampled_from([1, 20, 1000]))
            blocks = [np.ma.getdata(block).ravel() for block in source.blocks(name, budget)]
            same(np.concatenate(blocks) if blocks else whole.ravel()[:0], whole.ravel())
    finally:
        source.close()


def same(found: Any, expected: Any) -> None:
    array = np.ma.getdata(found)
    assert np.shape(array) == np.shape(expected)
    assert np.array_equal(array, expected)


@given(content=contents(), data=st.data())
def test_values_are_where_h5py_finds_them(
    content: Content, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("extents") / "x.nc"
    expected = make(path, content)
    check(netcdf.open(path), expected, data.draw)
    check(netcdf_source.NetCDFSource(path), expected, data.draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netcdf_source, "find_extents", lambda path: {})
        check(netcdf_source.NetCDFSource(path), expected, data.draw)
    check(hdf5.open(path), expected, data.draw)


@pytest.mark.parametrize("content", [TWO, BEHIND])
def test_whole_files(tmp_path: Path, content: Content) -> None:
    path = tmp_path / "x.nc"
    expected = make(path, content)
    found = ds.read(path)
    for name, whole in expected.items():
        same(found[name], whole)
    if content is TWO:
        assert np.ma.count(found["v0"]) == 24


@pytest.mark.parametrize("target", ["y.nc", "y.ds", "y.h5"])
def test_hdf5_files_of_this_kind_are_converted(tmp_path: Path, target: str) -> None:
    expected = make(tmp_path / "x.h5", TWO)
    ds.convert(tmp_path / "x.h5", tmp_path / target)
    found = ds.read(tmp_path / target)
    for name, whole in expected.items():
        same(np.ma.filled(found[name], netCDF4.default_fillvals["f4"]), whole)


def test_a_variable_that_is_long_enough_is_read_by_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dims = ("t", "x", "s")
    make(
        tmp_path / "x.nc",
        Content(TWO.sizes, [Drawn(dims, (8, 3, 4), "f4", None, ""), Drawn(("t",), (3,), "i2", None, "")]),
    )
    source: Any = netcdf_source.NetCDFSource(tmp_path / "x.nc")
    calls: list[Any] = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return raw(*args)

    raw = netcdf_source._raw
    monkeypatch.setattr(netcdf_source, "_raw", counted)
    source.read("v0")
    assert len(calls) == 1
    source.close()


def test_a_file_is_audited_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = make(tmp_path / "x.nc", TWO)
    audits: list[Any] = []

    def counted(body: Any) -> Any:
        audits.append(body)
        return auditing.audited(body)

    monkeypatch.setattr(netcdf_source, "audited", counted)
    source = netcdf_source.NetCDFSource(tmp_path / "x.nc")
    for name, whole in expected.items():
        same(source.read(name), whole)
    assert len(audits) == 1
    source.close()


def test_others_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "x.nc", Content(TWO.sizes, [Drawn(("t", "x"), (n, 3), "f4", None, "") for n in (2, 5)]))
    monkeypatch.setattr(netcdf_source, "find_extents", None)
    assert ds.read(tmp_path / "x.nc")["v0"].shape == (5, 3)
