"""Random NetCDF files of the netCDF4 library: every format, type, storage and convention that readers may mistake."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

import netCDF4
import numpy as np

FORMATS = ("NETCDF4",) * 6 + (
    *("NETCDF4_CLASSIC", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_CLASSIC"),
    *("NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF3_64BIT_DATA"),
)
CLASSIC_TYPES = ("i1", "i2", "i4", "f4", "f8")
TYPES = (*CLASSIC_TYPES, "u1", "u2", "u4", "i8", "u8")
NAMES = (
    "x",
    "t2m",
    "ž",
    "wind speed",
    "a.b-c+d@e",
    "_1",
    "日本",
    "lat",
    "lon",
    "QC",
    "2d",
    "level",
    "n_" + "a" * 60,
    "Times",
)
TEXTS = ("K", "", "a longer text", "žluť", "日本", "  spaces  ", "hPa", "x" * 300, "line\nline")
CALENDARS = (
    *("standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "360_day", "julian", "all_leap", "366_day"),
    "Standard",
)
TIME_UNITS = (
    *("days since 2000-01-01", "hours since 1900-01-01 00:00:0.0", "seconds since 1970-01-01T00:00:00Z"),
    *(
        "minutes since 2001-02-03 04:05:06 +1:00",
        "days since 1-1-1",
        "days since 1582-10-01",
        "milliseconds since 2020-02-28",
    ),
)
ODD_UNITS = ("months since 2000-01-01", "days since 0000-01-01", "days since nothing")
"""xarray refuses some of them, and so the whole file."""
SPANS = ("days", "hours", "seconds", "milliseconds")


def write(path: Path, random: Random) -> None:
    """Write a random file."""
    Writer(path, random).write()


class Writer:
    """Writes one random file."""

    def __init__(self, path: Path, random: Random):
        self.path = path
        self.random = random
        self.format = random.choice(FORMATS)
        self.is_large = random.random() < 0.15
        self.is_netcdf4 = self.format.startswith("NETCDF4")
        self.has_types = self.format == "NETCDF4"
        self.types = TYPES if self.format in ("NETCDF4", "NETCDF3_64BIT_DATA") else CLASSIC_TYPES
        self.rng = np.random.default_rng(random.getrandbits(32))
        self.is_filled = not self.chance(0.15)
        """Else values that are not written are what memory had."""
        self.unusual = random.choice(["", "", "", "", "compound", "vlen", "enum"]) if self.has_types else ""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def write(self) -> None:
        with netCDF4.Dataset(self.path, "w", format=cast("Any", self.format)) as file:
            if not self.is_filled:
                file.set_fill_off()
            groups = [file]
            if self.has_types and self.chance(0.25):
                for name in self.random.sample(("a", "b", "ž", "empty"), self.random.randint(1, 3)):
                    groups.append(self.random.choice(groups).createGroup(name))
            for group in groups:
                self.attributes(group, self.random.choice([0, 1, 3, 9]))
                self.dimensions(group, file is group)
            for group in groups:
                if group.name != "empty":
                    self.variables(group)

    def dimensions(self, group: Any, is_root: bool) -> None:
        sizes = {"time": None, "n": 4, "lat": 3, "lon": 5, "strlen": 7, "one": 1, "unused": 2}
        if self.is_large:
            sizes |= {"lat": 60, "lon": self.random.choice([50, 300, 900, 3000])}
        for name in self.random.sample(
            [*sizes], self.random.randint(2, len(sizes)) if is_root else self.random.randint(0, 2)
        ):
            group.createDimension(name, sizes[name])
        if self.has_types and self.chance(0.2):
            group.createDimension("obs", None)

    def variables(self, group: Any) -> None:
        dims: dict[str, Any] = {}
        owner = group
        while owner is not None:
            dims = {**owner.dimensions, **dims}
            owner = owner.parent
        names = self.random.sample(NAMES, self.random.randint(1, 7))
        for dim in group.dimensions:
            if dim != "unused" and self.chance(0.4):
                names.insert(self.random.randint(0, len(names)), dim)
        for name in dict.fromkeys(names):
            if name not in group.groups:
                self.variable(group, name, dims)
        if self.has_types and self.chance(0.1):
            self.numbers(group, "crs", (), dims)

    def variable(self, group: Any, name: str, dims: dict[str, Any]) -> None:
        """Add one variable of a random kind."""
        if name in dims and self.chance(0.7):
            chosen: tuple[str, ...] = (name,)
        else:
            chosen = tuple(self.random.sample([*dims], min(len(dims), self.random.choice([0, 1, 1, 2, 2, 3]))))
        if not self.is_netcdf4 or self.format == "NETCDF4_CLASSIC":  # the record dimension is the first
            chosen = tuple(sorted(chosen, key=lambda dim: not dims[dim].isunlimited()))
        kinds = ["numbers"] * 12 + ["characters"] * 4 + ["times"] * 4 + ["flags"] * self.is_filled
        if self.has_types:
            kinds += ["strings"] * 2
        kind = self.random.choice(kinds)
        if self.unusual and self.chance(0.4):
            kind = self.unusual
        getattr(self, kind)(group, name, chosen, dims)

    def storage(self, chosen: tuple[str, ...], dims: dict[str, Any], item_size: int) -> dict[str, Any]:
        """Return random settings of `createVariable`."""
        if not self.is_netcdf4 or not chosen:
            return {}
        found: dict[str, Any] = {}
        if self.chance(0.4):
            found["chunksizes"] = [self.random.randint(1, max(1, min(dims[dim].size or 3, 40))) for dim in chosen]
        elif self.chance(0.2) and not any(dims[dim].isunlimited() for dim in chosen):
            found["contiguous"] = True
            return found
        if item_size and self.chance(0.5):
            found["shuffle"] = self.chance(0.6)
            found["fletcher32"] = self.chance(0.15)
            if self.chance(0.85):
                found["compression"] = self.random.choice(["zlib", "zlib", "zlib", "zlib", "zstd", "bzip2"])
                found["complevel"] = self.random.choice([1, 4, 9])
        return found

    def numbers(
        self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any], is_time: bool = False
    ) -> None:
        code = self.random.choice([code for code in self.types if code != "u8"] if is_time else self.types)
        dtype = np.dtype(code)
        settings = self.storage(chosen, dims, dtype.itemsize)
        if self.is_netcdf4 and dtype.itemsize > 1 and self.chance(0.2):
            settings["endian"] = self.random.choice(["big", "little"])
            code = {"big": ">", "little": "<"}[settings["endian"]] + code
        marks = self.marks(dtype)
        fill = self.random.choice([None, None, None, marks[0], marks[0], marks[1], False])
        attributes: dict[str, Any] = {}
        if self.chance(0.2) and not is_time:  # a value that is shown instead of a missing one may be no time
            attributes["missing_value"] = self.random.choice([
                marks[1],
                marks[0],
                np.array(marks[:2]),
                np.array(marks),
                np.float64(-7),
                np.int16(7),
                marks[2],
            ])
        if self.chance(0.25):
            scales = (np.float64(0.1), np.float32(0.5), np.int32(2), 0.01, np.float32(0.1), np.int16(1))
            if self.chance(0.8):
                attributes["scale_factor"] = self.random.choice(scales)
            if self.chance(0.6):
                attributes["add_offset"] = self.random.choice((np.float64(273.15), np.float32(-5), np.int32(3), 0.0))
        # the engine netcdf4 does not find the `_FillValue` of unsigned big-endian numbers
        if dtype.kind in "iu" and self.chance(0.12) and settings.get("endian") != "big":
            attributes["_Unsigned"] = self.random.choice(["true", "true", "false"])
        if self.chance(0.08):
            attributes["valid_range"] = np.array([0, 90], dtype)
        if self.chance(0.05):
            attributes[self.random.choice(["valid_min", "valid_max"])] = dtype.type(5)
        if is_time:
            attributes["units"] = self.random.choice(TIME_UNITS * 3 + SPANS)
            if self.chance(0.01):
                attributes["units"] = self.random.choice(ODD_UNITS)
            if self.chance(0.7):
                attributes["calendar"] = self.random.choice(CALENDARS)
        elif self.chance(0.5):
            attributes["units"] = self.random.choice(("K", "1", "", "m s-1"))
        if self.chance(0.1):
            attributes["coordinates"] = self.random.choice(("lat lon", "x", "lat nothing"))
        if self.chance(0.04):
            attributes["grid_mapping"] = "crs"
        if self.chance(0.05) and chosen:
            attributes["bounds"] = self.random.choice(("x", "lat_bnds"))
        if dtype.kind == "f" and self.is_netcdf4 and chosen and self.chance(0.05):
            settings["least_significant_digit"] = 2
        variable = group.createVariable(name, code, chosen, fill_value=fill, **settings)
        variable.set_auto_maskandscale(False)
        self.set_attributes(variable, attributes)
        shape = self.shape(chosen, dims)
        values = self.values(dtype, shape, marks, is_time)
        self.put(variable, values, self.is_filled and fill is not False)

    def flags(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        """Add booleans, as xarray writes them."""
        variable = group.createVariable(name, "i1", chosen, fill_value=self.random.choice([None, None, -1]))
        variable.set_auto_maskandscale(False)
        self.set_attributes(variable, {"dtype": "bool"})
        self.put(variable, self.rng.integers(0, 2, self.shape(chosen, dims)).astype("i1"), self.is_filled)

    def times(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        self.numbers(group, name, chosen, dims, True)

    def characters(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        if self.chance(0.7) and "strlen" in dims and "strlen" not in chosen:
            chosen = (*chosen, "strlen")
        settings = self.storage(chosen, dims, 1)
        fill = self.random.choice([None, None, b" ", b"x", b"\0"])
        variable = group.createVariable(name, "S1", chosen, fill_value=fill, **settings)
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        shape = self.shape(chosen, dims)
        text = np.array([b"a", b"b", b" ", b"x", b"1", b"\0"], "S1")
        values = self.rng.choice(text, shape)
        if self.chance(0.15) and shape:
            encoded = np.frombuffer("ž".encode(), "S1")
            if shape[-1] >= 2:
                values[..., :2] = encoded
        self.set_attributes(variable, {"_Encoding": "utf-8"} if self.chance(0.1) else {})
        self.put(variable, values, self.is_filled)

    def strings(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        settings = {key: value for key, value in self.storage(chosen, dims, 0).items() if key == "chunksizes"}
        variable = group.createVariable(name, str, chosen, **settings)
        self.set_attributes(variable, {"missing_value": "K"} if self.chance(0.05) else {})
        values = np.empty(self.shape(chosen, dims), object)
        values[...] = self.rng.choice(np.array(TEXTS, object), values.shape)
        self.put(variable, values, self.is_filled)

    def enum(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        code = self.random.choice(("i1", "u1", "i2", "i4"))
        members = {"no": 0, "yes": 1, f"may be {name}": 2}  # types that are the same are one for the library
        kind = group.createEnumType(code, f"enum_{name}", members)
        fill = self.random.choice([None, 1])
        variable = group.createVariable(name, kind, chosen, fill_value=fill, **self.storage(chosen, dims, 1))
        self.set_attributes(variable, {})
        variable.set_auto_maskandscale(False)
        self.put(variable, self.rng.integers(0, 3, self.shape(chosen, dims)).astype(code), self.is_filled)

    def compound(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        dtype = np.dtype([("a", "f4"), ("b", "i2")])
        kind = group.createCompoundType(dtype, f"compound_{name}")
        variable = group.createVariable(name, kind, chosen)
        self.set_attributes(variable, {})
        shape = self.shape(chosen, dims)
        values = np.zeros(shape, dtype)
        values["a"] = self.rng.random(shape)
        values["b"] = self.rng.integers(0, 9, shape)
        self.put(variable, values, self.is_filled)

    def vlen(self, group: Any, name: str, chosen: tuple[str, ...], dims: dict[str, Any]) -> None:
        kind = group.createVLType(np.int32, f"vlen_{name}")
        variable = group.createVariable(name, kind, chosen[:1])
        self.set_attributes(variable, {})
        values = np.empty(self.shape(chosen[:1], dims), object)
        if values.ndim:
            for i in range(values.size):
                values[i] = self.rng.integers(0, 9, i % 3 + 1).astype("i4")
            self.put(variable, values, self.is_filled)

    def marks(self, dtype: np.dtype[Any]) -> list[Any]:
        """Return values that mark missing ones."""
        default = dtype.type(netCDF4.default_fillvals[dtype.str[1:]])
        if dtype.kind == "f":
            found = [dtype.type(value) for value in (-9, np.nan, 1e20, 0)]
        else:
            found = [dtype.type(value) for value in (7, 0, np.iinfo(dtype).max, 2)]
            if dtype.kind == "i":
                found.append(dtype.type(-9))
        self.random.shuffle(found)
        return [*found, default]

    def values(self, dtype: np.dtype[Any], shape: tuple[int, ...], marks: list[Any], is_time: bool) -> Any:
        """Return random values, marks and extremes among them."""
        found = self.rng.integers(0, 100, shape).astype(dtype)
        if dtype.kind == "f":
            found = found / dtype.type(4)
            odd = [np.nan, -0.0, 1e-40] if is_time else [np.nan, -0.0, np.inf, 1e-40, -1e30]
        else:
            odd = [] if is_time else [dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max)]
        given = np.array([*(mark for mark in marks if not is_time or not abs(float(mark)) >= 100), *odd], dtype)
        if self.chance(0.6) and found.size:
            found = np.where(self.rng.random(shape) < 0.2, self.rng.choice(given, shape), found).astype(dtype)
        return np.asarray(found)

    def shape(self, chosen: tuple[str, ...], dims: dict[str, Any]) -> tuple[int, ...]:
        n = self.random.choice([0, 1, 3])
        return tuple(
            (n if not dims[dim].size else dims[dim].size) if dims[dim].isunlimited() else dims[dim].size
            for dim in chosen
        )

    def put(self, variable: Any, values: Any, may_leave: bool) -> None:
        """Write all values, or some of them if the others are well defined."""
        if may_leave and self.chance(0.1):
            return
        if not values.size:
            return
        if may_leave and values.ndim and self.chance(0.1):
            n = self.random.randint(0, len(values))
            if n:
                variable[:n] = values[:n]
            return
        variable[...] = values if values.ndim else values[()]

    def attributes(self, owner: Any, n: int) -> None:
        """Give random attributes to an object."""
        for i in range(n):
            name = self.random.choice(("title", "Z", "a", "ž", "b c", "long_name", "history")) + str(
                self.random.choice(["", i])
            )
            kind = self.random.choice(("text", "text", "number", "numbers", "texts", "string", "empty"))
            code = self.random.choice(self.types)
            if kind == "text":
                owner.setncattr(name, self.random.choice(TEXTS))
            elif kind == "texts" and self.has_types:
                owner.setncattr(name, [self.random.choice(TEXTS) for _ in range(2)])
            elif kind == "string" and self.has_types:
                owner.setncattr_string(name, self.random.choice(TEXTS))
            elif kind == "empty" and self.chance(0.2):
                owner.setncattr(name, np.array([], code))
            else:
                n_values = 1 if kind == "number" else 3
                owner.setncattr(name, self.values(np.dtype(code), (n_values,), self.marks(np.dtype(code)), False))

    def set_attributes(self, variable: Any, special: dict[str, Any]) -> None:
        """Give random attributes around and between those with a meaning."""
        names = [*special]
        self.random.shuffle(names)
        self.attributes(variable, self.random.choice([0, 0, 1]))
        for name in names:
            variable.setncattr(name, special[name])
        self.attributes(variable, self.random.choice([0, 0, 0, 2]))
