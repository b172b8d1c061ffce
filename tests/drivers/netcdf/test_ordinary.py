"""Ordinary datasets are written in one step, to the same bytes as step by step; all others are left to that way."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from benchmarks.stations import ORDINARY, station
from ds_format.api.files import prepared
from ds_format.codec.encode import describe
from ds_format.drivers.netcdf import ordinary
from ds_format.drivers.netcdf.creating import create
from ds_format.drivers.netcdf.format import MAX_NAME_SIZE, POSSIBLE
from ds_format.drivers.netcdf.ordinary import COMPOSED, _describer, _shapeless
from ds_format.errors import UnsupportedError
from ds_format.kernels.netcdf.describe import NotOrdinary

from ...conftest import cases
from ...strategies import usual_datasets

NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


def step_by_step(data: Any, path: Path, **options: Any) -> bytes:
    """Return the bytes of a file by a Sink, which must not warn."""
    arrays, meta = prepared(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sink = create(path, describe(arrays, meta), **options)
        try:
            for key, array in arrays.items():
                sink.write(key, [] if array is None or array.size == 0 else [array])
            sink.commit()
        except BaseException:
            sink.abort()
            raise
    return path.read_bytes()


def at_once(data: Any, **options: Any) -> bytes | None:
    return ordinary.dumps(*prepared(data), **options)


def one(array: Any, dims: Any = None, **entry: Any) -> dict[str, Any]:
    found = {"x": array, ".": {"x": entry}}
    if dims is not None:
        entry[".dims"] = dims
    return found


CLASSIC = sorted(COMPOSED - {"NETCDF4"})
GAPS = np.ma.MaskedArray([1.0, 2, 3], [True, False, False])
DEFLATED = {"compression": "zlib", "level": 1, "shuffle": True, "fletcher32": True}
TAKEN: dict[str, Any] = {
    **{f"a station {i}": station(i, ORDINARY) for i in range(8)},
    **{code: one(np.arange(3).astype(code)) for code in NUMBERS},
    "booleans": one(np.array([True, False])),
    "a scalar": one(np.float32(2)),
    "gaps without a fill value": one(GAPS, ["t"], units="K"),
    "gaps and a fill value": one(GAPS, ["t"], units="K", _FillValue=np.float64(-9)),
    "a fill value without gaps": one(np.arange(3, dtype="i2"), ["t"], _FillValue=np.int16(-9)),
    "text": one(np.array(["a", "ž", ""], object)),
    "bytes": one(np.array([b"a", b"xyz", b""], object)),
    "empty bytes": one(np.array([b"", b""], object)),
    "a text": one("žluť"),
    "a byte string": one(b"abc", cf_role="timeseries_id"),
    "attributes": one(
        np.arange(2.0),
        text="ž",
        empty="",
        i=-7,
        f=0.5,
        b=np.int8(3),
        list=[1, 2],
        floats=[0.5, 1e300],
        u=np.uint64(2**64 - 1),
    ),
    "attributes in the type of the variable": one(
        np.arange(2, dtype="i2"), valid_range=[0, 3], valid_min=1, flag_values=[1]
    ),
    "deflated": one(np.arange(600, dtype="f4").reshape(20, 30), ["t", "y"], **{".netcdf": DEFLATED}),
    "chunks": one(np.arange(60).reshape(20, 3), ["t", "y"], **{".netcdf": {"chunks": [7, 2], "endian": "big"}}),
    "unlimited": {
        "t": np.arange(3.0),
        "x": np.arange(6.0).reshape(3, 2),
        "s": np.array(["a", "b", "c"], object),
        ".": {
            "t": {".dims": ["t"]},
            "x": {".dims": ["t", "y"]},
            "s": {".dims": ["t"]},
            ".": {".netcdf": {"unlimited": ["t"]}},
        },
    },
    "a variable with the name of a dimension": {
        "y": np.arange(2),
        "x": np.zeros((3, 2)),
        ".": {"y": {".dims": ["z"]}, "x": {".dims": ["y", "z"]}},
    },
}
LEFT: dict[str, Any] = {
    "no data": {"x": None, ".": {"x": {}}},
    "no values": one(np.zeros(0)),
    "a group": {"g/x": np.zeros(2), ".": {}},
    "a name": {"ž": np.zeros(2), ".": {}},
    "missing text": one(np.ma.MaskedArray(np.array(["a", "b"], object), [True, False])),
    "missing booleans": one(np.ma.MaskedArray([True, False], [True, False])),
    "missing small numbers": one(np.ma.MaskedArray(np.arange(2, dtype="i2"), [True, False])),
    "a fill value that is present": one(np.arange(3.0), _FillValue=np.float64(1)),
    "a fill value of another type": one(np.arange(3.0), _FillValue=-1),
    "NaN as the fill value": one(GAPS, _FillValue=np.float64("nan")),
    "a missing value": one(np.arange(3.0), missing_value=np.float64(-1)),
    "a NUL": one(np.array(["a\0b"], object)),
    "an encoding": one(np.array(["a"], object), _Encoding="latin-1"),
    "JSON": one(np.zeros(2), deep={"a": 1}),
    "a boolean attribute": one(np.zeros(2), flag=True),
    "a reserved attribute": one(np.zeros(2), NAME="x"),
    "float16": one(np.zeros(2, "f2")),
    "a time": one(np.zeros(2), **{".time": True}),
    "a type": one(np.zeros(2), **{".netcdf": {"enum": {"name": "e", "type": "int8", "members": {"a": 0}}}}),
    "another compression": one(np.zeros(5), **{".netcdf": {"compression": "zstd"}}),
    "the classic model": {"x": np.zeros(2, "i4"), ".": {".": {".netcdf": {"format": "NETCDF4_CLASSIC"}}}},
    "a large attribute": one(np.zeros(2), long="x" * 65536),
    "a large file": one(np.zeros(2**17 + 1)),
    "a dimension named as that of text": {
        "x": np.array([b"abc"], object),
        "string3": np.zeros(2),
        ".": {},
    },
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_same_bytes(name: str, tmp_path: Path) -> None:
    expected = step_by_step(TAKEN[name], tmp_path / "a.nc")
    assert at_once(TAKEN[name]) == expected
    ds.write(tmp_path / "b.nc", TAKEN[name])
    assert (tmp_path / "b.nc").read_bytes() == ds.dumps(TAKEN[name], format="netcdf") == expected


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name: str) -> None:
    assert at_once(LEFT[name]) is None


def test_options() -> None:
    data = one(np.zeros(2))
    assert at_once(data, format="NETCDF4") == at_once(data)
    assert at_once(data, format="NETCDF4_CLASSIC") is at_once(data, chunks={"x_1": 1}) is None
    recorded = {**data, ".": {**data["."], ".": {".netcdf": {"format": "NETCDF3_CLASSIC"}}}}
    assert at_once(recorded) == at_once(data, format="NETCDF3_CLASSIC") != at_once(recorded, format="NETCDF4")


@pytest.mark.parametrize("order", [(True, 1), (1, True)])
def test_settings_that_are_equal_and_of_another_type(order: tuple[Any, Any], tmp_path: Path) -> None:
    """They are remembered; the numbers 1 and 0 are no settings of `shuffle`."""
    _shapeless.cache_clear()
    for shuffle in order:
        data = one(np.arange(9.0), **{".netcdf": {"compression": "zlib", "shuffle": shuffle}})
        assert at_once(data) == step_by_step(data, tmp_path / "a.nc")


def test_names_are_those_of_the_general_way() -> None:
    describer = _describer("NETCDF4")
    parts = [*map(chr, range(256)), "ab", "a b", "b ", "_x", "x" * 253, "x" * 254, "x" * 255, ""]
    for name in {first + second for first in parts for second in parts}:
        possible = name.isascii() and len(name) <= MAX_NAME_SIZE and POSSIBLE.fullmatch(name) is not None
        try:
            found = name in describer.attributes({name: "a"}, None)
        except NotOrdinary:
            found = False
        assert found == possible, name


COMPRESSED = {"compression": "zlib", "level": 1, "shuffle": True}


@cases("name", TAKEN)
def test_compression_of_small_variables(name: str, tmp_path: Path) -> None:
    found = at_once(TAKEN[name], **COMPRESSED)
    assert found == step_by_step(TAKEN[name], tmp_path / "a.nc", **COMPRESSED) or (found, name) == (None, "deflated")


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zlib", "level": 10},
        {"compression": "zlib", "shuffle": 3},
        {"level": 1},
        {"compression": "zstd"},
        {"compression": "zlib", "format": "NETCDF3_CLASSIC"},
        {"compression": "zlib", "digits": 3},
    ],
    ids=str,
)
def test_other_compression(options: dict[str, Any]) -> None:
    assert at_once(one(np.zeros(2)), **options) is at_once(one(np.zeros(2000)), **COMPRESSED) is None


@pytest.mark.parametrize("format", CLASSIC)
@cases("name", [*TAKEN, *LEFT])
def test_classic_files(name: str, format: str, tmp_path: Path) -> None:
    data = TAKEN.get(name) or LEFT[name]
    found = at_once(data, format=format)
    try:
        expected = step_by_step(data, tmp_path / "a.nc", format=format)
    except (UnsupportedError, Warning):
        assert found is None
        return
    assert found == expected or (found is None and name in LEFT)


@pytest.mark.parametrize(
    "data",
    [
        one(np.array([1.0, 9.969209968386869e36], "f4")),
        one(np.zeros((2, 3)), ["t", "y"]),
        one(np.arange(3)),
    ],
    ids=["the default fill value", "a second unlimited dimension", "a type"],
)
def test_what_classic_files_leave(data: dict[str, Any]) -> None:
    """A value that readers of classic files take for missing, and what they cannot hold."""
    unlimited = {".": {**data["."], ".": {".netcdf": {"unlimited": ["y"] if "y" in str(data["."]) else []}}}}
    assert at_once({**data, **unlimited}) is not None
    assert at_once({**data, **unlimited}, format="NETCDF3_CLASSIC") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(usual_datasets(), st.sampled_from(sorted(COMPOSED)))
def test_random_datasets(tmp_path: Path, data: dict[str, Any], format: str) -> None:
    found = at_once(data, format=format)
    if found is None:
        return
    assert found == step_by_step(data, tmp_path / "a.nc", format=format)


def test_many_random_datasets_are_ordinary(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    for i in range(150):
        data = random_dataset(random)
        found = at_once(data)
        assert found is not None and found == step_by_step(data, tmp_path / f"{i}.nc")
        data["."]["."][".netcdf"]["unlimited"] = []
        found = at_once(data, format="NETCDF3_64BIT_DATA")
        assert found is not None
        assert found == step_by_step(data, tmp_path / f"{i}.nc", format="NETCDF3_64BIT_DATA")


def random_dataset(random: Any) -> dict[str, Any]:
    """Return an ordinary dataset of random content."""
    sizes = {dim: int(random.integers(1, 30)) for dim in ("t", "y", "z")}
    data: dict[str, Any] = {}
    meta: dict[str, Any] = {".": {"n": int(random.integers(1000)), ".netcdf": {"unlimited": []}}}
    for i in range(int(random.integers(1, 8))):
        dims = [str(dim) for dim in random.choice([*sizes], random.integers(0, 4), replace=False)]
        shape = [sizes[dim] for dim in dims]
        name = str(random.choice(["t", "y", "v"])) + (str(i) if random.random() < 0.8 else "")
        kind = str(random.choice([*NUMBERS, "gaps", "bool", "bytes", "text"]))
        values = random.integers(0, 100, shape)
        entry: dict[str, Any] = {".dims": dims, "units": str(random.choice(["K", "m", "žl"]))}
        if kind == "gaps":
            array: Any = np.ma.MaskedArray(values.astype("f4"), random.random(shape) < 0.3)
            entry["_FillValue"] = np.float32(-1)
        elif kind in ("bytes", "text"):
            texts = np.array([f"{value:x}" for value in values.ravel().tolist()] + [""], object)[:-1]
            array = np.array([text.encode() for text in texts] + [b""], object)[:-1] if kind == "bytes" else texts
            array = array.reshape(shape)
        else:
            array = values.astype(kind)
        if kind in NUMBERS and dims and random.random() < 0.4:
            entry[".netcdf"] = {
                "compression": "zlib",
                "level": int(random.integers(1, 9)),
                "shuffle": bool(random.integers(2)),
            }
        data[name], meta[name] = array, entry
    used = [dim for name in data for dim in meta[name][".dims"]]
    meta["."][".netcdf"]["unlimited"] = [dim for dim in sizes if dim in used and random.random() < 0.3]
    return {**data, ".": meta}
