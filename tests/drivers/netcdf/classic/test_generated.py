"""Classic files of all kinds are read as the library reads them: those that it writes, and those that it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds

from ....classic.files import Attribute, File, Variable, encode
from ..both import differences
from .generated import files, raw

STREAMING = {1: 2**32 - 1, 2: 2**32 - 1, 5: 2**64 - 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files(), st.integers(0, 1000))
def test_a_file_made_by_hand(tmp_path_factory: pytest.TempPathFactory, file: File, seed: int) -> None:
    path = tmp_path_factory.mktemp("files") / "a.nc"
    path.write_bytes(encode(file))
    assert differences(path, seed) == []
    path.unlink()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files(), st.integers(0, 1000))
def test_a_file_that_was_streamed(tmp_path_factory: pytest.TempPathFactory, file: File, seed: int) -> None:
    # the library takes the number for one of records
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.nc").write_bytes(encode(file))
    is_record = [bool(v.dims) and not file.dimensions[v.dims[0]][1] for v in file.variables]
    (folder / "b.nc").write_bytes(encode(file._replace(n_records=STREAMING[file.version] if any(is_record) else 0)))
    if file.n_records and any(is_record):
        assert differences(folder / "b.nc", seed, folder / "a.nc") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files(), st.integers(1, 40), st.integers(0, 1000))
def test_a_file_that_was_cut(tmp_path_factory: pytest.TempPathFactory, file: File, cut: int, seed: int) -> None:
    path = tmp_path_factory.mktemp("files") / "a.nc"
    whole = encode(file)
    header = len(encode(file._replace(variables=[v._replace(data=()) for v in file.variables])))
    path.write_bytes(whole[: max(len(whole) - cut, header)])
    assert differences(path, seed) == []


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_a_file_of_the_library(format: str, tmp_path: Path) -> None:
    codes = ["i1", "i2", "i4", "f4", "f8", "S1"]
    codes += ["u1", "u2", "u4", "i8", "u8"] if format == "NETCDF3_64BIT_DATA" else []
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=cast("Any", format)) as file:
        file.createDimension("t", None)
        file.createDimension("n", 3)
        file.setncatts({"title": "ž", "empty": "", "numbers": np.arange(3, dtype="i2"), "one": np.float32(0.5)})
        for i, code in enumerate(codes):
            for dims in ((), ("n",), ("t",), ("t", "n")):
                variable = file.createVariable(f"{code}_{len(dims)}_{dims[:1]}", code, dims)
                variable.setncatts({"units": "m"})
                if i % 2 and dims:
                    variable[0:2] = np.full((2, 3)[: len(dims)], b"a" if code == "S1" else 7)
    assert differences(tmp_path / "a.nc") == []


@pytest.mark.parametrize("n_records", [None, 2])
def test_variables_in_another_order_than_their_offsets(n_records: int | None, tmp_path: Path) -> None:
    data = [raw("f4", [i, i + 1]) for i in range(2)] if n_records is None else [raw("f4", [1, 2]), raw("f4", [3, 4])]
    dims = [1] if n_records is None else [0, 1]
    file = File(1, [(b"t", 0), (b"n", 2)], [], [Variable(name, dims, 5, data[:1]) for name in (b"a", b"b", b"c")])
    whole = encode(file)
    first = len(whole) - 24
    swapped = [v._replace(begin=first + at) for v, at in zip(file.variables, (8, 16, 0), strict=True)]
    (tmp_path / "a.nc").write_bytes(encode(file._replace(variables=swapped)))
    values = ds.read(tmp_path / "a.nc")
    assert len({values[key].tobytes() for key in "abc"}) == 1
    with (tmp_path / "a.nc").open("r+b") as written:
        written.seek(first)
        written.write(raw("f4", range(6)))
    found = {key: ds.read(tmp_path / "a.nc")[key].ravel().tolist() for key in "abc"}
    assert found == {"a": [2, 3], "b": [4, 5], "c": [0, 1]}


def test_a_scalar_that_was_cut_tells_nothing(tmp_path: Path) -> None:
    sentinels = Attribute(b"missing_value", 5, b"@\0\0\0@@\0\0")
    path = tmp_path / "a.nc"
    path.write_bytes(encode(File(1, [], [], [Variable(b"a", [], 5, [b"@@\0\0"], [sentinels])]))[:-1])
    assert differences(path) == []
