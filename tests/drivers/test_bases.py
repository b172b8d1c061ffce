"""What sources and sinks of all formats have from their common base."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import DsError, FormatError, MissingError, UnsupportedError
from ds_format.drivers import FORMATS, load, open_source
from ds_format.drivers.base import Metadata, Sink, block_slices
from ds_format.drivers.source import HeldSource, ReopenedSource, finished
from ds_format.model.index import take

VALUES = np.ma.masked_equal(np.arange(12, dtype="i4").reshape(3, 4), 5)
META: Metadata = {
    "x": {".dims": ["t", "i"], ".size": [3, 4], ".type": "int32", ".missing": True},
    "scalar": {".dims": [], ".size": [], ".type": "float64", ".missing": False},
    "none": {".dims": [], ".size": None, ".type": None, ".missing": False},
    "refused": {".dims": [], ".size": None, ".type": None, ".missing": False},
    ".": {},
}


class PartSource(ReopenedSource):
    """A source with the one method that each has to have."""

    def __init__(self) -> None:
        self.path, self.meta = "a.part", META
        self.faults = {"refused": UnsupportedError("no such type", path="a.part", variable="refused")}
        self.parts: list[Any] = []

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        if name == "none":
            return None
        array = VALUES if name == "x" else np.array(1.5)
        part = array if index is None else take(array, index)
        self.parts.append(part.shape)
        if part.size == 1 and part.ndim and np.ma.is_masked(part):
            raise FormatError("a damaged value")
        return finished(part)

    def close(self) -> None:
        pass


def test_a_source_reads_parts_and_makes_blocks_of_them() -> None:
    source = PartSource()
    assert source.read("none") is None and [*source.blocks("none")] == []
    assert source.read("scalar") == 1.5 and isinstance(source.read("scalar"), np.float64)
    assert [(block.shape, block.item()) for block in source.blocks("scalar")] == [((), 1.5)]
    assert type(source.read("x", (range(2), 0))) is np.ndarray  # none of these is missing
    assert np.ma.is_masked(source.read("x", (1, 1)))
    source.parts.clear()
    blocks = [*source.blocks("x", 16)]
    assert source.parts == [block.shape for block in blocks] == [(1, 4)] * 3
    assert [type(block) for block in blocks] == [np.ndarray, np.ma.MaskedArray, np.ndarray]
    assert np.ma.concatenate(blocks).tolist() == VALUES.tolist()


@pytest.mark.parametrize("read", [lambda source, name: source.read(name), lambda source, name: [*source.blocks(name)]])
def test_a_source_refuses_variables(read: Any) -> None:
    for name in ("y", "."):
        with pytest.raises(MissingError, match=rf'^a\.part: variable "{name}": variable not found$'):
            read(PartSource(), name)
    with pytest.raises(UnsupportedError, match=r'^a\.part: variable "refused": no such type$'):
        read(PartSource(), "refused")


def test_errors_of_a_source_name_path_and_variable() -> None:
    source, message = PartSource(), r'^a\.part: variable "x": a damaged value$'
    with pytest.raises(FormatError, match=message):
        source.read("x", (range(1, 2), range(1, 2)))
    blocks = source.blocks("x", 4)
    assert [next(blocks).item() for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(FormatError, match=message):
        next(blocks)


def test_a_closed_source_in_memory_has_no_variables() -> None:
    source = HeldSource("a.part")
    source.arrays["x"], source.meta["x"] = VALUES, META["x"]
    part = source.read("x", (range(2), range(4)))
    part[0, 0] = 100
    assert source.read("x", (0, 0)) == 0
    source.close()
    with pytest.raises(MissingError, match=r"^a\.part: variable"):
        source.read("x")


NAMES = ["none", "b", "nothing", "a", "no text"]
"""Names of variables, of which two have values, in an order that is not that of the alphabet."""
ORDERED = {"binpickle": "bpk", "ds": "ds", "hdf5": "h5", "json": "json", "netcdf": "nc", "zarr": "zarr"}


def described() -> Metadata:
    entries: dict[str, tuple[Any, str | None]] = {
        "none": (None, None),
        "b": ([3], "int32"),
        "nothing": ([0, 2], "int16"),
        "a": ([3], "float64"),
        "no text": ([0], "unicode"),
    }
    meta: Metadata = {
        name: {".dims": [f"{name} {n}" for n in size or ()], ".size": size, ".type": type_name, ".missing": False}
        for name, (size, type_name) in entries.items()
    }
    return {**meta, ".": {}}


@pytest.fixture(params=ORDERED)
def sink(request: Any, tmp_path: Path) -> Iterator[Sink]:
    if request.param in ("hdf5", "netcdf", "zarr"):
        pytest.importorskip({"hdf5": "h5py", "netcdf": "netCDF4"}.get(request.param, "zarr"))
    create = load(FORMATS[request.param]).create
    assert create is not None
    made = create(tmp_path / f"a.{ORDERED[request.param]}", described())
    yield made
    made.abort()


def order(sink: Any) -> list[str]:
    source = open_source(sink.path)
    try:
        return [name for name in source.meta if name != "."]
    finally:
        source.close()


B, A = np.arange(3, dtype="i4"), np.arange(3.0)


def test_variables_that_are_left_out_keep_their_order(sink: Sink) -> None:
    sink.write("b", [B])
    sink.write("a", [A])
    sink.commit()
    assert order(sink) == NAMES


def test_a_variable_without_values_may_be_written_later(sink: Sink) -> None:
    sink.write("b", [B])
    sink.write("none", [])
    with pytest.raises(DsError, match='variable "none": written for the second time'):
        sink.write("none", [])
    sink.write("a", [A])
    with pytest.raises(DsError, match=r'variable "nothing": found more values than \.size \[0, 2\] says'):
        sink.write("nothing", [B])


def test_a_variable_with_values_must_be_written(sink: Sink) -> None:
    sink.write("b", [B])
    with pytest.raises(DsError, match=r'variable "a": found 0 values, expected 3 as \.size \[3\] says'):
        sink.commit()


def test_blocks_are_those_of_block_slices(sink: Sink) -> None:
    sink.write("b", [B[:1], B[1:]])
    sink.write("a", [A])
    sink.commit()
    source = open_source(sink.path)  # type: ignore[attr-defined]
    assert [len(block) for block in source.blocks("a", 8)] == [s.stop - s.start for (s,) in block_slices([3], 8, 8)]
    source.close()
    assert ds.read(sink.path, ["b"])["b"].tolist() == [0, 1, 2]  # type: ignore[attr-defined]
