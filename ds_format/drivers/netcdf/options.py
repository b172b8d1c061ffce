"""Options of writing about storage: compression, chunks and rounding, for a whole file or by variable.

They become settings of variables, the same as the property `.netcdf` has, before the file is defined.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import TYPES
from ...base.text import hint, unescape
from ...errors import DriverError, MissingError, UnsupportedError
from ...model.conventions import BOUNDS, coordinates, named
from ...model.rounding import ATTRIBUTES, MOST_BITS, MOST_DIGITS, Rounding
from ...model.settings import COMPRESSING, LAYOUT, NETCDF, STORING, filter_settings
from ...timeaxis import claims_time
from ..base import Metadata
from ..library.catalog import split
from ..library.options import CHUNK_SIZE, ROW_SIZE, check_lengths, check_level, check_mapping, check_one_of, is_int
from ..library.plan import VariablePlan
from .format import chunk_of

if TYPE_CHECKING:
    from .definition import NetCDFPlan

NONE = "none"
"""Instead of the name of a compression: decompress."""

LEVELS: dict[str, range] = {
    "zlib": range(10),
    "zstd": range(-131072, 23),
    "bzip2": range(1, 10),
    **dict.fromkeys(("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd"), range(10)),
    "szip": range(0),
    NONE: range(0),
}
"""Name of a compression, as the netCDF4 library has it → its levels."""

MIN_SIZE = 8192
"""Bytes of a variable from which on it gains by chunks and compression, as `nccopy` assumes (its option -M)."""

SZIP_BLOCKS = range(2, 33, 2)
"""Values of a block of szip."""

SZIP_CODINGS = ("nn", "ec")
"""How szip codes: differences to the value before, or values."""

ROUNDED_BY = {"GranularBitRound": "digits", "BitRound": "bits"}
"""Value of `quantize_mode` → what `significant_digits` counts then."""


@dataclass(slots=True)
class StorageOptions:
    """The options, checked; see `ds_format.write`.

    Parameters
    ----------
    compression : str, optional
        A key of `LEVELS`.
    level : int, optional
    shuffle : bool or int, optional
    chunks : dict, optional
        Name of a dimension → length of chunks along it.
    digits, bits : int, optional
        See `Rounding`.
    encoding : dict, optional
        Name of a variable → settings, with the keys in `STORING`.

    Raises
    ------
    DriverError
        If an option does not exist, has a wrong value, or contradicts another one.
    """

    compression: str | None = None
    level: int | None = None
    shuffle: bool | int | None = None
    chunks: Mapping[str, int] | None = None
    digits: int | None = None
    bits: int | None = None
    encoding: Mapping[str, Mapping[str, Any]] | None = None
    _roundings: dict[str, Rounding] = field(default_factory=dict, init=False)
    """Name of a variable → how it is to be rounded, whatever it is."""
    _coordinates: set[str] = field(default_factory=set, init=False)
    """Names of variables that are coordinates."""

    def __post_init__(self) -> None:
        _check_filters(self.compression, self.level, self.shuffle)
        check_lengths("chunks", self.chunks)
        for name, given in check_mapping("encoding", self.encoding).items():
            _check_encoding(str(name), given)
            rounding = _rounding_of(given)
            if rounding is not None:
                self._roundings[str(name)] = rounding
        _check_rounding(self.digits, self.bits)

    @property
    def compressions(self) -> set[str]:
        """The compressions that were asked for."""
        found: set[Any] = {self.compression}
        for given in (self.encoding or {}).values():
            found.add(filter_settings(given, NETCDF).get("compression"))
        return found - {None, NONE}

    def apply(self, plan: NetCDFPlan, meta: Metadata) -> None:
        """Put the settings into the records of variables.

        Parameters
        ----------
        plan : NetCDFPlan
        meta : Metadata
            Metadata of the dataset.

        Raises
        ------
        DriverError
            If a variable has another number of dimensions than lengths of chunks.
        MissingError
            If there is no such variable or dimension.
        """
        variables = {variable.name: variable for variable in plan.variables.values()}
        for name in self.encoding or {}:
            if name not in variables:
                message = f"no such variable, which is in `encoding`{hint(name, variables)}"
                raise MissingError(message, variable=name)
        dims = {name for dim in plan.dimensions for name in (dim, split(dim)[1])}
        for name in self.chunks or {}:
            if name not in dims:
                raise MissingError(f'chunks: found no dimension "{name}"{hint(name, plan.dimensions)}')
        for name, variable in variables.items():
            own = (self.encoding or {}).get(name, {})
            lengths = own.get("chunksizes", own.get("chunks"))
            rank = len(variable.shape or ())
            # text may have a dimension of characters in the file
            if lengths is not None and len(lengths) not in (rank, rank + _is_text(variable)):
                raise DriverError(f"chunksizes: found {len(lengths)} lengths, expected {rank}", variable=name)
            if variable.shape:
                variable.record = self._record(variable, plan, own)
        self._coordinates = _coordinates(meta)

    def _record(self, variable: VariablePlan, plan: NetCDFPlan, own: Mapping[str, Any]) -> dict[str, Any]:
        record = dict(variable.record)
        if self.compression is not None and self._is_worth(variable):
            _put_filters(record, self._encoding())
        if not COMPRESSING.isdisjoint(own):
            _put_filters(record, own)
        if "fletcher32" in own:
            record["fletcher32"] = bool(own["fletcher32"])
        if own.get("endian") is not None:
            record["endian"] = own["endian"]
        if self.chunks and variable.total * _item_size(variable) >= MIN_SIZE:
            lengths = _lengths(variable, plan, self.chunks)
            record.update({} if lengths is None else {"chunks": lengths})
        if not LAYOUT.isdisjoint(own):
            lengths = own.get("chunksizes", own.get("chunks"))
            record.pop("chunks", None)
            record.update({} if lengths is None else {"chunks": [int(n) for n in lengths]})
        if "compression" in record and "chunks" not in record:
            lengths = _default_lengths(variable, plan)
            record.update({} if lengths is None else {"chunks": lengths})
        return record

    def _is_worth(self, variable: VariablePlan) -> bool:
        is_small = variable.total * _item_size(variable) < MIN_SIZE
        return not _is_text(variable) and (not is_small or "compression" in variable.record or self.compression == NONE)

    def _encoding(self) -> dict[str, Any]:
        """Return the options for the whole file as an encoding of a variable."""
        given = {"compression": self.compression, "complevel": self.level, "shuffle": self.shuffle}
        found = {name: value for name, value in given.items() if value is not None}
        if self.shuffle is not None:
            found["blosc_shuffle"] = int(self.shuffle)
        return found

    def rounding(self, variable: VariablePlan, type_name: str) -> Rounding | None:
        """Return how a variable is rounded; None: not at all.

        Parameters
        ----------
        variable : VariablePlan
        type_name : str
            ds type of its values.

        Raises
        ------
        UnsupportedError
            If it was asked to round a variable that cannot be.
        """
        own = self._roundings.get(variable.name)
        if own is None and self.digits is None and self.bits is None:
            return None
        rounding = own or Rounding(self.digits, self.bits)
        code = "" if TYPES[type_name].is_string else TYPES[type_name].code
        reason = None
        if not code.startswith("f"):
            reason = f"values of type {type_name} are not rounded, only floats are"
        elif variable.name in self._coordinates or claims_time(variable.attributes):
            reason = "coordinates are not rounded"
        elif (rounding.digits or rounding.bits or 0) > rounding.most(np.dtype(code)):
            what = "bits" if rounding.digits is None else "digits"
            most = rounding.most(np.dtype(code))
            reason = f"found {rounding.digits or rounding.bits} {what}, expected at most {most} for {type_name}"
        if reason is None:
            return rounding
        if own is not None:
            raise UnsupportedError(reason, variable=variable.name)
        return None


def set_rounding(variable: VariablePlan, rounding: Rounding, container: str) -> None:
    """Describe in the attributes of a variable how it is rounded; `container` is as of `Rounding.attributes`."""
    attributes = {name: value for name, value in variable.attributes.items() if name not in ATTRIBUTES}
    variable.attributes = {**attributes, **rounding.attributes(container)}


def container_name(rounding: Rounding, variables: Collection[VariablePlan], taken: Collection[str]) -> tuple[str, bool]:
    """Return the name of the variable with the algorithm of a rounding, and whether the dataset has this variable.

    Parameters
    ----------
    rounding : Rounding
    variables : collection of VariablePlan
        All variables of the dataset.
    taken : collection of str
        Names that it cannot have.
    """
    for variable in variables:
        if variable.shape == () and variable.attributes == rounding.container():
            return variable.name, True
    base = name = f"quantization_{rounding.algorithm}"
    attempt = 1
    while name in taken:
        name = f"{base}_{attempt}"
        attempt += 1
    return name, False


def _check_filters(compression: Any, level: Any, shuffle: Any) -> None:
    if compression is None and (level is not None or shuffle is not None):
        name = "shuffle" if level is None else "level"
        raise DriverError(f"{name}: expected with the option `compression`, which is not given")
    if compression is None:
        return
    check_one_of("compression", compression, LEVELS)
    check_level(level, compression, LEVELS[compression])
    if shuffle and compression != "zlib" and not compression.startswith("blosc"):
        raise DriverError(f"shuffle: is possible with zlib and blosc, found {compression}")
    if shuffle is not None and not (isinstance(shuffle, bool) or (shuffle in (0, 1, 2) and compression != "zlib")):
        expected = "true or false" if compression == "zlib" else "true, false, 0, 1 or 2"
        raise DriverError(f"shuffle: found {shuffle!r}, expected {expected}")


def _check_rounding(digits: Any, bits: Any) -> None:
    if digits is not None and bits is not None:
        raise DriverError("found both `digits` and `bits`, expected one of them")
    for name, value, most in (("digits", digits, MOST_DIGITS), ("bits", bits, MOST_BITS)):
        if value is not None and not (is_int(value) and 1 <= value <= max(most.values())):
            raise DriverError(f"{name}: found {value!r}, expected 1 to {max(most.values())}")


def _check_encoding(name: str, given: Any) -> None:
    for key in check_mapping(f'encoding of "{name}"', given):
        if key not in STORING:
            raise DriverError(f'encoding of "{name}": there is no setting "{key}"{hint(str(key), STORING)}')
    settings = filter_settings(given, NETCDF)
    compression, shuffle = settings.get("compression"), settings.get("shuffle")
    try:
        if compression is not None:
            is_shuffled = compression == "zlib" or compression.startswith("blosc")
            _check_filters(compression, settings.get("level"), shuffle if is_shuffled else None)
        if "chunks" in given or "chunksizes" in given:
            lengths = given.get("chunksizes", given.get("chunks"))
            if lengths is not None and not _are_lengths(lengths):
                raise DriverError(f"chunksizes: found {lengths!r}, expected 1 or more for each dimension")
        pixels = given.get("szip_pixels_per_block", SZIP_BLOCKS[0])
        if pixels not in SZIP_BLOCKS:
            raise DriverError(f"szip_pixels_per_block: found {pixels!r}, expected an even number from 2 to 32")
        coding = given.get("szip_coding", SZIP_CODINGS[0])
        if coding not in SZIP_CODINGS:
            raise DriverError(f"szip_coding: found {coding!r}, expected {' or '.join(SZIP_CODINGS)}")
        _rounding_of(given)
    except DriverError as error:
        raise DriverError(f'encoding of "{name}": {error.message}') from None


def _rounding_of(given: Mapping[str, Any]) -> Rounding | None:
    """Return the rounding that an encoding asks for."""
    counts = {name: given[name] for name in ("digits", "bits") if given.get(name) is not None}
    if given.get("significant_digits"):
        mode = given.get("quantize_mode", "GranularBitRound")
        if mode not in ROUNDED_BY:
            known = " or ".join(ROUNDED_BY)
            raise DriverError(f"quantize_mode: found {mode!r}, expected {known}{hint(str(mode), ROUNDED_BY)}")
        counts[ROUNDED_BY[mode]] = given["significant_digits"]
    _check_rounding(counts.get("digits"), counts.get("bits"))
    return Rounding(**counts) if counts else None


def _are_lengths(given: Any) -> bool:
    return isinstance(given, (list, tuple, np.ndarray)) and all(is_int(n) and n > 0 for n in given)


def _is_text(variable: VariablePlan) -> bool:
    return variable.type is not None and TYPES[variable.type].is_string


def _item_size(variable: VariablePlan) -> int:
    """Return the bytes of a value, as far as they are known before the values are."""
    return max(TYPES[variable.type].size, 1) if variable.type is not None else 8


def _put_filters(record: dict[str, Any], encoding: Mapping[str, Any]) -> None:
    for name in ("compression", "level", "shuffle", "szip"):
        record.pop(name, None)
    if encoding.get("compression") != NONE:
        record.update(filter_settings(encoding, NETCDF))


def _lengths(variable: VariablePlan, plan: NetCDFPlan, chunks: Mapping[str, int]) -> list[int] | None:
    """Return the lengths of chunks by dimension: those not given are whole, or 1 if they are unlimited."""
    given = [chunks.get(dim, chunks.get(split(dim)[1])) for dim in variable.dims]
    if all(n is None for n in given):
        return None
    sizes = zip(variable.dims, variable.shape or (), strict=True)
    whole = [1 if dim in plan.unlimited else max(size, 1) for dim, size in sizes]
    return [int(n) if n is not None else all_ for n, all_ in zip(given, whole, strict=True)]


def _default_lengths(variable: VariablePlan, plan: NetCDFPlan) -> list[int] | None:
    """Return the lengths of chunks where the library would choose some that cross too much at a time; else None.

    The library makes all axes shorter by the same factor. So all of a large variable would have to be in memory.
    """
    shape, item_size = variable.shape or (), _item_size(variable)
    total = variable.total * item_size
    if not total or len(shape) < 2 or not plan.unlimited.isdisjoint(variable.dims):
        return None
    chunk = chunk_of(None, shape, (False,) * len(shape), item_size, True) or shape
    if chunk[0] * total <= ROW_SIZE * shape[0]:
        return None
    first = max(min(ROW_SIZE * shape[0] // total, shape[0]), 1)
    factor = min(CHUNK_SIZE / (total // shape[0] * first), 1) ** (1 / (len(shape) - 1))
    return [first, *(max(math.ceil(n * factor), 1) for n in shape[1:])]


def _coordinates(meta: Metadata) -> set[str]:
    """Return the names of coordinates, times and their bounds."""
    dims = {key: entry.get(".dims") or () for key, entry in meta.items() if key != "."}
    found = coordinates(meta, dims) | {key for key, entry in meta.items() if entry.get(".time") is True}
    return {unescape(key) for key in found.union(*(named(key, meta[key], BOUNDS) for key in found))}
