"""Objects of xarray go into files of all formats, and come back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.api.writing import is_xarray

dask_array = pytest.importorskip("dask.array", reason="needs dask (extra dask)")

from ds_format.xarray_.parallel import rows_of  # noqa: E402

from ..formats import FOR_OTHERS, STRAIGHT, SUFFIXES  # noqa: E402
from .dask_datasets import chunked, example, xr  # noqa: E402

HOLDS_ALL = [suffix for suffix in SUFFIXES if suffix not in FOR_OTHERS]


@pytest.mark.parametrize("kind", ["eager", "dask", "delayed"])
@pytest.mark.parametrize("suffix", [suffix for suffix in HOLDS_ALL if suffix in STRAIGHT])
def test_what_is_not_atomic_replaces_nothing(tmp_path: Path, suffix: str, kind: str) -> None:
    path, dataset = tmp_path / f"a{suffix}", example()
    path.write_bytes(b"of another program")

    def write() -> None:
        written = ds.write(
            path, dataset if kind == "eager" else chunked(dataset), compute=kind != "delayed", atomic=False
        )
        if written is not None:
            written.compute()

    with pytest.raises(FileExistsError, match=f"a{suffix}"):
        write()
    assert path.read_bytes() == b"of another program"
    path.unlink()
    write()
    assert ds.read(path)["wet"].tolist() == [True, False, True, True] and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("kind", ["eager", "dask", "delayed"])
@pytest.mark.parametrize("suffix", HOLDS_ALL)
def test_every_format(tmp_path: Path, suffix: str, kind: str) -> None:
    path, dataset = tmp_path / f"a{suffix}", example()
    written = ds.write(path, dataset if kind == "eager" else chunked(dataset), compute=kind != "delayed")
    if kind == "delayed":
        assert os.listdir(tmp_path) == []
        written.compute()
    else:
        assert written is None
    found = ds.read(path, unpack=False)
    assert found["rain"].tolist()[1] == [6, 8, None] and found["rain"].dtype == "i2"
    assert found["wet"].tolist() == [True, False, True, True]
    assert found["note"].tolist() == ["a", None, "", "d"]
    assert np.isnan(found["plain"][1, 2]) and found["time"].tolist() == [0, 1, 2, 3]
    assert found["."]["time"]["units"] == "days since 2000-01-01 00:00:00"
    assert found["."]["."]["title"] == "Rain" and found["mean"] == 1.5


@pytest.mark.filterwarnings("ignore::ds_format.LossWarning")
@pytest.mark.parametrize("suffix", FOR_OTHERS)
@pytest.mark.parametrize("lazy", [False, True])
def test_records(tmp_path: Path, suffix: str, lazy: bool) -> None:
    dataset = xr.Dataset({"rain": ("day", [0.5, np.nan, 2.0], {}, {"_FillValue": -1.0}), "n": ("day", [1, 2, 3])})
    ds.write(tmp_path / f"a{suffix}", dataset.chunk(day=2) if lazy else dataset)
    found = ds.read(tmp_path / f"a{suffix}")
    assert found["rain"].tolist() == [0.5, None, 2.0] and found["n"].tolist() == [1, 2, 3]


def test_there_and_back(tmp_path: Path) -> None:
    dataset = example()
    ds.write(tmp_path / "a.ds", dataset)
    found = xr.open_dataset(tmp_path / "a.ds", engine="ds").load()
    found["note"] = found["note"].where(found["note"].notnull(), None)
    xr.testing.assert_identical(found, dataset)
    xr.testing.assert_identical(ds.to_xarray(ds.from_xarray(example())).drop_vars("note"), example().drop_vars("note"))


def test_what_was_masked_comes_back_masked(tmp_path: Path) -> None:
    d: dict[str, Any] = {"i": [1, None, 3], "f": [1.0, None, np.nan], "b": [True, None, False], "s": ["a", None, ""]}
    d["t"] = np.ma.MaskedArray([0, 1, 2], [False, True, False])
    d["."] = {name: {".dims": ["x"]} for name in d}
    d["."]["t"]["units"] = "days since 2000-01-01"
    d["."]["."] = {}
    ds.write(tmp_path / "a.ds", d)
    without_dask: dict[str, int] | None = None
    for chunks in (without_dask, {}):
        ds.write(tmp_path / "b.ds", xr.open_dataset(tmp_path / "a.ds", engine="ds", chunks=chunks), mask=True)
        one, two = ds.read(tmp_path / "a.ds"), ds.read(tmp_path / "b.ds")
        for name in "ibst":
            assert one[name].tolist() == two[name].tolist() and one["."][name][".type"] == two["."][name][".type"]
        # of floats xarray does not tell what was missing from what was NaN
        assert two["f"].tolist() == [1.0, None, None]
        assert "_FillValue" not in str(two["."])


class TestDataArrays:
    def test_with_a_name(self, tmp_path: Path) -> None:
        array = xr.DataArray([1.0, 2.0], {"t": [1, 2]}, name="x")
        ds.write(tmp_path / "a.ds", array)
        assert list(ds.read(tmp_path / "a.ds")) == ["t", "x", "."]
        xr.testing.assert_identical(xr.open_dataarray(tmp_path / "a.ds", engine="ds").load(), array)

    @pytest.mark.parametrize("name", [None, "t"])
    def test_without(self, tmp_path: Path, name: str | None) -> None:
        array = xr.DataArray([1.0, 2.0], {"t": [1, 2]}, name=name)
        ds.write(tmp_path / "a.ds", array)
        xr.testing.assert_identical(xr.load_dataarray(tmp_path / "a.ds", engine="ds"), array)


class TestTrees:
    def tree(self) -> Any:
        root = xr.Dataset({"x": ("t", [1, 2])}, {"t": [0.5, 1.5]}, {"a": 1})
        one = xr.Dataset({"x": (("t", "u"), [[1, 2], [3, 4]]), "c": ("u", ["ab", "c"], {}, {"dtype": "S1"})})
        two = xr.Dataset({"y": ("u", [5, 6]), "z": ("w", [7])}, attrs={"b": "text"})
        return xr.DataTree.from_dict({"/": root, "/g": one, "/g/h": two, "/empty": xr.Dataset()})

    def test_names(self, tmp_path: Path) -> None:
        ds.write(tmp_path / "a.ds", self.tree())
        found = ds.read(tmp_path / "a.ds")
        assert sorted(found) == [".", "g/c", "g/h/y", "g/h/z", "g/x", "t", "x"]
        dims = {name: entry[".dims"] for name, entry in found["."].items() if name != "."}
        assert dims["g/x"] == ["t", "g/u"] and dims["g/h/y"] == ["g/u"] and dims["g/h/z"] == ["g/h/w"]
        assert found["."]["g/c"][".netcdf"]["char"] == {"dim": "g/string2", "size": 2}
        assert found["."]["."]["a"] == 1 and found["."]["."]["g/h/b"] == "text"
        assert sorted(found["."]["."][".netcdf"]["groups"]) == ["empty", "g", "g/h"]

    def test_there_and_back(self, tmp_path: Path) -> None:
        ds.write(tmp_path / "a.ds", self.tree())
        found = xr.open_datatree(tmp_path / "a.ds", engine="ds").load()
        xr.testing.assert_identical(found, self.tree())
        assert "t" not in found["g"].to_dataset(inherit=False).coords

    def test_a_node_has_the_coordinates_that_it_inherits(self, tmp_path: Path) -> None:
        tree = xr.DataTree.from_dict({
            "/": xr.Dataset(coords={"t": [10, 20]}),
            "/g": xr.Dataset({"x": ("t", [1.0, 2.0])}),
            "/g/h": xr.Dataset({"y": ("t", [3.0, 4.0])}),
        })
        for suffix in (".ds", ".nc"):
            path = tmp_path / f"a{suffix}"
            ds.write(path, tree["g"])
            with xr.open_datatree(path, engine="ds" if suffix == ".ds" else "netcdf4") as found:
                xr.testing.assert_equal(found, tree["g"])
                assert "t" not in found["h"].to_dataset(inherit=False).coords
        d = ds.read(tmp_path / "a.ds")
        assert d["t"].tolist() == [10, 20] and d["."]["h/y"][".dims"] == ["t"]
        assert ds.from_xarray(tree["g"])["t"].tolist() == [10, 20]

    @pytest.mark.skipif(xr.__version__ < "2026", reason="older ones give each group dimensions of its own")
    def test_as_xarray_writes_it(self, tmp_path: Path) -> None:
        tree = self.tree()
        ds.write(tmp_path / "a.nc", tree)
        tree.to_netcdf(tmp_path / "b.nc")
        one, two = ds.read(tmp_path / "a.nc"), ds.read(tmp_path / "b.nc")
        assert sorted(one) == sorted(two)
        for name in set(one) - {"."}:
            assert np.array_equal(one[name], two[name])
            assert one["."][name][".dims"] == two["."][name][".dims"]
        xr.testing.assert_identical(xr.load_datatree(tmp_path / "a.nc"), xr.load_datatree(tmp_path / "b.nc"))

    def test_options_are_those_of_each_group(self, tmp_path: Path) -> None:
        encoding = {"/g": {"x": {"dtype": "i2"}}}
        ds.write(tmp_path / "a.ds", self.tree(), encoding=encoding, unlimited_dims={"/": ["t"], "/g": ["u"]})
        found = ds.read(tmp_path / "a.ds")
        assert found["g/x"].dtype == "i2" and found["."]["."][".netcdf"]["unlimited"] == ["t", "g/u"]
        with pytest.raises(ds.UnsupportedError, match='unexpected encoding group "/k"'):
            ds.write(tmp_path / "a.ds", self.tree(), encoding={"/k": {}})
        with pytest.raises(ds.UnsupportedError, match="expected a dict by the path"):
            ds.write(tmp_path / "a.ds", self.tree(), unlimited_dims=["t"])

    def test_errors_name_the_group(self, tmp_path: Path) -> None:
        tree = xr.DataTree.from_dict({"/g": xr.Dataset({"x": ("t", np.zeros(2, complex))})})
        with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "g/x": values of type complex128'):
            ds.write(tmp_path / "a.ds", tree)
        assert os.listdir(tmp_path) == []


class TestRefusals:
    @pytest.mark.parametrize("suffix", [".ds", ".nc", ".json"])
    @pytest.mark.parametrize("lazy", [False, True])
    def test_nothing_is_lost(self, tmp_path: Path, suffix: str, lazy: bool) -> None:
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"before")
        for values, attrs in (
            (np.zeros(2, "c8"), {}),
            ([1, 2], {"when": np.datetime64(0, "s")}),
        ):
            dataset = xr.Dataset({"good": ("t", [1, 2]), "bad": ("t", values, attrs)})
            with pytest.raises(ds.UnsupportedError, match=rf'a\{suffix}: variable "bad"'):
                ds.write(path, dataset.chunk() if lazy else dataset)
        assert os.listdir(tmp_path) == [path.name] and path.read_bytes() == b"before"

    @pytest.mark.parametrize("suffix", [".ds", ".nc"])
    def test_appending(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"before")
        with pytest.raises(ds.UnsupportedError, match=rf"a\{suffix}: mode: found 'a', expected \"w\": to append"):
            ds.write(path, example(), mode="a")
        with pytest.raises(ds.UnsupportedError, match="there is no such mode"):
            ds.write(path, example(), mode="r")
        assert path.read_bytes() == b"before"

    @pytest.mark.parametrize("lazy", [False, True])
    def test_options_of_formats(self, tmp_path: Path, lazy: bool) -> None:
        dataset = xr.Dataset({"x": ("t", [1, 2])})
        with pytest.raises(ds.DriverError, match="the format ds has no option"):
            ds.write(tmp_path / "a.ds", dataset.chunk() if lazy else dataset, format="NETCDF4")
        with pytest.raises(ds.DriverError, match="unknown file format"):
            ds.write(tmp_path / "a.xyz", dataset)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("option", [{"unlimited_dims": ["t"]}, {"compute": False}, {"mask": True}], ids=str)
    def test_options_of_xarray(self, tmp_path: Path, option: dict[str, Any]) -> None:
        [name] = option
        with pytest.raises(ds.UnsupportedError, match=f"a.ds: the option `{name}` is one for objects of xarray"):
            ds.write(tmp_path / "a.ds", {"x": [1]}, **option)

    def test_an_encoding_of_a_dict(self, tmp_path: Path) -> None:
        with pytest.raises(ds.DriverError, match='the format ds has no option "encoding"'):
            ds.write(tmp_path / "a.ds", {"x": [1]}, encoding={})
        assert os.listdir(tmp_path) == []

    def test_a_block_that_fails(self, tmp_path: Path) -> None:
        def fail(block: Any) -> Any:
            raise OSError("no such station")

        lazy = dask_array.zeros(4, chunks=2).map_blocks(fail, dtype=float, meta=np.empty(0))
        for suffix in HOLDS_ALL:
            with pytest.raises(OSError, match="no such station"):
                ds.write(tmp_path / f"a{suffix}", xr.Dataset({"x": ("t", lazy)}))
        assert os.listdir(tmp_path) == []


class TestBlocks:
    def test_a_row_of_chunks_is_in_memory_at_a_time(self, tmp_path: Path) -> None:
        seen: list[int] = []

        def count(block: Any) -> Any:
            seen.append(block.nbytes)
            return block

        array = dask_array.arange(24, chunks=4).reshape(6, 4).map_blocks(count, dtype=int, meta=np.empty((0, 0), int))
        blocks = rows_of(array)
        first = next(blocks)
        assert sum(seen) == first.nbytes < array.nbytes
        assert np.array_equal(np.concatenate([first, *blocks]), np.arange(24).reshape(6, 4))

    def test_leading_chunks_of_one(self) -> None:
        values = np.arange(24).reshape(2, 3, 4)
        found = list(rows_of(dask_array.from_array(values, chunks=(1, 2, 2))))
        assert [block.shape for block in found] == [(1, 2, 4), (1, 1, 4)] * 2
        assert np.concatenate([block.ravel() for block in found]).tolist() == list(range(24))
        assert [block.item() for block in rows_of(dask_array.from_array(np.array(5), chunks=()))] == [5]
        assert list(rows_of(dask_array.zeros((0, 3)))) == []


def test_what_is_told_to_be_of_xarray() -> None:
    assert all(map(is_xarray, (xr.Dataset(), xr.DataArray(1), xr.DataTree())))
    assert not is_xarray({}) and not is_xarray(np.zeros(2)) and not is_xarray(xr.Variable((), 1))
