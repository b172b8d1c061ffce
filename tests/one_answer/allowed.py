"""What readers of one file may say differently: each with the sentence of a document that allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import netCDF4
import numpy as np

from .comparing import Disagreement, Failure, array_of, is_same
from .library import Content, Stored

DOCUMENTS = Path(__file__).parents[2] / "docs"


class Allowed(NamedTuple):
    """A difference that is documented."""

    page: str
    sentence: str
    allows: Callable[[Disagreement, Stored], bool]


def unlisted(found: list[Disagreement], content: Content | None) -> list[Disagreement]:
    """Return the disagreements that no document allows."""
    return [one for one in found if which(one, content) is None]


def which(one: Disagreement, content: Content | None) -> Allowed | None:
    """Return the document that allows a disagreement."""
    stored = content.variables.get(one.key, NOTHING) if content is not None else NOTHING
    return next((row for row in ALLOWED if row.allows(one, stored)), None)


NOTHING = Stored("", [], "", None, None, None, None, {}, False, True)
"""In place of a variable, for what concerns the file."""


def _is_flag(stored: Stored) -> bool:
    return stored.attributes.get("dtype") == "bool"


def _outside(one: Disagreement, stored: Stored) -> bool:
    """Whether masks differ only where the library masks values outside of the valid range."""
    low, high = stored.attributes.get("valid_range", (-np.inf, np.inf))
    low, high = stored.attributes.get("valid_min", low), stored.attributes.get("valid_max", high)
    if (
        one.aspect != "mask"
        or one.other != "library"
        or not {"valid_range", "valid_min", "valid_max"} & {*stored.attributes}
    ):
        return False
    ours, theirs = np.ma.getmaskarray(array_of(one.found)), np.ma.getmaskarray(array_of(one.expected))
    raw = np.ma.getdata(stored.raw)
    return bool(np.all((ours == theirs) | (theirs & ((raw < low) | (raw > high)))))


def _is_default(one: Disagreement, stored: Stored) -> bool:
    """Whether masks differ only where the library masks the default fill value, and the variable is not pre-filled."""
    if one.aspect not in ("mask", "mask masked") or one.other != "library" or stored.is_filled:
        return False
    ours, theirs = np.ma.getmaskarray(array_of(one.found)), np.ma.getmaskarray(array_of(one.expected))
    dtype = np.ma.getdata(stored.raw).dtype
    default = np.array(netCDF4.default_fillvals[dtype.str[1:]], dtype)
    return bool(np.all((ours == theirs) | (np.ma.getdata(stored.raw) == default)))


def _nul(one: Disagreement, stored: Stored) -> bool:
    """Whether masks differ only where the library masks NUL, its default fill value."""
    if one.aspect not in ("mask", "mask masked") or stored.kind != "character" or "_FillValue" in stored.attributes:
        return False
    ours, theirs = np.ma.getmaskarray(array_of(one.found)), np.ma.getmaskarray(array_of(one.expected))
    return bool(np.all((ours == theirs) | (np.ma.getdata(stored.raw) == b"")))


MARKS = ("_FillValue", "missing_value")


def _is_near(one: Disagreement, stored: Stored) -> bool:
    """Whether values differ only where xarray takes an integer for a missing one that is the same float."""
    marks = [np.atleast_1d(stored.attributes[name]) for name in MARKS if name in stored.attributes]
    if not (_in_xarray(one) and one.aspect == "values" and marks and stored.dtype.itemsize == 8):
        return False
    found, expected = np.asarray(one.found), np.asarray(one.expected)
    if found.shape != np.shape(stored.raw):
        return False
    near = np.isin(np.ma.getdata(stored.raw).astype("f8"), np.concatenate(marks).astype("f8"))
    return found.dtype.kind == "f" and bool(np.all(same_each(found, expected) | (near & np.isnan(expected))))


def same_each(one: Any, two: Any) -> Any:
    """Return where numbers are the same."""
    return (one == two) | ((one != one) & (two != two))


def _is_signed_zero(one: Disagreement, stored: Stored) -> bool:
    """Whether values differ only where the library masks them, by the sign of a zero."""
    if stored.kind != "number" or one.aspect not in ("values", "values raw") or isinstance(stored.masked, Failure):
        return False
    found, expected = np.asarray(one.found), np.asarray(one.expected)
    if found.dtype.kind == "O" or found.shape != expected.shape:
        return False
    mask = np.ma.getmaskarray(stored.masked)
    if one.reader == "open_many 2" and found.shape != mask.shape:  # the file twice
        mask = found != found
    if found.shape != mask.shape:
        return False
    differs = ~same_each(found, expected) | (np.signbit(found.astype("f8")) != np.signbit(expected.astype("f8")))
    is_zero = (found == 0) & (expected == 0)
    return bool(np.all(~differs | (mask & is_zero)))


def _is_text_of_fill(one: Disagreement, stored: Stored) -> bool:
    """Whether attributes differ only in the type of the `_FillValue` of characters."""
    if stored.kind != "character" or one.aspect != "attributes" or one.other != "library":
        return False
    fill = stored.attributes.get("_FillValue", b"").rstrip(b"\0").decode("latin-1")
    return is_same({**one.found, "_FillValue": fill}, {**one.expected, "_FillValue": fill})


def _in_xarray(one: Disagreement) -> bool:
    return one.reader.startswith(("engine", "open_many"))


def _is_text(one: Disagreement, stored: Stored) -> bool:
    """Whether xarray shows objects where the engine netcdf4 shows text, without chunks because it has read it."""
    is_chunks = one.aspect == "encoding: chunksizes" and one.expected is None
    is_type = one.aspect in ("type", "encoding: dtype")
    return stored.kind in ("string", "character") and _in_xarray(one) and (is_type or is_chunks)


SHOWN = ("type", "dtype", "encoding: dtype", "encoding: ds_missing")
"""Aspects of masked values in xarray."""

ALLOWED = (
    Allowed("netcdf.md", "| `valid_min`, `valid_max`, `valid_range` | attributes; they mask nothing |", _outside),
    Allowed("netcdf.md", "NULs at their end are padding.", _nul),
    Allowed("xarray.md", "and text in the metadata of a dataset", _is_text_of_fill),
    Allowed(
        "netcdf.md",
        "Bounds of a packed coordinate are unpacked with it",
        lambda one, stored: stored.has_packed_parent and (one.reader, one.other) == ("read", "library"),
    ),
    Allowed("differences.md", "or equal to the default fill value of a variable that is not pre-filled", _is_default),
    Allowed(
        "netcdf.md",
        "or to the default fill value if the library pre-fills and there is no `_FillValue` or `_Unsigned`",
        lambda one, stored: one.reader == "read packed" and one.aspect == "mask" and "_Unsigned" in stored.attributes,
    ),
    Allowed(
        "netcdf.md",
        "`fill: unused` and `fill: none` affect storage alone",
        lambda one, stored: one.aspect == ".netcdf fill" and {one.found, one.expected} <= {None, "none", "unused"},
    ),
    Allowed(
        "netcdf.md",
        'Booleans become `int8` with the attribute `dtype: "bool"`',
        lambda one, stored: _is_flag(stored) and one.other == "library" and one.aspect in ("dtype", "attributes"),
    ),
    Allowed(
        "xarray.md",
        "| booleans with a mask | objects with NaN | int8 with -127, with `_FillValue` set to it |",
        lambda one, stored: (
            _is_flag(stored) and "_FillValue" in stored.attributes and _in_xarray(one) and one.aspect in SHOWN
        ),
    ),
    Allowed(
        "netcdf.md",
        "The sign of a zero that marks missing values is that of the attribute.",
        lambda one, stored: (_in_xarray(one) or one.other == "library") and _is_signed_zero(one, stored),
    ),
    Allowed("xarray.md", "Text is an exception: its dtype in xarray is object", _is_text),
    Allowed("xarray.md", "compares 64-bit integers with `_FillValue` as floats", _is_near),
    Allowed(
        "xarray.md",
        "| integers with a mask | floats with NaN",  # also if the mask is false everywhere
        lambda one, stored: one.reader == "to_xarray" and one.aspect in SHOWN,
    ),
    Allowed(
        "netcdf.md",
        'structured arrays by `ds.read`, `ds.open` and `engine="ds"`',
        lambda one, stored: stored.kind == "compound" and one.reader.startswith(("read_many", "cat")),
    ),
    Allowed(
        "xarray.md",
        "`ds.open_many` leaves these variables out with a warning",
        lambda one, stored: (
            stored.kind == "compound" and one.aspect == "left out" and one.reader.startswith("open_many")
        ),
    ),
    Allowed(
        "netcdf.md",
        "No file is written with them",
        lambda one, stored: stored.kind == "compound" and one.aspect == "left out" and one.reader == "engine ds ds",
    ),
    Allowed(
        "xarray.md",
        "opaque and ragged ones, are left out with a warning",
        lambda one, stored: stored.kind == "other" and one.aspect == "left out" and _in_xarray(one),
    ),
    Allowed(
        "netcdf.md",
        "left out with a warning by `--skip-unsupported`",
        lambda one, stored: (
            (stored.kind == "other" and one.aspect == "left out")
            or (one.reader == "diff" and "is not supported" in repr(one.found))
        ),
    ),
)
