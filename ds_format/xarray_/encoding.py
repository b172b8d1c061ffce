"""A Dataset of xarray → metadata and data, as `ds convert` makes them from the NetCDF file that xarray would write.

Unlike in such a file, booleans and text keep their types. Values are missing if they are null before a variable goes
through xarray's coders, not if they equal a `_FillValue` afterwards. Information that the coders do not support is
removed before and added afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from xarray import Variable, conventions
from xarray.backends.common import NONE_VAR_NAME
from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder
from xarray.core.common import contains_cftime_datetimes

from ..base.dtypes import RECORDS, TYPE_OF_CODE, TYPES, Type
from ..base.text import escape, hint, on_one_line
from ..codec.attributes import to_json
from ..drivers.base import Metadata
from ..errors import MissingError, UnsupportedError
from ..model import missing
from ..model.settings import NETCDF, setting
from . import coders
from .coders import MARK, NO_DATA, REFUSALS, give_calendar, is_time_like, keep_words, naming, refusal
from .storage import POSSIBLE, QUANTIZED, records_of, refused

FILL, MISSING_VALUE = missing.SENTINEL_ATTRIBUTES
BOOLEAN = "bool"
"""Value of the attribute `dtype` that marks int8 values as booleans in NetCDF files of xarray and this package."""
_CHARACTERS: Any = (EncodedStringCoder(), CharacterArrayCoder())  # type: ignore[no-untyped-call]
"""Text → bytes, and those → characters along a dimension."""


@dataclass(slots=True)
class Prepared:
    """A variable as xarray's coders take it."""

    variable: Variable
    given: Variable
    """As it was."""
    null: Any = None
    """Where nothing is, an array like the values; None: nowhere."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """To be set after the others."""
    strings: Any = None
    """Values that the coders do not get, since they would look for times among objects: ndarray or array of dask."""


@dataclass(slots=True)
class Coded:
    """A variable as a file holds it."""

    values: Any
    """ndarray, MaskedArray, or array of dask."""
    type: str
    """ds type."""
    missing: bool
    """Whether a value may be missing."""
    attributes: dict[str, Any]
    char: dict[str, Any] | None
    """Name and size of a dimension of characters in files of NetCDF."""


def prepare(name: str, variable: Variable, *, masks_all: bool = False) -> Prepared:
    """Return a variable as the coders take it.

    Parameters
    ----------
    name : str
        For messages.
    variable : Variable
    masks_all : bool
        Whether NaN with a `_FillValue` becomes missing in arrays of dask, too. These must then be computed before their
        position in a file is known.

    Raises
    ------
    UnsupportedError
        If its values are objects that ds does not have, or its chunks have no known sizes.
    NotImplementedError
        If it is an index of several levels.
    """
    conventions.ensure_not_multiindex(variable, name=name)
    if any(np.isnan(n) for n in variable.shape):
        raise UnsupportedError("its dask array has chunks of unknown sizes; `compute_chunk_sizes` finds them")
    prepared = Prepared(variable, variable)
    encoding = dict(variable.encoding)
    marked = TYPES.get(encoding.pop(MARK, None))
    if marked is not None and not marked.is_string:
        encoding["dtype"] = np.dtype(marked.code)
    if QUANTIZED in encoding:
        prepared.attributes[QUANTIZED] = encoding.pop(QUANTIZED)
    _take_missing_values(prepared, encoding)
    give_calendar(variable, encoding)
    data = _typed(name, variable, marked, prepared)
    is_string = coders.element_of(data.dtype) is not None
    if is_string or data.dtype.kind == "b":
        _prepare_plain(prepared, encoding, is_string=is_string)
        if is_string:
            prepared.strings, data = data, np.broadcast_to(np.int8(0), variable.shape)
    elif data.dtype == np.int64 and (marked or _has_fill(encoding)) and is_time_like(variable.attrs.get("units")):
        null = data == np.iinfo(np.int64).min  # so xarray shows what is missing of times that it does not decode
        prepared.null = null if variable.chunks is not None or null.any() else None
        if not _has_fill(encoding):
            encoding[FILL] = 0
    elif data.dtype.kind in "fMmO":
        _prepare_nullable(prepared, data, encoding, marked=marked is not None, masks_all=masks_all)
    elif encoding.get("_Unsigned") is not None and not _has_fill(encoding):
        encoding[FILL] = 0  # without one the coder forgets that they are unsigned
    if not is_string and not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    # the constructor would look into objects, and make others of them
    prepared.variable = Variable(variable.dims, data, dict(variable.attrs), encoding, fastpath=True)
    return prepared


def _take_missing_values(prepared: Prepared, encoding: dict[str, Any]) -> None:
    """Hide several values that mean "missing" from the coders, which refuse them."""
    fill, values = encoding.get(FILL), encoding.get(MISSING_VALUE)
    if values is not None and (fill is not None or np.ndim(values)):
        prepared.attributes[MISSING_VALUE] = encoding.pop(MISSING_VALUE)
        if fill is None and np.size(values):
            encoding[MISSING_VALUE] = np.ravel(values)[0]


def _typed(name: str, variable: Variable, marked: Type | None, prepared: Prepared) -> Any:
    """Return values of one type, and keep where strings and objects are null."""
    is_chunked = variable.chunks is not None
    data: Any = variable.data if is_chunked else np.asarray(variable.values)
    if data.dtype.kind not in "OUT" or (is_chunked and data.dtype.kind == "U"):
        return data  # byte strings keep their width
    told = {"unicode": str, "str": bytes, "bool": bool}.get(marked.name) if marked is not None else None
    stored = variable.encoding.get("dtype")
    if stored == "S1":  # which tells it if all are null
        stored = str if "_Encoding" in variable.encoding else bytes
    element = coders.element_of(data.dtype) or told or (stored if stored in (str, bytes) else None)
    if is_chunked and element is not None:
        from .parallel import typed_arrays

        data, prepared.null = typed_arrays(data, element)
        return data
    if is_chunked and contains_cftime_datetimes(variable):
        return data
    if is_chunked:
        message = (
            f"variable {name} is a dask array with dtype=object, which is computed now to find the type of its "
            "values; `astype` avoids this"
        )
        warnings.warn(on_one_line(message), xr.SerializationWarning, stacklevel=2)
        data = data.compute()
    values, prepared.null = coders.typed_values(data, element)
    return values


def _prepare_plain(prepared: Prepared, encoding: dict[str, Any], *, is_string: bool) -> None:
    """Keep strings and booleans from the coders, which would replace null values by a fill value."""
    for name in missing.SENTINEL_ATTRIBUTES:
        if encoding.get(name) is not None:
            prepared.attributes[name] = encoding.pop(name)
    if is_string and encoding.get("dtype") != "S1":
        encoding.pop("dtype", None)


def _prepare_nullable(
    prepared: Prepared, data: Any, encoding: dict[str, Any], *, marked: bool, masks_all: bool
) -> None:
    """Find null numbers and times, and choose how the coders treat them."""
    has_fill = _has_fill(encoding)
    is_time, is_chunked = data.dtype.kind != "f", not isinstance(data, np.ndarray)
    is_packed = not is_time and np.dtype(encoding.get("dtype") or data.dtype).kind in "iu"
    if has_fill and not is_time and not is_packed:
        _keep_nan(prepared, data.dtype, encoding)
    if is_chunked and not masks_all and not is_packed and not (is_time and (has_fill or marked)):
        return
    if not (has_fill or marked or is_time or (is_packed and not is_chunked)):
        return  # NaN that is no `_FillValue` is a value
    if is_chunked:
        prepared.null = prepared.given.isnull().data
    elif data.dtype.kind != "O":
        null = np.isnat(data) if is_time else np.isnan(data)
        prepared.null = null if null.any() else None
    if is_packed and not has_fill and (marked or prepared.null is not None):
        encoding[FILL] = 0  # below the mask only, so that no NaN becomes an integer


def _keep_nan(prepared: Prepared, dtype: np.dtype[Any], encoding: dict[str, Any]) -> None:
    """Keep NaN in the values, or below the mask, if an attribute marks NaN as missing."""
    given = prepared.given
    empty = Variable(given.dims, np.empty((0,) * given.ndim, dtype), {}, encoding, fastpath=True)
    told = conventions.encode_cf_variable(empty).attrs
    for name in missing.SENTINEL_ATTRIBUTES:
        if encoding.get(name) is not None:
            prepared.attributes[name] = told[name]
    encoding.pop(MISSING_VALUE, None)
    encoding[FILL] = np.nan


def _has_fill(encoding: dict[str, Any]) -> bool:
    return any(encoding.get(name) is not None for name in missing.SENTINEL_ATTRIBUTES)


def finish(name: str, prepared: Prepared, coded: Variable, *, masks_all: bool = False) -> Coded:
    """Return a variable as a file holds it.

    Parameters
    ----------
    name : str
        For messages of the coders.
    prepared : Prepared
    coded : Variable
        The variable as the coders return it.
    masks_all : bool
        As `prepare`.

    Raises
    ------
    UnsupportedError
        If ds has no such type.
    """
    given = prepared.given
    # xarray takes those from bounds that are those of their variable
    attributes = {**{key: value for key, value in given.attrs.items() if key not in coded.attrs}, **coded.attrs}
    if given.encoding.get(FILL) is None and FILL not in given.attrs:
        attributes.pop(FILL, None)  # NaN by default
    attributes.update(prepared.attributes)
    for key in missing.SENTINEL_ATTRIBUTES:
        if isinstance(attributes.get(key), bytes):
            attributes[key] = bytes(attributes[key]).decode("utf-8", "surrogateescape")  # as in files of NetCDF
    if prepared.strings is not None:
        return _finish_strings(name, prepared, coded, attributes)
    values: Any = coded.data if coded.chunks is not None else np.asarray(coded.data)
    if coded.chunks is not None and prepared.variable.dtype.kind in "MmO":
        from .parallel import cast_array

        values = cast_array(values)
    values = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    code = "?" if values.dtype.kind == "b" else values.dtype.str[1:]
    if code not in TYPE_OF_CODE:
        raise UnsupportedError(f"values of type {values.dtype} are not supported by ds")
    for key in missing.SENTINEL_ATTRIBUTES:
        _fit(key, attributes, values.dtype)
    if _has_no_null(prepared, values):
        from .parallel import without_null

        values = without_null(values, given.isnull().data, name)
    values, null = _masked(prepared, values, attributes, masks_all=masks_all)
    keep_words(given, attributes, values)
    is_int8 = values.dtype == np.int8 and isinstance(attributes.get("dtype"), str) and attributes["dtype"] == BOOLEAN
    if is_int8 and (prepared.variable.dtype.kind == "b" or _is_boolean(values)):
        del attributes["dtype"]
        values, code = values.astype(bool), "?"
    return Coded(values, TYPE_OF_CODE[code].name, null, attributes, None)


def _has_no_null(prepared: Prepared, values: Any) -> bool:
    """Whether an array of dask must not have null values, since it becomes integers without a fill value."""
    kind = prepared.given.dtype.kind
    is_told = kind in "Mm" and values.dtype == np.int64  # the least of them is NaT
    is_int = kind in "fMm" and values.dtype.kind in "iu"
    return is_int and not is_told and prepared.null is None and not isinstance(values, np.ndarray)


def _masked(prepared: Prepared, values: Any, attributes: dict[str, Any], *, masks_all: bool) -> tuple[Any, bool]:
    """Return values with what is missing masked, and whether anything may be."""
    given, is_chunked = prepared.given, not isinstance(values, np.ndarray)
    is_filled = setting(given.encoding.get(NETCDF), "fill", str) == "default" and (masks_all or not is_chunked)
    found = []
    if values.dtype.kind in "iuf":
        found = missing.sentinels(given.attrs, values.dtype, is_filled and FILL not in attributes)
    if is_chunked:
        found = [one for one in found if masks_all or not np.isnan(one)]
        if found:
            from .parallel import masked_where

            return masked_where(values, found), True
        from .parallel import masked_array

        return (values, False) if prepared.null is None else (masked_array(values, prepared.null), True)
    hits, _ = missing.count(values, found)
    null = prepared.null if hits is None else hits if prepared.null is None else hits | prepared.null
    return (values, False) if null is None else (np.ma.MaskedArray(values, mask=null), True)


def _fit(name: str, attributes: dict[str, Any], dtype: np.dtype[Any]) -> None:
    """Give a number that means "missing" the type of the values, as files of NetCDF have it."""
    value = attributes.get(name)
    if isinstance(value, (int, float)) or (name == FILL and isinstance(value, np.generic)):
        fits = missing.fitting(value, np.dtype(np.int8) if dtype.kind == "b" else dtype)
        attributes[name] = fits[0] if fits else value


def _is_boolean(values: Any) -> bool:
    """Whether present values are 0 and 1; arrays of dask are not checked."""
    if not isinstance(values, np.ndarray):
        return False
    present = values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    return bool(np.all((present == 0) | (present == 1)))


def _finish_strings(name: str, prepared: Prepared, coded: Variable, attributes: dict[str, Any]) -> Coded:
    values, null, char = prepared.strings, prepared.null, None
    if coded.encoding.get("dtype") == "S1" or coded.encoding.get("char_dim_name") is not None:
        encoding = {**coded.encoding, "dtype": "S1"}
        plain = Variable(coded.dims, np.asarray(values), attributes, encoding, fastpath=True)
        encoded = _CHARACTERS[0].encode(plain, name=name)
        was_single = setting(prepared.given.encoding.get(NETCDF), "char", dict) == {}
        if was_single and max(map(len, encoded.values.flat), default=0) <= 1:
            char = {}
        else:
            cut = _CHARACTERS[1].encode(encoded, name=name)
            char = {"dim": str(cut.dims[-1]), "size": int(cut.shape[-1])}
        values, attributes = encoded.data, dict(encoded.attrs)
        null = None if null is None else np.asarray(null)
    element = coders.element_of(values.dtype)
    type_name = "unicode" if element is str else "str"
    if not isinstance(values, np.ndarray):
        may_miss = null is not None
        from .parallel import masked_array

        return Coded(masked_array(values, null) if may_miss else values, type_name, may_miss, attributes, None)
    values = values.astype(object)
    mark = prepared.given.attrs.get(FILL)
    if isinstance(mark, str) and element is bytes:
        mark = mark.encode("utf-8", "surrogateescape")
    if isinstance(mark, element or str):
        hits = np.asarray(values == mark, dtype=bool)
        null = hits if null is None else hits | null
    if null is None or not null.any():
        return Coded(values, type_name, False, attributes, char)
    return Coded(np.ma.MaskedArray(values, mask=null), type_name, True, attributes, char)


UNLIMITED = "unlimited_dims"


def encode(
    dataset: xr.Dataset,
    encoding: Mapping[Any, Mapping[str, Any]] | None = None,
    unlimited_dims: str | Iterable[Hashable] | None = None,
    mask: bool = False,
) -> tuple[Metadata, dict[str, Any]]:
    """Return metadata and data of a Dataset, coded by the CF conventions.

    Parameters
    ----------
    dataset : xarray.Dataset
    encoding : dict, optional
        Name → encoding, instead of that of the variable.
    unlimited_dims : str or iterable of str, optional
        Names of dimensions, instead of those in the encoding of the dataset.
    mask : bool
        Whether NaN of arrays of dask becomes missing if there is a `_FillValue`. Else NaN stays data, so that positions
        in a file are known before the arrays are computed.

    Returns
    -------
    meta : Metadata
        With `.dims`, `.size`, `.type` and `.missing` of each variable.
    arrays : dict
        Key → ndarray or MaskedArray, or an array of dask. An array of dask has numbers and booleans without a mask, or,
        if `.missing` is true, blocks that are masked arrays. It is computed only if it has objects of unknown type, or
        text that becomes characters.

    Raises
    ------
    UnsupportedError
        If ds cannot hold a variable or an attribute, which is named.
    MissingError
        If `encoding` names a variable that does not exist.
    TypeError
        If a name is not text, or `encoding` or `unlimited_dims` have a wrong type.
    NotImplementedError
        If a variable is an index of several levels, or text of characters with a `_FillValue`.
    """
    _check_names(dataset)
    _check_asked(encoding)
    variables, attributes = conventions.encode_dataset_coordinates(dataset)
    for name, given in (encoding or {}).items():
        if name not in variables:
            known = [str(one) for one in variables]
            raise MissingError(f"no such variable, which is in `encoding`{hint(str(name), known)}", variable=str(name))
        variables[name].encoding = dict(given)
    growing = _unlimited(dataset, unlimited_dims)
    prepared = {name: _prepared(name, variable, mask) for name, variable in variables.items()}
    coded, attributes = _coded(prepared, attributes)
    meta: Metadata = {}
    arrays: dict[str, Any] = {}
    for name, variable in coded.items():
        key, no_data = escape(_text(name)), variables[name].encoding.get(NO_DATA)
        if no_data is not None and not variable.dims:
            meta[key], arrays[key] = (
                {**no_data, ".size": None, ".missing": False, **_attributes(variables[name].attrs)},
                None,
            )
            continue
        with naming(_text(name)):
            _check_encoding(encoding, name, variable)
            one = finish(_text(name), prepared[name], variable, masks_all=mask)
            meta[key] = _entry(variables[name], one, growing)
        arrays[key] = one.values
    meta["."] = _dataset_entry(dataset, attributes, growing)
    return meta, arrays


def _text(name: Any) -> str:
    """Return the name of a variable in a file."""
    return NONE_VAR_NAME if name is None else str(name)


def _check_names(dataset: xr.Dataset) -> None:
    for name in dataset.variables:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"found the name {name!r} of a variable, expected a string or None")
        if name == "":
            raise UnsupportedError("found the name '' of a variable: a string must be length 1 or more")
    if None in dataset.variables and NONE_VAR_NAME in dataset.variables:
        raise UnsupportedError("found two variables of this name: one without a name gets it", variable=NONE_VAR_NAME)
    for kind, names in (("variable", dataset.variables), ("dimension", dataset.sizes)):
        for name in names:
            if isinstance(name, str) and "/" in name:
                message = f"Forward slashes '/' are not allowed in the name \"{name}\" of a {kind}"
                raise UnsupportedError(f"{message}, since they separate groups: expected a DataTree")
    for name in dataset.sizes:
        if not isinstance(name, str):
            raise TypeError(f"found the name {name!r} of a dimension, expected a string")


def _unlimited(dataset: xr.Dataset, asked: str | Iterable[Hashable] | None) -> list[str]:
    """Return the names of unlimited dimensions, in the order of the dataset."""
    given = dataset.encoding.get(UNLIMITED) if asked is None else asked
    if not (given is None or isinstance(given, Iterable)):
        raise TypeError(f"unlimited_dims: found {given!r}, expected names of dimensions")
    names = [given] if isinstance(given, str) else list(given or ())
    unknown = [name for name in names if name not in dataset.sizes]
    if unknown:
        origin = "'dataset.encoding'" if asked is None else "'unlimited_dims-kwarg'"
        known = ", ".join(map(str, dataset.sizes))
        message = f"Unlimited dimension(s) {unknown} declared in {origin}, expected some of: {known}"
        if asked is not None:
            raise UnsupportedError(message)
        warnings.warn(on_one_line(message), UserWarning, stacklevel=2)
    return [str(name) for name in dataset.sizes if name in names]


def _check_asked(encoding: Any) -> None:
    if not (encoding is None or isinstance(encoding, Mapping)):
        raise TypeError(f"encoding: found {encoding!r}, expected a dict: name → encoding of the variable")
    for name, given in (encoding or {}).items():
        if not isinstance(given, Mapping):
            raise UnsupportedError(f"its encoding must be castable to dict: found {given!r}", variable=str(name))


def _prepared(name: Any, variable: Variable, mask: bool) -> Prepared:
    with naming(_text(name)):
        return prepare(_text(name), variable, masks_all=mask)


def _coded(prepared: Mapping[Any, Prepared], attributes: dict[Any, Any]) -> tuple[dict[Any, Variable], dict[Any, Any]]:
    """Return variables and attributes of the dataset as xarray's coders make them."""
    variables = {name: one.variable for name, one in prepared.items()}
    try:
        coded, attributes = conventions.cf_encoder(variables, attributes)
    except KeyError as error:  # of units that xarray decodes by cftime, and has no name for
        message = f"xarray cannot encode times in {error.args[0]}: set other units in its encoding"
        raise UnsupportedError(message, variable=_refused(variables)) from error
    except REFUSALS as error:
        message = f"xarray cannot encode it: {refusal(error)}"
        raise UnsupportedError(message, variable=_refused(variables)) from error
    return coded, dict(attributes)


