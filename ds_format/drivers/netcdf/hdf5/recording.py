"""A file that takes definitions and values as the netCDF4 library does, and keeps them until all are known.

A small file is composed from them (`composing`). If the composer does not cover it, the library writes it from the same
records (`write_by_library`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....base.dtypes import TYPES
from ....model.rounding import Rounding
from ...library.catalog import split
from ...library.plan import VariablePlan
from ..attributes import EncodedAttribute, write_attributes
from ..calls import Group, Variable, raw
from ..definition import DefinedVariable, NetCDFPlan, char_dimension
from ..writers import VariableWriter, write_slab
from .composing import MAX_RANK, MAX_SIZE, STRING_SIZE, NewDimension, NewFile, NewVariable


def is_small(plan: NetCDFPlan, format: str, compressions: set[str]) -> bool:
    """Return whether a file is likely to be composed: netCDF-4 with few values and no filter that needs a library.

    Parameters
    ----------
    plan : NetCDFPlan
    format : str
    compressions : set of str
        Those that were asked for, whether or not a variable gains by them: the library has to know them.
    """
    if not format.startswith("NETCDF4"):
        return False
    variables = plan.variables.values()
    found = {each.record.get("compression") for each in variables} | compressions
    ranks = [len(each.shape or ()) for each in variables]
    return found <= {None, "zlib"} and max(ranks, default=0) < MAX_RANK and sum(map(_size, variables)) <= MAX_SIZE


def _size(variable: VariablePlan) -> int:
    char = char_dimension(variable)
    is_text = variable.type is None or TYPES[variable.type].is_string
    size = char[1] if char is not None else STRING_SIZE if is_text else TYPES[variable.type or "float64"].size
    return variable.total * max(size, 1)


class _Owner:
    """Attributes of a file, a group or a variable."""

    def __init__(self, attributes: dict[str, EncodedAttribute]):
        self._attributes = attributes

    def setncatts(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            text = value.encode() if isinstance(value, str) else value
            self._attributes[name] = EncodedAttribute("text" if isinstance(text, bytes) else "number", text)

    def setncattr_string(self, name: str, value: bytes | list[bytes]) -> None:
        self._attributes[name] = EncodedAttribute("string", [value] if isinstance(value, bytes) else value)


class RecordedDimension:
    """A dimension; one that is unlimited has no size before it is written."""

    def __init__(self, new: NewDimension):
        self.new = new
        self.size = 0 if new.is_unlimited else new.size

    def isunlimited(self) -> bool:
        """Return whether it is unlimited."""
        return self.new.is_unlimited


class RecordedEnum:
    """An enum type."""

    def __init__(self, dtype: np.dtype[Any], members: dict[str, int]):
        self.dtype, self.enum_dict = dtype, members


class RecordedVariable(_Owner):
    """A variable."""

    def __init__(self, new: NewVariable, attributes: dict[str, EncodedAttribute]):
        super().__init__(attributes)
        self.new = new

    def set_auto_maskandscale(self, is_on: bool) -> None:
        """Do nothing: values are raw."""

    def set_auto_chartostring(self, is_on: bool) -> None:
        """Do nothing: values are raw."""


class RecordedGroup(_Owner):
    """A group."""

    def __init__(self, new: NewFile, name: str):
        attributes: dict[str, EncodedAttribute] = {}
        super().__init__(attributes)
        self._new, self._prefix = new, f"{name}/" if name else ""
        self.dimensions: dict[str, RecordedDimension] = {}
        self.variables: dict[str, RecordedVariable] = {}
        self.enumtypes: dict[str, RecordedEnum] = {}
        new.attributes[name] = attributes

    def createDimension(self, name: str, size: int | None) -> None:
        """Define a dimension; None: an unlimited one."""
        new = NewDimension(self._prefix + name, size or 0, size is None)
        self._new.dimensions.append(new)
        self.dimensions[name] = RecordedDimension(new)

    def createEnumType(self, dtype: np.dtype[Any], name: str, members: dict[str, int]) -> RecordedEnum:
        """Define an enum type."""
        self._new.enums.append((self._prefix + name, dtype, members))
        self.enumtypes[name] = RecordedEnum(dtype, members)
        return self.enumtypes[name]

    def createVariable(
        self, name: str, datatype: Any, dimensions: Sequence[RecordedDimension] = (), **options: Any
    ) -> RecordedVariable:
        """Define a variable; the options are those of the library."""
        is_enum = isinstance(datatype, RecordedEnum)
        dtype = None if datatype is str else datatype.dtype if is_enum else np.dtype(datatype).newbyteorder("=")
        attributes: dict[str, EncodedAttribute] = {}
        dims = tuple([dimension.new.name for dimension in dimensions])
        members = datatype.enum_dict if is_enum else None
        new = NewVariable(self._prefix + name, dtype, dims, attributes, options, None, members)
        self._new.variables.append(new)
        self.variables[name] = RecordedVariable(new, attributes)
        return self.variables[name]


class RecordedFile(RecordedGroup):
    """A file.

    Parameters
    ----------
    format : str
        `NETCDF4` or `NETCDF4_CLASSIC`.
    """

    data_model: ClassVar[str] = "NETCDF4"
    """It has no define mode, whatever its format is."""

    def __init__(self, format: str):
        self.new = NewFile(is_classic=format == "NETCDF4_CLASSIC")
        super().__init__(self.new, "")
        self._groups: dict[str, RecordedGroup] = {}

    def createGroup(self, name: str) -> None:
        """Define a group."""
        self.new.groups.append(name)
        self._groups[name] = RecordedGroup(self.new, name)

    def __getitem__(self, name: str) -> RecordedGroup:
        return self._groups[name]


class RecordingWriter(VariableWriter):
    """Keeps the values of a variable."""

    def __init__(self, defined: DefinedVariable, rounding: Rounding | None):
        super().__init__(defined, rounding)
        self._parts: list[NDArray[Any]] = []

    def add(self, values: NDArray[Any], guard: AbstractContextManager[None]) -> None:
        """Keep values; see `LibraryWriter.add`."""
        self._parts.append(np.array(values))
        self.written += len(values)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Never called: all values are put at once."""
        raise NotImplementedError

    def finish(self) -> list[str]:
        """See `LibraryWriter.finish`."""
        if self._parts:
            shape = (*(self.plan.shape or ()), *([] if self.defined.length is None else [self.defined.length]))
            self.defined.variable.new.values = np.concatenate(self._parts).reshape(shape)
        return super().finish()


