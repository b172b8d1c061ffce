"""Metadata and readers of variables → a dataset of xarray, whose variables are read on indexing."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Coordinates, Dataset, Variable, conventions
from xarray.backends import AbstractDataStore, BackendArray, StoreBackendEntrypoint
from xarray.backends.common import NONE_VAR_NAME
from xarray.core import indexing

from ..base.dtypes import COMPOUND, RECORDS, TYPES
from ..base.text import escape, hint, unescape
from ..codec.encode import describe
from ..datasets import META, as_array, attrs, checked, dims
from ..drivers.base import Metadata, Readable
from ..errors import DsError, FormatError, UnsupportedError
from ..model.index import normalize, take
from ..model.missing import FILL_ATTRIBUTE
from ..model.settings import setting
from ..views.groups import Group, group_of
from . import storage
from .coders import MARK, NO_DATA, REFUSALS, Unscalable, masked_view, refusal, unscalable


class LazyArray(BackendArray):
    """An array that is read on indexing, by any number of threads at a time.

    Parameters
    ----------
    readable : Readable
        With data.
    shown : callable
        Stored values → values for xarray, of the same shape, or with one more dimension.
    dtype : dtype
        Dtype of the values for xarray.
    length : int, optional
        Size of that dimension.
    """

    def __init__(
        self, readable: Readable, shown: Callable[[Any], Any], dtype: np.dtype[Any], length: int | None = None
    ):
        self.readable = readable
        self.shown = shown
        self.dtype = dtype
        self.shape = (readable.shape or ()) + (() if length is None else (length,))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if not isinstance(key, indexing.VectorizedIndexer):
            return self._read(key.tuple)
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return what an index selects, read by another thread."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _read(self, key: tuple[Any, ...]) -> Any:
        shape = self.readable.shape or ()
        index = normalize(key[: len(shape)], shape)
        read = self.readable.read(index)
        try:
            values = self.shown(read)
        except DsError as error:
            raise error.at(path=getattr(self.readable, "path", None))
        return values[(..., *key[len(shape) :])] if len(key) > len(shape) else values


@dataclass(frozen=True)
class HeldArray:
    """A variable in memory; see `drivers.base.Readable`."""

    array: Any
    type: str | None
    missing: bool

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return None if self.array is None else self.array.shape

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable or a part of it; a copy where values are missing."""
        part = self.array if index is None or not self.array.ndim else take(self.array, index)
        return part.copy() if isinstance(part, np.ma.MaskedArray) else part


class CopiedArray(HeldArray):
    """A variable in memory that was read from a file: changing what is read changes nothing else."""

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return a copy of the variable or of a part of it."""
        part = super().read(index)
        return part.copy() if isinstance(part, np.ndarray) else part


@dataclass(frozen=True)
class Characters:
    """Byte strings → characters, padded with NUL.

    Attributes
    ----------
    name : str
        Name of the variable, for messages.
    length : int or None
        Length of strings that are shown as arrays of characters; None: strings are single characters.
    fill : object
        Shown for missing characters.
    """

    name: str
    length: int | None
    fill: Any

    def __call__(self, values: Any) -> NDArray[Any]:
        """Return an array of S1, with one more dimension unless strings are single characters."""
        strings = as_array(values)
        if isinstance(strings, np.ma.MaskedArray):
            strings = strings.filled(self.fill)
        length = 1 if self.length is None else self.length
        longest = max(map(len, strings.flat), default=0)
        if longest > length:
            message = f"found a byte string of {longest} bytes, expected at most {length}, as `.char` of `.netcdf` says"
            raise FormatError(message, variable=self.name)
        shape = strings.shape if self.length is None else (*strings.shape, length)
        padded: NDArray[Any] = strings.astype(f"S{max(length, 1)}").reshape(-1).view("S1")
        return padded[: strings.size * length].reshape(shape)


DEFAULT_FILLS = ("value", "missing")
DECODING = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "decode_coords",
    "use_cftime",
    "decode_timedelta",
)
"""Options that are xarray's own."""
FOR_EACH = ("mask_and_scale", "decode_times", "concat_characters", "decode_timedelta")
"""Options that may be given for each variable."""


@dataclass(frozen=True)
class DecodingOptions:
    """Options of decoding; all are those of `xarray.open_dataset` except for the last."""

    mask_and_scale: Any = True
    decode_times: Any = True
    concat_characters: Any = True
    decode_coords: Any = True
    drop_variables: Any = None
    use_cftime: Any = None
    decode_timedelta: Any = None
    default_fill: str = "value"
    """How values that NetCDF left unwritten are shown: as the default fill `value`, or as `missing`."""

    def __post_init__(self) -> None:
        if self.default_fill not in DEFAULT_FILLS:
            raise ValueError(f'default_fill: found {self.default_fill!r}, expected "value" or "missing"')

    def of(self, name: str) -> DecodingOptions:
        """Return those of one variable, where they are given for each."""
        if not self._is_for_each:
            return self
        return replace(
            self,
            **{field: _item(getattr(self, field), name, field != "decode_timedelta" or None) for field in FOR_EACH},
        )

    @functools.cached_property
    def _is_for_each(self) -> bool:
        return any(isinstance(getattr(self, field), Mapping) for field in FOR_EACH)

    @property
    def dropped(self) -> Collection[str]:
        """Names of variables that are left out."""
        return [self.drop_variables] if isinstance(self.drop_variables, str) else list(self.drop_variables or ())


