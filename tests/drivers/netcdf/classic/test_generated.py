"""Classic files of all kinds are read as the library reads them: those that it writes, and those that it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.model.missing import DEFAULT_FILLS

from ....classic.files import CODES, NUMBERS, Attribute, File, Variable, encode
from ..both import differences

NAMES = ("x", "time", ".hidden", "\\back", "ž", "日本", "with space", "Ω²", "_1", "a.b-c+d@e")
STREAMING = {1: 2**32 - 1, 2: 2**32 - 1, 5: 2**64 - 1}
TEXTS = (b"", b"K", b"a longer text", b"\xff\xfe", b"ends\0\0", b"in\0side", "ž".encode(), b"true")


def raw(code: str, values: Any) -> bytes:
    return np.asarray(values).astype(np.dtype(code).newbyteorder(">")).tobytes()


@st.composite
def attributes(draw: st.DrawFn, types: list[int], code: str | None = None) -> list[Attribute]:
    found = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)):
        number = draw(st.sampled_from(types))
        if number == 2:
            found.append(Attribute(name.encode(), number, draw(st.sampled_from(TEXTS))))
        else:
            numbers = draw(st.lists(st.integers(0, 100), min_size=0, max_size=4))
            found.append(Attribute(name.encode(), number, raw(CODES[number], numbers)))
    if code is None:
        return found
    given: dict[str, Attribute] = {}
    if code != "S1":
        for name in ("_FillValue", "missing_value"):
            chosen = draw(st.sampled_from(["none", "none", "one", "default", "two", "other type", "text"]))
            number = draw(st.sampled_from([n for n in types if n != 2])) if chosen == "other type" else NUMBERS[code]
            values: Any = {"one": [3], "default": [DEFAULT_FILLS[code]], "two": [2, 3], "other type": [3]}.get(chosen)
            if name == "_FillValue" and chosen in ("two", "text", "other type"):
                continue  # the library refuses to define such a one
            if chosen == "text":
                given[name] = Attribute(name.encode(), 2, b"3")
            elif values is not None:
                given[name] = Attribute(name.encode(), number, raw(CODES[number], values))
        for name, value in {"scale_factor": 0.5, "valid_min": 1.0}.items():
            if draw(st.booleans()):
                given[name] = Attribute(name.encode(), 6, raw("f8", [value]))
    if code == "i1" and draw(st.booleans()):
        given["dtype"] = Attribute(b"dtype", 2, b"bool")
    marker = draw(st.sampled_from([None, None, None, *MARKERS]))
    if marker is not None:
        given["ds_format"] = Attribute(b"ds_format", 2, json.dumps(marker).encode())
    return found + list(given.values())


MARKERS = (
    {"type": "unicode", "missing": "\x1a"},
    {"missing": ""},
    {"empty": True, "dims": ["i"], "type": "none"},
    {"empty": True},
    {"json": ["x", "time"]},
    [1],
)


@st.composite
def files(draw: st.DrawFn) -> File:
    """Draw a file that is not damaged."""
    version = draw(st.sampled_from([1, 2, 5]))
    types = list(CODES) if version == 5 else [1, 2, 3, 4, 5, 6]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(names), max_size=len(names)))
    record = draw(st.integers(-2, len(names) - 1))
    if record >= 0:
        sizes[record] = 0
    n_records = draw(st.integers(0, 4))
    variables = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True)):
        fixed = [i for i, size in enumerate(sizes) if size]
        dims = draw(st.lists(st.sampled_from(fixed), max_size=3)) if fixed else []
        if record >= 0 and draw(st.booleans()):
            dims = [record, *dims]
        number = draw(st.sampled_from(types))
        code = CODES[number]
        shape = [sizes[i] or max(n_records, 1) for i in dims]
        values = _values(rng, code, shape)
        is_record = bool(dims) and dims[0] == record
        data = [raw(code, each) for each in values] if is_record else [raw(code, values)]
        variables.append(Variable(name.encode(), dims, number, data, draw(attributes(types, code))))
    dimensions = [(name.encode(), size) for name, size in zip(names, sizes, strict=True)]
    return File(version, dimensions, draw(attributes(types)), variables, n_records)


def _values(rng: np.random.Generator, code: str, shape: list[int]) -> Any:
    if code == "S1":
        return rng.choice(np.array([b"a", b"b", b"\0", b"\x1a"], "S1"), shape)
    values = rng.integers(0, 2 if rng.random() < 0.5 else 5, shape).astype(code)
    if rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.5, np.array(DEFAULT_FILLS[code], code), values)
    return values


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
