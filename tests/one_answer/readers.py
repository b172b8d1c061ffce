"""All readers of one file and of its conversions: of this package, the netCDF4 library, and engines of xarray."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import ds_format as ds
from ds_format.base.text import escape, unescape

from . import engines, library, parts
from .comparing import Comparisons, Failure, attempt, attributes_of, same_entry


def compare(path: Path, folder: Path, random: Random, compared: Comparisons) -> library.Content | None:
    """Compare all readers of a file, which is in a NetCDF format unless its suffix is `.ds`."""
    is_netcdf = path.suffix != ".ds"
    content = attempt(library.read, path) if is_netcdf else None
    if isinstance(content, Failure):
        content = None
    kinds = {escape(name): stored.kind for name, stored in content.variables.items()} if content else {}
    unsupported = [key for key, kind in kinds.items() if kind in engines.UNSUPPORTED]
    skip = "other" in kinds.values()
    base = attempt(ds.read, path, full=True, skip_unsupported=skip)
    raw = attempt(ds.read, path, full=True, unpack=False, skip_unsupported=skip)
    if isinstance(base, Failure) or isinstance(raw, Failure):
        compared.equal("read", "-", "opens", "", base, None)
        return content
    if content is not None:
        beside_library(content, raw, base, compared)
    copy, back = folder / "copy.ds", folder / "back.nc"
    again = folder / "again.ds"
    conversions = (("ds", path, copy), ("back", copy, back), ("again", back, again))
    for name, source, target in conversions[:1] if unsupported else conversions:  # what is left out changes the others
        done = attempt(ds.convert, source, target, skip_unsupported=bool(unsupported))
        if isinstance(done, Failure):
            if is_netcdf or not isinstance(done.error, ds.UnsupportedError):
                compared.equal("convert", "read", f"converts to {name}", "", done, None)
            break
    parts.compare("file", path, base, raw, random, compared)
    base, raw = _without(unsupported, base), _without(unsupported, raw)
    for name, other in (("ds", copy), ("back", back), ("again", again)):
        if other.exists():
            has_same = is_netcdf or name == "ds"  # a NetCDF file has more to say than a ds file of no NetCDF file
            found = attempt(ds.read, other, full=True)
            packed = attempt(ds.read, other, full=True, unpack=False)
            same_dataset(f"read {name}", "read", found, base, compared, has_same)
            same_dataset(f"read {name} packed", "read packed", packed, raw, compared, has_same)
    if content is not None and back.exists():
        round_trip(back, content, compared)
    if copy.exists():
        parts.compare("ds", copy, base, raw, random, compared)
        found = attempt(lambda: [*ds.diff(path, copy)])
        compared.equal("diff", "-", "differences", "", found, [])
        with_times(path, copy, skip, compared)
    if content is not None:
        engines.compare({"file": path, "ds": copy, "back": back}, content, random, compared)
    else:
        engines.compare_ds(path, compared)
    return content


def _without(keys: list[str], dataset: Any) -> Any:
    """Return a dataset without some variables, and without its own metadata, which they may change."""
    if not keys:
        return dataset
    meta = {key: entry for key, entry in dataset["."].items() if key not in keys and key != "."}
    return {**{key: data for key, data in dataset.items() if key not in keys}, ".": meta}


def beside_library(content: library.Content, raw: Any, base: Any, compared: Comparisons) -> None:
    """Compare what this package reads with what the netCDF4 library reads."""
    names = [escape(name) for name in content.variables]
    ours = [key for key in raw if key != "."]
    expected = [key for key in names if content.variables[unescape(key)].kind != "other" or key in ours]
    for key in names:
        compared.equal("read packed", "library", "left out", unescape(key), key not in expected, False)
    compared.equal("read packed", "library", "order of variables", "", ours, expected)
    root = attributes_of(raw["."]["."])
    groups = {
        (f"{group}/{key}" if group else key): value
        for group, attributes in content.attributes.items() for key, value in attributes.items()
    }  # fmt: skip
    compared.equal("read packed", "library", "attributes", "", root, groups)
    for key in ours:
        stored = content.variables.get(unescape(key))
        if stored is None:
            continue
        entry = raw["."][key]
        dims = stored.dims[:-1] if stored.joins else stored.dims
        compared.equal("read packed", "library", "dims", key, entry[".dims"], dims)
        compared.equal("read packed", "library", "attributes", key, attributes_of(entry), stored.attributes)
        packed, unpacked = stored.masked, stored.unpacked
        if stored.kind == "character":
            packed = unpacked = library.text_of(stored)
        elif stored.kind in ("string", "compound"):
            packed = unpacked = stored.raw
        if not isinstance(packed, Failure):
            compared.values("read packed", "library", key, raw[key], packed)
        if not isinstance(unpacked, Failure):
            compared.values("read", "library", key, base[key], unpacked)


def same_dataset(
    reader: str, other: str, found: Any, expected: Any, compared: Comparisons, has_same: bool = True
) -> None:
    """Compare two datasets: values, and if they have the same metadata, these and the order of names."""
    if isinstance(found, Failure):
        compared.equal(reader, other, "opens", "", found, None)
        return
    if has_same:
        compared.equal(reader, other, "order of variables", "", [*found], [*expected])
        names = [key for key in found["."] if key != "." or key in expected["."]]
        compared.equal(reader, other, "order of metadata", "", names, [*expected["."]])
    for key, entry in expected["."].items() if has_same else ():
        same_entry(reader, other, key, found["."].get(key), entry, compared)
    for key in expected:
        if key != "." and key in found:
            compared.values(reader, other, key, found[key], expected[key])


def round_trip(back: Path, content: library.Content, compared: Comparisons) -> None:
    """Compare the file that a ds file was converted to with the file that it was converted from."""
    found = attempt(library.read, back)
    if isinstance(found, Failure):
        compared.equal("back", "library", "opens", "", found, None)
        return
    variables = [name for name, variable in content.variables.items() if variable.kind != "other"]
    compared.equal("back", "library", "order of variables", "", [*found.variables], variables)
    compared.equal("back", "library", "dimensions", "", found.dims, content.dims)
    compared.equal("back", "library", "unlimited", "", found.unlimited, content.unlimited)
    compared.equal("back", "library", "attributes", "", found.attributes, content.attributes)
    for name in variables:
        if name not in found.variables:
            continue
        one, two = found.variables[name], content.variables[name]
        compared.equal("back", "library", "dims", name, one.dims, two.dims)
        compared.equal("back", "library", "attributes", name, one.attributes, two.attributes)
        compared.equal("back", "library", "kind", name, (one.kind, str(one.dtype)), (two.kind, str(two.dtype)))
        compared.values("back", "library", name, one.raw, two.raw, "raw")
        compared.values("back", "library", name, one.masked, two.masked, "masked")


def with_times(path: Path, copy: Path, skip: bool, compared: Comparisons) -> None:
    """Compare Julian dates of the file with those of its conversion."""
    one = attempt(ds.read, copy, jd=True)
    two = attempt(ds.read, path, jd=True, skip_unsupported=skip)
    if isinstance(one, Failure) or isinstance(two, Failure):
        compared.equal("read ds jd", "read jd", "opens", "", one, two)
        return
    for key in two:
        if key in one and key != ".":
            compared.values("read ds jd", "read jd", key, one.get(key), two[key])