def write_by_library(new: NewFile, file: Group) -> None:
    """Define and write all of a file by the netCDF4 library."""

    def owner(name: str) -> Group:
        return file[name] if name else file

    for group in new.groups:
        file.createGroup(group)
    for dimension in new.dimensions:
        group, base = split(dimension.name)
        owner(group).createDimension(base, None if dimension.is_unlimited else dimension.size)
    enums = {}
    for name, dtype, members in new.enums:
        group, base = split(name)
        enums[dtype, tuple(members.items())] = owner(group).createEnumType(dtype, base, members)
    for name, attributes in new.attributes.items():
        write_attributes(owner(name), dict(attributes))
    # the library chooses chunks by the sizes of dimensions, which values change
    variables = [_define_variable(each, owner, enums) for each in new.variables]
    for each, variable in zip(new.variables, variables, strict=True):
        if each.values is not None:
            write_slab(variable, tuple([slice(0, n) for n in each.values.shape]), each.values)


def _define_variable(new: NewVariable, owner: Callable[[str], Group], enums: Mapping[Any, Any]) -> Variable:
    datatype: Any = str if new.dtype is None else new.dtype
    if new.members is not None:
        datatype = enums[new.dtype, tuple(new.members.items())]
    elif new.options.get("endian") == "big" and new.dtype is not None:
        datatype = new.dtype.newbyteorder(">")  # the library needs it in both places
    places = map(split, new.dims)
    dimensions = [owner(group).dimensions[base] for group, base in places]
    group, base = split(new.name)
    variable = raw(owner(group).createVariable(base, datatype, dimensions, **new.options))
    write_attributes(variable, dict(new.attributes))
    return variable
