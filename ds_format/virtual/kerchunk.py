"""Virtual datasets as Kerchunk references, version 1, with metadata of Zarr 2.

Source: the specifications of Kerchunk references and of Zarr, version 2.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base.text import keys_of
from ..body import Location, path_text
from ..codec.attributes import to_json
from ..drivers.base import warn
from ..errors import MissingError
from ..many.patterns import found_files
from ..views.subset import Input
from .arrays import VirtualArray
from .codec import json_number
from .datasets import VirtualDataset, virtual_dataset

DIMENSIONS = "_ARRAY_DIMENSIONS"
"""Attribute with the names of the dimensions of an array, for xarray."""
COMPRESSORS = frozenset({"zlib", "zstd", "bz2", "blosc"})

Urls = Mapping[str, str] | Callable[[str], str] | str | os.PathLike[str]
References = dict[str, Any]


def references(
    paths: Input | Iterable[Input],
    dim: str | None = None,
    urls: Urls | None = None,
    *,
    variables: str | Iterable[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> References:
    """Return Kerchunk references to ds and NetCDF files, by which programs read them as Zarr.

    xarray opens them with `engine="kerchunk"`, and zarr through the file system `reference` of fsspec. Values are not
    copied, except for small variables. Masks, booleans and text of ds files need this package where they are read.

    Parameters
    ----------
    paths : str, PathLike, or iterable of these
        Files by paths or addresses, or a pattern as for `ds_format.open_many`.
    dim : str, optional
        Dimension along which several files are joined: an existing one, or a new one. Variables without it must have
        the same values in each file.
    urls : dict, callable or str, optional
        The address of each file in the references: a dict or a function of its path, or the address of a folder that
        replaces the one that all files have in common. By default absolute paths and addresses of the files.
    variables : str or iterable of str, optional
        Names of the variables; all by default.
    storage_options, store
        As for `ds_format.read`.

    Returns
    -------
    dict
        `version`, which is 1, and `refs`: key → text, or a list of address, position and size in bytes. All values
        can be written as JSON.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError
        If a variable does not exist, or `urls` lacks a file.
    UnsupportedError
        If Zarr cannot read a variable from the files, or they cannot be joined without changing values: if types,
        codecs, packing or units differ, or the files do not end where chunks end. The message names file and variable.

    Examples
    --------
    >>> import ds_format as ds
    >>> for day in range(2):
    ...     meta = {"rain": {".dims": ["time", "x"], "units": "mm"}}
    ...     ds.write(f"rain{day}.ds", {"rain": [[day] * 1000], ".": meta})
    >>> found = references(["rain0.ds", "rain1.ds"], "time", "s3://bucket/2026")
    >>> found["refs"]["rain/1.0"]
    ['s3://bucket/2026/rain1.ds', 192, 8000]
    """
    dataset, addresses = found_dataset(paths, dim, urls, variables, storage_options, store)
    refs: dict[str, Any] = {key: _dumped(value) for key, value in metadata_of(dataset).items()}
    for path, array in dataset.arrays():
        keys = (f"{path}/{key}" for key in array.keys())  # noqa: SIM118 - it is no mapping
        if array.files is None or array.offsets is None or array.sizes is None:
            data = f"base64:{base64.b64encode(array.data).decode()}" if array.data or not array.shape else ""
            refs.update((key, data) for key in keys if data)
        else:
            places = zip(array.files.tolist(), array.offsets.tolist(), array.sizes.tolist(), strict=True)
            refs.update((key, [addresses[i], at, n]) for key, (i, at, n) in zip(keys, places, strict=True))
    return {"version": 1, "refs": refs}


def found_dataset(
    paths: Input | Iterable[Input], dim: str | None, urls: Urls | None, variables: str | Iterable[str] | None,
    storage_options: Mapping[str, Any] | None, store: Any,
) -> tuple[VirtualDataset, list[str]]:  # fmt: skip
    """Return the virtual dataset of files, and their addresses; parameters and errors as for `references`."""
    located = found_files(paths, storage_options, store)
    if dim is None and len(located) > 1:
        raise TypeError(f"dim: found None for {len(located)} files, expected the name of a dimension")
    if not (dim is None or isinstance(dim, str)):
        raise TypeError(f"dim: found {dim!r}, expected the name of a dimension")
    only = None if variables is None else frozenset(keys_of(variables))
    dataset = virtual_dataset(located, dim, only)
    return dataset, _addresses(dataset.paths, urls)


def _addresses(paths: Iterable[Location], urls: Urls | None) -> list[str]:
    """Return the addresses of files in references."""
    names = [path_text(path) for path in paths]
    if urls is None:
        return names
    if isinstance(urls, Mapping):
        for name in names:
            if name not in urls:
                raise MissingError("not found in `urls`, whose keys are absolute paths", path=name)
        return [urls[name] for name in names]
    if callable(urls):
        return [urls(name) for name in names]
    prefix = os.fspath(urls).rstrip("/")
    common = os.path.commonpath([os.path.dirname(name) for name in names])
    return [f"{prefix}/{os.path.relpath(name, common)}" for name in names]


def metadata_of(dataset: VirtualDataset) -> dict[str, Any]:
    """Return the metadata of groups and arrays in Zarr 2, by their keys."""
    found: dict[str, Any] = {}
    path = path_text(dataset.paths[0])
    for group in dataset.groups:
        prefix = f"{group.path}/" if group.path else ""
        found[f"{prefix}.zgroup"] = {"zarr_format": 2}
        found[f"{prefix}.zattrs"] = json_attributes(group.attributes, path)
        for name, array in group.arrays.items():
            attributes = json_attributes(array.attributes, path, prefix + name)
            found[f"{prefix}{name}/.zarray"] = _zarray(array)
            found[f"{prefix}{name}/.zattrs"] = {**attributes, DIMENSIONS: [*array.dims]}
    return found


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _zarray(array: VirtualArray) -> dict[str, Any]:
    """Return the metadata of an array in Zarr 2."""
    filters = [*array.filters]
    compressor = filters.pop() if filters and filters[-1]["id"] in COMPRESSORS else None
    fill: Any = array.fill
    if isinstance(fill, bytes):
        fill = base64.b64encode(fill).decode()
    return {
        "zarr_format": 2,
        "shape": [*array.shape],
        "chunks": [*array.chunk],
        "dtype": "|O" if array.dtype.kind == "O" else array.dtype.str,
        "order": "C",
        "compressor": compressor,
        "filters": filters or None,
        "fill_value": json_number(fill),
    }


def json_attributes(attributes: Mapping[str, Any], path: str, variable: str | None = None) -> dict[str, Any]:
    """Return attributes as JSON that all programs read: NaN and infinite numbers as text, with a warning.

    Parameters
    ----------
    attributes : dict
        By name.
    path, variable : str
        For warnings and errors.

    Raises
    ------
    UnsupportedError
        If JSON cannot represent a value.
    """
    found = {}
    for name, value in attributes.items():
        if name == DIMENSIONS:
            continue
        plain = to_json({"value": value})["value"]
        found[name] = strict = _strict(plain)
        if repr(strict) != repr(plain):
            warn(f'attribute "{name}": found {plain!r:.60}, which is text in references', path, variable)
    return found


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _strict(each) for name, each in value.items()}
    return [_strict(each) for each in value] if isinstance(value, list) else json_number(value)
