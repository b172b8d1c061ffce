"""Missing values: sentinels in a file ↔ a mask in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.dtypes import NETCDF, TYPES, TypedNumbers, np
from ..errors import NotInHeaderError
from .conventions import is_unsigned

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 256 * 1024
"""Values that are compared at a time, few enough for the caches of a core."""

FILL_ATTRIBUTE = "_FillValue"
SENTINEL_ATTRIBUTES = (FILL_ATTRIBUTE, "missing_value")
VALUE_ATTRIBUTES = (*SENTINEL_ATTRIBUTES, "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")
"""Attributes whose plain Python numbers are converted to the type of the variable (CF conventions)."""

DEFAULT_FILLS = {
    "i1": -127,
    "u1": 255,
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": 9.969209968386869e36,
    "f8": 9.969209968386869e36,
}
"""Default fill values of the NetCDF library (`NC_FILL_...` in netcdf.h), which values have that were never written."""

Sentinels: TypeAlias = "list[np.generic]"
"""Distinct values that mean "missing", of the dtype of the variable. The first one is used for writing."""


@cache
def default_fill(dtype: np.dtype[Any]) -> np.generic:
    """Return the default fill value of the NetCDF library for a type of numbers; NaN for float16, which it lacks."""
    fill: np.generic = dtype.type(DEFAULT_FILLS.get(dtype.str[1:], np.nan))
    return fill


def candidates(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return candidates for the number that means "missing", in order of preference.

    For types of at most 2 bytes, these are all their numbers.
    """
    default = np.array([default_fill(dtype)], dtype=dtype)
    if dtype.kind == "f":
        return np.concatenate([default, -default, [np.finfo(dtype).max]]).astype(dtype)
    limits = np.iinfo(dtype)
    if dtype.itemsize <= 2:
        return np.concatenate([default, np.arange(limits.min, limits.max + 1).astype(dtype)])
    return np.concatenate([default, np.array([limits.min, limits.max, limits.max - 1], dtype=dtype)])


def sentinels(attributes: dict[str, Any], dtype: np.dtype[Any], is_filled: bool) -> Sentinels:
    """Return the values that mean "missing" in a variable of numbers.

    Parameters
    ----------
    attributes : dict
        Unescaped name → value.
    dtype : dtype
        Dtype of the values in the file.
    is_filled : bool
        Whether the library pre-fills the variable.
    """
    found: Sentinels = []
    for name in SENTINEL_ATTRIBUTES:
        if name in attributes:
            found += fitting(attributes[name], dtype)
    if is_filled and is_default_missing(attributes, dtype.kind):
        found.append(default_fill(dtype))
    if len(found) < 2:
        return found
    distinct: Sentinels = []
    for value in found:
        if not any(is_value(np.asarray(value), other) for other in distinct):
            distinct.append(value)
    return distinct


def is_default_missing(attributes: Mapping[str, Any], kind: str) -> bool:
    """Return whether the default fill value of a pre-filled variable means "missing".

    It does not where signed numbers represent unsigned ones, as in the netCDF4 library: 129 is a value of bytes.

    Parameters
    ----------
    attributes : dict
        Unescaped name → value.
    kind : str
        NumPy kind of the values in the file.
    """
    return FILL_ATTRIBUTE not in attributes and not (kind == "i" and is_unsigned(attributes))


def are_possible(attributes: dict[str, Any], code: str, is_filled: bool, *, is_scalar: bool) -> bool:
    """Return whether `sentinels` finds any, by attributes of `TypedNumbers`.

    Parameters
    ----------
    attributes, is_filled
        As of `sentinels`.
    code : str
        Kind and size of the values in the file.
    is_scalar : bool
        Whether the variable has no dimensions. Then there must be at most one.

    Raises
    ------
    NotInHeaderError
        If only `sentinels` can tell, or a scalar may have several.
    """
    n = 0
    for name in SENTINEL_ATTRIBUTES:
        value = attributes.get(name)
        if isinstance(value, TypedNumbers):
            if value.dtype.code != code:
                raise NotInHeaderError(f'the attribute "{name}" of another type')
            n += len(value.values) if isinstance(value.values, list) else 1
    n += is_filled and is_default_missing(attributes, code[0])
    if is_scalar and n > 1:
        raise NotInHeaderError("several numbers that mark a scalar as missing")
    return n > 0


def fitting(value: Any, dtype: np.dtype[Any]) -> Sentinels:
    """Return those numbers of an attribute that a dtype can represent.

    Floats are rounded, so that a `missing_value` in double precision applies to single precision values, too.
    """
    if type(value) is dtype.type:
        return [value]
    given = np.atleast_1d(np.asarray(value))
    if given.dtype.kind not in "fiub" or given.ndim != 1:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        cast = given.astype(dtype)
        if dtype.kind == "f":
            is_fit = np.isfinite(cast) | ~np.isfinite(given)
        else:
            # a value outside of the range changes when it is converted there and back
            is_fit = (cast.astype(given.dtype) == given) & ((cast < 0) == (given < 0))
    return list(cast[is_fit])


def is_value(values: NDArray[Any], sentinel: np.generic) -> Any:
    """Return whether each value equals a sentinel. NaN equals NaN."""
    if sentinel.dtype.kind == "f" and np.isnan(sentinel):
        return np.isnan(values)
    return values == sentinel


def count(values: NDArray[Any], found: Sentinels) -> tuple[NDArray[np.bool_] | None, list[int]]:
    """Return the mask of missing values (None if no value is missing), and the number of values of each sentinel."""
    if found and values.size > BLOCK and values.flags.c_contiguous:
        return _count_in_blocks(values, found)
    mask: NDArray[np.bool_] | None = None
    counts = []
    for sentinel in found:
        hits = np.asarray(is_value(values, sentinel))
        counts.append(int(np.count_nonzero(hits)))
        if counts[-1]:
            mask = hits if mask is None else mask | hits
    return mask, counts


