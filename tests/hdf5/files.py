"""Makers of netCDF-4 and HDF5 files, by all installed programs. `MAKERS` has them by name."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

from benchmarks.stations import ordinary

from ..classic.written import DATASETS
from .ours import composed, dumped, streamed


class Maker(NamedTuple):
    """A maker of a file."""

    make: Callable[[Path], None]
    """Writes the file at a path."""
    needs: str | None = None
    """A program or a module that may be absent."""
    is_netcdf: bool = True
    """Whether it has dimensions as netCDF-4 stores them."""
    reason: str | None = None
    """The reason why the package leaves it to the library as a whole; None: it does not."""

    def is_possible(self) -> bool:
        """Return whether the program or module is installed."""
        return self.needs is None or bool(shutil.which(self.needs) or importlib.util.find_spec(self.needs))


MAKERS: dict[str, Maker] = {}

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
NUMBERS = (*INTEGERS, "f4", "f8")
STATION = ("pressure", "temperature", "humidity", "wind_speed", "wind_direction", "rain", "snow", "cloud")


def _of(
    name: str | None = None, needs: str | None = None, is_netcdf: bool = True, reason: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a maker."""

    def registered(make: Callable[..., None]) -> Callable[..., None]:
        MAKERS[name or make.__name__] = Maker(make, needs, is_netcdf, reason)
        return make

    return registered


# netCDF-4, by the library


def report(path: Path, n: int = 24, is_unlimited: bool = False, **storage: Any) -> None:
    """Write a report of a station: 9 variables, 55 attributes."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None if is_unlimited else n)
        file.setncatts({f"station_{i}": f"text number {i}" for i in range(10)})
        for i, name in enumerate(("time", *STATION)):
            variable = file.createVariable(name, "f8" if name == "time" else "f4", ("time",), **storage)
            variable.setncatts({"long_name": name, "units": "1", "standard_name": name, "cell_methods": "time: mean"})
            variable.valid_max = np.float32(1000 + i)
            variable[:] = np.arange(n) * (i + 0.5)


MAKERS["report"] = Maker(report)
MAKERS["report_unlimited"] = Maker(partial(report, is_unlimited=True))
MAKERS["report_zlib"] = Maker(partial(report, zlib=True, shuffle=True))
MAKERS["report_unlimited_zlib"] = Maker(partial(report, is_unlimited=True, zlib=True, shuffle=True))


@_of()
def nothing(path: Path) -> None:
    netCDF4.Dataset(path, "w").close()


@_of()
def many_variables(path: Path) -> None:
    """Links of several levels, indirect blocks in their heap."""
    with netCDF4.Dataset(path, "w") as file:
        for i in range(300):
            file.createDimension(f"dimension_{i:03}", 1 + i % 3)
            file.createVariable(f"a variable with a long name {i:03}", "i2", (f"dimension_{i:03}",))[:] = i


@_of()
def many_attributes(path: Path) -> None:
    """Attributes of several levels."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        file.setncatts({f"number_{i}": np.int32(i) for i in range(1200)})
        for n in (1, 7, 8, 9, 40):
            variable = file.createVariable(f"v{n}", "i4", ("x",))
            variable.setncatts({f"text_{i}": f"text {i}" * (i % 5) for i in range(n)})


