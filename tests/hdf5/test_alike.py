"""Whether two files say the same, wherever their objects are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from ds_format.body.body import open_body
from ds_format.hdf5 import HDF5Dataset, read_file
from ds_format.kernels.hdf5.segments import are_alike

Datasets = list[HDF5Dataset]


@pytest.fixture
def datasets(tmp_path: Path) -> Datasets:
    """Two dimensions, a coordinate of two dimensions, and variables of both dimensions."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("x", 3)
        file.createDimension("y", 4)
        for name, dims in (("x", ("x",)), ("y", ("y", "x")), ("u", ("y", "x")), ("v", ("x", "y")), ("w", ("x",))):
            variable = file.createVariable(name, "f4", dims, zlib=name == "v")
            variable.units = "m"
            variable[...] = np.ones(variable.shape)
    return read_file(open_body(tmp_path / "a.nc"), netcdf=True, share=True).datasets


def moved(datasets: Datasets, by: int) -> Datasets:
    """Return datasets as they are in a file in which all addresses are other ones."""
    found = []
    for each in datasets:
        hidden = dict(each.hidden)
        if "DIMENSION_LIST" in hidden:
            hidden["DIMENSION_LIST"] = tuple(tuple(at + by for at in axis) for axis in hidden["DIMENSION_LIST"])
        address = each.layout.address
        layout = each.layout._replace(address=None if address is None else address + by)
        found.append(each._replace(address=each.address + by, order=each.order + 1, layout=layout, hidden=hidden))
    return found


def changed(datasets: Datasets, i: int, **fields: Any) -> Datasets:
    return [*datasets[:i], datasets[i]._replace(**fields), *datasets[i + 1 :]]


@pytest.mark.parametrize("by", [0, 8, 2**40])
def test_addresses_may_differ(datasets: Datasets, by: int) -> None:
    assert are_alike(moved(datasets, by), datasets)
    assert are_alike(datasets, moved(datasets, by))
    assert are_alike([], [])


@pytest.mark.parametrize("by", [0, 8])
def test_everything_else_may_not(datasets: Datasets, by: int) -> None:
    same = moved(datasets, by)
    assert not are_alike(same[:-1], datasets)
    assert not are_alike(same, datasets[:-1])
    assert not are_alike([same[1], same[0], *same[2:]], datasets)
    for i, each in enumerate(same):
        others: dict[str, Any] = {
            "name": "z",
            "type": each.type._replace(code=">f4"),
            "shape": (9, 9),
            "max_shape": (-1,),
            "filters": (*each.filters, 3),
            "fill": None if each.fill is not None else bytes(4),
            "is_fill_written": not each.is_fill_written,
            "strings": ["units"],
            "attributes": {**each.attributes},  # equal ones may have other types
        }
        for name, value in others.items():
            assert not are_alike(changed(same, i, **{name: value}), datasets), name
        places: dict[str, Any] = {
            "kind": "compact", "address": None, "size": 1, "chunk": (9,), "index": "fixed", "parameters": (1,),
            "flags": 1,
        }  # fmt: skip
        for name, value in places.items():
            if getattr(each.layout, name) != value:
                assert not are_alike(changed(same, i, layout=each.layout._replace(**{name: value})), datasets), name


@pytest.mark.parametrize("by", [0, 8])
def test_dimensions_are_those_of_the_same_datasets(datasets: Datasets, by: int) -> None:
    same = moved(datasets, by)
    numbers = {each.name: i for i, each in enumerate(same)}
    at, lists = numbers["u"], same[numbers["u"]].hidden["DIMENSION_LIST"]
    assert len(lists) == 2
    hidden = same[at].hidden
    x, y = lists[1][0], lists[0][0]
    for axes in (lists[::-1], ((y,), (y,)), ((y,),), ((y, x), (x,)), ((), (x,)), ((y,), (x + 1,)), [*lists], None):
        assert not are_alike(changed(same, at, hidden={**hidden, "DIMENSION_LIST": axes}), datasets), axes
        assert not are_alike(datasets, changed(same, at, hidden={**hidden, "DIMENSION_LIST": axes})), axes
    assert not are_alike(changed(same, at, hidden={**hidden, "CLASS": "DIMENSION_SCALE"}), datasets)
    assert not are_alike(changed(same, at, hidden={}), datasets)
    scale = numbers["x"]
    other = {**same[scale].hidden, "_Netcdf4Dimid": 7}
    assert not are_alike(changed(same, scale, hidden=other), datasets)
    with pytest.raises(TypeError):
        are_alike(None, datasets)  # type: ignore[arg-type]
