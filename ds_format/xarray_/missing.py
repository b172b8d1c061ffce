"""What masked values are shown as, and in which type; `docs/xarray.md` has the table.

xarray itself would have to take every value that equals `_FillValue` for a missing one. Here the mask decides, with the
types and the encoding that xarray would come to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import Variable
from xarray.coding.variables import CFMaskCoder

from ..base.dtypes import TYPES
from ..dataset import as_array
from ..drivers.library.missing import (
    FILL_ATTRIBUTE,
    SENTINEL_ATTRIBUTES,
    default_fill,
    fitting,
    is_value,
    sentinels,
)
from ..drivers.settings import NETCDF, setting
from ..errors import UnsupportedError
from ..model.packing import ATTRIBUTES

MARK = "ds_missing"
"""Key of the encoding of a variable whose mask no attribute tells of: the ds type of the values."""
OBJECTS = "ds_type"
"""Key of the metadata of the dtype object: the ds type of the values."""


@dataclass(frozen=True)
class Shown:
    """Values that were read → values that are shown.

    Attributes
    ----------
    name : str
        Of the variable, for messages.
    dtype : dtype
        In which values are shown.
    fill : object
        What stands in masked places.
    signed : dtype, optional
        What integers are seen as before: of the other signedness.
    forbidden : object
        What no present value may equal, for it could not be told from a missing one; None: nothing.
    """

    name: str
    dtype: np.dtype[Any]
    fill: Any = None
    signed: np.dtype[Any] | None = None
    forbidden: Any = None

    def __call__(self, values: Any) -> NDArray[Any]:
        """Return values as they are shown; a masked array is changed."""
        array = as_array(values)
        data = np.ma.getdata(array)
        mask = np.ma.getmask(array)
        if self.forbidden is not None:
            self._check(data, mask)
        if self.signed is not None:
            data = data.view(self.signed)
        data = data.astype(self.dtype, copy=False)
        if mask is not np.ma.nomask:
            np.copyto(data, self.fill, where=mask)
        return data

    def _check(self, data: NDArray[Any], mask: Any) -> None:
        hits = is_value(data, self.forbidden) if isinstance(self.forbidden, np.generic) else data == self.forbidden
        if np.any(hits & ~mask):
            raise UnsupportedError(
                f"a present value equals {_plain(self.forbidden)!r}, which is to stand for missing ones: "
                "without decoding they could not be told apart; open it with mask_and_scale=True",
                variable=self.name,
            )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class View(NamedTuple):
    """How a variable is shown."""

    shown: Callable[[Any], Any]
    dtype: np.dtype[Any]
    attrs: dict[str, Any]
    encoding: dict[str, Any]


def view(
    name: str,
    entry: Mapping[str, Any],
    attrs: dict[str, Any],
    missing: bool,
    *,
    masks: bool,
    times: bool,
    timedeltas: bool,
    default_is_missing: bool,
) -> View:
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
        Whether missing values are decoded; else they are shown as what stands for them in a file.
    times, timedeltas : bool
        Whether xarray will decode times, and differences of times.
    default_is_missing : bool
        Whether a mask that stands for what the NetCDF library puts into places that nobody wrote is shown as missing,
        instead of as this value.
    """
    type_name = entry.get(".type") or "float64"
    ds_type = TYPES[type_name]
    dtype = np.dtype(ds_type.code)
    record = entry.get(NETCDF)
    is_filled = setting(record, "fill", str) == "default"
    if ds_type.is_string:
        return _text(name, type_name, attrs, missing, masks)
    if type_name == "bool":
        return _flags(name, attrs, missing, masks)
    told = [key for key in SENTINEL_ATTRIBUTES if key in attrs and _fits(attrs[key], dtype)]
    encoding: dict[str, Any] = {"dtype": dtype}
    # what netCDF4 shows of values that nobody wrote, where `missing_value` names another number
    marks = fitting(record["mark"], dtype) if told and isinstance(record, dict) and "mark" in record else []
    shows_mark = bool(marks) and not default_is_missing
    if not told and is_filled and not default_is_missing:
        return View(Shown(name, dtype, default_fill(dtype)), dtype, attrs, encoding)
    if not told and not missing:
        return View(Shown(name, dtype), dtype, attrs, encoding)
    if not masks:
        fill = marks[0] if shows_mark else fitting(attrs[told[0]], dtype)[0] if told else default_fill(dtype)
        forbidden = fill if fill == fill else None  # NaN stands for itself
        given = {} if told else {FILL_ATTRIBUTE: fill}
        return View(Shown(name, dtype, fill, None, forbidden), dtype, {**attrs, **given}, encoding)
    given = {} if told else {FILL_ATTRIBUTE: default_fill(dtype)}
    decoded, kept, moved = _decoded(name, dtype, {**attrs, **given}, times, timedeltas)
    encoding |= moved
    if not told:
        # whoever writes it elsewhere, where nothing would stand for missing ones, shall not make integers of NaN
        encoding |= {"dtype": decoded, MARK: type_name}
    null: Any = np.nan if decoded.kind == "f" else np.iinfo(np.int64).min
    if shows_mark and not any(is_value(np.asarray(marks[0]), sentinel) for sentinel in sentinels(attrs, dtype, False)):
        null = np.array(marks[0]).view(_signed(dtype, attrs) or dtype).astype(decoded)[()]
    return View(Shown(name, decoded, null, _signed(dtype, attrs)), decoded, kept, encoding)


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
    """Return what integers are to be seen as by the attribute `_Unsigned`; None: as what they are."""
    kind = {("i", "true"): "u", ("u", "false"): "i"}.get((dtype.kind, str(attrs.get("_Unsigned"))))
    return None if kind is None else np.dtype(f"{kind}{dtype.itemsize}")


