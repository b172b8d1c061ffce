"""Attributes of datasets and groups, and the marker with what HDF5 has no place for.

The marker is an attribute `ds_format` of JSON text. Of a variable it has

=========== ===========================================================================================================
`attributes` those whose value in the file is not the one of the dataset, as ds-1.0 writes them; believed as long as
            the value in the file is the one that was written beside it
`names`     name in the file → name of an attribute
`name`      of the variable, if it is not its path
`dims`      its dimensions, if no dimension scales tell them
`type`      ds type, if it is not the one that is stored
`empty`     true: it has no data, and the dataset is a number of no meaning
`missing`   the number or text that stands for missing values; null: none does, whatever the attributes say
`fill`      true: the attribute `_FillValue` is not one of the dataset
`time`      true: the values are Julian dates
=========== ===========================================================================================================

and of a group or a file the first two.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import h5py
import numpy as np

from ...base.names import escape, unescape
from ...base.nesting import is_too_deep
from ...codec.attributes import from_json, to_json
from ...errors import UnsupportedError
from . import attribute_values as values
from .calls import Node
from .names import HIDDEN, MARKER, SCALE_ATTRIBUTES, SCALE_CLASS, is_attribute, substitute

AROUND = 4
"""Lists and objects of the marker that are around the values of attributes."""

Marker = dict[str, Any]


def write_attributes(owner: Node, given: dict[str, Any], dtype: np.dtype[Any] | None, is_scale: bool) -> Marker:
    """Write attributes in their order, and return what the marker has to say of them.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    given : dict
        By unescaped name.
    dtype : dtype, optional
        Of the variable, if it has numbers.
    is_scale : bool
        Whether it will be a dimension scale, which has attributes of its own.

    Raises
    ------
    UnsupportedError
        If there is no way to write one; the message names it.
    """
    names: dict[str, str] = {}
    inexact: dict[str, Any] = {}
    for name, raw in given.items():
        value = _as_read(escape(name), raw)
        form = values.native(name, value, dtype)
        if not values.same(form, value):
            inexact[escape(name)] = value
        shown = name
        if not is_attribute(name) or (name in SCALE_ATTRIBUTES and (is_scale or value == SCALE_CLASS)):
            shown = substitute(name, {*given, *names})
            names[shown] = name
        values.write(owner, shown, form)
    marker: Marker = {}
    if inexact:
        marker["attributes"] = to_json(inexact)
    if names:
        marker["names"] = names
    return marker


def _as_read(key: str, value: Any) -> Any:
    """Return an attribute as it comes back from a header: lists are of Python's values, arrays have dimensions."""
    if isinstance(value, (list, tuple, dict)) or (isinstance(value, np.ndarray) and not value.ndim):
        return from_json(to_json({key: value}))[key]
    return value


def write_marker(owner: Node, marker: Marker) -> None:
    """Write the marker, if it says something; one that is there already is replaced."""
    if marker:
        values.write(owner, MARKER, json.dumps(marker))


def read_attributes(
    owner: Node, dtype: np.dtype[Any] | None, is_netcdf: bool
) -> tuple[dict[str, Any], Marker, list[tuple[str, str]]]:
    """Return what the attributes of a dataset or a group tell.

    Parameters
    ----------
    owner : h5py.Group or h5py.Dataset
    dtype : dtype, optional
        Of the variable, if it has numbers.
    is_netcdf : bool
        Whether the netCDF library wrote the file.

    Returns
    -------
    attributes : dict
        By unescaped name.
    marker : dict
        The rest of it, that speaks of the variable.
    skipped : list of (name, reason)
    """
    hidden = {*HIDDEN, *SCALE_ATTRIBUTES} if is_scale(owner) else HIDDEN
    found: dict[str, Any] = {}
    skipped: list[tuple[str, str]] = []
    for raw in owner_names(owner):
        name = raw.decode("utf-8", "surrogateescape")
        if name in hidden:
            continue
        try:
            found[name] = values.read(owner, raw, is_netcdf)
        except (UnsupportedError, TypeError) as error:
            skipped.append((name, error.message if isinstance(error, UnsupportedError) else str(error)))
    marker = _read_marker(owner)
    names = marker.pop("names", None)
    if isinstance(names, dict):
        found = {names.get(name, name): value for name, value in found.items()}
    for name in marker.pop("json", []):
        # of a NetCDF file that this package wrote
        with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
            value = json.loads(found[name])
            if not is_too_deep(value):  # else it stays the text that it is in the file
                found[name] = value
    recorded = marker.pop("attributes", None)
    if isinstance(recorded, dict):
        for key, value in from_json(recorded).items():
            name = unescape(key)
            # who changed the attribute knew nothing of the marker
            if name in found and values.same(values.native(name, value, dtype), found[name]):
                found[name] = value
    return found, marker, skipped


def owner_names(owner: Node) -> list[bytes]:
    """Return the names of all attributes, in the order in which they were made if the file knows it."""
    names: list[bytes] = []
    is_ordered = bool(owner.id.get_create_plist().get_attr_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    h5py.h5a.iterate(owner.id, names.append, index_type=order)
    return names


def read_attribute(owner: Node, name: str) -> Any:
    """Return the value of one attribute; None if there is none, or it cannot be read."""
    if name not in owner.attrs:
        return None
    try:
        return values.read(owner, name.encode(), False)
    except (UnsupportedError, TypeError):
        return None


def is_scale(owner: Node) -> bool:
    """Return whether a dataset is a dimension scale.

    The library's own functions for scales and labels are left alone: they crash in damaged files.
    """
    return isinstance(owner, h5py.Dataset) and bool(read_attribute(owner, "CLASS") == SCALE_CLASS)


def _read_marker(owner: Node) -> Marker:
    try:
        marker = json.loads(read_attribute(owner, MARKER) or "{}")
    except (TypeError, ValueError, RecursionError):
        return {}
    return marker if isinstance(marker, dict) and not is_too_deep(marker, AROUND) else {}
