"""The property `.netcdf`: how a variable is stored in a file, where it is not as by default.

============== ==========================================================================================
`fill`         `"default"`: missing values are those that the library left unwritten. `"unused"`: pre-filled, but all
               values were written. `"none"`: not pre-filled, but with a `_FillValue`
`endian`       `"big"`
`chunks`       list of int, of all dimensions in the file
`compression`  name as the library has it: `zlib`, `szip`, `zstd`, `bzip2`, `blosc_lz4`, ...
`level`        of compression
`shuffle`      bool (zlib), or 0, 1, 2 (blosc)
`szip`         [coding, pixels per block]
`fletcher32`   true
`char`         {`dim`, `size`} of the dimension of characters, or {} for a single character
`enum`         {`name`, `type`, `members`}
`strings`      list of names: attributes of one text that have the type string
`mark`         number that marks values as missing, where it is not the first one of those that could
`packed`       true: numbers that are packed, which who reads them gets unpacked
============== ==========================================================================================

That of the whole dataset has `format`, `unlimited` (list of dimensions), `dimensions` (name → size, where no variable
tells), `groups`, `enums` (without variables) and `strings`.
"""

from __future__ import annotations

from typing import Any

from ..settings import NETCDF, setting

PROPERTY = NETCDF

DEFAULT_FORMAT = "NETCDF4"


def creation_options(record: Any, shape: tuple[int, ...], unlimited: tuple[bool, ...], format: str) -> dict[str, Any]:
    """Return the keywords that make the library store a variable as its record says.

    Parameters
    ----------
    record : dict
        Of the variable. Settings that are not of their type are left out: they decide on speed and size alone.
    shape : tuple of int
        In the file, that is with the dimension of characters.
    unlimited : tuple of bool
        Which dimensions are.
    format : str
        Name of the file format.
    """
    if not format.startswith("NETCDF4") or not isinstance(record, dict):
        return {}
    options: dict[str, Any] = {}
    if setting(record, "endian", str) == "big":
        options["endian"] = "big"
    chunks = setting(record, "chunks", list) or []
    if len(chunks) == len(shape) and shape and all(isinstance(n, int) and n > 0 for n in chunks):
        options["chunksizes"] = [
            n if is_unlimited else min(n, size) for n, size, is_unlimited in zip(chunks, shape, unlimited, strict=True)
        ]
    if setting(record, "fletcher32", bool):
        options["fletcher32"] = True
    if shape:
        options.update(_filter_options(record))
    return options


def _filter_options(record: dict[str, Any]) -> dict[str, Any]:
    compression = setting(record, "compression", str)
    shuffle = bool(setting(record, "shuffle", bool))
    if compression is None:
        return {"compression": "zlib", "complevel": _NoLevel(), "shuffle": True} if shuffle else {}
    options: dict[str, Any] = {"compression": compression, "shuffle": shuffle}
    level = setting(record, "level", int)
    if level is not None:
        options["complevel"] = level
    if compression.startswith("blosc"):
        options["blosc_shuffle"] = setting(record, "shuffle", int) or 0
    szip = setting(record, "szip", list) or []
    if compression == "szip" and len(szip) == 2:
        options["szip_coding"], options["szip_pixels_per_block"] = szip
    return options


class _NoLevel(int):
    """The level 0 in a guise that the library does not take for "no filters": with it, it shuffles alone."""

    def __bool__(self) -> bool:
        return True


def is_available(file: Any, compression: str) -> bool:
    """Return whether the library of this machine knows a compression."""
    family = compression.partition("_")[0]
    tests = {"zlib": lambda: True, "szip": file.has_szip_filter, "zstd": file.has_zstd_filter}
    tests |= {"bzip2": file.has_bzip2_filter, "blosc": file.has_blosc_filter}
    return family in tests and bool(tests[family]())
