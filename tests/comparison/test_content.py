"""Hashes of the content of datasets: as defined in docs/format.md, and the same for a file and its conversion."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds
from ds_format.base.progress import Advance
from ds_format.comparison import content
from ds_format.comparison.datasets import MemorySource
from ds_format.datasets import as_array
from ds_format.errors import MissingError, UnsupportedError
from ds_format.testing import examples
from ds_format.testing.examples import pieces
from tests import golden_ds as golden

from ..formats import DATASETS, FOR_OTHERS, SUFFIX
from ..holdings import HOLDINGS
from ..strategies import datasets, usual_datasets
from . import content_oracle as oracle

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "sample.nc"
GOLDEN = ROOT / "tests" / "golden"
DS_FILES = sorted(path for name in ("v1", "v2", "hand", "checksums") for path in (GOLDEN / "ds" / name).glob("*.ds"))
EXAMPLES = examples()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def normal(d: dict[str, Any]) -> dict[str, Any]:
    """Return data as arrays, which the oracle takes."""
    return {key: one if key == "." else as_array(one) for key, one in d.items()}


@given(st.one_of(usual_datasets(), datasets()))
def test_the_definition(d: dict[str, Any]) -> None:
    expected = oracle.digest(d)
    assert ds.digest(d) == expected
    with tempfile.TemporaryDirectory() as folder:
        ds.write(f"{folder}/a.ds", d)
        read = ds.read(f"{folder}/a.ds")
        assert ds.digest(f"{folder}/a.ds") == ds.digest(read) == oracle.digest(normal(read)) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_definition_of_each_kind(name: str) -> None:
    assert ds.digest(EXAMPLES[name]) == oracle.digest(normal(EXAMPLES[name]))


def test_the_definition_of_leaves() -> None:
    rng = np.random.default_rng(0)
    n = 4194304 // 8
    values = np.ma.MaskedArray(rng.random(2 * n + 3), False)
    values[n : n + 5] = np.ma.masked
    texts = np.array([f"{i}" for i in range(65538)], object)
    flags = np.ma.MaskedArray(rng.random(4194304 + 9) < 0.5, False)
    flags[-1] = np.ma.masked
    d = {"x": values, "t": texts, "f": flags, ".": {".": {}}}
    assert ds.digest(d) == oracle.digest(d)
    ds.write("a.ds", d)
    assert ds.digest("a.ds") == oracle.digest(d)


SHAPED = [suffix for suffix in DATASETS if suffix not in (".zarr",) or importlib.util.find_spec("zarr")]
PACKED = [suffix for suffix in SHAPED if suffix not in FOR_OTHERS]
"""Of formats that keep packed numbers."""
FORMAT_OF = {suffix: name for name, suffix in SUFFIX.items()}


def chain(path: Path, suffixes: list[str]) -> None:
    """Assert that a file, what is read from it, and its conversions without a loss have one hash."""
    expected = ds.digest(path)
    assert ds.digest(ds.read(path, unpack=False)) == expected
    assert ds.digest(path, unpack=None) == ds.digest(ds.read(path))
    for i, suffix in enumerate(suffixes):
        target = Path(f"{path.stem}-{i}{suffix}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                ds.convert(path, target)
            except (ds.DsError, ImportError):
                return  # the format cannot hold it
        if caught:
            return
        assert ds.digest(target) == ds.digest(ds.read(target, unpack=False)) == expected, target
        path = target


@settings(deadline=None)
@given(st.one_of(usual_datasets(), datasets()), st.lists(st.sampled_from(PACKED), min_size=1, max_size=3))
def test_conversions_of_random_datasets(d: dict[str, Any], suffixes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            ds.write("start.ds", d)
            chain(Path("start.ds"), suffixes)
        finally:
            os.chdir(before)


@pytest.mark.parametrize("suffix", [*SHAPED, ".nc3"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_files_of_each_kind(name: str, suffix: str) -> None:
    """Each part of an example that a format keeps has the hash that it has in memory."""
    if suffix == ".h5":
        pytest.importorskip("h5py")
    options: Any = {"format": "NETCDF3_64BIT_DATA"} if suffix == ".nc3" else {}
    n = 0
    for i, part in enumerate(pieces(EXAMPLES[name], HOLDINGS[FORMAT_OF.get(suffix, "netcdf")])):
        path = f"{i}{suffix}"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                ds.write(path, part, **options)
            except ds.DsError:
                continue
        if not caught:
            n += 1
            assert ds.digest(part) == ds.digest(path) == ds.digest(ds.read(path, unpack=False))
    assert n or suffix in (".nc", ".nc3", ".zarr")


@pytest.mark.parametrize("path", [SAMPLE, *sorted((GOLDEN / "netcdf").glob("*.nc"))], ids=lambda path: path.name)
@pytest.mark.filterwarnings("ignore")
def test_golden_netcdf_files(path: Path) -> None:
    ds.convert(path, "a.ds", skip_unsupported=True)
    ds.convert("a.ds", "b.nc")
    expected = ds.digest(path, skip_unsupported=True)
    assert ds.digest("a.ds") == expected
    assert ds.digest("b.nc") == expected
    assert oracle.digest(normal(ds.read("a.ds", unpack=False))) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore")
def test_random_netcdf_files(seed: int) -> None:
    files = pytest.importorskip("tests.one_answer.files", reason="needs xarray and netCDF4")
    files.write(Path("a.nc"), Random(seed))
    ds.convert("a.nc", "a.ds", skip_unsupported=True)
    expected = ds.digest("a.nc", skip_unsupported=True)
    assert ds.digest("a.ds") == oracle.digest(normal(ds.read("a.ds", unpack=False))) == expected
    for target in ("b.nc", "b.json"):
        ds.convert("a.ds", target)
        assert ds.digest(target) == expected


@pytest.mark.parametrize("path", sorted((GOLDEN / "hdf5").glob("*.h5")), ids=lambda path: path.name)
@pytest.mark.filterwarnings("ignore")
def test_golden_hdf5_files(path: Path) -> None:
    ds.convert(path, "a.ds", skip_unsupported=True)
    assert ds.digest("a.ds") == ds.digest(path, skip_unsupported=True)


@pytest.mark.parametrize("path", DS_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.filterwarnings("ignore")
def test_golden_ds_files(path: Path) -> None:
    expected = oracle.digest(normal(ds.read(path)))
    assert ds.digest(path) == expected
    ds.convert(path, "a.ds")
    assert ds.digest("a.ds") == expected


class Divided:
    """A source whose blocks have random sizes."""

    def __init__(self, source: Any, random: Random):
        self.source, self.random, self.meta, self.faults = source, random, source.meta, source.faults

    def blocks(self, name: str) -> Any:
        return self.source.blocks(name, self.random.choice([1, 24, 100, 1 << 20]))


@given(usual_datasets(), st.randoms())
def test_blocks_of_any_size(d: dict[str, Any], random: Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "LEAF_SIZE", 16)
        patch.setattr(content, "LEAF_STRINGS", 2)
        patch.setattr(content, "SMALL_SIZE", -1)
        source = MemorySource(d)
        assert found(Divided(source, random)) == found(source)


def found(source: Any) -> dict[str, bytes]:
    return content.digests_of(source, Advance(None))


MASK = np.array([[0, 0], [0, 1]], bool)


def base_dataset() -> dict[str, Any]:
    return {
        "x": np.ma.MaskedArray([[1.0, 2.0], [np.nan, 4.0]], MASK),
        "n": np.array([1, 2], "i2"),
        "s": np.array(["a", "bc"], object),
        "none": None,
        ".": {
            "x": {".dims": ["t", "i"], "units": "K", "valid_min": -5, "scale": 0.5},
            "n": {".dims": ["i"], "levels": [1, 2]},
            "s": {".dims": ["i"]},
            ".": {"title": "T"},
        },
    }


def with_entry(key: str, **entry: Any) -> dict[str, Any]:
    d = base_dataset()
    d["."].setdefault(key, {}).update({name.replace("dims", ".dims"): one for name, one in entry.items()})
    return d


X = np.ma.getdata(base_dataset()["x"])
SAME: dict[str, dict[str, Any]] = {
    "other values below the mask": base_dataset() | {"x": np.ma.MaskedArray(np.add(X, [[0, 0], [0, 9]]), MASK)},
    "another NaN": base_dataset() | {"x": np.ma.MaskedArray([[1, 2], [-np.float64("nan"), 4]], MASK)},
    "big-endian": base_dataset() | {"n": np.array([1, 2], ">i2")},
    "Fortran order": base_dataset() | {"x": np.ma.MaskedArray(np.asfortranarray(X), MASK)},
    "nothing masked": base_dataset() | {"n": np.ma.MaskedArray(np.array([1, 2], "i2"), False)},
    "another order": dict(reversed(base_dataset().items())),
    "a typed attribute": with_entry("x", scale=np.float64(0.5), valid_min=np.float64(-5)),
    "an array": with_entry("n", levels=np.array([1, 2])),
    "a list of one": with_entry("x", scale=[0.5], units=["K"]),
    "a fill value": with_entry("x", _FillValue=-999.0),
    "text of fixed length": base_dataset() | {"s": np.array(["a", "bc"])},
    "storage": with_entry("x", **{".netcdf": {"chunks": [1, 2]}}),
}
OTHER: dict[str, dict[str, Any]] = {
    "a value": base_dataset() | {"n": np.array([1, 3], "i2")},
    "the type": base_dataset() | {"n": np.array([1, 2], "u2")},
    "a wider type": base_dataset() | {"n": np.array([1, 2], "i4")},
    "bytes": base_dataset() | {"s": np.array([b"a", b"bc"], object)},
    "the lengths of strings": base_dataset() | {"s": np.array(["ab", "c"], object)},
    "no mask": base_dataset() | {"x": X},
    "another mask": base_dataset() | {"x": np.ma.MaskedArray(X, MASK[:, ::-1])},
    "the sign of zero": base_dataset() | {"none": -0.0},
    "a zero": base_dataset() | {"none": 0.0},
    "one value": base_dataset() | {"none": np.zeros(1)},
    "no values": base_dataset() | {"none": np.zeros(0)},
    "dimensions": with_entry("n", dims=["j"]),
    "an attribute": with_entry("x", units="C"),
    "the name of an attribute": with_entry("x", Units="K"),
    "the type of an attribute": with_entry("x", scale=np.float32(0.5)),
    "null": with_entry("x", units=None),
    "text of null": with_entry("x", units="null"),
    "a list": with_entry("n", levels=[1, "2"]),
    "an object": with_entry("n", levels={"1": 2}),
    "a huge integer": with_entry("n", levels=1 << 70),
    "a plane": with_entry("n", levels=np.array([[1, 2]])),
    "booleans": with_entry("n", levels=[True, False]),
    "an attribute of the dataset": with_entry(".", title="U"),
    "Julian dates": with_entry("x", **{".time": True}),
    "a name": {**{key: one for key, one in base_dataset().items() if key != "n"}, "m": np.array([1, 2], "i2")},
    "fewer variables": {key: one for key, one in base_dataset().items() if key != "n"},
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count(name: str) -> None:
    assert ds.digest(SAME[name]) == ds.digest(base_dataset())


def test_what_counts() -> None:
    every = [ds.digest(d) for d in (base_dataset(), *OTHER.values())]
    assert len({*every}) == len(OTHER) + 1


def test_a_mask_is_no_value() -> None:
    """The bytes of a mask and of seven values are those of eight other values."""
    masked = np.ma.MaskedArray(np.arange(8, dtype="u1"), np.arange(8) == 7)
    assert ds.digest({"x": masked}) != ds.digest({"x": np.array([1, 0, 1, 2, 3, 4, 5, 6], "u1")})


def test_each_variable() -> None:
    d = base_dataset()
    d["\\.hidden"] = d["n"]
    d["."]["\\.hidden"] = d["."]["n"]
    ds.write("a.ds", d)
    hashes = ds.digests("a.ds")
    assert [*hashes] == [".", "x", "n", "s", "none", "\\.hidden"]
    assert hashes["n"] == hashes["\\.hidden"] != hashes["s"]
    assert ds.digests(d, ["n", ".hidden"]) == {key: hashes[key] for key in (".", "n", "\\.hidden")}
    assert ds.digest("a.ds", "n") == ds.digest(ds.read("a.ds", "n")) != ds.digest("a.ds")
    with pytest.raises(MissingError, match=r'a\.ds: variable "nn" not found: did you mean none\?'):
        ds.digest("a.ds", ["x", "nn"])


def test_packed_numbers() -> None:
    meta = {"x": {".dims": ["i"], "scale_factor": 0.5, "units": "K"}}
    ds.write("a.nc", {"x": np.array([2, 4], "i2"), ".": meta})
    plain = {"x": np.array([1.0, 2.0]), ".": {"x": {".dims": ["i"], "units": "K"}}}
    assert ds.digest("a.nc", unpack=None) == ds.digest("a.nc", unpack=True) == ds.digest(plain)
    assert ds.digest("a.nc") == ds.digest(ds.read("a.nc", unpack=False)) != ds.digest(plain)


def test_other_inputs() -> None:
    expected = ds.digest(SAMPLE)
    with SAMPLE.open("rb") as file:
        assert ds.digest(file) == expected
    assert ds.digest(bytearray(SAMPLE.read_bytes())) == expected
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(SAMPLE, engine="ds") as dataset:
        assert ds.digest(dataset) == ds.digest(ds.from_xarray(dataset))
    with pytest.raises(UnsupportedError, match="a dataset must be a dict or a file"):
        ds.digest(5)


def test_refused() -> None:
    with pytest.raises(UnsupportedError, match=r'variable "x": attribute "a": a value of type set is not supported'):
        ds.digest({"x": 1, ".": {"x": {"a": {1}}}})
    with pytest.raises(UnsupportedError, match=r'variable "x": dtype: found complex128'):
        ds.digest({"x": np.zeros(2, complex)})
    deep: list[Any] = []
    deep.append(deep)
    with pytest.raises(UnsupportedError, match="nested too deeply"):
        ds.digest({".": {".": {"a": deep}}})
    data = bytearray(Path(golden.FOLDER / "corrupt" / "truncated_body.ds").read_bytes())
    with pytest.raises(ds.FormatError):
        ds.digest(data)


def test_progress() -> None:
    calls: list[tuple[int, int]] = []
    ds.digest({"x": np.zeros(1 << 22), "y": np.zeros(4, "i2")}, progress=lambda *n: calls.append(n))
    assert calls[-1] == ((1 << 25) + 8, (1 << 25) + 8)
    assert len(calls) > 2
