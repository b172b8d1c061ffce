"""Objects of xarray → datasets, and files of any format. Names contain the group of each part."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends.api import DATAARRAY_NAME, DATAARRAY_VARIABLE
from xarray.backends.common import NONE_VAR_NAME

from .. import drivers
from ..api import files
from ..api.creation import created
from ..base.dtypes import RECORDS
from ..base.text import escape, hint, unescape
from ..body import Address, absolute, path_text
from ..datasets import META, Dataset, as_array, attrs, metadata_of
from ..drivers.base import Metadata
from ..errors import DsError, UnsupportedError
from ..model.conventions import TIME
from ..model.settings import NETCDF, ROUNDING, STORING
from ..views.subset import Path
from .encoding import encode


def encode_any(
    x: xr.Dataset | xr.DataArray | xr.DataTree,
    encoding: Mapping[Any, Any] | None = None,
    unlimited_dims: Any = None,
    mask: bool = False,
) -> tuple[Metadata, dict[str, Any]]:
    """Return metadata and data of any object of xarray; see `encode`.

    Parameters
    ----------
    x : xarray.Dataset, xarray.DataArray or xarray.DataTree
        A DataArray becomes a Dataset as xarray itself writes it, so that `xarray.open_dataarray` restores it.
    encoding : dict, optional
        As `encode`; for a DataTree by the path of each group.
    unlimited_dims : str or iterable of str, optional
        As `encode`; for a DataTree a dict by the path of each group.
    mask : bool
        As `encode`.

    Returns
    -------
    meta : Metadata
    arrays : dict

    Raises
    ------
    UnsupportedError, MissingError, TypeError, NotImplementedError
        As `encode`.
    """
    if isinstance(x, xr.DataTree):
        return _encode_tree(x, encoding or {}, unlimited_dims or {}, mask)
    if not isinstance(x, (xr.Dataset, xr.DataArray)):
        raise TypeError(
            f"found an object of type {type(x).__name__}, expected a Dataset, DataArray or DataTree of xarray"
        )
    return encode(as_dataset(x) if isinstance(x, xr.DataArray) else x, encoding, unlimited_dims, mask)


def as_dataset(array: xr.DataArray) -> xr.Dataset:
    """Return a DataArray as a Dataset; one without a name, or with that of a coordinate, as xarray's files have it."""
    if array.name is None:
        return array.to_dataset(name=DATAARRAY_VARIABLE)
    if array.name in array.coords or array.name in array.dims:
        dataset = array.to_dataset(name=DATAARRAY_VARIABLE)
        dataset.attrs[DATAARRAY_NAME] = array.name
        return dataset
    return array.to_dataset()


def _encode_tree(
    tree: xr.DataTree, encoding: Mapping[str, Any], unlimited_dims: Any, mask: bool
) -> tuple[Metadata, dict[str, Any]]:
    if not isinstance(unlimited_dims, Mapping):
        raise UnsupportedError("`unlimited_dims` of a DataTree: expected a dict by the path of each group")
    paths = [node.path for node in tree.subtree]
    if not isinstance(encoding, Mapping):
        raise UnsupportedError("`encoding` of a DataTree: expected a dict by the path of each group")
    for what, given in (("encoding", encoding), ("unlimited_dims", unlimited_dims)):
        unknown = next((path for path in given if path not in paths), None)
        if unknown is not None:
            raise UnsupportedError(f'unexpected {what} group "{unknown}"{hint(str(unknown), paths)}')
    meta: Metadata = {}
    arrays: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    records: dict[str, dict[str, Any]] = {}
    for node, prefix, names in _nodes(tree):
        try:
            part, data = encode(_own(tree, node), encoding.get(node.path), unlimited_dims.get(node.path), mask)
        except DsError as error:
            raise _inside(error, prefix)
        for key, values in data.items():
            name = prefix + unescape(key)
            meta[escape(name)], arrays[escape(name)] = _moved(part[key], prefix, names), values
        for key, value in part["."].items():
            if key in RECORDS:
                records[key] = _joined(records.get(key, {}), value, prefix, names, is_root=node is tree)
            else:
                whole[escape(prefix + unescape(key))] = value
    groups = [_prefix(tree, node).rstrip("/") for node in tree.subtree if node is not tree]
    if groups:
        records[NETCDF] = {**records.get(NETCDF, {}), "groups": groups}
    meta["."] = {**records, **whole}
    return meta, arrays


