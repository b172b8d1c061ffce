"""A NetCDF file as the netCDF4 library describes it, in the terms of a dataset."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import netCDF4
import numpy as np

from ds_format.base.text import escape

from .comparing import attempt

PACKING = {"scale_factor", "add_offset", "_Unsigned"}


class Stored(NamedTuple):
    """A variable of a NetCDF file."""

    name: str
    """With the names of its groups."""
    dims: list[str]
    kind: str
    """`number`, `character`, `string`, `enum`, `compound` or `other`."""
    dtype: Any
    raw: Any
    """As they are in the file."""
    masked: Any
    """As the library masks them, packed; or its failure."""
    unpacked: Any
    """As the library masks and unpacks them."""
    attributes: dict[str, Any]
    joins: bool
    """Whether the last dimension is of characters alone."""
    is_filled: bool
    """Whether the library fills what is not written."""
    has_packed_parent: bool = False
    """Whether these are the bounds of a packed variable."""


class Content(NamedTuple):
    """A NetCDF file."""

    variables: dict[str, Stored]
    attributes: dict[str, dict[str, Any]]
    """By the path of a group."""
    dims: dict[str, int]
    unlimited: list[str]


def read(path: Path) -> Content:
    """Return all of a file."""
    content = Content({}, {}, {}, [])
    with netCDF4.Dataset(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group, prefix in _groups(file, ""):
            content.attributes[prefix.rstrip("/")] = _attributes(group)
            for dim in group.dimensions.values():
                content.dims[prefix + dim.name] = dim.size
                if dim.isunlimited():
                    content.unlimited.append(prefix + dim.name)
            for variable in group.variables.values():
                found = _variable(group, variable, prefix)
                content.variables[found.name] = found
    joined_dims = _joined_dims(content.variables)
    packed = [stored for stored in content.variables.values() if PACKING & {*stored.attributes}]
    bounds = {stored.name.rpartition("/")[0] + "/" + str(stored.attributes.get("bounds")) for stored in packed}
    for name, stored in content.variables.items():
        if (name if "/" in name else f"/{name}") in bounds:
            content.variables[name] = stored._replace(has_packed_parent=True)
        if stored.kind == "character" and stored.dims and stored.dims[-1] in joined_dims:
            content.variables[name] = stored._replace(joins=True)
    return content


def _joined_dims(variables: dict[str, Stored]) -> set[str]:
    """Return dimensions that only characters have, and only as their last one, and no variable has the name of."""
    last = {stored.dims[-1] for stored in variables.values() if stored.kind == "character" and stored.dims}
    others = {
        dim for stored in variables.values()
        for dim in (stored.dims[:-1] if stored.kind == "character" else stored.dims)
    }  # fmt: skip
    return last - others - {*variables}


def _groups(group: Any, prefix: str) -> Iterator[tuple[Any, str]]:
    yield group, prefix
    for name, inner in group.groups.items():
        yield from _groups(inner, f"{prefix}{name}/")


def _attributes(owner: Any) -> dict[str, Any]:
    return {escape(name): owner.getncattr(name) for name in owner.ncattrs()}


def _variable(group: Any, variable: Any, prefix: str) -> Stored:
    kind = (
        "enum" if isinstance(variable.datatype, netCDF4.EnumType)
        else "string" if variable.dtype is str
        else "compound" if isinstance(variable.datatype, netCDF4.CompoundType)
        else "other" if not isinstance(variable.datatype, np.dtype)
        else "character" if variable.dtype.kind in "SU"
        else "number"
    )  # fmt: skip
    dims = [_owner(group, dim, prefix) + dim for dim in variable.dimensions]
    variable.set_auto_chartostring(False)
    variable.set_auto_maskandscale(False)
    raw = _values(variable)
    variable.set_auto_mask(True)
    variable.set_always_mask(True)
    masked = attempt(_values, variable)
    variable.set_auto_scale(True)
    unpacked = attempt(_values, variable) if kind in ("number", "enum") else masked
    return Stored(
        prefix + variable.name,
        dims,
        kind,
        variable.dtype,
        raw,
        masked,
        unpacked,
        _attributes(variable),
        False,
        kind not in ("number", "enum") or variable.get_fill_value() is not None,
    )


def _values(variable: Any) -> Any:
    values = variable[...]
    if isinstance(values, (str, bytes)):
        return np.array(values, object if isinstance(values, str) else "S1")
    return values


def _owner(group: Any, dim: str, prefix: str) -> str:
    while dim not in group.dimensions:
        prefix = prefix[: -len(group.name) - 1]
        group = group.parent
    return prefix


def text_of(stored: Stored) -> Any:
    """Return characters as byte strings, joined along the last dimension if only characters have it.

    Joined ones are missing where they are the `_FillValue`, as in xarray.
    """
    if not stored.joins:
        return np.ma.MaskedArray(stored.raw.astype(object), np.ma.getmaskarray(stored.masked))
    array = np.ascontiguousarray(stored.raw)
    text = np.full(array.shape[:-1], b"", object)
    if array.size:
        text[...] = array.view(f"S{array.shape[-1]}").reshape(array.shape[:-1])
    fill = stored.attributes.get("_FillValue")
    return np.ma.MaskedArray(text, False if fill is None else text == fill.rstrip(b"\0"))
