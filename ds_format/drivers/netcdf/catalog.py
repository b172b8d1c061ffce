"""The metadata of a dataset, and what reading its variables needs, from the header of a NetCDF file alone.

Without missing values, nothing here needs NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.dtypes import COMPOUND, PACKED, TYPE_OF_CODE, np
from ...base.text import escape
from ...model import missing, packing
from ...model.settings import LABELS, names
from ..base import OBJECT_SIZE
from ..library.catalog import (
    Catalog,
    DescribedFile,
    DescribedGroup,
    DescribedVariable,
    FileVariable,
    Refused,
    dtype_of,
    joinable,
    split,
    take_bool,
)
from .format import (
    BOOL_CODE,
    DEFAULT_FORMAT,
    ENCODING_ATTRIBUTE,
    MARKER,
    PROPERTY,
    Kind,
    take_marker,
    warn,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...classic import ClassicHeader, ClassicVariable

KINDS: dict[str, tuple[str, Kind]] = {"S1": ("str", "char"), "O": ("unicode", "string")}
"""Codes other than numbers → ds type and kind."""
KINDS_OF_STRINGS = ("char", "string")
FIELDS = "V"
"""Code of values with fields."""
PACKING = frozenset(packing.ATTRIBUTES)
CHANGING_SENTINELS = frozenset((*missing.SENTINEL_ATTRIBUTES, "_Unsigned"))
"""Attributes without which the default fill value alone means "missing"."""
ESCAPED = frozenset((".", "\\"))
"""First characters of names that are other ones as keys."""

ReadScalar = Callable[[Any], "NDArray[Any] | None"]
"""Place of a variable without dimensions → its value, in an array of one; None if it cannot be read."""


def describe_classic(header: ClassicHeader) -> DescribedFile:
    """Return the description of a classic file. Its attributes are those of the header."""
    names = [dimension.name for dimension in header.dimensions]
    variables = [
        describe_classic_variable(place, [names[dim] for dim in place.dims], place) for place in header.variables
    ]
    return DescribedFile(header.format, header.dimensions, [DescribedGroup("", header.attributes, [])], variables)


def describe_classic_variable(
    variable: ClassicVariable, dims: Sequence[str], place: ClassicVariable
) -> DescribedVariable:
    """Return the description of a variable of a classic file, whose values are at a place.

    Its attributes may be changed, but not what is in them.
    """
    return DescribedVariable(
        variable.name, dims, variable.shape, variable.code, dict(variable.attributes), [], True, {}, None, place
    )


def read_catalog(file: DescribedFile, path: str, skip_unsupported: bool, read_scalar: ReadScalar) -> Catalog:
    """Return the metadata of a file, a `FileVariable` for each variable, and the errors of unreadable ones.

    Parameters
    ----------
    file : DescribedFile
    path : str
        For warnings.
    skip_unsupported : bool
        Whether to warn of variables and attributes that ds cannot hold, instead of raising.
    read_scalar : callable
    """
    growing = frozenset(name for name, _, is_unlimited in file.dimensions if is_unlimited)
    catalog: Catalog = Catalog(path, skip_unsupported, warn)
    every = [*file.variables]
    joins = joinable((each.name for each in every), ((each.dims, each.code) for each in every))
    for described in every:
        if isinstance(described, Refused):
            catalog.refuse(described.name, described.error)
        elif described.code == FIELDS:
            catalog.add(*read_compound(described))
        else:
            catalog.add(*read_variable(described, growing, joins, read_scalar))
    catalog.meta["."] = entry_of(file, catalog.meta.values())
    return catalog


def read_variable(
    described: DescribedVariable, unlimited: frozenset[str], joins: Collection[str], read_scalar: ReadScalar
) -> tuple[FileVariable, dict[str, Any]]:
    """Return what is needed to read a variable, and its properties and attributes.

    Parameters
    ----------
    described : DescribedVariable
    unlimited : frozenset of str
        Dimensions.
    joins : collection of str
        Dimensions along which characters are joined.
    read_scalar : callable
    """
    code, attributes, place = described.code, described.attributes, described.place
    form = form_of(described, joins)
    found: missing.Sentinels = []
    sought = None
    if form.kind not in KINDS_OF_STRINGS:
        if described.is_filled and CHANGING_SENTINELS.isdisjoint(attributes):
            found, sought = _default_sentinels(code)
        elif found := missing.sentinels(attributes, dtype_of(code), described.is_filled):
            sought = np.array(found, dtype_of(code))
    scalar_mark = None
    if not described.shape and len(found) > 1:
        scalar_mark = _mark_of_scalar(read_scalar(place), found)
    if scalar_mark is not None:
        form.record["mark"] = scalar_mark
    growing: tuple[int, ...] = ()
    if len(described.shape) > 1 and not unlimited.isdisjoint(described.dims[1:]):
        growing = tuple(axis for axis, dim in enumerate(described.dims) if dim in unlimited)
    kind, length, chunk = form.kind, form.length, described.chunk
    variable = FileVariable(
        name=described.name,
        place=place,
        type=form.type,
        kind=kind,
        shape=None if form.is_empty else form.shape,
        length=length,
        size=OBJECT_SIZE if kind == "string" else max(length or 1, 1) if kind == "char" else int(code[1:]),
        chunk=chunk if chunk is None else chunk[: len(form.shape)],
        sentinels=found,
        mark=form.mark,
        is_decoded=kind == "string",
        growing=growing,
        sought=sought,
    )
    return variable, properties_of(form, attributes, may_be_missing=bool(found))


def read_compound(described: DescribedVariable) -> tuple[FileVariable, dict[str, Any]]:
    """Return the same for a variable whose values have fields, which is read as it is."""
    variable = FileVariable(
        name=described.name,
        place=described.place,
        type=COMPOUND,
        kind=COMPOUND,
        shape=described.shape,
        length=None,
        size=described.place.dtype.itemsize,
        chunk=described.chunk,
        sentinels=[],
        mark=None,
        dtype=described.place.dtype,
    )
    record = described.storage | ({"strings": described.strings} if described.strings else {})
    form = VariableForm(COMPOUND, "number", list(described.dims), described.shape, None, None, record, {})
    return variable, properties_of(form, described.attributes, may_be_missing=False)


@cache
def _default_sentinels(code: str) -> tuple[missing.Sentinels, NDArray[Any]]:
    """Return the sentinels of variables without attributes for them, as a list and as an array, which all share."""
    dtype = dtype_of(code)
    found = missing.sentinels({}, dtype, True)
    sought = np.array(found, dtype)
    sought.flags.writeable = False
    return found, sought


def _mark_of_scalar(value: NDArray[Any] | None, found: missing.Sentinels) -> Any:
    """Return the number that marks a scalar as missing, if another one would be written."""
    if value is None:
        return None
    _, counts = missing.count(value.reshape(()), found)
    return value.item() if any(counts[1:]) else None


class VariableForm(NamedTuple):
    """The parts of a variable of a dataset, except for missing values."""

    type: str
    """ds type."""
    kind: Kind
    dims: list[str]
    shape: tuple[int, ...]
    length: int | None
    """Characters along a last dimension of the file that make one string; None: there is no such dimension."""
    mark: str | bytes | None
    """Text, or the bytes of characters, that mark a missing string."""
    record: dict[str, Any]
    """The property `.netcdf`; see `format`."""
    marker: dict[str, Any]
    """See `format.MARKER`."""

    @property
    def is_empty(self) -> bool:
        """Whether the variable has no data."""
        return self.marker.get("empty") is True


def form_of(described: DescribedVariable, joins: Collection[str]) -> VariableForm:
    """Return the form of a variable. Attributes that are part of it are removed.

    Parameters
    ----------
    described : DescribedVariable
    joins : collection of str
        Dimensions along which characters are joined.
    """
    code, attributes, strings, is_filled = described.code, described.attributes, described.strings, described.is_filled
    dims, shape = described.dims, described.shape
    type_name, kind = KINDS.get(code) or _number_kind(code)
    marker = take_marker(attributes) if MARKER in attributes else {}
    if LABELS in attributes:
        _hide_labels(attributes, strings, len(shape))
    if code == BOOL_CODE and take_bool(attributes):
        type_name, kind = "bool", "bool"
    record: dict[str, Any] = {}
    length: int | None = None
    mark: str | bytes | None = None
    if kind == "char":
        # text of this package is always joined: only it has these marks
        is_joined = bool(shape) and (dims[-1] in joins or not marker.keys().isdisjoint(("type", "missing")))
        record["char"] = {"dim": dims[-1], "size": shape[-1]} if is_joined else {}
        if is_joined:
            length = shape[-1]
            dims, shape = dims[:-1], shape[:-1]
        if marker.get("type") == "unicode":
            type_name = "unicode"
            attributes.pop(ENCODING_ATTRIBUTE, None)
    elif kind != "string" and (missing.FILL_ATTRIBUTE in attributes) != is_filled:
        record["fill"] = "default" if is_filled else "none"
    record |= described.storage
    if strings:
        record["strings"] = strings
    if not PACKING.isdisjoint(attributes) and packing.are_packing(attributes, type_name) and "enum" not in record:
        record[PACKED] = True
    if kind in KINDS_OF_STRINGS:
        given = marker.get("missing")
        mark = given if isinstance(given, str) else None
        if mark is None and (type_name, kind) == CHARACTERS:
            mark = character_fill(attributes)
    return VariableForm(type_name, kind, list(dims), shape, length, mark, record, marker)


def properties_of(form: VariableForm, attributes: dict[str, Any], *, may_be_missing: bool) -> dict[str, Any]:
    """Return the metadata of a variable.

    Parameters
    ----------
    form : VariableForm
    attributes : dict
    may_be_missing : bool
        Whether there are numbers that mean "missing".
    """
    properties: dict[str, Any] = {".dims": form.dims, ".size": list(form.shape), ".type": form.type}
    if form.is_empty:
        properties[".dims"] = names(form.marker, "dims")
        properties[".size"] = None
        properties[".type"] = None if form.marker.get("type") == "none" else form.type
    properties[".missing"] = may_be_missing or form.mark is not None
    if form.record:
        properties[PROPERTY] = form.record
    for key, value in attributes.items():
        properties[escape(key) if key[:1] in ESCAPED else key] = value
    return properties


CHARACTERS = ("str", "char")
"""ds type and kind of byte strings that are stored as characters."""


def character_fill(attributes: Mapping[str, Any]) -> bytes | None:
    """Return the `_FillValue` of characters; characters equal to it are missing. None: there is none.

    A joined string is missing if all of its characters equal it, as in xarray: a blank is part of a name.

    Parameters
    ----------
    attributes : dict
        Unescaped name → value.
    """
    fill = attributes.get(missing.FILL_ATTRIBUTE)
    if not isinstance(fill, str):
        return None
    try:
        return fill.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # of JSON, and no byte of a file
        return None


@cache
def _number_kind(code: str) -> tuple[str, Kind]:
    return TYPE_OF_CODE[code].name, "number"


def _hide_labels(attributes: dict[str, Any], strings: list[str], rank: int) -> None:
    """Leave out what names the dimensions of a variable to programs that read HDF5, this package among them."""
    found = attributes[LABELS]
    labels = [found] if LABELS in strings else found
    if isinstance(labels, list) and len(labels) == rank:
        del attributes[LABELS]
        strings[:] = [name for name in strings if name != LABELS]


def entry_of(file: DescribedFile, properties: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the metadata of the dataset.

    Parameters
    ----------
    file : DescribedFile
        Its attributes lose the marker.
    properties : iterable of dict
        Metadata of its variables.
    """
    unlimited = [name for name, _, is_unlimited in file.dimensions if is_unlimited]
    dataset: dict[str, Any] = {}
    for prefix, attributes, _ in file.groups:
        take_marker(attributes)
        dataset.update({escape(prefix + name): value for name, value in attributes.items()})
    record = dataset_record(file, Uses(properties), unlimited)
    return {**({PROPERTY: record} if record else {}), **dataset}