def _count_in_blocks(values: NDArray[Any], found: Sentinels) -> tuple[NDArray[np.bool_] | None, list[int]]:
    """Do the same as `count` in several threads. Memory of the mask is not touched if no value is missing."""
    flat, counts = values.reshape(-1), []
    mask = np.zeros(flat.size, np.bool_)

    def work(first: int, last: int) -> None:
        part = mask[first:last]
        for i, sentinel in enumerate(found):
            hits = is_value(flat[first:last], sentinel)
            n = int(np.count_nonzero(hits))
            if n:
                part |= hits
                counts.append((i, n))

    from ..base import threads

    threads.each(work, flat.size, BLOCK)
    sums = [sum(n for k, n in counts if k == i) for i in range(len(found))]
    return mask.reshape(values.shape) if counts else None, sums


def filled(values: NDArray[Any], mask: NDArray[np.bool_], found: Sentinels) -> NDArray[Any]:
    """Return values with a sentinel where the mask is set. A masked value that is a sentinel already is not changed."""
    others = mask.copy()
    for sentinel in found:
        others &= ~np.asarray(is_value(values, sentinel))
    return np.where(others, found[0], values).astype(values.dtype, copy=False)


class FillMark:
    """The setting `fill: default` in `.netcdf`: missing values of the variable were never written.

    The setting is kept only if the values agree: all values under the mask are the default fill value or a value of
    `missing_value`. If no value is unwritten, it becomes `fill: unused`, which affects storage only. `mark` is added if
    all missing values are unwritten, but `missing_value` is another number.

    Parameters
    ----------
    entry : dict
        Metadata of the variable.
    dtype : dtype
        Dtype of its values.
    """

    def __init__(self, entry: Mapping[str, Any], dtype: np.dtype[Any]):
        self._entry = entry
        self._default = default_fill(dtype)
        self._named = sentinels(dict(entry), dtype, False)
        self._has_unwritten = self._has_named = self._has_others = False

    @classmethod
    def of(cls, entry: Mapping[str, Any], dtype: np.dtype[Any] | None) -> FillMark | None:
        """Return the mark of a variable, or None if it does not have this setting, or is not numeric."""
        record = entry.get(NETCDF)
        is_marked = isinstance(record, dict) and record.get("fill") == "default"
        if not is_marked or dtype is None or dtype.str[1:] not in DEFAULT_FILLS:
            return None
        return cls(entry, dtype.newbyteorder("="))

    def see(self, block: Any) -> None:
        """Check the missing values of a block."""
        if type(block) is np.ndarray:
            return  # loading np.ma takes a tenth of the time of `ds ls`
        mask = np.ma.getmask(block)
        if mask is np.ma.nomask or not mask.any():
            return
        raw = np.ma.getdata(block)[mask]
        is_unwritten = is_value(raw, self._default)
        is_other = ~is_unwritten
        for sentinel in self._named:
            is_named = is_value(raw, sentinel)
            self._has_named |= bool(np.any(is_named))
            is_other &= ~is_named
        self._has_unwritten |= bool(np.any(is_unwritten))
        self._has_others |= bool(np.any(is_other))

    def over(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield blocks, and check each one."""
        for block in blocks:
            self.see(block)
            yield block

    def widest(self) -> dict[str, Any]:
        """Return metadata that take at least as many bytes in a header as those of `settled`."""
        return self._with({"fill": "default", "mark": self._default.item()} if self._named else {"fill": "default"})

    def settled(self) -> dict[str, Any]:
        """Return the metadata, with the setting that agrees with all checked values."""
        if self._has_others:
            return without_fill(self._entry)
        if not self._has_unwritten:
            return self._with({"fill": "unused"})
        is_marked = self._named and not self._has_named
        return self._with({"fill": "default", "mark": self._default.item()} if is_marked else {"fill": "default"})

    def _with(self, fill: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in self._entry[NETCDF].items() if name != "mark"}
        return {**self._entry, NETCDF: {**kept, **fill}}


def without_fill(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the settings about values that were never written."""
    record = {name: value for name, value in entry[NETCDF].items() if name not in ("fill", "mark")}
    kept = {name: value for name, value in entry.items() if name != NETCDF or record}
    return {**kept, NETCDF: record} if record else kept


def settle(entry: Mapping[str, Any], array: Any) -> Any:
    """Return the metadata of a variable, with the setting of `FillMark` that agrees with its values."""
    mark = FillMark.of(entry, getattr(array, "dtype", None))
    if mark is None:
        return entry
    mark.see(array)
    return mark.settled()


def settled(meta: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a dataset; `settle` is applied to each variable that has an array."""
    out: dict[str, Any] = dict(meta)
    for key, entry in meta.items():
        if NETCDF in entry and key in arrays:
            out[key] = settle(entry, arrays[key])
    return out


def restore(entry: Mapping[str, Any], array: Any) -> None:
    """Write the fill value of the NetCDF file under the mask of an array, if the metadata have it."""
    mask = np.ma.getmask(array)
    record = entry.get(NETCDF)
    if mask is np.ma.nomask or not isinstance(record, dict):
        return
    dtype = array.dtype
    if entry.get(".type") not in TYPES or dtype.str[1:] not in DEFAULT_FILLS:
        return
    fills = fitting(record["mark"], dtype) if "mark" in record else []
    if not fills and record.get("fill") == "default" and not sentinels(dict(entry), dtype, False):
        fills = [default_fill(dtype)]
    if fills:
        np.copyto(np.ma.getdata(array), fills[0], where=mask)