def asked(who: str, options: Mapping[str, Any]) -> DecodingOptions:
    """Return the options of a call by their names.

    Raises
    ------
    TypeError
        If there is no such option; the message names the function.
    """
    for name in options:
        if name not in DecodingOptions.__dataclass_fields__:
            known = [*DecodingOptions.__dataclass_fields__]
            raise TypeError(f"{who} has no option {name!r}, expected one of {', '.join(known)}{hint(name, known)}")
    return DecodingOptions(**options)


def _item(option: Any, name: str, default: Any) -> Any:
    return option.get(name, default) if isinstance(option, Mapping) else option


def opened_dataset(
    found: Group,
    readable: Callable[[str], Readable | None],
    options: DecodingOptions,
    source: str | None = None,
    *,
    keeps_marks: bool = False,
) -> Dataset:
    """Return a dataset whose variables are read on indexing.

    Parameters
    ----------
    found : Group
    readable : callable
        Key in the file → reader of the variable.
    options : Options
    source : str, optional
        Path of the file.
    keeps_marks : bool
        Whether the values below masks are those of the file, as of a NetCDF file.

    Raises
    ------
    UnsupportedError
        If xarray cannot decode a variable; the message names it.
    """
    meta, root = found.meta, found.meta[META]
    store = _Store(meta, lambda key: readable(found.keys[key]), options, source, keeps_marks)
    opened = _decoded(store, options, source)
    opened.set_close(_close_nothing)
    for name, variable in opened.variables.items():
        if FILL_ATTRIBUTE not in meta[escape(NONE_VAR_NAME if name is None else str(name))]:
            variable.encoding.pop(FILL_ATTRIBUTE, None)  # for the coders of xarray alone
    opened.encoding |= {name: root[name] for name in RECORDS if name in root}
    opened.encoding["unlimited_dims"] = storage.unlimited(root, found.prefix)
    return opened


def _close_nothing() -> None:
    """Close a dataset that holds no file open. xarray calls it, and `open_mfdataset` pickles it."""


def _decoded(store: _Store, options: DecodingOptions, source: str | None) -> Dataset:
    """Let xarray decode raw variables."""
    asked = {field: getattr(options, field) for field in DECODING}
    try:
        return StoreBackendEntrypoint().open_dataset(store, **asked)
    except DsError as error:
        raise error.at(path=source)
    except REFUSALS as error:
        message = f"xarray cannot decode it: {refusal(error)}"
        raise UnsupportedError(message, path=source, variable=_culprit(store, asked)) from error


def _culprit(store: _Store, asked: dict[str, Any]) -> str | None:
    """Return the name of a variable that cannot be decoded even by itself; None: only together they fail."""
    for name, variable in store.get_variables().items():
        try:
            conventions.decode_cf_variables({name: variable}, {}, **asked)
        except REFUSALS:
            return name
    return None


def with_indexes(opened: Dataset) -> Dataset:
    """Add indexes for all dimension coordinates, as the last step of `open_dataset`."""
    found = {name: coord.variable for name, coord in opened.coords.items() if coord.dims == (name,)}
    return opened.assign_coords(Coordinates(found))


