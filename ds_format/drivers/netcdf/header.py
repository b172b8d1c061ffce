"""The metadata of a NetCDF file from its header, without what reading values needs, NumPy among it."""

from __future__ import annotations

from typing import Any

from ...base import signatures
from ...base.text import escape
from ...body.body import Body, open_body
from ...errors import DsError, Unusual
from ...model import missing
from ..base import Entries, Metadata
from ..library.catalog import DescribedFile, DescribedVariable, joinable
from .catalog import KINDS_OF_STRINGS, describe_classic, entry_of, form_of, properties_of
from .format import DEFAULT_FORMAT, PROPERTY


def meta(path: Any) -> Metadata | None:
    """Return the metadata of a usual local file; None: only an open `Source` has them.

    They equal those of the `Source`, but numbers of attributes are `base.dtypes.TypedNumbers`.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    if type(path) is not str:
        return None  # an address would be requested twice if this fails
    body = open_body(path)
    try:
        with body.watch:
            return _meta(body)
    except (DsError, Unusual):
        return None  # opening the file tells the reason, or has another way


def _described(body: Body) -> DescribedFile | None:
    """Return the description of a file; None: it must be opened. Only the code of its kind is loaded."""
    first = bytes(body.head(len(signatures.HDF5)))
    if first.startswith(signatures.CLASSIC_NETCDF):
        from ...classic import read_usual

        return describe_classic(read_usual(body))
    if first.startswith(signatures.HDF5):
        from ...hdf5 import read_header
        from .hdf5.description import outline_usual

        return outline_usual(read_header(body)).file()
    return None


def _meta(body: Body) -> Metadata | None:
    file = _described(body)
    if file is None:
        return None
    variables = [described for described in file.variables if isinstance(described, DescribedVariable)]
    joins = joinable((each.name for each in variables), ((each.dims, each.code) for each in variables))
    found: Metadata = {}
    for described in variables:
        form, attributes = form_of(described, joins), described.attributes
        is_number, is_scalar = form.kind not in KINDS_OF_STRINGS, not described.shape
        may_be_missing = is_number and missing.are_possible(
            attributes, described.code, described.is_filled, is_scalar=is_scalar
        )
        found[escape(described.name)] = properties_of(form, attributes, may_be_missing=may_be_missing)
    found["."] = entry_of(file, found.values())
    return found


TITLES = {
    "NETCDF3_CLASSIC": "NetCDF classic",
    "NETCDF3_64BIT_OFFSET": "NetCDF 64-bit offset",
    "NETCDF3_64BIT_DATA": "NetCDF CDF-5",
    "NETCDF4_CLASSIC": "netCDF-4 classic model",
    "NETCDF4": "netCDF-4",
}
"""Usual names of the formats, by those that the library has for them."""


def title_of(meta: Entries) -> str:
    """Return the usual name of the format of a file."""
    record = meta.get(".", {}).get(PROPERTY)
    return TITLES[record.get("format", DEFAULT_FORMAT) if isinstance(record, dict) else DEFAULT_FORMAT]
