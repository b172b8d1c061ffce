"""Definitions of a file by the netCDF4 library: attributes are read and written, and records are replayed."""

from __future__ import annotations

import itertools
from typing import Any, Self

from ...errors import UnsupportedError
from ..library.catalog import split
from .calls import Group, Variable
from .records import Attributes, DimensionRecord, EnumRecord, FileRecords, VariableRecord


class _RawName(str):
    """The name of an attribute, disguised as `_FillValue`: the library returns the bytes of that one undecoded.

    Any other text comes decoded with a loss, without its NULs, and the same for one string as for characters.
    """

    real: str

    def __new__(cls, name: str) -> Self:
        self = super().__new__(cls, "_FillValue")
        self.real = name
        return self

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self.real.encode(encoding, errors)


def read_attribute(owner: Group | Variable, name: str) -> tuple[Any, bool]:
    """Return the value of an attribute, and whether it is of the type string (not characters).

    Returns
    -------
    value : NumPy scalar, (N,) ndarray, str or list of str
        Numbers with their type. Bytes of text that are not UTF-8 are kept as `surrogateescape` does; NULs at its end
        are padding and left out.
    is_string : bool

    Raises
    ------
    UnsupportedError
        If it is of a compound, ragged or opaque type.
    """
    try:
        raw = owner.getncattr(_RawName(name), encoding="latin-1")
    except KeyError:
        raise UnsupportedError(f'attribute "{name}": its type is not supported by ds') from None
    if isinstance(raw, bytes):
        return _decoded(raw.rstrip(b"\0")), False
    if isinstance(raw, str):
        return _decoded(raw.encode("latin-1")), True
    if isinstance(raw, list):
        return [_decoded(item.encode("latin-1")) for item in raw], True
    if raw.dtype.kind not in "fiu":
        raise UnsupportedError(f'attribute "{name}": a compound type is not supported by ds')
    return raw, False


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def write_attributes(owner: Group | Variable, attributes: Attributes) -> None:
    """Write attributes in their order."""
    batch: dict[str, Any] = {}
    for name, (form, value, _) in attributes.items():
        if form == "string":
            # with the others it would become characters
            owner.setncatts(batch)
            batch = {}
            owner.setncattr_string(name, value if len(value) > 1 else value[0])
        else:
            batch[name] = value
    if batch:
        owner.setncatts(batch)


class Replay:
    """Defines in a file of the library what records say, those that are new each time.

    Parameters
    ----------
    records : FileRecords
    file : netCDF4.Dataset

    Attributes
    ----------
    file : netCDF4.Dataset
        Set again when the file is opened again.
    """

    def __init__(self, records: FileRecords, file: Group):
        self.records = records
        self.file = file
        self._done = [0, 0, 0]
        """Dimensions, enum types and variables that are defined."""
        for group in records.groups:
            file.createGroup(group)
        self.define()
        for name, values in records.attributes.items():
            write_attributes(self._group(name), values)

    def define(self) -> None:
        """Define what was added to the records: dimensions, types, then variables."""
        records = self.records
        every: list[tuple[dict[str, Any], Any]] = [
            (records.dimensions, self._define_dimension),
            (records.enums, self._define_enum),
            (records.variables, self._define_variable),
        ]
        for i, (found, define) in enumerate(every):
            for record in itertools.islice(found.values(), self._done[i], None):
                define(record)
            self._done[i] = len(found)

    def find(self, name: str) -> Variable:
        """Return a variable that is defined, ready to write raw values."""
        group, base = split(name)
        return _raw(self._group(group).variables[base])

    def _group(self, name: str) -> Group:
        return self.file[name] if name else self.file

    def _define_dimension(self, record: DimensionRecord) -> None:
        group, base = split(record.path)
        self._group(group).createDimension(base, None if record.is_unlimited else record.size)

    def _define_enum(self, record: EnumRecord) -> None:
        group, base = split(record.path)
        self._group(group).createEnumType(record.dtype, base, record.members)

    def _define_variable(self, record: VariableRecord) -> None:
        datatype: Any = {"char": "S1", "string": str}.get(record.type) if isinstance(record.type, str) else record.type
        if record.enum is not None:
            group, base = split(record.enum.path)
            datatype = self._group(group).enumtypes[base]
        dims: list[Any] = []
        for path in record.dims:
            group, base = split(path)
            dims.append(self._group(group).dimensions[base])
        group, base = split(record.path)
        variable = self._group(group).createVariable(base, datatype, dims, **record.options)
        write_attributes(_raw(variable), record.attributes)


def _raw(variable: Variable) -> Variable:
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    return variable
