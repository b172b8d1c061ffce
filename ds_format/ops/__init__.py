"""The public functions on datasets in memory: no files.

`d` is always a dict of data with metadata under `"."`. Names of variables and attributes are not escaped. A missing
name gives an empty value, a warning or a `MissingError`, depending on the mode.
"""

from __future__ import annotations

from ..base.modes import with_mode
from .attributes import attr, attrs, find, findall, meta, require, rm_attr
from .computing import apply, group_by
from .parts import copy, merge, select, split
from .renaming import rename, rename_attr, rename_attr_m, rename_dim, rename_dim_m, rename_m
from .variables import dim, dims, get_dims, rm, size, time, type, var, vars

get_attrs = attrs
get_meta = meta
get_vars = vars

__all__ = [
    "apply",
    "attr",
    "attrs",
    "copy",
    "dim",
    "dims",
    "find",
    "findall",
    "get_attrs",
    "get_dims",
    "get_meta",
    "get_vars",
    "group_by",
    "merge",
    "meta",
    "rename",
    "rename_attr",
    "rename_attr_m",
    "rename_dim",
    "rename_dim_m",
    "rename_m",
    "require",
    "rm",
    "rm_attr",
    "select",
    "size",
    "split",
    "time",
    "type",
    "var",
    "vars",
    "with_mode",
]
