"""A netCDF-4 file from the records of its HDF5 objects, as the netCDF4 library describes it.

The rules are those of netCDF-C (`libhdf5/hdf5open.c`), which has dimensions as HDF5's dimension scales:

- A dataset with CLASS "DIMENSION_SCALE" is a dimension, and a variable unless its NAME begins with `PURE_DIMENSION`.
- Dimensions have numbers, by which they are sorted: `_Netcdf4Dimid`, else the next free one in the order of datasets.
- A scale of one dimension is its own dimension. One of several has their numbers in `_Netcdf4Coordinates`. Other
  variables have addresses of scales in DIMENSION_LIST.
- An unlimited dimension is as long as the longest of its variables. Shorter ones are padded when they are read.
- A variable is pre-filled if its fill value message has a value.

Whatever the library would invent, rename, skip or refuse is `Unusual`.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .... import hdf5
from ....base.dtypes import TYPE_OF_CODE, np
from ....errors import FormatError, NotInHeaderError
from ....hdf5 import HDF5Attribute, HDF5Dataset, HDF5File, HDF5Filter, HDF5Type, Unusual
from ....kernels.hdf5.segments import are_alike
from ....model.settings import NON_COORDINATE, PURE_DIMENSION, SCALE_CLASS
from ...library.catalog import DescribedFile, DescribedGroup, DescribedVariable, split
from ..format import CDF5_CODES, DEFAULT_FORMAT, MAX_NAME_SIZE, RESERVED

if TYPE_CHECKING:
    from ....hdf5 import DatasetPlace, DatasetPlaces

CLASSIC_FORMAT = "NETCDF4_CLASSIC"
DEFLATE, SHUFFLE, FLETCHER32, SZIP, BZIP2, LZF, BLOSC, ZSTD = 1, 2, 3, 4, 307, 32000, 32001, 32015
"""Numbers of filters."""
BUILT_IN = (DEFLATE, SHUFFLE, FLETCHER32)
"""Those that need no library."""
LEVELLED = {DEFLATE: "zlib", BZIP2: "bzip2", ZSTD: "zstd"}
"""Names of compressions whose first value is the level."""
BLOSC_COMPRESSORS = ("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_snappy", "blosc_zlib", "blosc_zstd")
SZIP_CODINGS = {4: "ec", 32: "nn"}
"""Bits of the first value."""
NATIVE = ("|", "<" if sys.byteorder == "little" else ">")
"""First characters of codes of types in the byte order of this machine."""


class OutlinedVariable(NamedTuple):
    """A variable, before its attributes and its storage are described."""

    name: str
    """With its groups."""
    dims: list[str]
    """Names of its dimensions, with their groups."""
    shape: tuple[int, ...]
    """Sizes of its dimensions. An unlimited one may make it longer than the dataset."""
    code: str
    """As of `DescribedVariable`."""
    attributes: dict[str, Any]
    """Attributes of the dataset."""
    dataset: HDF5Dataset
    """That of the first file which says the same of it. Addresses in it may differ."""


class FileOutline(NamedTuple):
    """A file that this package reads, before its variables are described."""

    format: str
    dimensions: list[tuple[str, int, bool]]
    groups: list[DescribedGroup]
    variables: list[OutlinedVariable]
    places: Sequence[DatasetPlace]
    """Where the values of each variable are."""
    enums: EnumTypes

    def described(self, variable: OutlinedVariable, place: DatasetPlace) -> DescribedVariable:
        """Return the description of a variable; its attributes may be changed, but not what is in them."""
        return _described(variable, place, self.enums)

    def file(self) -> DescribedFile:
        """Return the description of the file."""
        pairs = zip(self.variables, self.places, strict=True)
        variables = [_described(variable, place, self.enums) for variable, place in pairs]
        return DescribedFile(self.format, self.dimensions, self.groups, variables, list(self.enums.records.items()))


def outline(file: HDF5File) -> FileOutline:
    """Return the outline of a file.

    Parameters
    ----------
    file : HDF5File
        It is not changed: other files may share its attributes.

    Raises
    ------
    Unusual
        If the library must describe or read something.
    FormatError
        If the values of a variable cannot be where the file says, or the library would crash: a group is in itself.
    """
    if file.links:
        file, _ = hdf5.with_links(file, netcdf=True)
    try:
        known = _recent.pop()
    except IndexError:
        found = _outline_first(file)
    else:
        found = _outline_again(file, *known) or _outline_first(file)
    if len(file.datasets) <= MOST and len(_recent) < IDLE:
        _recent.append((file, found))
    return found


def outline_usual(file: HDF5File) -> FileOutline:
    """Return the outline of a file that loads no code for values. It does not say where these are.

    Raises
    ------
    FormatError, Unusual
        Perhaps though `outline` does not, as for filters that depend on what is installed.
    """
    if file.links:
        file, _ = hdf5.with_links(file, netcdf=True)
    return _outline(file, _check_usual)


def _check_usual(dataset: HDF5Dataset) -> None:
    """Check that there is certainly a place of the values of a dataset; see `hdf5.place_of`."""
    hdf5.check_dataset(dataset)
    if dataset.type.kind == "enum":
        raise NotInHeaderError("an enum type")
    for number, _, values in dataset.filters:
        if number not in BUILT_IN or (number == SHUFFLE and values and values[0] not in (0, dataset.type.size)):
            raise NotInHeaderError(f"the filter {number} with {values}")


IDLE = 8
"""Most outlines that are kept."""
MOST = 256
"""Datasets of a file whose outline is kept."""

_recent: list[tuple[HDF5File, FileOutline]] = []
"""Files before, each for one call at a time."""


def _outline_again(file: HDF5File, known: HDF5File, old: FileOutline) -> FileOutline | None:
    """Return the outline of a file whose datasets say the same as those of a file before, wherever they are.

    None if they do not. The attributes of groups may differ.
    """
    datasets = file.datasets
    if len(file.groups) != len(known.groups) or not are_alike(datasets, known.datasets):
        return None
    if file.types != known.types or [each.name for each in file.groups] != [each.name for each in known.groups]:
        return None
    places = cast("DatasetPlaces", old.places).in_file(datasets)
    return FileOutline(_format(file), old.dimensions, _groups(file), old.variables, places, old.enums)


def _outline_first(file: HDF5File) -> FileOutline:
    """Return the outline of a file that is not like the one before."""
    found = _outline(file, hdf5.place_of)
    numbers = {each.name: i for i, each in enumerate(file.datasets)}
    used = [numbers[variable.dataset.name] for variable in found.variables]
    return found._replace(places=hdf5.DatasetPlaces([*found.places], used, file.datasets))


def _format(file: HDF5File) -> str:
    return CLASSIC_FORMAT if "_nc3_strict" in file.groups[0].hidden else DEFAULT_FORMAT


def _groups(file: HDF5File) -> list[DescribedGroup]:
    return [
        DescribedGroup(f"{group.name}/" if group.name else "", _checked(group.attributes, group.name), group.strings)
        for group in file.groups
    ]


def _outline(file: HDF5File, place_of: Callable[[HDF5Dataset], Any]) -> FileOutline:
    """Return the outline of a file, with what `place_of` returns as places."""
    _check_names([each[0] for objects in (file.groups, file.datasets, file.types) for each in objects])
    scales = _Scales(file.datasets)
    found = [_placed(dataset, scales) for dataset in file.datasets if not scales.is_pure(dataset)]
    enums = EnumTypes(file.types)
    # only now all dimensions have their lengths
    outlined = [_outlined(name, dims, dataset, enums, place_of) for name, dims, dataset in found]
    variables = [variable for variable, _ in outlined]
    if len({variable.name for variable in variables}) != len(variables):
        raise Unusual("two variables have the same name")
    dimensions = scales.dimensions([group.name for group in file.groups])
    places = [place for _, place in outlined]
    return FileOutline(_format(file), dimensions, _groups(file), variables, places, enums)


def _placed(dataset: HDF5Dataset, scales: _Scales) -> tuple[str, list[_Dimension], HDF5Dataset]:
    """Return the name and dimensions of a variable; unlimited dimensions become as long as it is."""
    name, shape = dataset.name, dataset.shape
    if shape is None:
        raise Unusual(f'the variable "{name}" has no dataspace')
    if NON_COORDINATE in name:
        name = variable_name(name)
        if name != dataset.name and dataset.address in scales.by_address:
            raise Unusual(f'the dimension scale "{dataset.name}" has the name of a variable')
    dims = scales.of(dataset, shape)
    for dimension, n in zip(dims, shape, strict=True):
        if dimension.is_unlimited:
            dimension.size = max(dimension.size, n)
        elif n != dimension.size:
            raise Unusual(f'the variable "{name}" has {n} values along "{dimension.name}" of {dimension.size}')
    return name, dims, dataset


def variable_name(name: str) -> str:
    """Return the name of the variable that a dataset is, with its groups."""
    group, base = split(name)
    if base != NON_COORDINATE:
        base = base.removeprefix(NON_COORDINATE)
    return f"{group}/{base}" if group else base


def _code(type_: HDF5Type, name: str) -> str:
    """Return the code of a variable; see `DescribedVariable`."""
    kind, code, size = type_[:3]
    if kind in ("number", "enum") and code is not None and code[1:] in CDF5_CODES:
        return code[1:]
    if kind == "text" and size == 1:
        return "S1"
    if kind == "string":
        return "O"
    raise Unusual(f'the variable "{name}" is of the kind "{kind}" of {size} bytes')


def _outlined(
    name: str,
    dims: list[_Dimension],
    dataset: HDF5Dataset,
    enums: EnumTypes,
    place_of: Callable[[HDF5Dataset], Any],
) -> tuple[OutlinedVariable, Any]:
    """Return the outline of a variable, and where its values are."""
    type_, attributes = dataset.type, dataset.attributes
    shape = tuple([each.size for each in dims])
    if type_.kind == "enum":
        if type_ not in enums or shape != dataset.shape:
            raise Unusual(f'the variable "{name}" is of an enum type without a name, or shorter than its dimensions')
        attributes = _with_fill(attributes, dataset)
    if dataset.filters:
        _filter_record(dataset.filters)
    try:
        place = place_of(dataset)
    except Unusual as error:
        raise Unusual(f'the variable "{name}" has {error}') from None
    except FormatError as error:
        raise error.at(variable=name)
    names = [each.name for each in dims]
    variable = OutlinedVariable(name, names, shape, _code(type_, name), _checked(attributes, name), dataset)
    return variable, place


def _described(variable: OutlinedVariable, place: DatasetPlace, enums: EnumTypes) -> DescribedVariable:
    name, dims, shape, code, attributes, dataset = variable
    type_, chunk = dataset.type, dataset.layout.chunk
    storage: dict[str, Any] = {}
    if type_.code is not None and type_.code[0] == ">":
        storage["endian"] = "big"
    if type_.kind == "enum":
        storage["enum"] = enums.record(type_)
    if chunk:
        storage["chunks"] = list(chunk)
        if dataset.filters:
            storage |= _filter_record(dataset.filters)
    # netCDF4 has no default fill value for an enum type
    is_filled = dataset.fill is not None and (
        type_.kind == "number" or (type_.kind == "enum" and "_FillValue" in attributes)
    )
    return DescribedVariable(
        name, dims, shape, code, dict(attributes), [*dataset.strings], is_filled, storage, chunk, place
    )


def _with_fill(attributes: dict[str, Any], dataset: HDF5Dataset) -> dict[str, Any]:
    """Return attributes with the fill value of an enum type as a number; it is that of the dataset as well."""
    value = attributes.get("_FillValue")
    if type(value) is not HDF5Attribute or value.type[:4] != dataset.type[:4] or dataset.fill is None:
        return attributes
    return attributes | {"_FillValue": np.frombuffer(dataset.fill, dataset.type.code)[0]}


class _Dimension:
    """A dimension scale.

    Attributes
    ----------
    name : str
        With its groups.
    number : int
    size : int
        If it is unlimited, the size of the longest variable seen so far.
    """

    __slots__ = ("is_unlimited", "name", "number", "size")

    def __init__(self, scale: HDF5Dataset, number: int):
        if not scale.shape:
            raise FormatError("a dimension scale without a dimension", variable=scale.name)  # it crashes the library
        self.name = scale.name
        self.number = number
        self.is_unlimited = scale.max_shape[0] == -1
        self.size = 0 if self.is_unlimited else scale.shape[0]


class _Scales:
    """The dimensions of a file."""

    def __init__(self, datasets: Iterable[HDF5Dataset]):
        self.by_address: dict[int, _Dimension] = {}
        self.by_number: dict[int, _Dimension] = {}
        following = 0
        for dataset in datasets:
            hidden = dataset.hidden
            if "CLASS" not in hidden or hidden["CLASS"] != SCALE_CLASS:
                continue
            if dataset.address in self.by_address:
                raise Unusual(f'the dimension scale "{dataset.name}" has another name')
            number = hidden.get("_Netcdf4Dimid", following)
            if type(number) is not int or number < 0 or number in self.by_number:
                raise Unusual(f'the number of the dimension "{dataset.name}" is {number!r}')
            following = max(following, number + 1)
            self.by_address[dataset.address] = self.by_number[number] = _Dimension(dataset, number)
        self.names = {dimension.name for dimension in self.by_number.values()}
        self._are_in_groups = any("/" in name for name in self.names)

    def is_pure(self, dataset: HDF5Dataset) -> bool:
        """Return whether a dataset is a dimension but no variable."""
        name = dataset.hidden.get("NAME")
        return type(name) is str and name.startswith(PURE_DIMENSION) and dataset.address in self.by_address

    def dimensions(self, groups: list[str]) -> list[tuple[str, int, bool]]:
        """Return name, size and whether it is unlimited of each, sorted by group and number."""
        every = [self.by_number[number] for number in sorted(self.by_number)]
        if len(groups) > 1:
            places = {group: i for i, group in enumerate(groups)}
            every.sort(key=lambda dimension: places[split(dimension.name)[0]])
        return [(dimension.name, dimension.size, dimension.is_unlimited) for dimension in every]

    def of(self, dataset: HDF5Dataset, shape: tuple[int, ...]) -> list[_Dimension]:
        """Return the dimensions of a variable.

        Raises
        ------
        Unusual
            If the file does not name all of them, or the library would find others.
        """
        rank, hidden = len(shape), dataset.hidden
        own = self.by_address.get(dataset.address)
        if own is not None and rank == 1:
            return [own]
        if not rank:
            return []
        numbers = hidden.get("_Netcdf4Coordinates")
        if own is not None:
            found = [self.by_number.get(number) for number in numbers] if type(numbers) is tuple else []
        else:
            lists = hidden.get("DIMENSION_LIST")
            found = [self.by_address.get(*each) for each in lists if len(each) == 1] if type(lists) is tuple else []
            if numbers is not None and numbers != tuple([each.number for each in found if each is not None]):
                raise Unusual(f'the variable "{dataset.name}" names its dimensions in two ways')
        dims = [dimension for dimension in found if dimension is not None]
        if len(dims) != rank:
            raise Unusual(f'the variable "{dataset.name}" does not name all of its dimensions')
        if self._are_in_groups:
            for dimension in dims:
                self._check_visible(dimension.name, dataset.name)
        return dims

    def _check_visible(self, dimension: str, variable: str) -> None:
        """Check that the group of a variable, or the nearest one around it with such a dimension, has this one."""
        group, base = split(dimension)
        inner = split(variable)[0]
        while inner != group:
            if (f"{inner}/{base}" if inner else base) in self.names or not inner:
                raise Unusual(f'the variable "{variable}" has a dimension of another group, "{dimension}"')
            inner = split(inner)[0]


class EnumTypes:
    """The committed types of a file, all of which are enum types."""

    def __init__(self, types: Iterable[tuple[str, HDF5Type]]):
        self.records: dict[str, dict[str, Any]] = {}
        self._known: dict[Any, dict[str, Any]] = {}
        for name, each in types:
            code, members = each.code, each.members
            if code is None or members is None or code[0] not in NATIVE or code[1:] not in CDF5_CODES:
                raise Unusual(f'the type "{name}" is of the kind "{each.kind}"')
            record = {"name": name, "type": TYPE_OF_CODE[code[1:]].name, "members": dict(members)}
            self.records[name] = self._known[code, members] = record
        if len({split(name)[1] for name in self.records}) != len(self.records):
            raise Unusual("types in two groups have the same name")
        if len(self._known) != len(self.records):
            raise Unusual("two types are the same")

    def __contains__(self, dataset_type: HDF5Type) -> bool:
        """Whether a type is committed; a dataset has a copy of its type."""
        return (dataset_type.code, dataset_type.members) in self._known

    def record(self, dataset_type: HDF5Type) -> dict[str, Any]:
        """Return the record of the type of a dataset."""
        record = self._known[dataset_type.code, dataset_type.members]
        return {**record, "members": dict(record["members"])}


@lru_cache(256)
def _filter_record(filters: tuple[HDF5Filter, ...]) -> dict[str, Any]:
    """Return the settings that stand for filters; not to be changed."""
    numbers = [each.number for each in filters]
    record: dict[str, Any] = {}
    for number, _, values in filters:
        if number not in (SHUFFLE, FLETCHER32) and not record:
            record = _compression_record(number, values)
    is_shuffled = SHUFFLE in numbers
    compressions = len(numbers) - is_shuffled - (FLETCHER32 in numbers)
    # the library does not make zlib of level 0
    is_known = compressions == (DEFLATE in numbers) if not record else compressions == 1
    if not is_known or (is_shuffled and not {BLOSC, SZIP}.isdisjoint(numbers)):
        raise Unusual(f"a variable with the filters {numbers}")
    if is_shuffled:
        level = {"level": record.pop("level")} if record else {}
        record |= {"shuffle": True, **level}
    if FLETCHER32 in numbers:
        record["fletcher32"] = True
    return record


def _compression_record(number: int, values: tuple[int, ...]) -> dict[str, Any]:
    """Return the settings of a compression; empty if there is none for it."""
    if number in LEVELLED and values and values[0]:
        return {"compression": LEVELLED[number], "level": values[0]}
    if number == BLOSC and len(values) > 6 and values[6] < len(BLOSC_COMPRESSORS):
        return {"compression": BLOSC_COMPRESSORS[values[6]], "shuffle": values[5], "level": values[4]}
    if number == SZIP and len(values) > 1:
        codings = [coding for bit, coding in SZIP_CODINGS.items() if values[0] & bit]
        return {"compression": "szip", "szip": [*codings, values[1]]} if len(codings) == 1 else {}
    return {}


def _checked(attributes: dict[str, Any], owner: str) -> dict[str, Any]:
    """Return attributes that the library reads as they are."""
    if HDF5Attribute in map(type, attributes.values()):
        name, value = next(item for item in attributes.items() if type(item[1]) is HDF5Attribute)
        raise Unusual(f'the attribute "{name}" of "{owner}" is of the kind "{value.type.kind}"')
    if not RESERVED.isdisjoint(attributes):
        raise Unusual(f'an attribute of "{owner}" has a reserved name')
    _check_names(attributes)
    return attributes


def _check_names(names: Collection[str]) -> None:
    """Check that the library finds each name: it looks them up in normalization form C, and cuts long ones."""
    if len(together := "".join(names)) <= MAX_NAME_SIZE and together.isascii():
        return
    for name in names:
        if not name.isascii() and not (_is_utf8(name) and unicodedata.is_normalized("NFC", name)):
            raise Unusual(f"the name {name!r} is not in normalization form C")
        if len(name) > MAX_NAME_SIZE // 4 and any(len(part.encode()) > MAX_NAME_SIZE for part in name.split("/")):
            raise Unusual(f'the name "{name}" has more than {MAX_NAME_SIZE} bytes')


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)
