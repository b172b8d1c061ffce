"""What the netCDF4 library says of a file → its description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError
from ..library.guard import ERRORS
from .attributes import read_attribute
from .calls import Group, Variable
from .description import Described, DescribedFile, DescribedGroup, Refused
from .groups import dimension_names, find_type, walk
from .losses import warn

Refuse = Callable[[UnsupportedError], None]
"""Takes why an attribute cannot be had: raises it, or warns."""


def describe(file: Group, path: str, skipped: list[tuple[str, str]], skip_unsupported: bool) -> DescribedFile:
    """Return what an open file says.

    Parameters
    ----------
    file : netCDF4.Dataset
    path : str
        For warnings.
    skipped : list of (variable, type)
        Variables that the library does not show.
    skip_unsupported : bool
        Whether to warn of attributes that ds cannot hold, and go on.

    Raises
    ------
    UnsupportedError
        If the file has an attribute that ds cannot hold. Those of variables are told when these are asked for.
    """

    def refuse(error: UnsupportedError) -> None:
        if not skip_unsupported:
            raise error.at(path=path)
        warn(f"left out: {error.message}", path, error.variable)

    groups = list(walk(file))
    return DescribedFile(
        file.data_model,
        [
            (prefix + name, int(dimension.size), dimension.isunlimited())
            for prefix, group in groups
            for name, dimension in group.dimensions.items()
        ],
        [DescribedGroup(prefix, *_attributes(group, None, refuse)) for prefix, group in groups],
        _variables(groups, skipped, refuse),
        [
            (prefix + name, _enum_record(group, enum))
            for prefix, group in groups
            for name, enum in group.enumtypes.items()
        ],
    )


def read_scalar(variable: Variable) -> NDArray[Any] | None:
    """Return the value of a variable without dimensions; None if the library cannot read it."""
    try:
        return np.asarray(variable[...])
    except ERRORS:
        # whoever reads it is told
        return None


def warn_of_types(file: Group, path: str) -> None:
    """Warn of types unknown to ds which no variable has: those that one has were refused with it."""
    groups = list(walk(file))
    used = {getattr(v.datatype, "name", None) for _, group in groups for v in group.variables.values()}
    for prefix, group in groups:
        for name in {*group.cmptypes, *group.vltypes} - used:
            warn(f'left out: the type "{prefix}{name}" is not possible in ds', path)


def _variables(
    groups: list[tuple[str, Group]], skipped: list[tuple[str, str]], refuse: Refuse
) -> Iterator[Described | Refused]:
    for name, kind in skipped:
        yield Refused(name, UnsupportedError(f"the {kind} type is not possible in ds"))
    for prefix, group in groups:
        for base, variable in group.variables.items():
            try:
                yield _variable(prefix + base, variable, refuse)
            except UnsupportedError as error:
                yield Refused(prefix + base, error)


def _variable(name: str, variable: Variable, refuse: Refuse) -> Described:
    code = _code_of(variable)
    attributes, strings = _attributes(variable, name, refuse)
    is_number = code not in ("S1", "O")
    chunks = variable.chunking()
    storage: dict[str, Any] = {}
    if variable.endian() == "big" and is_number and variable.dtype.itemsize > 1:
        storage["endian"] = "big"
    if isinstance(variable.datatype, netCDF4.EnumType):
        storage["enum"] = _enum_record(variable.group(), variable.datatype)
    if isinstance(chunks, list) and chunks:
        storage["chunks"] = [int(n) for n in chunks]
        storage.update(_read_filters(variable.filters() or {}))
    return Described(
        name,
        dimension_names(variable),
        tuple(int(n) for n in variable.shape),
        code,
        attributes,
        strings,
        is_number and variable.get_fill_value() is not None,
        storage,
        tuple(int(n) for n in chunks) if isinstance(chunks, list) else None,
        variable,
    )


def _code_of(variable: Variable) -> str:
    """Return the code of a variable; see `Described`.

    Raises
    ------
    UnsupportedError
        If ds has no such type: compound, ragged.
    """
    dtype: Any = variable.dtype
    if dtype is str:
        return "O"
    if isinstance(variable.datatype, netCDF4.CompoundType):
        raise UnsupportedError(f'the compound type "{variable.datatype.name}" is not possible in ds')
    if isinstance(variable.datatype, netCDF4.VLType):
        raise UnsupportedError(f'the variable-length type "{variable.datatype.name}" is not possible in ds')
    code: str = dtype.str[1:]
    return code


def _attributes(owner: Group | Variable, variable: str | None, refuse: Refuse) -> tuple[dict[str, Any], list[str]]:
    """Return attributes by name, and the names of those that are one text of the type string."""
    values: dict[str, Any] = {}
    strings: list[str] = []
    for name in owner.ncattrs():
        try:
            values[name], is_string = read_attribute(owner, name)
        except UnsupportedError as error:
            error.at(variable=variable)
            refuse(error)
            continue
        if is_string and isinstance(values[name], str):
            strings.append(name)
    return values, strings


def _enum_record(group: Group, enum: Any) -> dict[str, Any]:
    """Return the record of an enum type; see `ds_format.drivers.netcdf.storage`."""
    members = {name: int(value) for name, value in enum.enum_dict.items()}
    return {"name": find_type(group, enum.name, "enumtypes"), "type": enum.dtype.name, "members": members}


def _read_filters(filters: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if isinstance(filters.get("blosc"), dict):
        record["compression"] = filters["blosc"]["compressor"]
        record["shuffle"] = int(filters["blosc"]["shuffle"])
    elif isinstance(filters.get("szip"), dict):
        record["compression"] = "szip"
        record["szip"] = [filters["szip"]["coding"], int(filters["szip"]["pixels_per_block"])]
    else:
        # zlib of level 0 is none, and the library does not make it
        for name in ("zlib", "zstd", "bzip2"):
            if filters.get(name) and (name != "zlib" or filters["complevel"]):
                record["compression"] = name
        if filters.get("shuffle"):
            record["shuffle"] = True
    if "compression" in record and "szip" not in record:
        record["level"] = int(filters["complevel"])
    if filters.get("fletcher32"):
        record["fletcher32"] = True
    return record
