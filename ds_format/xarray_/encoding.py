"""A Dataset of xarray → metadata and data, as `ds select` would have them from the NetCDF file that xarray would write.

Other than there, booleans and text stay what they are, and what is missing is told by what is null.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import xarray as xr
from xarray import Variable, conventions
from xarray.backends.common import NONE_VAR_NAME

from ..base.names import escape
from ..base.wording import hint, on_one_line
from ..codec.attributes import to_json
from ..drivers.base import Metadata
from ..drivers.settings import NETCDF
from ..errors import MissingError, UnsupportedError
from ..model.packing import RECORDS
from .coding import Coded, Prepared, finish, prepare
from .reading import NO_DATA
from .refusals import REFUSALS, naming, refusal
from .storage import POSSIBLE, records, refused

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
        Whether NaN of arrays of dask becomes missing where there is a `_FillValue`. Else it stays in place as data, so
        that it is known where they lie in a file before they are computed.

    Returns
    -------
    meta : Metadata
        With `.dims`, `.size`, `.type` and `.missing` of each variable.
    arrays : dict
        Key → ndarray or MaskedArray; or an array of dask, of numbers and booleans that have no mask, or, where
        `.missing` is true, of blocks that are masked arrays. Nothing of these is computed, but for objects that do not
        say what they are, and for text that becomes characters.

    Raises
    ------
    UnsupportedError
        If ds cannot hold a variable or an attribute, which is named.
    MissingError
        If `encoding` names a variable that does not exist.
    TypeError
        If a name is no text, or `encoding` or `unlimited_dims` are not what is expected.
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
    """Return the name of the variable that the coders refuse, which they do not say."""
    for name, variable in variables.items():
        try:
            conventions.encode_cf_variable(variable, name=name)
        except REFUSALS:
            return _text(name)
    return None


def _check_encoding(encoding: Mapping[Any, Any] | None, name: Any, variable: Variable) -> None:
    """Refuse what is asked for in `encoding=`, and has no meaning; in a variable it may come from any file."""
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
    if coded.char is not None:
        shape, grows = [*shape, coded.char["size"]], [*grows, False]
    entry.update(records(given.encoding, shape, grows, char=coded.char, entry={**entry, **attributes}))
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
