"""A tree of datasets → one, in which names say the group of each variable, dimension and attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import xarray as xr
from xarray.backends.api import DATAARRAY_NAME, DATAARRAY_VARIABLE

from ..base.names import escape, unescape
from ..base.wording import hint
from ..drivers.base import Metadata
from ..drivers.settings import NETCDF
from ..errors import DsError, UnsupportedError
from ..model.packing import RECORDS
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
        A DataArray becomes a Dataset as xarray itself writes it, so that `xarray.open_dataarray` has it back.
    encoding : dict, optional
        As `encode`; of a DataTree by the path of each group.
    unlimited_dims : str or iterable of str, optional
        As `encode`; of a DataTree a dict by the path of each group.
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
    """Yield each node, what stands before its names, and the names of its dimensions in a file.

    A dimension belongs to the outermost group around that has it with the same size, as in files that xarray writes.
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
    """Return what stands before the names of a group: nothing, `g/`, `g/h/`."""
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
    """Return the record of the whole with that of a group; what is of the file comes from the root."""
    unlimited = [names.get(dim, dim) for dim in part.get("unlimited", ())]
    joined = {**record, **(part if is_root else {})}
    if unlimited:
        joined["unlimited"] = list(dict.fromkeys([*record.get("unlimited", ()), *unlimited]))
    return joined
