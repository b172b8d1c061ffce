"""Functions for tests of the HDF5 driver: whole reads and writes by way of Source and Sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from ds_format.drivers import hdf5
from ds_format.drivers.hdf5 import composed_sink

Data = dict[str, Any]
GOLDEN = Path(__file__).parents[2] / "golden" / "hdf5"


def read_all(path: Any, budget: int | None = None, **options: Any) -> tuple[dict[str, dict[str, Any]], Data]:
    """Return metadata and values; by blocks if a budget is given."""
    source = hdf5.open(path, **options)
    try:
        names = [name for name in source.meta if name != "."]
        if budget is None:
            return dict(source.meta), {name: source.read(name) for name in names}
        return dict(source.meta), {name: list(source.blocks(name, budget)) for name in names}
    finally:
        source.close()


def write_all(path: Any, meta: dict[str, dict[str, Any]], data: Data, **options: Any) -> None:
    """Write a dataset, each variable from a list of blocks."""
    sink = hdf5.create(path, meta, **options)
    try:
        for name, blocks in data.items():
            sink.write(name, blocks)
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def var(dims: list[str] | None, size: list[int] | None, type: str | None, **attributes: Any) -> dict[str, Any]:
    """Return the metadata of a variable."""
    properties = {".size": size, ".type": type} | ({} if dims is None else {".dims": dims})
    properties |= {f".{name}": attributes.pop(name) for name in ("missing", "hdf5", "time") if name in attributes}
    return {**properties, **attributes}


@contextmanager
def by_library() -> Iterator[None]:
    """Let h5py write small files, too."""
    with mock.patch.object(composed_sink, "is_small", return_value=False):
        yield
