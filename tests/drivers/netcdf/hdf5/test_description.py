"""A netCDF-4 file is described as by the netCDF4 library, or left to it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from ds_format.body.body import open_body
from ds_format.drivers.library.catalog import DescribedFile
from ds_format.drivers.netcdf import calls, source
from ds_format.drivers.netcdf.hdf5.description import outline
from ds_format.errors import FormatError
from ds_format.hdf5 import Unusual, read_file

from ....hdf5.files import MAKERS

NETCDF = [name for name, maker in MAKERS.items() if maker.is_netcdf and maker.reason is None]


def ours(path: Path) -> DescribedFile:
    return outline(read_file(open_body(path), netcdf=True)).file()


def theirs(path: Path) -> DescribedFile:
    file, skipped = calls.open_file(str(path))
    try:
        described = source.describe(file, str(path), skipped, False)
        return described._replace(variables=[*described.variables])
    finally:
        calls.close_file(file)


def exact(value: Any) -> Any:
    """Return something that is equal only for values of the same types, in the same order."""
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(key, exact(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return type(value), value


def without_places(described: DescribedFile) -> Any:
    variables: list[Any] = [*described.variables]
    return exact(described._replace(variables=[variable._replace(place=None) for variable in variables]))


@pytest.mark.parametrize("name", NETCDF)
def test_a_file_is_described_as_by_the_library(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netCDF4 warns of byte orders that are wanted
        MAKERS[name].make(path)
    try:
        found = ours(path)
    except Unusual:
        assert name in ("compound", "filter_szip")  # a type, and a filter, that the package does not know
        return
    assert without_places(found) == without_places(theirs(path))


@contextlib.contextmanager
def scaled(path: Path, **options: Any) -> Iterator[Any]:
    """Make a file with two dimension scales."""
    with h5py.File(path, "w", **options) as file:
        for name, n in (("x", 3), ("y", 3)):
            file.create_dataset(name, data=np.arange(n)).make_scale(name)
        yield file


def attach(variable: Any, *scales: Any) -> None:
    for axis, scale in enumerate(scales):
        variable.dims[axis].attach_scale(scale)


def two_scales(file: Any) -> None:
    variable = file.create_dataset("v", data=np.ones(3))
    attach(variable, file["x"])
    attach(variable, file["y"])


def no_scale(file: Any) -> None:
    attach(file.create_dataset("v", data=np.ones((3, 3))), file["x"])


def other_length(file: Any) -> None:
    attach(file.create_dataset("v", data=np.ones(4)), file["x"])


def two_dimensions(file: Any) -> None:
    file.create_dataset("z", data=np.ones((3, 2))).make_scale("z")


def no_dataspace(file: Any) -> None:
    file.create_dataset("v", data=h5py.Empty("f4"))


def in_another_group(file: Any) -> None:
    inner = file.create_dataset("g/z", data=np.ones(3))
    inner.make_scale("z")
    attach(file.create_dataset("v", data=np.ones(3)), inner)


def hidden_by_another(file: Any) -> None:
    inner = file.create_dataset("g/x", data=np.ones(3))
    inner.make_scale("x")
    attach(file.create_dataset("g/v", data=np.ones(3)), file["x"])


def other_kind(dtype: Any) -> Callable[[Any], None]:
    return lambda file: attach(file.create_dataset("v", shape=(3,), dtype=dtype), file["x"])


def other_filter(file: Any) -> None:
    attach(file.create_dataset("v", data=np.ones(3), compression="lzf"), file["x"])


def attribute(name: str, value: Any) -> Callable[[Any], None]:
    return lambda file: file.attrs.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (two_scales, "does not name all of its dimensions"),
        (no_scale, "does not name all of its dimensions"),
        (other_length, '4 values along "x" of 3'),
        (two_dimensions, "does not name all of its dimensions"),
        (no_dataspace, "has no dataspace"),
        (in_another_group, "a dimension of another group"),
        (hidden_by_another, "a dimension of another group"),
        (other_kind("f2"), 'the variable "v" is of the kind'),
        (other_kind("?"), "an enum type without a name"),
        (other_kind("c8"), "values of the type compound"),
        (other_kind("S5"), 'the variable "v" is of the kind'),
        (other_filter, r"with the filters \[32000\]"),
        (attribute("flag", True), 'the attribute "flag"'),
        (attribute("table", np.ones((2, 2))), 'the attribute "table"'),
        (attribute("half", np.float16(1)), 'the attribute "half"'),
        (attribute("halves", np.ones(2, "f2")), 'the attribute "halves"'),
        (attribute("_ARRAY_DIMENSIONS", "x"), "a reserved name"),
        (attribute("e\u0301", 1), "normalization form C"),
        (attribute("a" * 256, 1), "more than 255 bytes"),
    ],
)
def test_what_the_library_makes_up_or_leaves_out_is_unusual(
    tmp_path: Path, change: Callable[[Any], None], reason: str
) -> None:
    path = tmp_path / "x.nc"
    with scaled(path) as file:
        change(file)
    with pytest.raises(Unusual, match=reason):
        ours(path)


def test_a_scale_without_a_dimension_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with scaled(path) as file:
        file.create_dataset("z", data=1.0).make_scale("z")
    with pytest.raises(FormatError, match="without a dimension"):
        ours(path)


@pytest.mark.parametrize("libver", ["earliest", "v108", "v110", "latest"])
@pytest.mark.parametrize("track_order", [False, True])
@pytest.mark.parametrize("n", [3, 20])
def test_the_order_of_variables_and_attributes(tmp_path: Path, libver: str, track_order: bool, n: int) -> None:
    path = tmp_path / "x.nc"
    with scaled(path, libver=libver, track_order=track_order) as file:
        for i in range(n):
            name = f"n{i * 7 % n}"
            attach(file.create_dataset(name, data=np.ones((3, 3), "i2")), file["y"], file["x"])
            for owner in (file, file["x"], file["n0"]):
                owner.attrs[name] = i
    assert without_places(ours(path)) == without_places(theirs(path))


def test_same_types_are_unusual(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        kinds = [file.createEnumType("i1", name, {"a": 0, "b": 1}) for name in ("one", "two")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file.createVariable("v", kinds[1], ("x",))
    with pytest.raises(Unusual, match="two types are the same"):
        ours(path)
