"""The engine "ds" of xarray on a NetCDF file and its conversions, compared with the engine netcdf4 on the file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import xarray as xr

import ds_format as ds

from . import library
from .comparing import Comparisons, Failure, attempt

DECODING: tuple[dict[str, Any], ...] = (
    {},
    {"mask_and_scale": False},
    {"decode_times": False},
    {"concat_characters": False},
    {"decode_cf": False},
    {"decode_timedelta": True},
    {"mask_and_scale": False, "decode_times": False},
    {"use_cftime": True},
)
UNSUPPORTED = ("compound", "other")
"""Kinds of variables that no ds file has."""
N_OPTIONS = 2
"""Decoding options of a group in addition to the default."""
STORAGE = {
    *("source", "preferred_chunks", "original_shape", "endian", ".netcdf", ".hdf5", "contiguous"),
    *("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle", "complevel", "fletcher32"),
}
"""Encoding that describes the file."""


def compare(paths: dict[str, Path], content: library.Content, random: Random, compared: Comparisons) -> None:
    """Compare the engine "ds" on a file and its conversions with the engine netcdf4 on the file.

    What the engine netcdf4 cannot open or read is compared with the engine "ds" on the file.
    """
    for group in content.attributes:
        for options in (DECODING[0], *random.sample(DECODING[1:], N_OPTIONS)):
            given = dict(options)
            if given.pop("use_cftime", False):
                given["decode_times"] = xr.coders.CFDatetimeCoder(use_cftime=True)
            compared.options = ",".join(f"{key}={value}" for key, value in options.items())
            other = "engine netcdf4"
            expected = _opened(paths["file"], "netcdf4", group, given)
            for name, path in paths.items():
                if not path.exists():
                    continue
                found = _opened(path, "ds", group, given)
                if isinstance(expected, Failure):
                    expected, other = found, "engine ds file"
                elif other == "engine netcdf4" or not isinstance(found, Failure):
                    same(f"engine ds {name}", other, group, found, expected, compared, content)
                    if name == "file" and not isinstance(found, Failure):
                        _repair(expected, found)
        compared.options = ""
        _many(paths["file"], group, compared)


def compare_ds(path: Path, compared: Comparisons) -> None:
    """Compare what the engine "ds" shows of a ds file with what `to_xarray` makes of what is read."""
    shown = _opened(path, "ds", "", {})
    found = attempt(lambda: _shown(ds.to_xarray(ds.read(path, full=True, unpack=False))))
    same("to_xarray", "engine ds", "", found, shown, compared)
    _many(path, "", compared)


def _repair(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Expect of conversions what this package reads of the file where the engine netcdf4 cannot read."""
    for name, variable in expected["variables"].items():
        if isinstance(variable["values"], Failure) and name in found["variables"]:
            variable["values"] = found["variables"][name]["values"]


def _many(path: Path, group: str, compared: Comparisons) -> None:
    """Compare `open_many` with the engine."""
    one = _opened(path, "ds", group, {})
    if isinstance(one, Failure):
        return
    if any(len({*variable["dims"]}) < len(variable["dims"]) for variable in one["variables"].values()):
        return
    plain = [variable["dims"] for variable in one["variables"].values() if variable["dtype"].names is None]
    for dim in [dim for dims in plain for dim in dims][:1]:
        for times in (1, 2):
            opened = partial(ds.open_many, [str(path)] * times, dim, group=group or None)
            found = attempt(lambda opened=opened: _shown(opened()))
            reader = f"open_many {times}"
            if isinstance(found, Failure):
                compared.equal(reader, "engine ds file", "opens", group, found, "")
                continue
            is_whole = found["variables"].keys() >= one["variables"].keys()
            for name, variable in one["variables"].items():
                if not is_whole and variable["dtype"].kind in "OS":
                    continue  # characters may be joined if nothing else has their dimension
                key = f"{group}/{name}" if group else name
                if name not in found["variables"]:
                    compared.equal(reader, "engine ds file", "left out", key, True, False)
                    continue
                values = variable["values"]
                if times == 2 and dim in variable["dims"] and not isinstance(values, Failure):
                    values = np.concatenate([values] * 2, variable["dims"].index(dim))
                shown = found["variables"][name]
                compared.values(reader, "engine ds file", key, _text(shown["values"]), _text(values))
                compared.equal(reader, "engine ds file", "attributes", key, shown["attributes"], variable["attributes"])


