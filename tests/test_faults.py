"""Variables that a file has and that cannot be had: sources say why, and nobody takes them for ones without data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pyarrow
import pytest
import zarr
from pyarrow import feather, parquet

import ds_format as ds
from ds_format import binpickle, drivers
from ds_format.cli.main import main
from ds_format.datadings.writer import FileWriter
from ds_format.drivers.base import Source
from ds_format.model.selection import Selection
from ds_format.views.subset import Subset, open_subset
from ds_format.zds.store import ZDSStore

from .formats import rows

RECORD = np.dtype([("re", "f8"), ("im", "f8")])


def make_ds(path: Path) -> None:
    number = {".type": "int32", ".endian": "l", ".size": [2]}
    entries = {"x": number, "c": {**number, ".type": "int128", ".offset": 8}, "n": {}}
    path.write_bytes(b"ds-1.0\n" + json.dumps(entries).encode() + b"\n" + bytes(16))


def make_netcdf(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", 2)
        file.createVariable("x", "f8", ("t",))[:] = [0, 1]
        file.createVariable("c", file.createCompoundType(RECORD, "complex"), ("t",))


def make_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(2.0)
        file["c"] = np.zeros(2, RECORD)


def make_binpickle(path: Path) -> None:
    binpickle.dump({"x": np.arange(2.0), "c": np.zeros(2, complex)}, path)


def make_datadings(path: Path) -> None:
    with FileWriter(path) as writer:
        for i in range(2):
            writer.write({"key": str(i), "x": float(i), "c": {"deep": 1}})


def make_zds(path: Path, collection: str = "default") -> None:
    with ZDSStore.open(path, collection, mode="w") as store:
        for i in range(2):
            store.put(str(i), {"x": float(i), "c": i if i else "text"})


def make_groups(path: Path) -> None:
    make_zds(path, "g")
    make_zds(path, "h")


def make_zarr(path: Path) -> None:
    group = zarr.create_group(path)
    group.create_array("x", data=np.arange(2.0))
    group.create_array("c", data=np.zeros(2, complex))


def make_arrow(path: Path) -> None:
    feather.write_feather(pyarrow.table({"x": [0.0, 1.0], "c": [[1], [2, 3]]}), path)


def make_parquet(path: Path) -> None:
    parquet.write_table(pyarrow.table({"x": [0.0, 1.0], "c": [[1], [2, 3]]}), path)


MAKERS: dict[str, tuple[Callable[[Path], None], str, list[str]]] = {
    suffix: (make, suffix, ["c"])
    for suffix, make in rows(
        arrow=make_arrow,
        binpickle=make_binpickle,
        csv=None,  # like JSON, of which a file that is damaged cannot be opened
        datadings=make_datadings,
        ds=make_ds,
        hdf5=make_hdf5,
        json=None,
        netcdf=make_netcdf,
        parquet=make_parquet,
        zarr=make_zarr,
        zds=make_zds,
    )
}
MAKERS["groups"] = make_groups, ".zds", ["g/c", "h/c"]


@pytest.fixture(params=MAKERS)
def faulty(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    """A file, and those of its variables that cannot be had."""
    make, suffix, names = MAKERS[request.param]
    path = tmp_path / f"a{suffix}"
    make(path)
    return path, names


@pytest.fixture
def source(faulty: tuple[Path, list[str]]) -> Iterator[Source]:
    opened = drivers.open_source(faulty[0])
    yield opened
    opened.close()


def test_a_source_says_what_cannot_be_had(source: Source, faulty: tuple[Path, list[str]]) -> None:
    path, names = faulty
    assert list(source.faults) == names
    for name, fault in source.faults.items():
        assert name in source.meta
        assert (fault.path, fault.variable) == (str(path), name)
        for act in (lambda key: source.read(key), lambda key: list(source.blocks(key))):
            with pytest.raises(type(fault)) as caught:
                act(name)
            assert str(caught.value) == str(fault)


def test_a_part_of_a_file_says_it_of_its_variables(source: Source, faulty: tuple[Path, list[str]]) -> None:
    path, names = faulty
    with open_subset(path) as subset:
        assert list(subset.faults) == names
        assert list(Subset(subset, path, Selection(names[:1]), False).faults) == names[:1]
    with open_subset(path, Selection([name.replace("c", "x") for name in names])) as subset:
        assert not subset.faults


@pytest.mark.filterwarnings("ignore:.*left out")
def test_what_is_left_out_is_no_fault(faulty: tuple[Path, list[str]]) -> None:
    path, names = faulty
    is_left_out = path.suffix != ".ds"  # what is damaged is not
    with open_subset(path, skip_unsupported=True) as subset:
        assert list(subset.faults) == [] if is_left_out else names
        assert subset.meta.keys().isdisjoint(names) is is_left_out


@pytest.mark.parametrize("command", ["cat", "stats", "plot"])
def test_commands_tell_it(command: str, faulty: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    path, names = faulty
    assert main([command, names[0], str(path)]) == 1
    out, told = capfd.readouterr()
    assert (out, told.count("\n")) == ("", 1)
    assert f'{path}: variable "{names[0]}": ' in told


def test_nothing_is_written_of_it(faulty: tuple[Path, list[str]], tmp_path: Path) -> None:
    path, names = faulty
    out = tmp_path / "out.ds"
    for act in (
        lambda: ds.convert(path, out),
        lambda: ds.merge_files("i", [path, path], out, new="i"),
        lambda: ds.read_many([path, path], dim="i"),
    ):
        with pytest.raises(ds.DsError, match=f'variable "{names[0]}"'):
            act()
        assert not out.exists()


def test_who_has_no_data_to_read_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ds"
    ds.write(path, {"x": [1, 2], "n": None})

    whole = Subset.read

    def read(subset: Subset, name: str, *args: Any) -> Any:
        assert name != "n"
        return whole(subset, name, *args)

    monkeypatch.setattr(Subset, "read", read)
    ds.convert(path, tmp_path / "b.ds")
    assert main(["stats", "n", str(path)]) == 0
    assert main(["cat", "n", str(path)]) == 0
    assert "n" in ds.read(tmp_path / "b.ds")
