"""Values for and from xarray's coders: masked values, strings, objects and times, and values that the coders refuse.

xarray itself would treat every value that equals `_FillValue` as missing. Here the mask decides, with the types and the
encoding that xarray would choose; `docs/xarray.md` has the table. The coders spell units and calendars of times
differently, with the same meaning.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from xarray import Variable
from xarray.coding.variables import CFMaskCoder

from ..base.dtypes import TYPES
from ..datasets import as_array
from ..errors import DsError, UnsupportedError
from ..model.missing import FILL_ATTRIBUTE, SENTINEL_ATTRIBUTES, default_fill, fitting, is_value, sentinels
from ..model.packing import ATTRIBUTES
from ..model.settings import NETCDF, setting
from ..timeaxis.calendars import REFORM
from ..timeaxis.units import TimeUnits, decode

SCALES = ("scale_factor", "add_offset")

REFUSALS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that the coders raise for unexpected attributes, encoding or values."""


def refusal(error: Exception) -> str:
    """Return the message of an error, with its class if the message alone is unclear, as that of a KeyError."""
    return str(error) if isinstance(error, (ValueError, OverflowError)) else f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Add the name of a variable to errors of this package and of the coders."""
    try:
        yield
    except DsError as error:
        raise error.at(variable=name)
    except REFUSALS as error:
        raise UnsupportedError(refusal(error), variable=name) from error


def unscalable(attrs: Mapping[str, Any], type_name: str) -> str | None:
    """Return the name of the attribute by which the coders cannot scale values of a type; None if they can.

    It has to be a number, or a list of one.
    """
    for name in SCALES:
        if attrs.get(name) is not None:
            array = np.asarray(attrs[name])
            if array.size != 1 or array.dtype.kind not in "iufb" or TYPES[type_name].is_string:
                return name
    return None


@dataclass(frozen=True)
class Unscalable:
    """Raises when unscalable values are read, so that the other variables of the file remain readable."""

    name: str
    attribute: str
    found: Any

    def __call__(self, values: Any) -> Any:
        """Raise an UnsupportedError."""
        raise UnsupportedError(
            f"{self.attribute}: found {self.found!r}, expected a number, and numbers to scale by it; "
            "open it with mask_and_scale=False",
            variable=self.name,
        )


NO_DATA = "ds_no_data"
"""Key of the encoding of a scalar in place of a variable without data: the properties of the variable."""
MARK = "ds_missing"
"""Key of the encoding of a variable whose mask no attribute describes: the ds type of the values."""
OBJECTS = "ds_type"
"""Key of the metadata of the dtype object: the ds type of the values."""


@dataclass(frozen=True)
class Shown:
    """Values that were read → values that are shown.

    Attributes
    ----------
    name : str
        Name of the variable, for messages.
    dtype : dtype
        Dtype of shown values.
    fill : object
        Shown for masked values; None: the values below the mask.
    signed : dtype, optional
        Dtype of the other signedness as which integers are viewed first.
    forbidden : object
        Value that no present value may equal, since it marks missing ones; None: no such value.
    kept : list
        Values below the mask that are shown as they are.
    """

    name: str
    dtype: np.dtype[Any]
    fill: Any = None
    signed: np.dtype[Any] | None = None
    forbidden: Any = None
    kept: Sequence[np.generic] = ()

    def __call__(self, values: Any) -> NDArray[Any]:
        """Return values as xarray shows them; a masked array is modified."""
        array = as_array(values)
        data = np.ma.getdata(array)
        mask = np.ma.getmask(array)
        if self.forbidden is not None:
            self._check(data, mask)
        for value in self.kept if mask is not np.ma.nomask else ():
            mask = mask & ~is_value(data, value)
        if self.signed is not None:
            data = data.view(self.signed)
        data = data.astype(self.dtype, copy=False)
        if mask is not np.ma.nomask and self.fill is not None:
            np.copyto(data, self.fill, where=mask)
        return data

    def _check(self, data: NDArray[Any], mask: Any) -> None:
        hits = is_value(data, self.forbidden) if isinstance(self.forbidden, np.generic) else data == self.forbidden
        if np.any(hits & ~mask):
            raise UnsupportedError(
                f"a present value equals {_plain(self.forbidden)!r}, which marks missing values here: "
                "without decoding both would look the same; open it with mask_and_scale=True",
                variable=self.name,
            )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class MaskedView(NamedTuple):
    """How a variable is shown."""

    shown: Callable[[Any], Any]
    dtype: np.dtype[Any]
    attrs: dict[str, Any]
    encoding: dict[str, Any]


def masked_view(
    name: str,
    entry: Mapping[str, Any],
    attrs: dict[str, Any],
    missing: bool,
    *,
    masks: bool,
    times: bool,
    timedeltas: bool,
    default_is_missing: bool,
    keeps_marks: bool,
) -> MaskedView:
    """Find out how a variable is shown.

    Parameters
    ----------
    name : str
    entry : dict
        Its metadata.
    attrs : dict
        Its attributes, with units that it has from the variable whose bounds it holds.
    missing : bool
        Whether values may be missing.
    masks : bool
        Whether missing values are decoded; else they are shown as their marks in a file.
    times, timedeltas : bool
        Whether xarray will decode times, and differences of times.
    default_is_missing : bool
        Whether masked values that the NetCDF library left unwritten are shown as missing, instead of as the default
        fill value.
    keeps_marks : bool
        Whether the values below a mask are those of the file, as of a NetCDF file. Then `masks=False` shows them.
    """
    type_name = entry.get(".type") or "float64"
    ds_type = TYPES[type_name]
    dtype = np.dtype(ds_type.code)
    record = entry.get(NETCDF)
    is_filled = setting(record, "fill", str) == "default"
    if ds_type.is_string:
        return _text(name, type_name, attrs, missing, masks)
    if type_name == "bool":
        is_unwritten = is_filled and not default_is_missing and attrs.keys().isdisjoint(SENTINEL_ATTRIBUTES)
        return _flags(name, attrs, missing, masks, is_unwritten)
    told = [key for key in SENTINEL_ATTRIBUTES if key in attrs and _fits(attrs[key], dtype)]
    encoding: dict[str, Any] = {"dtype": dtype}
    # netCDF4 shows this for unwritten values, if `missing_value` names another number
    marks = fitting(record["mark"], dtype) if told and isinstance(record, dict) and "mark" in record else []
    shows_mark = bool(marks) and not default_is_missing
    if not told and is_filled and not default_is_missing:
        return MaskedView(Shown(name, dtype, default_fill(dtype)), dtype, attrs, encoding)
    if not told and not missing:
        return MaskedView(Shown(name, dtype), dtype, attrs, encoding)
    if not masks:
        fill = marks[0] if shows_mark else fitting(attrs[told[0]], dtype)[0] if told else default_fill(dtype)
        given = {} if told else {FILL_ATTRIBUTE: fill}
        forbidden = fill if fill == fill else None  # NaN stands for itself
        shown = Shown(name, dtype)
        if not keeps_marks:
            several = sentinels(attrs, dtype, is_filled)
            shown = Shown(name, dtype, fill, None, forbidden, several if len(several) > 1 else ())
        return MaskedView(shown, dtype, {**attrs, **given}, encoding)
    given = {} if told else {FILL_ATTRIBUTE: default_fill(dtype)}
    decoded, kept, moved = _decoded(name, dtype, {**attrs, **given}, times, timedeltas)
    encoding |= moved
    if not told:
        # written to another format without a mark for missing values, NaN must not become integers
        encoding |= {"dtype": decoded, MARK: type_name}
    null: Any = np.nan if decoded.kind == "f" else np.iinfo(np.int64).min
    if shows_mark and not any(is_value(np.asarray(marks[0]), sentinel) for sentinel in sentinels(attrs, dtype, False)):
        null = np.array(marks[0]).view(_signed(dtype, attrs) or dtype).astype(decoded)[()]
    unwritten = []
    if is_filled and not default_is_missing:
        unwritten = sentinels(attrs, dtype, True)[len(sentinels(attrs, dtype, False)) :]
    return MaskedView(Shown(name, decoded, null, _signed(dtype, attrs), None, unwritten), decoded, kept, encoding)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    return type(value) is dtype.type or bool(fitting(value, dtype))


def _decoded(
    name: str, dtype: np.dtype[Any], attrs: dict[str, Any], times: bool, timedeltas: bool
) -> tuple[np.dtype[Any], dict[str, Any], dict[str, Any]]:
    """Return the dtype that xarray decodes masked numbers to, which attributes stay, and which become encoding."""
    told = [key for key in SENTINEL_ATTRIBUTES if key in attrs]
    units = attrs.get("units")
    if attrs.keys().isdisjoint(ATTRIBUTES) and len(told) == 1 and type(attrs[told[0]]) is dtype.type:
        # as most variables have it: then there is nothing to warn of
        found = _usual_dtype(dtype, units if isinstance(units, str) else None, times, timedeltas)
        return found, {key: value for key, value in attrs.items() if key != told[0]}, {told[0]: attrs[told[0]]}
    raw = Variable(["i"], np.zeros(0, dtype), attrs)
    decoded = CFMaskCoder(decode_times=times, decode_timedelta=timedeltas).decode(raw, name)
    return decoded.dtype, dict(decoded.attrs), decoded.encoding


@functools.lru_cache(1024)
def _usual_dtype(dtype: np.dtype[Any], units: str | None, times: bool, timedeltas: bool) -> np.dtype[Any]:
    """Return the dtype of `_decoded` for a variable that is not packed."""
    raw = Variable(["i"], np.zeros(0, dtype), {FILL_ATTRIBUTE: dtype.type(0), "units": units})
    found: np.dtype[Any] = CFMaskCoder(decode_times=times, decode_timedelta=timedeltas).decode(raw).dtype
    return found


def _signed(dtype: np.dtype[Any], attrs: Mapping[str, Any]) -> np.dtype[Any] | None:
    """Return the dtype of integers by the attribute `_Unsigned`; None: unchanged."""
    kind = {("i", "true"): "u", ("u", "false"): "i"}.get((dtype.kind, str(attrs.get("_Unsigned"))))
    return None if kind is None else np.dtype(f"{kind}{dtype.itemsize}")


def _text(name: str, type_name: str, attrs: dict[str, Any], missing: bool, masks: bool) -> MaskedView:
    """Return the view of text and byte strings: objects, with NaN or the empty one where values are missing."""
    base: type = str if type_name == "unicode" else bytes
    dtype = np.dtype("O", metadata={"element_type": base, OBJECTS: type_name})
    if not missing:
        return MaskedView(Shown(name, dtype), dtype, attrs, {})
    if masks:
        kept = {key: value for key, value in attrs.items() if key not in SENTINEL_ATTRIBUTES}
        encoding = {key: attrs[key] for key in SENTINEL_ATTRIBUTES if key in attrs}
        plain = np.dtype("O", metadata={OBJECTS: type_name})
        return MaskedView(Shown(name, plain, np.nan), plain, kept, {**encoding, MARK: type_name})
    fill = attrs.get(FILL_ATTRIBUTE, base())
    stored = fill.encode() if base is bytes and isinstance(fill, str) else fill
    return MaskedView(Shown(name, dtype, stored, None, stored), dtype, {**attrs, FILL_ATTRIBUTE: fill}, {})


def _flags(name: str, attrs: dict[str, Any], missing: bool, masks: bool, is_unwritten: bool) -> MaskedView:
    """Return the view of booleans: objects, or as in a NetCDF file int8, where values are missing.

    If these are only values that the NetCDF library left unwritten, the view is of booleans. They are true, because
    their mark is not 0.
    """
    dtype: np.dtype[Any] = np.dtype(np.bool_)
    if not missing or is_unwritten:
        return MaskedView(Shown(name, dtype, True), dtype, attrs, {"dtype": dtype})
    if masks:
        kept = {key: value for key, value in attrs.items() if key not in SENTINEL_ATTRIBUTES}
        encoding = {key: attrs[key] for key in SENTINEL_ATTRIBUTES if key in attrs}
        dtype = np.dtype("O", metadata={OBJECTS: "bool"})
        return MaskedView(Shown(name, dtype, np.nan), dtype, kept, {**encoding, MARK: "bool"})
    dtype = np.dtype(np.int8)
    fill = next(iter(fitting(attrs.get(FILL_ATTRIBUTE), dtype)), default_fill(dtype))
    return MaskedView(Shown(name, dtype, fill), dtype, {**attrs, FILL_ATTRIBUTE: fill}, {"dtype": dtype})


OBJECT_DTYPES: dict[type, np.dtype[Any]] = {
    str: np.dtype("O", metadata={"element_type": str}),
    bytes: np.dtype("O", metadata={"element_type": bytes}),
    bool: np.dtype(bool),
}
"""Dtypes of objects by their element type, with the metadata by which xarray marks strings."""


class Typed(NamedTuple):
    """Values of one type."""

    values: NDArray[Any]
    null: NDArray[np.bool_] | None
    """True for null values; None without any."""


def element_of(dtype: np.dtype[Any]) -> type | None:
    """Return `str` or `bytes`, if a dtype says that its values are; None for others."""
    kinds: dict[str, type] = {"U": str, "T": str, "S": bytes}
    if dtype.kind != "O":
        return kinds.get(dtype.kind)
    metadata: Mapping[str, Any] = dtype.metadata or {}
    found = metadata.get("element_type", metadata.get("vlen"))  # the other word is h5py's
    return found if found in (str, bytes) else None


def typed_values(data: NDArray[Any], element: type | None = None) -> Typed:
    """Return strings or objects as values of one type.

    Parameters
    ----------
    data : ndarray
        Array of strings of any type, or of objects.
    element : type, optional
        `str`, `bytes` or `bool`: the type of objects if all of them are null.

    Returns
    -------
    Typed
        Strings and booleans in one of `DTYPES`, empty or false where null; numbers, which become floats with NaN
        there. Times of the library cftime stay objects.

    Raises
    ------
    UnsupportedError
        If the objects have mixed types, or a type that ds does not have.
    """
    element = element_of(data.dtype) or element
    objects = data.astype(object) if data.dtype.kind != "O" else data
    flags = np.asarray(pd.isnull(objects), dtype=bool).reshape(objects.shape)
    null = flags if flags.any() else None
    present = objects[~flags].tolist()
    kinds = set(map(type, present))
    for kind, bases in ((str, (str,)), (bytes, (bytes,)), (bool, (bool, np.bool_))):
        if all(issubclass(one, bases) for one in kinds) and (kinds or element is kind):
            return Typed(_with(objects, null, kind(), OBJECT_DTYPES[kind]), null)
    if any(hasattr(one, "calendar") for one in kinds):
        return Typed(_with(objects, null, present[0], np.dtype(object)), null)
    return Typed(_numbers(objects, null, present, kinds), None)


def _with(objects: NDArray[Any], null: NDArray[np.bool_] | None, nothing: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    values = np.empty(objects.shape, dtype)
    values[...] = objects if null is None else np.where(null, nothing, objects)
    return values


def _numbers(
    objects: NDArray[Any], null: NDArray[np.bool_] | None, present: list[Any], kinds: set[type]
) -> NDArray[Any]:
    found = {np.asarray(value).dtype.kind if np.isscalar(value) else "O" for value in present}
    if not found <= set("iuf"):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UnsupportedError(f"an object array holds {names}; expected all str, all bytes, all bool or all numbers")
    if null is None:
        return np.array(present, dtype=None if present else float).reshape(objects.shape)
    values = np.full(objects.shape, np.nan)
    values[~null] = present
    return values


OFFSET = re.compile(r"[+-](?!00:00)\d\d:\d\d$")
"""An offset from UTC that is not 0, as xarray writes it at the end of units."""


SPANS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
"""Units of differences of times in xarray."""


def is_time_like(units: Any) -> bool:
    """Whether xarray takes numbers of these units for times, or differences of times."""
    return isinstance(units, str) and (units in SPANS or _time_units(units, None) is not None)


def give_calendar(given: Variable, encoding: dict[str, Any]) -> None:
    """Have times coded in the calendar of a file that named none, where none of them can be before the reform.

    Else xarray takes the proleptic one, and says so.

    Parameters
    ----------
    given : Variable
        In nanoseconds there is no time before the year 1677.
    encoding : dict
        Its encoding, which is changed.
    """
    units = encoding.get("units")
    if given.dtype != "M8[ns]" or units is None or encoding.get("calendar") is not None:
        return
    axis = _time_units(units, "proleptic_gregorian")
    # the coder fails in a chunk of only NaT; after the reform both calendars are the same
    if given.chunks is None or (axis is not None and axis.day < REFORM):
        encoding["calendar"] = "standard"


def keep_words(given: Variable, attributes: dict[str, Any], values: Any) -> None:
    """Change the attributes of coded times to those in the encoding that they had, where they mean the same.

    Units with an offset from UTC stay as coded, because xarray ignores some offsets when it decodes, such as `+1:00`.

    Parameters
    ----------
    given : Variable
        Before it was coded.
    attributes : dict
    values : ndarray, MaskedArray or array of dask
        As coded; of an array of dask nothing is computed.
    """
    units, calendar = given.encoding.get("units"), attributes.get("calendar")
    if units is None or calendar is None or given.encoding.get("calendar") not in (None, calendar):
        return
    meant, written = _time_units(units, calendar), _time_units(attributes.get("units"), calendar)
    if meant is None or meant != written or OFFSET.search(attributes["units"]):
        return
    attributes["units"] = units
    if given.encoding.get("calendar") is None and (calendar == "standard" or _is_later(given, meant, values)):
        del attributes["calendar"]


def _time_units(units: Any, calendar: Any) -> TimeUnits | None:
    try:
        return decode(units, calendar)
    except UnsupportedError:
        return None


def _is_later(given: Variable, axis: TimeUnits, values: Any) -> bool:
    """Whether times of the proleptic Gregorian calendar, and their reference date, are after the reform."""
    if axis.calendar != "proleptic_gregorian" or axis.day < REFORM:
        return False
    if given.dtype == "M8[ns]":
        return True
    if not isinstance(values, np.ndarray):
        return False
    present = values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    return bool(np.all(present >= 0))