def _text(name: str, type_name: str, attrs: dict[str, Any], missing: bool, masks: bool) -> View:
    """Return the view of text and byte strings: objects, with NaN or the empty one where values are missing."""
    base: type = str if type_name == "unicode" else bytes
    dtype = np.dtype("O", metadata={"element_type": base, OBJECTS: type_name})
    if not missing:
        return View(Shown(name, dtype), dtype, attrs, {})
    if masks:
        kept = {key: value for key, value in attrs.items() if key not in SENTINEL_ATTRIBUTES}
        encoding = {key: attrs[key] for key in SENTINEL_ATTRIBUTES if key in attrs}
        plain = np.dtype("O", metadata={OBJECTS: type_name})
        return View(Shown(name, plain, np.nan), plain, kept, {**encoding, MARK: type_name})
    fill = attrs.get(FILL_ATTRIBUTE, base())
    stored = fill.encode() if base is bytes and isinstance(fill, str) else fill
    return View(Shown(name, dtype, stored, None, stored), dtype, {**attrs, FILL_ATTRIBUTE: fill}, {})


def _flags(name: str, attrs: dict[str, Any], missing: bool, masks: bool) -> View:
    """Return the view of booleans: objects, or as in a NetCDF file int8, where values are missing."""
    dtype: np.dtype[Any] = np.dtype(np.bool_)
    if not missing:
        return View(Shown(name, dtype), dtype, attrs, {"dtype": dtype})
    kept = {key: value for key, value in attrs.items() if key not in SENTINEL_ATTRIBUTES}
    if masks:
        encoding = {key: attrs[key] for key in SENTINEL_ATTRIBUTES if key in attrs}
        dtype = np.dtype("O", metadata={OBJECTS: "bool"})
        return View(Shown(name, dtype, np.nan), dtype, kept, {**encoding, MARK: "bool"})
    dtype = np.dtype(np.int8)
    fill = next(iter(fitting(attrs.get(FILL_ATTRIBUTE), dtype)), default_fill(dtype))
    return View(Shown(name, dtype, fill), dtype, {**kept, FILL_ATTRIBUTE: fill}, {"dtype": dtype})
