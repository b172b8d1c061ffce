"""The properties `.netcdf` and `.hdf5`: storage of a variable in a file, or facts about the file itself.

Each driver writes its own property (see `storage` of each driver). It uses the other one if its own is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..base.dtypes import HDF5 as HDF5, NETCDF as NETCDF, np

LABELS = "DIMENSION_LABELS"
"""Attribute of an HDF5 dataset with the names of its dimensions, by the dimension scale specification."""

NON_COORDINATE = "_nc4_non_coord_"
"""Prefix, in the HDF5 file, of a netCDF-4 variable that has the name of a dimension but is not its coordinate."""

PURE_DIMENSION = "This is a netCDF dimension but not a netCDF variable."
"""Start of the `NAME` of a dimension scale that is not a variable of a netCDF-4 file."""

SCALE_CLASS = "DIMENSION_SCALE"
"""The `CLASS` of a dimension scale."""

ALIKE = ("chunks", "shuffle", "fletcher32", "endian", "dimensions", "groups")
"""Settings with the same form in both properties."""
COMPRESSIONS = {NETCDF: {"gzip": "zlib"}, HDF5: {"zlib": "gzip"}}
"""For each property: name of a compression in the other property → its own name."""

FILTERS = ("zlib", "zstd", "bzip2", "blosc", "szip")
COMPRESSING = frozenset({*FILTERS, "compression", "complevel", "compression_opts", "shuffle"})
LAYOUT = frozenset({"chunksizes", "chunks", "contiguous"})
ROUNDING = frozenset({"bits", "digits", "quantize_mode", "significant_digits"})
STORING = frozenset({
    *COMPRESSING,
    *LAYOUT,
    *ROUNDING,
    *("blosc_shuffle", "endian", "fletcher32", "szip_coding", "szip_pixels_per_block"),
})
"""Keys of an encoding of xarray about storage, under the names of its engines, and `bits` and `digits`."""

T = TypeVar("T")


def setting(record: Any, name: str, kind: type[T]) -> T | None:
    """Return a setting of a record, or None if it is missing or has another type."""
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else None


def names(record: Any, name: str) -> list[str]:
    """Return a setting that is a list of names; other items are dropped."""
    return [item for item in setting(record, name, list) or [] if isinstance(item, str)]


def with_settings(
    entry: Mapping[str, Any], settings: Mapping[str, Any], without: tuple[str, ...] = ("mark",)
) -> dict[str, Any]:
    """Return metadata of a variable with other settings in `.netcdf`, which is left out if it has none."""
    given = entry.get(NETCDF)
    kept = {name: value for name, value in given.items() if name not in without} if isinstance(given, dict) else {}
    record = {**kept, **settings}
    others = {name: value for name, value in entry.items() if name != NETCDF or record}
    return {**others, NETCDF: record} if record else others


def drop_stored_marks(meta: dict[str, dict[str, Any]]) -> None:
    """Remove the settings `mark` of a ds file that metadata of a NetCDF file do not have, whose values tell as much.

    Those of scalars, and of values that were never written, stay.
    """
    for key, entry in meta.items():
        record = setting(entry, NETCDF, dict) or {}
        is_number_of_values = entry.get(".size") and record.get("fill") != "default"
        if "mark" in record and (isinstance(record["mark"], dict) or is_number_of_values):
            meta[key] = with_settings(entry, {})


def chunk_sizes(record: Any, shape: tuple[int, ...]) -> list[int]:
    """Return the setting `chunks` if it fits a shape; else an empty list."""
    chunks = setting(record, "chunks", list) or []
    is_fit = len(chunks) == len(shape) and all(isinstance(n, int) and n > 0 for n in chunks)
    return chunks if is_fit else []


def as_netcdf(meta: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return metadata in which `.netcdf` is made from `.hdf5` if it is missing.

    Names of numbers (`enum`) are not copied: NetCDF files have named types for them.
    """
    unlimited: dict[str, None] = {}
    for entry in meta.values():
        limits = setting(entry.get(HDF5), "maxshape", list) or []
        unlimited.update({dim: None for dim, n in zip(entry.get(".dims") or (), limits, strict=False) if n is None})
    out = {key: _with(entry, NETCDF, HDF5, {}) for key, entry in meta.items()}
    if unlimited and NETCDF not in meta.get(".", {}):
        of_file = out.get(".", {})
        out["."] = {**of_file, NETCDF: {**of_file.get(NETCDF, {}), "unlimited": list(unlimited)}}
    return out


def as_hdf5(meta: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return metadata in which `.hdf5` is made from `.netcdf` if it is missing."""
    unlimited = set(names(meta.get(".", {}).get(NETCDF), "unlimited"))
    out: dict[str, dict[str, Any]] = {}
    for key, entry in meta.items():
        more: dict[str, Any] = {}
        members = setting(setting(entry.get(NETCDF), "enum", dict), "members", dict)
        if members:
            more["enum"] = members
        dims, size = entry.get(".dims") or [], entry.get(".size") or []
        if unlimited.intersection(dims):
            more["maxshape"] = [None if dim in unlimited else n for dim, n in zip(dims, size, strict=False)]
        out[key] = _with(entry, HDF5, NETCDF, more)
    return out


def _with(entry: dict[str, Any], own: str, other: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a variable. If the record `own` is missing, it is made from `other` and `more`."""
    if own in entry or not (more or isinstance(entry.get(other), dict)):
        return entry
    given = setting(entry, other, dict) or {}
    record = {name: given[name] for name in ALIKE if name in given}
    compression = COMPRESSIONS[own].get(str(given.get("compression")))
    if compression is not None:
        record["compression"] = compression
        record.update({name: given[name] for name in ("level",) if name in given})
    return {**entry, own: {**record, **more}}


def filter_settings(encoding: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the settings of a property for the filters that an encoding of xarray asks for.

    Parameters
    ----------
    encoding : dict
        The encoding of a variable.
    name : str
        `NETCDF` or `HDF5`.
    """
    compression = next((one for one in FILTERS if encoding.get(one)), None)
    if isinstance(encoding.get("compression"), str):
        compression = encoding["compression"]
    if compression is None:
        return {"shuffle": True} if encoding.get("shuffle") is True else {}
    detail = encoding.get(compression)
    level = encoding.get("complevel", encoding.get("compression_opts"))
    level = int(level) if isinstance(level, (int, np.integer)) else 4  # the library's own
    compression = COMPRESSIONS[name].get(compression, compression)
    if compression in ("zlib", "gzip") and not level:
        return {"shuffle": True} if encoding.get("shuffle") is True else {}
    if compression == "blosc" and isinstance(detail, Mapping):
        return {"compression": detail["compressor"], "shuffle": int(detail["shuffle"]), "level": level}
    if compression.startswith("blosc"):
        return {"compression": compression, "shuffle": int(encoding.get("blosc_shuffle", 1)), "level": level}
    if compression == "szip":
        coding, pixels = encoding.get("szip_coding", "nn"), encoding.get("szip_pixels_per_block", 8)
        if isinstance(detail, Mapping):
            coding, pixels = detail["coding"], detail["pixels_per_block"]
        return {"compression": "szip", "szip": [str(coding), int(pixels)]}
    shuffle = {"shuffle": True} if encoding.get("shuffle", compression in ("zlib", "gzip")) else {}
    return {"compression": compression, **shuffle, "level": level}