def _nodes(tree: xr.DataTree) -> Iterator[tuple[xr.DataTree, str, dict[str, str]]]:
    """Yield each node, the prefix of its names, and the names of its dimensions in a file.

    A dimension belongs to the outermost enclosing group that has it with the same size, as in files that xarray writes.
    """
    sizes: dict[str, dict[Any, int]] = {}
    dims: dict[str, dict[str, str]] = {}
    for node in tree.subtree:
        prefix = _prefix(tree, node)
        parent = None if node is tree or node.parent is None else node.parent.path
        known, names = dict(sizes[parent]) if parent else {}, dict(dims[parent]) if parent else {}
        for dim, n in _own(tree, node).sizes.items():
            if known.get(dim) != n:
                known[dim], names[str(dim)] = n, f"{prefix}{dim}"
        sizes[node.path], dims[node.path] = known, names
        yield node, prefix, names


def _own(tree: xr.DataTree, node: xr.DataTree) -> xr.Dataset:
    """Return the variables that are written for a node. The top one has the coordinates that it inherits, too."""
    return node.to_dataset(inherit=node is tree)


def _prefix(tree: xr.DataTree, node: xr.DataTree) -> str:
    """Return the prefix of the names of a group: nothing, `g/`, `g/h/`."""
    path = node.path.removeprefix(tree.path).strip("/")
    return f"{path}/" if path else ""


def _inside(error: DsError, prefix: str) -> DsError:
    if error.variable is not None:
        error.variable = f"{prefix}{error.variable}"
    return error