class Uses:
    """Dimensions and enum types that variables use, collected from their properties.

    Parameters
    ----------
    properties : iterable of dict
        Properties of variables, as `read_variable` returns them.
    """

    def __init__(self, properties: Iterable[dict[str, Any]] = ()):
        self.dims: dict[str, None] = {}
        self.characters: dict[str, None] = {}
        """Dimensions along which characters are joined."""
        self.enums: set[str] = set()
        self.add(properties)

    def update(self, other: Uses) -> None:
        """Add what other variables use."""
        self.dims |= other.dims
        self.characters |= other.characters
        self.enums |= other.enums

    def add(self, properties: Iterable[dict[str, Any]]) -> None:
        """Add what more variables use."""
        for each in properties:
            if each[".size"] is not None:
                self.dims.update(dict.fromkeys(each[".dims"]))
            if record := each.get(PROPERTY):
                if char := record.get("char"):
                    self.characters[char["dim"]] = None
                if "enum" in record:
                    self.enums.add(record["enum"]["name"])


def dataset_record(file: DescribedFile, uses: Uses, unlimited: list[str]) -> dict[str, Any]:
    """Return the settings of a file that its variables do not have."""
    record: dict[str, Any] = {}
    if file.format != DEFAULT_FORMAT:
        record["format"] = file.format
    others = {name: size for name, size, _ in file.dimensions if name not in uses.dims and name not in uses.characters}
    found = {
        "unlimited": unlimited,
        "dimensions": others,
        "order": order_of(file, [*dict.fromkeys((*uses.dims, *uses.characters, *others))]),
        "groups": [group.prefix.rstrip("/") for group in file.groups[1:]],
        "enums": [enum for name, enum in file.enums if name not in uses.enums],
        "strings": [group.prefix + name for group in file.groups for name in group.strings],
    }
    record.update({name: value for name, value in found.items() if value})
    return record


def order_of(file: DescribedFile, written: list[str]) -> list[str]:
    """Return the dimensions of a file if a copy would have them in another order; otherwise an empty list.

    Parameters
    ----------
    file : DescribedFile
    written : list of str
        In the order in which a file is written without this setting; see `definition.plan_file`.
    """
    given = [name for name, _, _ in file.dimensions]
    if len(file.groups) > 1:  # each of which has an order of its own
        return given if sorted(given, key=_group_of) != sorted(written, key=_group_of) else []
    return given if given != written else []


def _group_of(name: str) -> str:
    return split(name)[0]
