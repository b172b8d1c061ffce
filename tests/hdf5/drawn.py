"""Random files of the netCDF4 library and of h5py."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

import h5py
import netCDF4
import numpy as np

from .files import NUMBERS

NAMES = ("x", "time", "ž", "日本", "with space", "_1", "a.b-c+d@e", "lat", "lon", "a" * 60, "CLASS_", "level")
TEXTS = ("", "K", "a longer text", "ž", "日本", "in\0side", "  spaces  ", "x" * 300)


def values(random: Random, code: str, shape: tuple[int, ...]) -> Any:
    """Return random values; text of a dtype O if the code is `string`."""
    rng = np.random.default_rng(random.getrandbits(32))
    if code == "string":
        texts = np.empty(shape, object)
        texts[...] = rng.choice(np.array([text.replace("\0", "") for text in TEXTS], object), shape)
        return texts
    if code == "S1":
        return rng.choice(np.array([b"a", b"b", b"\0", b"\x7f"], "S1"), shape)
    return rng.integers(0, random.choice([2, 100]), shape).astype(code)


def attributes(random: Random, owner: Any) -> None:
    """Give random attributes to an object of the netCDF4 library."""
    for i in range(random.choice([0, 1, 3, 7, 8, 9, 30])):
        name = random.choice(NAMES) + str(i)
        kind = random.choice(("text", "string", "strings", "number", "numbers", "none"))
        code = random.choice(NUMBERS)
        if kind == "text":
            owner.setncattr(name, random.choice(TEXTS).encode() * random.choice([1, 1, 1, 20, 40]))
        elif kind == "string":
            owner.setncattr_string(name, random.choice(TEXTS).replace("\0", ""))
        elif kind == "strings":
            owner.setncattr_string(name, values(random, "string", (random.randint(2, 4),)).tolist())
        else:
            n = {"number": 1, "numbers": random.choice([2, 3, 2000]), "none": 0}[kind]
            owner.setncattr(name, values(random, code, (n,)))


def netcdf4(path: Path, random: Random) -> None:
    """Write a random file with the netCDF4 library."""
    format = random.choice(("NETCDF4", "NETCDF4", "NETCDF4", "NETCDF4_CLASSIC"))
    is_classic = format == "NETCDF4_CLASSIC"
    with netCDF4.Dataset(path, "w", format=cast("Any", format)) as file:
        groups = [file]
        if not is_classic:
            for _ in range(random.choice([0, 0, 1, 3])):
                parent = random.choice(groups)
                name = random.choice(NAMES)
                if name not in parent.groups:
                    groups.append(parent.createGroup(name))
        if not is_classic:
            for group in groups:
                attributes(random, group)
        for group in groups:
            _dimensions(random, group, is_classic)
            for name in random.sample(NAMES, random.choice([0, 1, 3, len(NAMES)])):
                if name not in group.groups:
                    _variable(random, group, name, is_classic)


def _dimensions(random: Random, group: Any, is_classic: bool) -> None:
    has_record = False
    # a group and a dimension of one name are one object in the file
    for name in random.sample([name for name in NAMES if name not in group.groups], random.randint(0, 4)):
        is_record = random.random() < 0.3 and not (is_classic and has_record)
        has_record = has_record or is_record
        group.createDimension(name, None if is_record else random.randint(1, 5))


def _variable(random: Random, group: Any, name: str, is_classic: bool) -> None:
    dimensions: dict[str, Any] = {}
    around = group
    while around is not None:
        dimensions = {**around.dimensions, **dimensions}
        around = around.parent
    dims = random.choices([*dimensions], k=random.randint(0, 3)) if dimensions else []
    if is_classic:
        dims = sorted((dim for dim in dict.fromkeys(dims)), key=lambda dim: not dimensions[dim].isunlimited())
    code = random.choice((*(NUMBERS[i] for i in (0, 1, 2, 8, 9)), "S1") if is_classic else (*NUMBERS, "S1", "string"))
    options: dict[str, Any] = {}
    if dims and random.random() < 0.6:
        options = {"zlib": random.random() < 0.5 and code != "string", "shuffle": random.random() < 0.5}
        options["fletcher32"] = random.random() < 0.2 and code != "string"
        sizes = [1 if dimensions[dim].isunlimited() else dimensions[dim].size for dim in dims]
        if random.random() < 0.5:
            options["chunksizes"] = [random.randint(1, max(1, n)) for n in sizes]
    if code not in ("S1", "string"):
        # not False: what is not written then is what memory has
        options["fill_value"] = random.choice([None, None, np.array(7, code)])
        order = random.choice(("native", "native", "big"))
        if order == "big" and not is_classic and np.dtype(code).itemsize > 1:
            options["endian"] = order
    data_type = str if code == "string" else code
    variable = group.createVariable(name, data_type, dims, **options)
    variable.set_auto_maskandscale(False)
    attributes(random, variable) if not is_classic else None
    if random.random() < 0.8:
        shape = tuple(random.randint(0, 4) if dimensions[d].isunlimited() else dimensions[d].size for d in dims)
        given = values(random, code, shape)
        if given.size:
            variable[tuple(slice(0, n) for n in shape) if shape else ...] = given if shape else given[()]


def hdf5(path: Path, random: Random) -> None:
    """Write a random file with h5py."""
    libver = random.choice(("earliest", "v108", "v110", "latest"))
    low = cast("Any", libver if libver == "earliest" else (libver, libver))
    with h5py.File(path, "w", libver=low, track_order=random.random() < 0.5) as file:
        groups = [file["/"]]
        for name in random.sample(NAMES, random.choice([0, 1, 3])):
            groups.append(random.choice(groups).require_group(f"group {name}"))
        for group in groups:
            _hdf5_attributes(random, group)
            for name in random.sample(NAMES, random.choice([0, 1, 3, len(NAMES)])):
                _hdf5_attributes(random, _hdf5_dataset(random, group, name))


def _hdf5_attributes(random: Random, owner: Any) -> None:
    for i in range(random.choice([0, 1, 3, 8, 9, 20])):
        name = f"{random.choice(NAMES)}{i}"
        code = random.choice((*NUMBERS, ">i4", ">f8", "f2", "bool", "S5", "string"))
        shape = random.choice([(), (1,), (3,), (0,), (2, 2)])
        if code == "string":
            data = values(random, code, shape)
            owner.attrs.create(name, data if shape else data[()], dtype=h5py.string_dtype())
        elif code == "S5":
            owner.attrs.create(name, np.full(shape, random.choice([b"", b"abc", b"abcde"]), "S5"))
        elif random.random() < 0.1:
            owner.attrs.create(name, h5py.Empty(code))
        else:
            owner.attrs.create(name, values(random, code, shape))


def _hdf5_dataset(random: Random, group: Any, name: str) -> Any:
    code = random.choice((*NUMBERS, ">i4", ">f8", "f2", "bool", "S5", "string"))
    shape = tuple(random.choice([0, 1, 3, 7]) for _ in range(random.randint(0, 3)))
    options: dict[str, Any] = {}
    if shape and random.random() < 0.7:
        options["chunks"] = tuple(random.randint(1, max(n, 1)) for n in shape)
        most = [random.choice([max(n, step), n + 7, None]) for n, step in zip(shape, options["chunks"], strict=True)]
        options["maxshape"] = tuple(most)
        options["fletcher32"] = random.random() < 0.2 and code != "string"
        options["shuffle"] = random.random() < 0.3 and code != "string"
        options["compression"] = random.choice([None, "gzip"]) if code != "string" else None
    dtype = h5py.string_dtype() if code == "string" else np.dtype(code)
    if code not in ("string", "S5", "bool") and random.random() < 0.4:
        options["fillvalue"] = random.randint(0, 9)
    dataset = group.create_dataset(name, shape, dtype, **options)
    if random.random() < 0.8:
        if code == "S5":
            data: Any = np.full(shape, b"abc", "S5")
        else:
            data = values(random, code, shape)
        if data.size and shape and random.random() < 0.3:
            data = data[: random.randint(0, shape[0])]
            dataset[: len(data)] = data
        elif data.size:
            dataset[...] = data if shape else data[()]
    return dataset