class _Store(AbstractDataStore):
    """Raw variables, for xarray to decode."""

    def __init__(
        self,
        meta: Metadata,
        readable: Callable[[str], Readable | None],
        options: DecodingOptions,
        source: str | None,
        keeps_marks: bool,
    ):
        self._meta = meta
        self._readable = readable
        self._options = options
        self._keeps_marks = keeps_marks
        self._source = {} if source is None else {"source": source}

    def get_variables(self) -> dict[str, Variable]:
        """Return the variables by their names."""
        dropped = self._options.dropped
        keys = {name: key for key in self._meta if key != META and (name := unescape(key)) not in dropped}
        attributes = {name: attrs(self._meta[key]) for name, key in keys.items()}
        if self._options.decode_times:
            _give_units_to_bounds(attributes)
        return {name: self._variable(name, key, attributes[name]) for name, key in keys.items()}

    def _variable(self, name: str, key: str, attributes: dict[str, Any]) -> Variable:
        entry, readable, options = self._meta[key], self._readable(key), self._options.of(name)
        if readable is None or readable.shape is None:
            return _without_data(entry, attributes)
        shape = readable.shape
        names = dims(key, entry, len(shape))
        if entry.get(".type") == COMPOUND:
            return self._structured(names, entry, readable, attributes)
        record = storage.record_of(entry)
        characters = setting(record, "char", dict)
        if characters is not None and entry.get(".type") == "str":
            fill = attributes.get(FILL_ATTRIBUTE)
            if isinstance(fill, str):  # bytes, as the netCDF4 library has it
                attributes = {**attributes, FILL_ATTRIBUTE: np.bytes_(fill.encode("utf-8", "surrogateescape"))}
            if isinstance(fill, str) or not readable.missing:  # xarray decodes what is missing
                return self._characters(name, names, characters, entry, readable, attributes)
        times = bool(options.decode_times)
        found = masked_view(
            name,
            entry,
            attributes,
            readable.missing,
            masks=bool(options.mask_and_scale),
            times=times,
            timedeltas=times if options.decode_timedelta is None else bool(options.decode_timedelta),
            default_is_missing=options.default_fill == "missing",
            keeps_marks=self._keeps_marks,
        )
        encoding = {**found.encoding, **storage.encoding_of(entry, shape), **self._source}
        if found.encoding.get("dtype") == TYPES[entry[".type"]].code and MARK not in encoding:
            encoding["dtype"] = storage.stored_dtype(entry, encoding["dtype"])
        shown = found.shown
        wrong = unscalable(attributes, entry[".type"]) if options.mask_and_scale else None
        if wrong is not None:
            shown = Unscalable(name, wrong, attributes[wrong])
        return _lazy(names, LazyArray(readable, shown, found.dtype), found.attrs, encoding)

    def _characters(
        self,
        name: str,
        names: list[str],
        record: dict[str, Any],
        entry: Mapping[str, Any],
        readable: Readable,
        attributes: dict[str, Any],
    ) -> Variable:
        """Return byte strings as the characters that they are in a NetCDF file."""
        dim = record.get("dim")
        length = setting(record, "size", int) if isinstance(dim, str) else None
        names = [*names, str(dim)] if length is not None else names
        fill = attributes.get(FILL_ATTRIBUTE)
        array = LazyArray(readable, Characters(name, length, fill), np.dtype("S1"), length)
        encoding = {"dtype": array.dtype, **storage.encoding_of(entry, array.shape), **self._source}
        return _lazy(names, array, attributes, encoding)

    def _structured(
        self, names: list[str], entry: Mapping[str, Any], readable: Any, attributes: dict[str, Any]
    ) -> Variable:
        """Return values with fields as they are."""
        array = LazyArray(readable, np.asarray, readable.dtype)
        encoding = {"dtype": array.dtype, **storage.encoding_of(entry, array.shape), **self._source}
        return _lazy(names, array, attributes, encoding)

    def get_attrs(self) -> dict[str, Any]:
        """Return the attributes of the dataset."""
        return attrs(self._meta.get(META, {}))


def _lazy(names: list[str], array: LazyArray, attributes: dict[str, Any], encoding: dict[str, Any]) -> Variable:
    if storage.QUANTIZED in attributes:
        encoding[storage.QUANTIZED] = attributes[storage.QUANTIZED]
        attributes = {name: value for name, value in attributes.items() if name != storage.QUANTIZED}
    return Variable(names, indexing.LazilyIndexedArray(array), attributes, encoding, fastpath=True)


def _without_data(entry: Mapping[str, Any], attributes: dict[str, Any]) -> Variable:
    """Return a scalar in place of a variable without data, to keep its attributes."""
    kept = {name: entry[name] for name in (".dims", ".type", *RECORDS) if name in entry}
    return Variable((), np.nan, attributes, {NO_DATA: kept})


def _give_units_to_bounds(attributes: Mapping[str, dict[str, Any]]) -> None:
    """Give bounds of times the units of these, as xarray does before it decodes them (CF conventions 1.12, 7.1)."""
    for given in attributes.values():
        bounds = attributes.get(str(given.get("bounds")))
        if bounds is not None and "since" in str(given.get("units")):
            bounds.setdefault("units", given["units"])
            if "calendar" in given:
                bounds.setdefault("calendar", given["calendar"])


def to_xarray(d: Mapping[str, Any], **options: Any) -> Dataset:
    """Return a dataset as one of xarray.

    Parameters
    ----------
    d : dict
        Dataset.
    **options
        Those of the engine "ds": `mask_and_scale`, `decode_times`, `decode_timedelta`, `use_cftime`,
        `concat_characters`, `decode_coords`, `drop_variables` and `default_fill`.

    Returns
    -------
    xarray.Dataset
        Numbers without missing values share memory with `d`. A variable without data is a scalar, NaN.

    Raises
    ------
    UnsupportedError
        If the metadata do not match the data.

    Examples
    --------
    >>> import numpy as np
    >>> rain = np.ma.MaskedArray([0, 1, 2], [False, True, False])
    >>> x = to_xarray({"rain": rain, ".": {"rain": {".dims": ["day"], "units": "mm"}}})
    >>> x["rain"].dims, x["rain"].values, x["rain"].attrs
    (('day',), array([ 0., nan,  2.]), {'units': 'mm'})
    """
    arrays, given = checked(d)
    meta: Metadata = {META: {}, **describe(arrays, given)}
    whole = group_of(meta, None, "dataset")
    held = {
        key: HeldArray(array, meta[key].get(".type"), bool(meta[key].get(".missing"))) for key, array in arrays.items()
    }
    return with_indexes(opened_dataset(whole, held.__getitem__, asked("to_xarray()", options)).load())
