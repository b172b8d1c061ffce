"""ds and NetCDF files in VirtualiZarr and icechunk: a parser. It needs the library virtualizarr.

Kerchunk references are made by `ds_format.references`, which needs no library.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from virtualizarr.manifests import ChunkManifest, ManifestArray, ManifestGroup, ManifestStore
from zarr.core.metadata.v3 import ArrayV3Metadata

from . import drivers
from .base.text import keys_of
from .body import path_text
from .drivers.base import warn
from .errors import MissingGroupError, UnsupportedError
from .virtual.arrays import VirtualArray
from .virtual.chunks import Config
from .virtual.codec import CODEC_ID, json_number
from .virtual.datasets import virtual_dataset
from .virtual.kerchunk import json_attributes

__all__ = ["Parser"]

TEXT = {"vlen-utf8": "string", "vlen-bytes": "variable_length_bytes"}
"""Codec of text → its type in Zarr 3."""
MAX_CHUNKS = 1 << 20
"""Chunks of an array of which few were written, since VirtualiZarr takes memory for all of them."""


class Parser:
    """Makes a `ManifestStore` of a ds or NetCDF file, for VirtualiZarr.

    Pass it as `parser` to `virtualizarr.open_virtual_dataset` and `open_virtual_mfdataset`. Their
    `virtualize.to_icechunk` keeps all codecs. `to_kerchunk` does not: use `ds_format.references`.

    Parameters
    ----------
    group : str, optional
        Path of the group to open; by default the root.
    skip_variables : iterable of str
        Names of variables that are left out.
    """

    def __init__(self, group: str | None = None, skip_variables: str | Iterable[str] = ()):
        self.group = (group or "").strip("/")
        self.skip_variables = frozenset(keys_of(skip_variables))

    def __call__(self, url: str, registry: Any) -> ManifestStore:
        """Return the store of a file; only its metadata are read.

        Parameters
        ----------
        url : str
            Address of the file, as `file:///data/a.ds` or `s3://bucket/a.nc`.
        registry : ObjectStoreRegistry
            Has the store that reads it.

        Raises
        ------
        OSError, FormatError
            If it cannot be read.
        MissingGroupError
            If it has no such group.
        UnsupportedError
            If Zarr cannot read a variable from the file.
        """
        store, path = registry.resolve(url)
        parts = urlsplit(url)
        where = unquote(parts.path) if parts.scheme == "file" else drivers.located(path, None, store)
        if hasattr(drivers.located(where), "pack"):
            raise UnsupportedError(
                "a member of a pack; only `ds_format.references` can lead there", path=path_text(where)
            )
        dataset = virtual_dataset([where], without=self.skip_variables, inline=False)
        found = next((group for group in dataset.groups if group.path == self.group), None)
        name = path_text(where)
        if found is None:
            raise MissingGroupError(f'group "{self.group}" not found', path=name)
        arrays = {}
        for key, array in found.arrays.items():
            if array.files is None:
                warn("left out: its values are not in chunks, so that only references can have them", name, key)
                continue
            arrays[key] = _manifest_array(array, url, json_attributes(array.attributes, name, key), name)
        attributes = json_attributes(found.attributes, name)
        return ManifestStore(group=ManifestGroup(arrays=arrays, attributes=attributes), registry=registry)


def _manifest_array(array: VirtualArray, url: str, attributes: Mapping[str, Any], path: str) -> ManifestArray:
    text = next((TEXT[one["id"]] for one in array.filters if one["id"] in TEXT), None)
    size = array.dtype.itemsize
    fixed = {"name": "null_terminated_bytes", "configuration": {"length_bytes": size}}
    fill: Any = array.fill
    encoded = {} if fill is None else {"_FillValue": _encoded(fill)}
    default: Any = "" if text or array.dtype.kind == "S" else False if array.dtype.kind == "b" else 0
    if isinstance(fill, bytes):
        fill = base64.b64encode(fill).decode()
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [*array.shape],
        "data_type": text or (fixed if array.dtype.kind == "S" else array.dtype.name),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*array.chunk]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": default if fill is None else json_number(fill),
        "codecs": _codecs(array.filters, array.dtype),
        "attributes": {**attributes, **encoded},
        "dimension_names": [*array.dims],
        "storage_transformers": [],
    }
    return ManifestArray(metadata=ArrayV3Metadata.from_dict(metadata), chunkmanifest=_manifest(array, url, path))


def _encoded(fill: np.generic) -> Any:
    """Return a fill value as xarray has it in attributes of Zarr 3: floats as base64 of a double."""
    if isinstance(fill, bytes):
        return base64.b64encode(fill).decode()
    return base64.b64encode(struct.pack("<d", fill)).decode() if fill.dtype.kind == "f" else fill.item()


def _codecs(filters: Sequence[Config], dtype: np.dtype[Any]) -> list[dict[str, Any]]:
    """Return the codecs of an array, in the order of encoding."""
    has_order = dtype.kind in "iuf" and dtype.itemsize > 1
    endian = {"configuration": {"endian": "big" if dtype.str[0] == ">" else "little"}} if has_order else {}
    found: list[dict[str, Any]] = [{"name": "bytes", **endian}]
    for config in filters:
        name, options = config["id"], {key: value for key, value in config.items() if key != "id"}
        if name in TEXT:
            found = [{"name": name}]
        else:
            found.append({"name": name if name == CODEC_ID else f"numcodecs.{name}", "configuration": options})
    return found


def _manifest(array: VirtualArray, url: str, path: str) -> ChunkManifest:
    """Return the positions of all chunks; those that were not written have no path."""
    if 0 in array.shape or array.offsets is None or array.sizes is None:
        return ChunkManifest(entries={}, shape=(0,) * len(array.shape))
    grid = [-(-n // step) for n, step in zip(array.shape, array.chunk, strict=True)]
    n = math.prod(grid)
    if n > max(MAX_CHUNKS, 16 * len(array.offsets)):
        raise UnsupportedError(f"found {len(array.offsets)} chunks of {n}: too few for VirtualiZarr", path=path)
    at = tuple(array.positions)
    paths = np.full(grid, "", np.dtypes.StringDType())
    offsets, sizes = np.zeros(grid, np.uint64), np.zeros(grid, np.uint64)
    if len(array.offsets):
        paths[at], offsets[at], sizes[at] = url, *(each if at else each[0] for each in (array.offsets, array.sizes))
    return ChunkManifest.from_arrays(paths=paths, offsets=offsets, lengths=sizes)
