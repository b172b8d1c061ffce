"""Which format a file is of, precisely, and what the header of a ds file says beyond the metadata of a dataset."""

from __future__ import annotations

from typing import Any

from ... import drivers
from ...drivers import ds_header
from ...drivers.base import Source

LENGTH = ".stored"
"""Bytes of a variable in a ds file."""


def titled(format: drivers.Format, source: Source) -> str:
    """Return the usual name of the format of an open file."""
    title = drivers.load(format).title
    return title(source) if title is not None else format.title or format.name


def of_ds(path: str) -> tuple[str, dict[str, dict[str, Any]], dict[str, str]]:
    """Return what the header of a ds file says.

    Returns
    -------
    format : str
        With the version of its layout.
    meta : dict
        As `ds_header.meta`; with `.missing`, and the bytes in the file as `LENGTH`.
    faults : dict
        What is wrong with variables.

    Raises
    ------
    DsError, OSError
        If it cannot be read.
    """
    header, meta = ds_header.read(path)
    faults = {}
    for key in header.keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            faults[key] = described.error
        else:
            meta[key][".missing"] = var.missing
            meta[key][LENGTH] = var.length or None
    return "ds-1.0" if header.version == "1.0" else f"ds {header.version}", meta, faults