def _refused(variables: Mapping[Any, Variable]) -> str | None:
    """Return the name of the variable that the coders refuse, which their errors do not have."""
    for name, variable in variables.items():
        try:
            conventions.encode_cf_variable(variable, name=name)
        except REFUSALS:
            return _text(name)
    return None


def _check_encoding(encoding: Mapping[Any, Any] | None, name: Any, variable: Variable) -> None:
    """Refuse unknown keys of the argument `encoding`. In a variable they may come from any file and are ignored."""
    unknown = refused(variable.encoding) if encoding and name in encoding else []
    if unknown:
        known = sorted(one for one in POSSIBLE if not one.startswith("."))
        raise UnsupportedError(f"unexpected encoding parameters {unknown}{hint(str(unknown[0]), known)}")


def _entry(given: Variable, coded: Coded, growing: list[str]) -> dict[str, Any]:
    """Return the metadata of a variable."""
    dims, shape = [str(dim) for dim in given.dims], [int(n) for n in given.shape]
    attributes = _attributes(coded.attributes)
    entry: dict[str, Any] = {".dims": dims, ".size": shape, ".type": coded.type, ".missing": coded.missing}
    grows = [dim in growing for dim in dims]
    if coded.char:
        shape, grows = [*shape, coded.char["size"]], [*grows, False]
    entry.update(records_of(given.encoding, shape, grows, char=coded.char, entry={**entry, **attributes}))
    return {**entry, **attributes}


def _dataset_entry(dataset: xr.Dataset, attributes: Mapping[Any, Any], growing: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for name in RECORDS:
        given = dataset.encoding.get(name)
        if isinstance(given, Mapping) and given:
            entry[name] = dict(given)
    if growing:
        entry[NETCDF] = {**entry.get(NETCDF, {}), "unlimited": growing}
    elif NETCDF in entry and UNLIMITED in dataset.encoding:
        entry[NETCDF].pop("unlimited", None)
    return {**entry, **_attributes(attributes)}


def _attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes by key, if a header can hold them.

    Raises
    ------
    UnsupportedError
        If not; the message names one.
    """
    for name in attributes:
        if not isinstance(name, str):
            raise UnsupportedError(f"found the name {name!r} of an attribute, expected a string")
    keyed = {escape(name): value for name, value in attributes.items()}
    to_json(keyed)
    return keyed