@_of()
def huge_attributes(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        for owner in (file, file.createVariable("a", "i4", ("x",)), file.createVariable("b", "i4", ("x",))):
            owner.setncatts({f"small_{i}": "text" for i in range(9)})
            owner.setncatts({f"huge_{n}": "x" * n for n in (4000, 4090, 4100, 5000, 65_000, 70_000, 200_000)})
            owner.numbers = np.arange(10_000.0)
            owner.last = np.int8(1)


@_of()
def groups(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.title = "root"
        file.createVariable("x", "f4", ("x",))[:] = [1, 2, 3]
        for prefix in ("b", "a", "a/inner", "a/inner/deepest", "empty"):
            group = file.createGroup(prefix)
            group.title = prefix
            group.createDimension("y", 2)
            variable = group.createVariable("x", "i4", ("x", "y"))
            variable[:] = np.arange(6).reshape(3, 2)
            variable.units = "m"
        file.createGroup("really empty")
        for i in range(12):
            file.createGroup(f"many/{i}").number = i


@_of()
def unlimited_dimensions(path: Path) -> None:
    """The unlimited dimension is not the first, there are two, and variables are shorter than others."""
    with netCDF4.Dataset(path, "w") as file:
        for name, n in {"x": 3, "t": None, "u": None, "none": None}.items():
            file.createDimension(name, n)
        file.createVariable("t", "f8", ("t",))
        file.createVariable("long", "i4", ("t",))[:7] = np.arange(7)
        file.createVariable("short", "i4", ("t",), fill_value=-5)[:3] = np.arange(3)
        file.createVariable("default", "f4", ("t",))[:2] = [1, 2]
        file.createVariable("never", "f4", ("t",))
        file.createVariable("inner", "i2", ("x", "t"))[:, :5] = np.arange(15).reshape(3, 5)
        file.createVariable("two", "u1", ("t", "u"))[:4, :2] = np.arange(8).reshape(4, 2)
        file.createVariable("nothing", "f8", ("none", "x"))
        file.createVariable("text", str, ("t",))[:2] = np.array(["a", "bc"], object)


@_of()
def coordinates(path: Path) -> None:
    """Scales of several dimensions, names that are no coordinates, dimensions without variables."""
    with netCDF4.Dataset(path, "w") as file:
        for name, n in {"alone": 4, "y": 2, "x": 3, "n": 5, "other": 2}.items():
            file.createDimension(name, n)
        file.createVariable("x", "f4", ("x", "y"))[:] = np.arange(6).reshape(3, 2)
        file.createVariable("y", "f4", ("y",))[:] = [1, 2]
        file.createVariable("n", "f4", ("y", "x"))[:] = np.ones((2, 3))
        file.createVariable("other", "i4", ())[...] = 7
        file.createVariable("twice", "i4", ("y", "y"))[:] = np.arange(4).reshape(2, 2)
        file.createVariable("late", "i4", ("n", "x"))[:] = np.arange(15).reshape(5, 3)


@_of()
def odd_attributes(path: Path) -> None:
    """Null attributes, text with NUL, with bytes that are no UTF-8, lists, numbers of all types."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 1)
        variable = file.createVariable("v", "f4", ("x",))
        for owner in (file, variable):
            owner.setncattr("empty_text", "")
            owner.setncattr("nul_inside", b"x\0y")
            owner.setncattr("nul_at_end", b"xy\0\0")
            owner.setncattr("only_nul", b"\0")
            owner.setncattr("latin", "caf\xe9".encode("latin-1"))
            owner.setncattr("unicode", "日本 Ω")
            owner.setncattr("spaces", "  x  ")
            owner.setncattr_string("string", "one text")
            owner.setncattr_string("empty_string", "")
            owner.setncattr_string("strings", ["a", "", "längere Zeile"])
            for code in NUMBERS:
                owner.setncattr(f"none_{code}", np.zeros(0, code))
                owner.setncattr(f"one_{code}", np.array(1, code))
                owner.setncattr(f"three_{code}", np.array([0, 1, 100], code))
        variable.setncattr("special", np.array([np.nan, np.inf, -np.inf, -0.0]))


@_of()
def never_written(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("t", None)
        for code in (*NUMBERS, "S1"):
            file.createVariable(f"default_{code}", code, ("x",))
            if code != "S1":
                file.createVariable(f"own_{code}", code, ("x",), fill_value=np.array(7, code))
                file.createVariable(f"chunked_{code}", code, ("x",), zlib=True)
        file.createVariable("string", str, ("x",))
        file.createVariable("partly", "i4", ("t", "x"), chunksizes=(1, 2))[3] = [1, 2, 3]
        file.createVariable("scalar", "f8", ())


@_of()
def types(path: Path) -> None:
    """Numbers in both byte orders, characters, strings, an enum."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 4)
        file.createDimension("n", 3)
        levels = file.createEnumType(np.uint8, "level", {"low": 0, "middle": 5, "high": 255})
        file.createVariable("enum", levels, ("x",), fill_value=0)[:] = np.array([0, 5, 255, 5], "u1")
        for code in NUMBERS:
            for order in ("little", "big"):
                variable = file.createVariable(f"{order}_{code}", code, ("x",), endian=cast("Any", order))
                variable[:] = np.array([0, 1, 2, 100], code)
            file.createVariable(f"scalar_{code}", code, ())[...] = 5
            file.createVariable(f"zlib_{code}", code, ("x",), endian="big", zlib=True)[:] = np.array([0, 1, 2, 9], code)
        file.createVariable("characters", "S1", ("x", "n"))[:] = np.array([list("abc"), list("de\0")] * 2, "S1")
        file.createVariable("string", str, ("x",))[:] = np.array(["", "a", "längere Zeile", "z" * 300], object)
        file.createVariable("packed", str, ("x", "n"), chunksizes=(2, 2))[:] = np.array([list("abc")] * 4, object)
        file.createVariable("one string", str, ())[...] = "text"


@_of()
def storage(path: Path) -> None:
    """Chunks that do not fit, many of them, filters in several orders."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        for name, n in {"x": 7, "y": 11, "z": 2000}.items():
            file.createDimension(name, n)
        data = np.arange(77).reshape(7, 11)
        file.createVariable("edges", "f4", ("x", "y"), chunksizes=(3, 4))[:] = data
        file.createVariable("zlib", "i4", ("x", "y"), chunksizes=(3, 4), zlib=True, shuffle=False)[:] = data
        file.createVariable("fletcher", "i4", ("x", "y"), chunksizes=(3, 4), fletcher32=True)[:] = data
        file.createVariable("all", "f8", ("x", "y"), chunksizes=(7, 4), zlib=True, fletcher32=True)[:] = data
        file.createVariable("shuffle", "i2", ("x", "y"), zlib=True, complevel=0, shuffle=True)[:] = data
        file.createVariable("level_9", "i2", ("x", "y"), zlib=True, complevel=9)[:] = data
        file.createVariable("many", "i2", ("z",), chunksizes=(1,))[:] = np.arange(2000)
        file.createVariable("appended", "u2", ("t", "x"), chunksizes=(1, 7))
        for i in range(150):
            file["appended"][i] = i


@_of()
def changed(path: Path) -> None:
    """Definitions after values, attributes that were replaced or deleted, names that were changed."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        file.createVariable("a", "f4", ("x",))[:] = [1, 2]
        file.setncatts({f"n{i}": "text" for i in range(20)})
    for i in range(3):
        with netCDF4.Dataset(path, "a") as file:
            for name in [name for name in file.ncattrs() if name.endswith(str(i))]:
                file.delncattr(name)
            file.setncattr("n5", "another text that is longer" * (i + 1))
            variable = file.createVariable(f"b{i}", "i4", ("x",))
            variable[:] = i
            file["a"].setncatts({f"late_{i}_{k}": np.float32(k) for k in range(5)})
    with netCDF4.Dataset(path, "a") as file:
        file.renameVariable("b0", "renamed")
        file.renameDimension("x", "length")
        file.renameAttribute("n5", "m5")


@_of()
def classic_model(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC") as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        file.title = "classic"
        file.createVariable("x", "f4", ("x",))[:] = [1, 2, 3]
        file.createVariable("v", "i2", ("t", "x"), zlib=True)[:4] = np.arange(12).reshape(4, 3)


@_of()
def names(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("日本", 2)
        for name in ("日本", "ž", "with space", "a.b-c+d@e", "_1"):
            file.createVariable(name, "i4", ("日本",)).setncattr(name, name)


@_of()
def compound(path: Path) -> None:
    """Types that ds does not have, of some variables and of no other."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 2)
        file.createVariable("usual", "f4", ("x",))[:] = [1, 2]
        kind = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")], align=True), "pair")
        file.createVariable("compound", kind, ("x",))
        ragged = file.createVLType(np.int32, "row")
        variable = file.createVariable("ragged", ragged, ("x",))
        variable[0], variable[1] = np.arange(3, dtype="i4"), np.arange(2, dtype="i4")


def filtered(path: Path, compression: str) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 1000)
        file.createVariable("v", "i4", ("x",), compression=cast("Any", compression))[:] = np.arange(1000) // 7
        file.createVariable("usual", "i4", ("x",))[:] = np.arange(1000)


for _name in ("zstd", "bzip2", "blosc_lz", "blosc_zstd", "szip"):
    MAKERS[f"filter_{_name}"] = Maker(partial(filtered, compression=_name))


# HDF5, by h5py


def _fill_hdf5(file: Any, is_latest: bool) -> None:
    """Write something of all that HDF5 has and ds reads."""
    file.attrs["title"] = "text"
    file.attrs["fixed"] = np.bytes_(b"fixed")
    file.attrs["number"] = np.float32(1.5)
    file.attrs["array"] = np.arange(3, dtype=">i4")
    file.attrs["one"] = np.arange(1)
    file.attrs["texts"] = ["a", "", "ž"]
    file.attrs["fixed_texts"] = np.array([b"a", b"bcd"])
    file.attrs["bool"] = True
    file.attrs["square"] = np.ones((2, 2))
    file.attrs["null"] = h5py.Empty("f4")
    file.create_dataset("scalar", data=np.float64(5))
    for code in NUMBERS:
        file.create_dataset(f"numbers/{code}", data=np.array([0, 1, 100], f">{code}"))
    file.create_dataset("half", data=np.arange(3, dtype="f2"))
    file.create_dataset("bool", data=np.array([True, False]))
    file.create_dataset("fixed", data=np.array([b"a", b"bcd", b""]))
    file.create_dataset("strings", data=["a", "", "ž", "long" * 100])
    file.create_dataset("unwritten", (3, 2), "i4", fillvalue=7)
    file.create_dataset("unwritten_zero", (3, 2), "i4")
    file.create_dataset("no_values", (0, 3), "f4", maxshape=(None, 3))
    data = np.arange(77, dtype="i4").reshape(7, 11)
    pipelines: dict[str, dict[str, Any]] = {
        "edges": {},
        "gzip": {"compression": "gzip"},
        "shuffle": {"compression": "gzip", "shuffle": True},
        "fletcher": {"fletcher32": True},
        "everything": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    }
    for name, options in pipelines.items():
        for kind, maximum in {"": None, "_one": (None, 11), "_second": (20, None), "_two": (None, None)}.items():
            file.create_dataset(f"chunked/{name}{kind}", data=data, chunks=(3, 4), maxshape=maximum, **options)
        file.create_dataset(f"chunked/{name}_single", data=data, chunks=(7, 11), **options)
    file["chunked/gzip_single"].attrs.update({f"a{i}": i for i in range(12)})
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((5,))
    h5py.Dataset(h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I16BE, space, compact))[:] = np.arange(5)
    file.create_group("group/inner").attrs["x"] = 1
    file["committed"] = np.dtype(">f4")
    file.create_dataset("of_committed", data=np.arange(3, dtype=">f4"), dtype=file["committed"])
    file.create_dataset("compound", data=np.zeros(2, [("a", "i4"), ("b", "f4")]))


def hdf5(path: Path, libver: Any, track_order: bool) -> None:
    with h5py.File(path, "w", libver=libver, track_order=track_order) as file:
        _fill_hdf5(file, libver != "earliest")


for _libver in ("earliest", "v108", "v110", "latest"):
    for _track_order in (False, True):
        _make = partial(hdf5, libver=(_libver, _libver if _libver != "earliest" else "v108"), track_order=_track_order)
        MAKERS[f"hdf5_{_libver}{'_ordered' * _track_order}"] = Maker(_make, is_netcdf=False)


def indexes(path: Path, **options: Any) -> None:
    """Write large indexes of chunks: pages, super blocks, levels; full ones and others with few chunks."""
    filters = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    filters.set_chunk((2, 3))
    filters.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    with h5py.File(path, "w", libver="latest") as file:
        h5py.Dataset(
            h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((5, 7)), filters)
        )[:] = np.arange(35).reshape(5, 7)
        n = 3000
        for name, shape, maximum in (
            ("fixed", (n,), None),
            ("fixed_larger", (50, 60), (60, 70)),
            ("extensible", (n,), (None,)),
            ("extensible_second", (3, 1000), (5, None)),
            ("btree2", (50, 60), (None, None)),
        ):
            chunks = (1,) * len(shape)
            data = np.arange(n, dtype="u2").reshape(shape)
            file.create_dataset(name, data=data, chunks=chunks, maxshape=maximum, **options)
            sparse = file.create_dataset(f"{name}_sparse", shape, "u2", chunks=chunks, maxshape=maximum, **options)
            for i in (0, 5, 700, 1500, n - 1):
                sparse[np.unravel_index(i, shape)] = i + 1


MAKERS["indexes"] = Maker(indexes, is_netcdf=False)
MAKERS["indexes_filtered"] = Maker(partial(indexes, compression="gzip", fletcher32=True), is_netcdf=False)


@_of(is_netcdf=False)
def pages(path: Path) -> None:
    """Data blocks of an extensible array that have pages, of which some are absent."""
    with h5py.File(path, "w", libver="latest") as file:
        dataset = file.create_dataset("sparse", (400_000,), "u1", chunks=(1,), maxshape=(None,))
        for i in (0, 131_000, 131_100, 132_900, 135_500, 200_000, 300_000, 300_001, 399_999):
            dataset[i] = i % 250 + 1


@_of(is_netcdf=False)
def masks(path: Path) -> None:
    """Chunks that did not go through some filters."""
    for_chunks = np.arange(12, dtype="<i4")
    with h5py.File(path, "w") as file:
        for name, maximum in {"a": None, "b": (None,)}.items():
            dataset = file.create_dataset(
                name, (40,), "<i4", chunks=(12,), maxshape=maximum, compression="gzip", shuffle=True
            )
            dataset[:] = 0
            dataset.id.write_direct_chunk((0,), for_chunks.tobytes(), 3)
            shuffled = np.frombuffer(for_chunks.tobytes(), "u1").reshape(-1, 4).T.tobytes()
            dataset.id.write_direct_chunk((12,), shuffled, 2)


@_of(is_netcdf=False)
def many_links(path: Path) -> None:
    """A symbol table of several levels."""
    with h5py.File(path, "w") as file:
        for i in range(700):
            file.create_group(f"g{i:04}") if i % 2 else file.create_dataset(f"d{i:04}", data=i)


@_of(is_netcdf=False)
def references(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["target"] = [1, 2]
        file.create_dataset("references", data=[file["target"].ref], dtype=h5py.ref_dtype)
        file.attrs["reference"] = file["target"].ref
        file.attrs["compound"] = np.zeros(2, [("a", "i4")])
        file.attrs.create("ragged", [np.arange(2), np.arange(3)], dtype=h5py.vlen_dtype("i4"))
        file["opaque"] = np.zeros(2, "V3")


def _left(reason: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return _of(is_netcdf=False, reason=reason)


def soft_links(path: Path, **options: Any) -> None:
    """Links to datasets, groups, types, other links, themselves, and nothing, in an order of their own."""
    with h5py.File(path, "w", **options) as file:
        file["z"] = [1, 2]
        file["z"].attrs["units"] = "m"
        inner = file.create_group("g/h", track_order=options.get("track_order"))
        inner["x"], file["g/m"], inner["type"] = 1.5, "text", np.dtype("i4")
        targets = {
            "a": "/z", "g/relative": "h/x", "g/h/up": "/g/m", "dots": "./g/.//h/x", "g/slash": "/z/",
            "chain": "through/x", "through": "g/h", "g/h/chain": "/chain", "kind": "g/h/type", "nowhere": "g/nothing",
            "below": "z/x", "one": "two", "two": "/one", "itself": "itself", "g/root": "/",
            "g/h/here": ".", "k": "/g/h/chain",
        }  # fmt: skip
        for name, target in targets.items():
            file[name] = h5py.SoftLink(target)
        for i in range(20):
            file[f"steps{i:02}"] = h5py.SoftLink(f"steps{i - 1:02}" if i else "z")


_of("soft_links", is_netcdf=False)(partial(soft_links, libver="latest"))
_of("soft_links_of_tables", is_netcdf=False)(soft_links)
_of("soft_links_ordered", is_netcdf=False)(partial(soft_links, libver="latest", track_order=True))


@_of("filter_lzf", is_netcdf=False)
def lzf(path: Path) -> None:
    """Chunks that LZF makes shorter, and such that it does not."""
    with h5py.File(path, "w") as file:
        file.create_dataset("text", data=np.arange(1000) // 7, chunks=(300,), compression="lzf", shuffle=True)
        noise = np.random.default_rng(0).integers(0, 255, 1000, "u1")
        file.create_dataset("noise", data=noise, chunks=(300,), compression="lzf", fletcher32=True)


@_of()
def szip(path: Path) -> None:
    """Values of all sizes and byte orders, both codings, and chunks beyond the shape."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 50)
        for code, coding, order in itertools.product(("i1", "u2", "i4", "f4", "i8", "f8"), ("nn", "ec"), ("<", ">")):
            endian = "little" if order == "<" else "big"
            storage: Any = {"compression": "szip", "szip_coding": coding, "szip_pixels_per_block": 8, "endian": endian}
            storage["fletcher32"] = code not in ("i8", "f8")  # which the library itself cannot read
            create: Any = file.createVariable
            variable = create(f"{code}_{coding}_{endian}", code, ("t", "x"), chunksizes=(4, 30), **storage)
            variable[:7] = (np.arange(350) // 7).reshape(7, 50)


@_of(is_netcdf=False)
def szip_after_shuffle(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for code in ("i2", ">i4", "f8"):
            values = np.arange(1000).astype(code)
            file.create_dataset(code, data=values, chunks=(300,), compression="szip", shuffle=True)


@_of(is_netcdf=False)
def scale_offset(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(100), chunks=(30,), scaleoffset=0)


@_of(needs="h5netcdf")
def shuffled_strings(path: Path) -> None:
    """The library shuffles no strings: the filter has no size of values, and all chunks skip it."""
    with importlib.import_module("h5netcdf").File(path, "w") as file:
        file.dimensions = {"x": 100}
        kind = h5py.string_dtype()
        variable = file.create_variable("v", ("x",), kind, chunks=(40,), compression="gzip", shuffle=True)
        variable[:] = np.array([f"text {i % 7}" for i in range(100)], object)


@_of(is_netcdf=False)
def two_names(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["b"], file["type"] = [1], np.dtype("i4")
        file.create_group("g")["x"] = file["a"] = file["b"]
        file["h"] = file["g"]
        file["g/type"] = file["type"]


@_of(is_netcdf=False)
def loop(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_group("g")["up"] = file["/"]
        file["g/g"] = file["g"]


@_of()
def netcdf_links(path: Path) -> None:
    """A file of the library to whose variables h5py makes links."""
    groups(path)
    with h5py.File(path, "a") as file:
        file["b/a_link"], file["b/another_name"] = h5py.SoftLink("./x"), file["b/x"]
        file.create_group("b/added")["link"] = h5py.SoftLink("/b/a_link")


@_left("an external link")
def external_link(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["b"] = h5py.ExternalLink("other.h5", "/a")


@_left("the file does not begin with HDF5")
def user_block(path: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        file["a"] = [1]


@_of(is_netcdf=False)
def unusual_layouts(path: Path) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        file["a"] = np.arange(4)
        layout = h5py.VirtualLayout((4,), "i8")
        layout[:] = h5py.VirtualSource(file["a"])
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", (4,), "i4", external=[("other.raw", 0, 16)])


# other writers


def from_h5netcdf(path: Path, **options: Any) -> None:
    h5netcdf = importlib.import_module("h5netcdf")
    with h5netcdf.File(path, "w", **options) as file:
        file.dimensions = {"x": 3, "t": None, "alone": 4}
        file.attrs["title"] = "text"
        file.create_variable("x", ("x",), "f4", data=np.arange(3, dtype="f4")).attrs["units"] = "m"
        file.resize_dimension("t", 5)
        file.create_variable("v", ("t", "x"), "i4", compression="gzip", chunks=(2, 3))[...] = np.arange(15).reshape(
            5, 3
        )
        file.create_variable("short", ("t",), "i4", fillvalue=np.int32(-1), chunks=(2,))
        group = file.create_group("g")
        group.attrs["number"] = np.float32(1)
        group.create_variable("inner", ("x",), "f8", data=np.ones(3))
        for i in range(12):
            group.create_variable(f"v{i}", ("x",), "f8", data=np.full(3, i))


MAKERS["h5netcdf"] = Maker(from_h5netcdf, "h5netcdf")
MAKERS["h5netcdf_latest"] = Maker(partial(from_h5netcdf, libver="latest"), "h5netcdf")


def from_xarray(path: Path, engine: Any) -> None:
    dataset = xr.Dataset(
        {
            "temperature": (("time", "y", "x"), np.arange(60.0).reshape(3, 4, 5), {"units": "K"}),
            "name": (("y",), np.array(["a", "bc", "", "ž"], object)),
            "flag": (("x",), np.array([True, False, True, False, True])),
            "count": ((), 5),
        },
        {"time": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[ns]"), "x": np.arange(5) * 0.5},
        {"title": "of xarray", "levels": [1, 2, 3]},
    )
    encoding = {"temperature": {"zlib": True, "dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}}
    dataset.to_netcdf(path, engine=engine, encoding=encoding, unlimited_dims=["time"])


MAKERS["composed"] = Maker(composed)
MAKERS["our_streamed"] = Maker(streamed)
MAKERS["composed_zlib"] = Maker(partial(composed, compression="zlib", level=4, shuffle=True, fletcher32=True))
MAKERS["our_classic_model"] = Maker(partial(dumped, data=DATASETS["fixed and records"], format="NETCDF4_CLASSIC"))
MAKERS["our_report"] = Maker(partial(dumped, data=ordinary(0), compression="zlib"))
MAKERS["our_hdf5"] = Maker(partial(dumped, data=ordinary(0), format="hdf5", compression="gzip"), is_netcdf=False)
MAKERS["xarray_netcdf4"] = Maker(partial(from_xarray, engine="netcdf4"))
MAKERS["xarray_h5netcdf"] = Maker(partial(from_xarray, engine="h5netcdf"), "h5netcdf")

CDL = """netcdf made {
types: byte enum kind { none = 0, some = 1 } ;
dimensions: x = 3 ; t = UNLIMITED ; n = 4 ;
variables:
  float x(x) ; x:units = "m" ; x:range = 1.5f, 2.5f ;
  double v(t, x) ; v:_FillValue = -1. ; v:_DeflateLevel = 3 ; v:_Shuffle = "true" ;
  kind k(x) ; string s(n) ; string s:list = "a", "b" ; char c(x, n) ;
  :title = "made of text" ; :_Format = "netCDF-4" ;
data: x = 1, 2, 3 ; v = 1, 2, 3, 4, 5, 6 ; k = some, none, some ; s = "p", "q", "", "ž" ; c = "abcd", "ef", "g" ;
group: g { dimensions: y = 2 ; variables: int64 w(y, x) ; w:_Endianness = "big" ; data: w = 1, 2, 3, 4, 5, 6 ; }
}
"""


def run(*words: Any) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=60)


@_of(needs="ncgen")
def ncgen(path: Path) -> None:
    text = path.with_suffix(".cdl")
    text.write_text(CDL)
    run("ncgen", "-4", "-o", path, text)


def converted(path: Path, words: str) -> None:
    """Write a report and convert it by a program: `words` has {0} and {1} for both files."""
    source = path.with_name(f"source_{path.name}")
    report(source, is_unlimited=True)
    run(*(word.format(source, path) for word in words.split()))


for _name, _words in {
    "nccopy": "nccopy -k nc4 -d 5 -s {0} {1}",
    "nccopy_fixed": "nccopy -u -k nc4 {0} {1}",
    "ncks": "ncks -O -4 -L 1 {0} {1}",
    "ncrename": "ncrename -O -v rain,renamed -d time,hour {0} {1}",
    "ncpdq": "ncpdq -O -4 {0} {1}",
    "cdo": "cdo -s -f nc4 -z zip_3 copy {0} {1}",
    "cdo_classic": "cdo -s -f nc4c copy {0} {1}",
}.items():
    MAKERS[_name] = Maker(partial(converted, words=_words), _words.split()[0])


PROGRAMS = {maker.needs: maker.is_possible() for maker in MAKERS.values() if maker.needs is not None}
"""Programs and modules → whether they are installed."""

for _name in [name for name, maker in MAKERS.items() if not maker.is_possible()]:
    del MAKERS[_name]

SLOW = ("pages", "many_variables", "indexes_filtered")
"""Files that have so many parts that the oracle takes seconds."""


def each(is_chosen: Callable[[Maker], bool] = lambda maker: True) -> list[Any]:
    """Return names of files as parameters of a test, which is slow for those in `SLOW`."""
    chosen = [name for name, maker in MAKERS.items() if is_chosen(maker)]
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in chosen]
