"""NetCDF files with what makes files differ, for what goes from them to xarray on several ways."""

import netCDF4
import numpy as np

HALF = np.float32(0.5)


def make(path):
    """Write a file that has every kind of variable which xarray decodes in a way of its own."""
    with netCDF4.Dataset(path, "w") as file:
        for name, n in {"i": 4, "n": 5, "bnds": 2, "time": None}.items():
            file.createDimension(name, n)
        file.setncatts({"title": "a", "numbers": np.array([1, 2], "i2"), "texts": ["x", "y"], "half": np.float32(0.5)})
        put(file, "time", "i4", ("time",), np.array([1, 2, 3]), units="days since 2000-01-01", calendar="noleap")
        file["time"].bounds = "time_bnds"
        put(file, "time_bnds", "f8", ("time", "bnds"), np.arange(6.0).reshape(3, 2))
        put(file, "late", "i4", ("i",), [1, -9, 3, 4], fill=-9, units="hours since 2001-01-01 12:00")
        put(file, "took", "i2", ("i",), [1, -9, 3, 4], fill=-9, units="hours")
        put(
            file, "packed", "i2", ("i",), [1, -9, 3, 4], fill=-9, scale_factor=np.float32(0.5), add_offset=np.float32(9)
        )
        put(file, "scaled", "i4", ("i",), [1, 2, 3, 4], scale_factor=0.1)
        put(file, "unsigned", "i1", ("i",), [-1, 2, -9, 4], fill=-9, _Unsigned="true")
        put(file, "unsigned_all", "i1", ("i",), [-1, 2, -9, 4], _Unsigned="true")
        put(file, "f4", "f4", ("i",), [1, np.nan, -9, 4], fill=-9)
        put(file, "nan_fill", "f8", ("i",), [1, np.nan, -9, 4], fill=np.nan)
        put(file, "old", "f4", ("i",), [1, -8, 3, 4], missing_value=np.float32(-8))
        put(file, "both", "f4", ("i",), [1, -8, 3, 4], fill=-8, missing_value=np.float32(-8))
        put(file, "whole", "i2", ("i",), [1, 2, 3, 4], fill=-9)
        put(file, "big_endian", ">i4", ("i",), [1, 2, 3, 4], endian="big")
        put(file, "u8", "u8", ("i",), [1, 2, 3, 2**63])
        put(file, "chunked", "f4", ("time", "i"), np.arange(12.0).reshape(3, 4), chunksizes=(2, 3), zlib=True)
        put(file, "characters", "S1", ("i", "n"), characters(b"a", b"bb", b"", b"ccccc"))
        put(file, "words", "S1", ("i", "n"), characters("ä".encode(), b"b", b"", b"c"))
        file["words"]._Encoding = "utf-8"
        put(file, "letter", "S1", (), b"x")
        put(file, "no_letter", "S1", (), b"x", fill=b"x")
        put(file, "marks", "S1", ("i",), characters(b"1 X")[0, :4], fill=b" ")
        put(file, "blanks", "S1", ("i", "n"), characters(b"a  b", b"     ", b"", b" "), fill=b" ")
        put(file, "reanalysis", "f4", ("i",), [2629, -9, 3, np.nan], fill=-9, scale_factor=0.1)
        put(file, "text", str, ("i",), np.array(["a", "", "ä", "long"], object))
        put(file, "flags", "i1", ("i",), [1, 0, 1, 1])
        file["flags"].setncattr("dtype", "bool")
        put(file, "unwritten", "f8", ("i",), None)
        put(file, "crs", "i4", (), None, grid_mapping_name="latitude_longitude")
        put(file, "palette", "u1", ("i",), [255, 1, 2, 255])
        put(file, "scalar", "f4", (), 3.5)
        put(file, "lat", "f4", ("i",), [1, 2, 3, 4])
        put(file, "located", "f4", ("i",), [5, 6, 7, 8], coordinates="lat scalar", grid_mapping="crs")
        file.createDimension("none", 0)
        put(file, "nothing", "f4", ("none", "i"), None)


def put(file, name, kind, dims, values, fill=None, **given):
    """Add a variable; attributes among its settings."""
    settings = {key: given.pop(key) for key in ("endian", "chunksizes", "zlib") if key in given}
    variable = file.createVariable(name, kind, dims, fill_value=fill, **settings)
    variable.set_auto_maskandscale(False)
    if values is not None:
        variable[...] = values if isinstance(values, bytes) else np.asarray(values)
    variable.setncatts(given)


def make_groups(path):
    """Write a file with groups, one of them empty, one in another, with dimensions of its own and of the root."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", 3)
        file.title = "root"
        put(file, "t", "i4", ("t",), [1, 2, 3])
        group = file.createGroup("a")
        group.title = "first"
        group.createDimension("x", 2)
        put(group, "x", "f4", ("x",), [0.5, 1.5])
        put(group, "v", "f4", ("t", "x"), np.arange(6.0).reshape(3, 2), fill=-1)
        inner = group.createGroup("b")
        inner.createDimension("y", None)
        put(inner, "v", "f8", ("y", "x"), np.arange(4.0).reshape(2, 2))
        file.createGroup("empty").note = "nothing here"
        file["empty"].createGroup("too")


def characters(*strings):
    return np.array(strings, "S5").view("S1").reshape(-1, 5)
