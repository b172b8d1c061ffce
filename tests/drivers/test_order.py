"""Variables, dimensions and attributes keep the order of the dataset, whatever decides how a variable is defined."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.base.text import escape
from ds_format.codec.encode import describe
from ds_format.datasets import arrays_of

netCDF4 = pytest.importorskip("netCDF4", reason="needs netCDF4")
pytest.importorskip("h5py", reason="needs h5py")

N = np.arange(3)
TEXT = np.array(["a", "bb", "čaj"], object)
OCTETS = np.array([b"a", b"bb", b""], object)
ENUM = {"enum": {"name": "colour", "type": "i1", "members": {"red": 0, "blue": 1, "grey": 2}}}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{f"numbers {code}": (N.astype(code), {}) for code in ("i1", "u1", "i2", "i4", "f4", "f8")},
    **{f"masked {code}": (np.ma.masked_equal(N.astype(code), 1), {}) for code in ("i1", "i2", "i4", "f4", "f8", "?")},
    "filled": (np.ma.masked_equal(N.astype("i2"), 1), {"_FillValue": np.int16(9)}),
    "booleans": (N == 1, {}),
    "text": (TEXT, {}),
    "masked text": (np.ma.MaskedArray(TEXT, N == 1), {}),
    "octets": (OCTETS, {}),
    "masked octets": (np.ma.MaskedArray(OCTETS, N == 1), {}),
    "characters": (OCTETS, {".netcdf": {"char": {"dim": "letters", "size": 2}}}),
    "enumeration": (N.astype("i1"), {".netcdf": ENUM}),
    "masked enumeration": (np.ma.masked_equal(N.astype("i1"), 1), {".netcdf": ENUM}),
    "scalar": (np.float64(1.5), {}),
    "scalar text": ("text", {}),
    "scalar octets": (b"octets", {}),
    "a missing scalar": (np.ma.MaskedArray(np.int16(3), True), {}),
    "no data": (None, {}),
    "nothing": (np.zeros((0, 2)), {}),
    "no text": (np.array([], object), {}),
}
CLASSIC: tuple[str, ...] = (
    "numbers i1",
    "numbers i2",
    "numbers i4",
    "numbers f4",
    "numbers f8",
    "masked i1",
    "masked i2",
    "masked i4",
)
CLASSIC += ("masked f8", "filled", "text", "masked text", "octets", "characters", "scalar", "scalar text", "no data")
FORMATS: dict[str, dict[str, Any]] = {
    "4.nc": {"format": "NETCDF4"},
    "4c.nc": {"format": "NETCDF4_CLASSIC"},
    "3.nc": {"format": "NETCDF3_CLASSIC"},
    "64.nc": {"format": "NETCDF3_64BIT_OFFSET"},
    "5.nc": {"format": "NETCDF3_64BIT_DATA"},
    "a.h5": {},
    "a.ds": {},
    "a.json": {},
}


@st.composite
def datasets(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(KINDS)) -> dict[str, Any]:
    """Return a dataset of variables in any order, each with attributes in any order."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=8, unique=True))
    letters = draw(st.lists(st.sampled_from("qazmx"), min_size=len(chosen), max_size=len(chosen)))
    meta: dict[str, Any] = {}
    dataset: dict[str, Any] = {}
    for i, (kind, letter) in enumerate(zip(chosen, letters, strict=True)):
        array, own = KINDS[kind]
        n = np.shape(array) if array is not None else ()
        dims = [draw(st.sampled_from(["time", "lat"]))] if n == (3,) else [f"{letter}_{i}_{k}" for k in range(len(n))]
        names = draw(st.permutations(["units", "b", "a", *(name for name in own if name[0] != ".")]))
        meta[f"{letter}{i}"] = {".dims": dims, **{name: own.get(name, f"{name} of it") for name in names}}
        meta[f"{letter}{i}"].update({name: value for name, value in own.items() if name[0] == "."})
        dataset[f"{letter}{i}"] = array
    meta["."] = {name: name for name in draw(st.permutations(["title", "b", "a"]))}
    return {**dataset, ".": meta}


def order_of(dataset: dict[str, Any]) -> tuple[Any, ...]:
    """Return names of variables, of their attributes, and of those of the dataset."""
    meta = dataset["."]
    names = [name for name in dataset if name != "."]
    own = {name: [each for each in meta[name] if each[0] != "." and (each != "_FillValue")] for name in names}
    return names, own, [each for each in meta["."] if each[0] != "."]


def check(expected: dict[str, Any], path: Path) -> None:
    found = ds.read(path)
    assert order_of(found) == order_of(expected)
    if path.suffix != ".nc":
        return
    for name in expected:
        own = [each for each in found["."][name] if each[0] != "."]
        if "_FillValue" in expected["."][name]:
            assert own == [each for each in expected["."][name] if each[0] != "."]
    dims = dict.fromkeys(dim for name in expected if name != "." for dim in expected["."][name][".dims"])
    with netCDF4.Dataset(path) as file:
        assert [*file.variables] == [name for name in expected if name != "."]
        assert [dim for dim in file.dimensions if dim in dims] == [*dims]


@pytest.mark.parametrize("suffix", FORMATS)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_the_order_is_that_of_the_dataset(suffix: str, data: st.DataObject) -> None:
    kinds = CLASSIC if suffix in ("4c.nc", "3.nc", "64.nc") else tuple(KINDS)
    if suffix == "5.nc":
        kinds = tuple(kind for kind in kinds if "enumeration" not in kind and kind not in ("nothing", "no text"))
    dataset = data.draw(datasets(kinds))
    with tempfile.TemporaryDirectory() as folder:
        path, plain, back = Path(folder, suffix), Path(folder, "plain.ds"), Path(folder, "back.ds")
        ds.write(path, dataset, **FORMATS[suffix])
        check(dataset, path)
        ds.write(plain, dataset)
        ds.convert(plain, path, **FORMATS[suffix])
        check(dataset, path)
        ds.convert(path, back)
        check(dataset, back)
        if suffix.endswith(".nc"):
            in_blocks(dataset, path, **FORMATS[suffix])
            check(dataset, path)


def in_blocks(dataset: dict[str, Any], path: Path, **options: Any) -> None:
    """Write variables value by value, as a conversion does with large ones."""
    from ds_format.drivers.netcdf.opening import create  # noqa: PLC0415

    arrays, meta = arrays_of(dataset)
    target = create(path, describe(arrays, meta), **options)
    for name, array in arrays.items():
        if array is not None:
            whole = np.ma.asanyarray(array) if np.ma.isMaskedArray(array) else np.asarray(array)
            target.write(escape(name), [whole[i : i + 1] for i in range(len(whole))] if whole.ndim == 1 else [whole])
    target.commit()


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_variables_that_are_written_in_another_order(format: str, tmp_path: Path) -> None:
    from ds_format.drivers.netcdf.opening import create  # noqa: PLC0415

    kinds = {"a": "octets", "b": "numbers i4", "c": "masked i1", "d": "text"}
    dataset = {name: KINDS[kind][0] for name, kind in kinds.items()}
    arrays, meta = arrays_of({**dataset, ".": {name: {".dims": ["x"]} for name in dataset}})
    target = create(tmp_path / "a.nc", describe(arrays, meta), format=format)
    for name in "dcba":
        target.write(name, [arrays[name]])
    target.commit()
    found = ds.read(tmp_path / "a.nc")
    assert [found[name].tolist() for name in "abcd"] == [np.ma.asanyarray(dataset[name]).tolist() for name in "abcd"]