def _moved(entry: dict[str, Any], prefix: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Return metadata of a variable with the names that its dimensions have in the whole."""
    moved = {**entry, ".dims": [names[dim] for dim in entry[".dims"]]}
    record = entry.get(NETCDF)
    if prefix and record and record.get("char"):
        char = record["char"]
        moved[NETCDF] = {**record, "char": {**char, "dim": f"{prefix}{char['dim']}"}}
    return moved


def _joined(
    record: dict[str, Any], part: Mapping[str, Any], prefix: str, names: Mapping[str, str], *, is_root: bool
) -> dict[str, Any]:
    """Return the record of the whole with that of a group; settings of the file come from the root."""
    unlimited = [names.get(dim, dim) for dim in part.get("unlimited", ())]
    joined = {**record, **(part if is_root else {})}
    if unlimited:
        joined["unlimited"] = list(dict.fromkeys([*record.get("unlimited", ()), *unlimited]))
    return joined


Objects = xr.Dataset | xr.DataArray | xr.DataTree


def from_xarray(x: Objects) -> Dataset:
    """Convert an xarray object to a dataset, with all data in memory.

    Parameters
    ----------
    x : xarray.Dataset, xarray.DataArray or xarray.DataTree
        Times, packed numbers and so on are coded by the CF conventions with its `encoding`. Groups of a tree become
        prefixes of names, as `g/`. A DataArray without a name becomes the variable that `open_dataarray` expects.

    Returns
    -------
    Dataset
        The same as `read` returns from a file written from `x`.

    Raises
    ------
    UnsupportedError
        If ds cannot hold a variable or an attribute, which is named.
    NotImplementedError
        If a variable is an index of several levels.

    Examples
    --------
    >>> times = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")
    >>> d = from_xarray(xr.Dataset({"rain": ("time", [0.5, 2.0])}, {"time": times}))
    >>> d["time"], d["."]["time"]["units"]
    (array([0, 1]), 'days since 2000-01-01 00:00:00')
    """
    meta, arrays = encode_any(x, mask=True)
    return _dataset(meta, arrays)


def write(
    path: Path,
    x: Objects,
    *,
    encoding: Mapping[Any, Any] | None = None,
    unlimited_dims: Any = None,
    compute: bool = True,
    mask: bool = False,
    mode: str = "w",
    **options: Any,
) -> Any:
    """Write an object of xarray to a file of any format; see `ds_format.write`.

    Parameters
    ----------
    path : str, bytes or PathLike
    x : xarray.Dataset, xarray.DataArray or xarray.DataTree
    encoding, unlimited_dims, compute, mask
        As `ds_format.write`.
    mode : {"w"}
        The only mode, since a file is written once.
    **options
        Options of the format.

    Returns
    -------
    None or dask.delayed.Delayed

    Raises
    ------
    UnsupportedError
        If the format cannot hold it, before a byte is written.
    OSError, DriverError
        As `ds_format.write`.
    """
    try:
        return _write(path, x, encoding, unlimited_dims, compute, mask, mode, options)
    except DsError as error:
        raise error.at(path=path_text(path))


def _write(
    path: Path,
    x: Objects,
    encoding: Mapping[Any, Any] | None,
    unlimited_dims: Any,
    compute: bool,
    mask: bool,
    mode: str,
    options: Mapping[str, Any],
) -> Any:
    if mode != "w":
        what = "to append does not apply, since a file is written once" if mode == "a" else "there is no such mode"
        raise UnsupportedError(f'mode: found {mode!r}, expected "w": {what}')
    options = {**options}
    format = drivers.find_output(path, options)
    if not compute:
        path = absolute(path)  # the computing process may be in another folder
        if isinstance(path, Address) and not path.is_picklable:
            message = "`compute=False`: a file object cannot be written by another process: give the path or address"
            raise UnsupportedError(message)
    is_ds = format.name == "ds"
    # only in a ds file masks have to be known beforehand
    meta, arrays = encode_any(x, encoding, unlimited_dims, mask or not is_ds)
    given = drivers.creation_options(format, path, {**options, "encoding": _stored(x, encoding, format)})
    is_lazy = any(map(_is_chunked, arrays.values()))
    if is_lazy and is_ds and not isinstance(path, Address) and given.get("atomic", True):
        from . import parallel

        given.pop("atomic", None)
        return parallel.write(path, meta, arrays, compute=compute, **given)
    if is_lazy:
        job = functools.partial(_write_blocks, path, format, meta, arrays, given)
    else:
        job = functools.partial(files.write_as, format, path, _dataset(meta, arrays), given)
    if compute:
        return job()
    from .parallel import delayed_call

    return delayed_call(job)


def _stored(x: Objects, encoding: Mapping[Any, Any] | None, format: drivers.Format) -> dict[str, Any] | None:
    """Return the part of an argument `encoding` that the format takes, by the names of variables in the file."""
    named: Any = {"": encoding} if not isinstance(x, xr.DataTree) else dict(encoding or {})
    keys = STORING if "encoding" in format.creation else ROUNDING
    found: dict[str, Any] = {}
    for group, variables in named.items():
        prefix = f"{group.strip('/')}/" if group.strip("/") else ""
        for name, own in (variables or {}).items():
            given = {key: value for key, value in own.items() if key in keys}
            if given:
                found[f"{prefix}{NONE_VAR_NAME if name is None else name}"] = given
    return found or None


def _write_blocks(
    path: Path, format: drivers.Format, meta: Metadata, arrays: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Write arrays of dask one after another, with at most one row of chunks in memory."""
    with created(path, meta, format, **options) as sink:
        for key, array in arrays.items():
            sink.write(key, _blocks(array))


def _blocks(array: Any) -> Iterator[Any]:
    if _is_chunked(array):
        from .parallel import rows_of

        yield from rows_of(array)
    elif array is not None and array.size:
        yield array


def _dataset(meta: Metadata, arrays: Mapping[str, Any]) -> Dataset:
    """Return a dataset with its data in memory."""
    dataset = Dataset()
    for key, array in arrays.items():
        values = array.compute() if _is_chunked(array) else array
        if values is None:
            dataset[key] = None
            continue
        masked = isinstance(values, np.ma.MaskedArray)
        if masked and not values.mask.any():
            values, masked = values.data, False
        dataset[key] = values if masked or np.ndim(values) else np.asarray(values)[()]
    dataset[META] = {
        key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in meta.items()
    }
    return dataset


PROPERTIES = (".dims", ".size", ".type", ".missing")


def with_coordinates(d: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataset of arrays, with dimensions, attributes and coordinates of those values that are from xarray.

    Parameters
    ----------
    d : dict
        A dataset. Its metadata have priority.

    Raises
    ------
    UnsupportedError
        If a value is a Dataset, or a coordinate differs from another variable of the same name.
    """
    given = metadata_of(d)
    variables: dict[str, xr.Variable] = {}
    found: list[tuple[str, str, xr.Variable]] = []
    for key, value in d.items():
        if isinstance(value, (xr.Dataset, xr.DataTree)):
            message = f"found a {type(value).__name__}, expected an array; give it to `ds_format.write` by itself"
            raise UnsupportedError(message, variable=unescape(key))
        if isinstance(value, (xr.DataArray, xr.Variable)):
            array = _renamed(xr.DataArray(value), given.get(key, {}), unescape(key))
            variables[unescape(key)] = _described(array.variable, given.get(key, {}))
            found += [(unescape(key), str(name), one.variable) for name, one in array.coords.items()]
    coordinates: dict[str, xr.Variable] = {}
    for owner, name, variable in found:
        entry = given.get(escape(name), {})
        described = variables.get(name, coordinates.get(name, _described(variable, entry)))
        if not _equals(described, variable):
            raise UnsupportedError(f'found other values than those of the coordinate of "{owner}"', variable=name)
        coordinates[name] = described
    try:
        meta, arrays = encode_any(xr.Dataset({**variables, **coordinates}).set_coords([*coordinates]), mask=True)
    except ValueError as error:
        raise error if isinstance(error, DsError) else UnsupportedError(str(error)) from None
    part = _dataset(meta, arrays)
    for name, variable in coordinates.items():
        key = escape(name)
        if key in d and name not in variables and not _is_equal(d[key], given.get(key, {}), variable, part[key]):
            raise UnsupportedError("found other values than those of the coordinate of the same name", variable=name)
    entries = {key: {**entry, **_without_properties(given.get(key, {}))} for key, entry in part.pop(META).items()}
    return {**{key: value for key, value in d.items() if key != META}, **part, META: {**given, **entries}}


def _without_properties(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in PROPERTIES}


def _renamed(array: xr.DataArray, entry: Mapping[str, Any], name: str) -> xr.DataArray:
    """Return an array with the names of dimensions in its metadata."""
    names = entry.get(".dims", array.dims)
    if len(names) != array.ndim:
        message = f"found {len(names)} dimension names {list(names)}, expected {array.ndim} as the data have"
        raise UnsupportedError(message, variable=name)
    return array.rename({old: new for old, new in zip(array.dims, names, strict=True) if old != new})


def _described(variable: xr.Variable, entry: Mapping[str, Any]) -> xr.Variable:
    """Return a variable with attributes from the metadata of a dataset; those of times say how these are coded."""
    out = variable.copy(deep=False)
    for name, value in attrs(entry).items():
        if variable.dtype.kind in "mMO" and name in TIME:
            out.encoding[name] = value
        else:
            out.encoding.pop(name, None)
            out.attrs[name] = value
    return out


def _is_equal(value: Any, entry: Mapping[str, Any], variable: xr.Variable, coded: Any) -> bool:
    """Whether a value of a dataset is that of a coordinate; numbers with units of time are compared as coded."""
    array = as_array(value)
    if np.shape(array) != variable.shape:
        return False
    if variable.dtype.kind in "mM" and array.dtype.kind not in "mM":
        return "units" in entry and bool(np.array_equal(array, coded))
    return _equals(variable, xr.Variable(variable.dims, array))


def _equals(variable: Any, other: xr.Variable) -> bool:
    return bool(variable.equals(other))


def _is_chunked(array: Any) -> bool:
    return array is not None and not isinstance(array, np.ndarray)