def _opened(path: Path, engine: str, group: str, options: dict[str, Any]) -> Any:
    """Return all that xarray shows of a group of a file."""

    def opened() -> dict[str, Any]:
        with xr.open_dataset(path, engine=engine, group=group or None, cache=False, **options) as dataset:
            return _shown(dataset)

    return attempt(opened)


def _shown(dataset: xr.Dataset) -> dict[str, Any]:
    variables = {}
    for name, variable in dataset.variables.items():
        variables[str(name)] = {
            "dims": variable.dims,
            "dtype": variable.dtype,
            "values": attempt(np.asarray, variable),
            "attributes": dict(variable.attrs),
            "encoding": dict(variable.encoding),
        }
    return {
        "variables": variables,
        "coords": sorted(map(str, dataset.coords)),
        "sizes": dict(dataset.sizes),
        "attributes": dict(dataset.attrs),
        "unlimited": dataset.encoding.get("unlimited_dims"),
    }


def same(
    reader: str,
    other: str,
    group: str,
    found: Any,
    expected: Any,
    compared: Comparisons,
    content: library.Content | None = None,
) -> None:
    """Compare what two engines show."""
    if isinstance(found, Failure) or isinstance(expected, Failure):
        compared.equal(reader, other, "opens", group, found, expected)
        return
    prefix = f"{group}/" if group else ""
    stored = content.variables if content is not None else {}
    absent = [name for name in expected["variables"] if name not in found["variables"]]
    left_out = [name for name in absent if prefix + name in stored and stored[prefix + name].kind in UNSUPPORTED]
    for name in left_out:
        compared.equal(reader, other, "left out", prefix + name, True, False)
    ours, theirs = found["variables"], {k: v for k, v in expected["variables"].items() if k not in left_out}
    compared.equal(reader, other, "attributes", group, found["attributes"], expected["attributes"])
    compared.equal(reader, other, "unlimited", group, found["unlimited"], expected["unlimited"])
    if not left_out:
        compared.equal(reader, other, "order of variables", group, [*ours], [*theirs])
        compared.equal(reader, other, "coords", group, found["coords"], expected["coords"])
        compared.equal(reader, other, "order of dimensions", group, found["sizes"], expected["sizes"])
    for name, two in theirs.items():
        if name not in ours:
            continue
        key, one = prefix + name, ours[name]
        if left_out and key in stored and stored[key].kind == "character":
            continue  # characters may be joined if nothing else has their dimension
        compared.equal(reader, other, "dims", key, one["dims"], two["dims"])
        compared.equal(reader, other, "type", key, str(one["dtype"]), str(two["dtype"]))
        compared.equal(reader, other, "attributes", key, one["attributes"], two["attributes"])
        if not isinstance(two["values"], Failure):
            compared.values(reader, other, key, _text(one["values"]), _text(two["values"]))
        for item in sorted({*one["encoding"], *two["encoding"]} - STORAGE):
            a, b = one["encoding"].get(item), two["encoding"].get(item)
            if item == "dtype":
                a, b = _dtype(a), _dtype(b)
            compared.equal(reader, other, f"encoding: {item}", key, a, b)


def _dtype(dtype: Any) -> str:
    """Return the name of a dtype in an encoding."""
    return "none" if dtype is None else "text" if dtype is str else str(dtype)


def _text(values: Any) -> Any:
    """Return text as objects."""
    return values.astype(object) if getattr(values, "dtype", np.dtype("f8")).kind in "SUT" else values
