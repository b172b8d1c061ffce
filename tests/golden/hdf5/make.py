"""Make the golden files of HDF5, with h5py and with netCDF4; see README.md. Their contents are defined here.

`python make.py FOLDER` writes NAME.h5 and NAME.expected.json into a folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np

NAN = {"$float": "nan"}
PRODUCERS = {
    "h5py": f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}",
    "netCDF4": f"netCDF4 {netCDF4.__version__}, netcdf-c {netCDF4.__netcdf4libversion__}, "
    f"HDF5 {netCDF4.__hdf5libversion__}",
}
MAKERS: dict[str, tuple[str, str, Callable[[Path], dict[str, Any]]]] = {}


def maker(program: str, note: str) -> Any:
    def register(make: Callable[[Path], dict[str, Any]]) -> Callable[[Path], dict[str, Any]]:
        MAKERS[make.__name__] = (program, note, make)
        return make

    return register


def var(data: Any, type: str | None, dims: list[str] | None = None, **attrs: Any) -> dict[str, Any]:
    """Return what is expected of a variable; `dims` None: the file names none."""
    size = list(np.shape(np.array(data, object))) if data is not None else None
    return {"data": data, "type": type, "size": size, "dims": [] if not size else dims, "attrs": attrs}


def content(variables: dict[str, Any], **attrs: Any) -> dict[str, Any]:
    return {"dataset_attrs": attrs, "variables": variables}


@maker("h5py", "numbers of all types in both byte orders; no dimension names")
def numbers(path: Path) -> dict[str, Any]:
    found = {}
    with h5py.File(path, "w", track_order=True) as file:
        for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
            for order, name in (("<", "little"), (">", "big")):
                dtype = np.dtype(order + code)
                low: Any = np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min
                file[f"{dtype.name}_{name}"] = np.array([0, 1, low], dtype)
                zero = 0.0 if dtype.kind == "f" else 0
                found[f"{dtype.name}_{name}"] = var(
                    [zero, zero + 1, low.item() if dtype.kind == "f" else low], dtype.name
                )
        file["nan"] = np.array([np.nan, -0.0])
        found["nan"] = var([NAN, -0.0], "float64")
    return content(found)


@maker("h5py", "strings of fixed and variable length, UTF-8 and ASCII, scalar and not")
def strings(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        text = np.array([["a", "žluť"], ["", "d\n"]], object)
        file.create_dataset("utf8", data=text, dtype=h5py.string_dtype())
        file.create_dataset("ascii", data=np.array([b"a", b"bc"], object), dtype=h5py.string_dtype("ascii"))
        file["fixed"] = np.array([b"a\0b", b"", b"\xff\xfe"], "S4")
        utf8 = h5py.string_dtype("utf-8", 4)
        file.create_dataset("fixed_utf8", data=np.array(["ž".encode(), b"abc"], utf8))
        file["scalar"] = "text"
        file["scalar_fixed"] = np.bytes_(b"raw")
    return content({
        "utf8": var([["a", "žluť"], ["", "d\n"]], "unicode"),
        "ascii": var(["a", "bc"], "unicode"),
        "fixed": var([{"$bytes": "610062"}, {"$bytes": ""}, {"$bytes": "fffe"}], "str"),
        "fixed_utf8": var(["ž", "abc"], "unicode"),
        "scalar": var("text", "unicode"),
        "scalar_fixed": var({"$bytes": b"raw".hex()}, "str"),
    })


@maker("h5py", "booleans, enumerations, scalars, nothing, zero sizes, half precision")
def kinds(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        file["bool"] = np.array([True, False, True])
        file["bool_scalar"] = np.bool_(True)
        file.create_dataset("enum", data=[2, 1, 2], dtype=h5py.enum_dtype({"RED": 1, "BLUE": 2}, "i2"))
        file["scalar"] = np.float32(1.5)
        file["null"] = h5py.Empty("f8")
        file["zero"] = np.zeros((0, 3), "i4")
        file["half"] = np.array([0.1, 65504], "f2")
    return content({
        "bool": var([True, False, True], "bool"),
        "bool_scalar": var(True, "bool"),
        "enum": var([2, 1, 2], "int16"),
        "scalar": var(1.5, "float32"),
        "null": var(None, "float64"),
        "zero": {**var([], "int32"), "size": [0, 3], "dims": None},
        "half": var([0.0999755859375, 65504.0], "float16"),
    })


@maker("h5py", "chunks with gzip, shuffle, lzf, fletcher32 and a limitless dimension")
def storage(path: Path) -> dict[str, Any]:
    data = np.arange(60, dtype="i4").reshape(6, 10)
    with h5py.File(path, "w", track_order=True) as file:
        file.create_dataset("gzip", data=data, chunks=(4, 4), compression="gzip", compression_opts=9, shuffle=True)
        file.create_dataset("lzf", data=data.astype(">f8"), chunks=(3, 10), compression="lzf", fletcher32=True)
        file.create_dataset("growing", data=data, chunks=(1, 10), maxshape=(None, 10))
        file.create_dataset("unwritten", (3,), "i2", chunks=(2,), fillvalue=7)
    rows = data.tolist()
    return content({
        "gzip": var(rows, "int32"),
        "lzf": var(data.astype(float).tolist(), "float64"),
        "growing": var(rows, "int32"),
        "unwritten": var([7, 7, 7], "int16"),
    })


@maker("h5py", "nested and empty groups with attributes; links of all kinds, a cycle, and two that lead nowhere")
def groups(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        file["g/h/x"] = np.arange(3)
        file["g"].attrs["title"] = "of g"
        file["g/h"].attrs["n"] = np.int16(5)
        file.attrs["title"] = "of all"
        file.create_group("empty")
        file["alias"] = h5py.SoftLink("/g/h/x")
        file["nowhere"] = h5py.SoftLink("/none")
        file["outside"] = h5py.ExternalLink("none.h5", "/x")
        file["g/h/up"] = file["g"]
        file["type"] = np.dtype("f4")
    x = var([0, 1, 2], "int64")
    return content({"alias": x, "g/h/x": x}, **{"title": "of all", "g/title": "of g", "g/h/n": 5})


@maker("h5py", "attributes of all types")
def attributes(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        x = file.create_dataset("x", data=np.arange(2), track_order=True)
        x.attrs["int16"] = np.int16(-5)
        x.attrs["big"] = np.array([1, 2], ">u4")
        x.attrs["matrix"] = np.array([[1.5, 2.5]])
        x.attrs["half"] = np.float16(0.5)
        x.attrs["bool"] = True
        x.attrs["text"] = "ž"
        x.attrs["fixed"] = np.bytes_(b"abc")
        x.attrs["texts"] = ["a", "b"]
        x.attrs["null"] = h5py.Empty("i4")
        x.attrs["null_text"] = h5py.Empty("S1")
        x.attrs["none"] = np.zeros(0, "i2")
        x.attrs.create("enum", 1, dtype=h5py.enum_dtype({"ON": 1}, "u1"))
        x.attrs["reference"] = x.ref
        x.attrs["compound"] = np.zeros((), "i4,f4")
    return content({
        "x": var([0, 1], "int64", None, int16=-5, big=[1, 2], matrix=[[1.5, 2.5]], half=0.5, bool=True, text="ž",
                 fixed="abc", texts=["a", "b"], null=None, null_text="", none=[], enum=1),
    })  # fmt: skip


@maker("h5py", "dimension scales and labels")
def scales(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        file["time"] = np.arange(2.0)
        file["time"].make_scale("time")
        file["g/level"] = np.arange(3)
        file["g/level"].make_scale()
        t = file.create_dataset("t", data=np.zeros((2, 3, 1)))
        t.dims[0].attach_scale(file["time"])
        t.dims[1].attach_scale(file["g/level"])
        file["labelled"] = np.zeros(4)
        file["labelled"].dims[0].label = "station"
        file["half_labelled"] = np.zeros((1, 2))
        file["half_labelled"].dims[1].label = "y"
    return content({
        "time": var([0.0, 1.0], "float64", ["time"]),
        "t": var([[[0.0]] * 3] * 2, "float64", ["time", "g/level", "t_3"]),
        "labelled": var([0.0] * 4, "float64", ["station"]),
        "half_labelled": var([[0.0, 0.0]], "float64", ["half_labelled_1", "y"]),
        "g/level": var([0, 1, 2], "int64", ["g/level"]),
    })


@maker("h5py", "types that ds does not have, beside one that it has")
def unsupported(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        file["ok"] = np.arange(2)
        file["compound"] = np.zeros(2, "i4,f4")
        file["complex"] = np.zeros(2, "c8")
        file["opaque"] = np.zeros(2, "V3")
        file.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))
        file.create_dataset("array", (2,), "(3,)f4")
        file["references"] = np.array([file["ok"].ref], h5py.ref_dtype)
        file["extended"] = np.zeros(2, np.longdouble)
    return content({"ok": var([0, 1], "int64")})


@maker("h5py", "missing values")
def missing(path: Path) -> dict[str, Any]:
    with h5py.File(path, "w", track_order=True) as file:
        for name, data, attrs in (
            ("fill", np.array([1, -9, 3], "i2"), {"_FillValue": np.int16(-9)}),
            ("nan", np.array([1, np.nan], "f4"), {"_FillValue": np.float32(np.nan)}),
            ("missing_value", np.array([1.0, 1e20]), {"missing_value": 1e20}),
            ("zero", np.array([0, 1], "i4"), {}),
        ):
            file[name] = data
            for attribute, value in attrs.items():
                file[name].attrs[attribute] = value
    return content({
        "fill": var([1, None, 3], "int16", None, _FillValue=-9),
        "nan": var([1.0, None], "float32", None, _FillValue=NAN),
        "missing_value": var([1.0, None], "float64", None, missing_value=1e20),
        "zero": var([0, 1], "int32"),
    })


@maker("netCDF4", "by the netCDF library: dimensions of all kinds, pre-filled values")
def netcdf(path: Path) -> dict[str, Any]:
    with netCDF4.Dataset(path, "w") as file:
        for name, size in {"time": None, "lat": 2, "lon": 3, "unused": 7}.items():
            file.createDimension(name, size)
        file.title = "netCDF"
        file.setncattr_string("string", "one")
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0.5, 1.5]
        t = file.createVariable("t", "f4", ("time", "lat", "lon"), zlib=True, fill_value=-1)
        t[:] = np.ma.masked_equal(np.arange(12).reshape(2, 2, 3), 5)
        t.flags = np.array([1, 2], "i1")
        file.createVariable("lat", "f4", ("lat", "lon"))[:] = np.ones((2, 3))
        file.createVariable("lon", "i4", ())[:] = 5
        filled = file.createVariable("filled", "i2", ("lat",))
        filled[0] = 1
    t_data: list[Any] = np.arange(12.0).reshape(2, 2, 3).tolist()
    t_data[0][1][2] = None
    return content(
        {
            "time": var([0.5, 1.5], "float64", ["time"], units="days since 2000-01-01"),
            "t": var(t_data, "float32", ["time", "lat", "lon"], _FillValue=-1.0, flags=[1, 2]),
            "lat": var([[1.0] * 3] * 2, "float32", ["lat", "lon"]),
            "lon": var(5, "int32"),
            "filled": var([1, None], "int16", ["lat"]),
        },
        title="netCDF",
        string="one",
    )


@maker("netCDF4", "by the netCDF library: characters, strings, and a group")
def netcdf_strings(path: Path) -> dict[str, Any]:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", 2)
        file.createDimension("chars", 4)
        names = file.createVariable("names", "S1", ("n", "chars"))
        names[:] = np.array([[b"a", b"b", b"", b""], [b"c", b"", b"", b""]], "S1")
        texts = file.createVariable("texts", str, ("n",))
        texts[0], texts[1] = "ž", "b"
        file.createGroup("g").createVariable("x", "u1", ("n",))[:] = [1, 2]
    return content({
        "names": var([{"$bytes": b"ab".hex()}, {"$bytes": b"c".hex()}], "str", ["n"]),
        "texts": var(["ž", "b"], "unicode", ["n"]),
        "g/x": var([1, 2], "uint8", ["n"]),
    })


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def main(folder: Path) -> None:
    for name, (program, note, make) in MAKERS.items():
        found = make(folder / f"{name}.h5")
        head = {"file": f"{name}.h5", "producer": PRODUCERS[program], "note": note}
        text = json.dumps({**head, **found}, ensure_ascii=False, default=plain, indent=1)
        (folder / f"{name}.expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
