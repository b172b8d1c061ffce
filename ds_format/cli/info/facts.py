"""A file → what its header says, as data that `-j` prints."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ... import drivers
from ...base.dtypes import PACKED, TYPES
from ...base.names import escape, unescape
from ...model.conventions import coordinates
from .. import metadata
from . import formats

CONTAINERS = ("binpickle", "datadings", "zds")
STORAGE = (".netcdf", ".hdf5")
"""Properties that tell how something is stored in files of a format."""


def of(path: str, format: str | None = None) -> dict[str, Any]:
    """Return what is known of a file.

    Parameters
    ----------
    path : str
        The file, or the folder of a store.
    format : str, optional
        Its format; see `ds_format.read`.

    Returns
    -------
    dict
        `path`, `driver`, `format`, `size` in bytes, and of a container what `containers.of` tells. Where there is a
        dataset, `dimensions`: name → `size` (None: not known) and `unlimited`; `variables`: name → `type`, `dims`,
        `shape` (None: no data), `size` in bytes of the values (None: not known), `coordinate`, `missing` (whether
        values may be; None: the file does not say), `packed`, `storage`, `attributes`, and `error`, why it cannot be
        read, or None; `groups`, of which some may be empty; and `attributes`.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    known = drivers.find_existing(path) if format is None else drivers.of_format(format)
    name = known.name
    found: dict[str, Any] = {"path": path, "driver": name}
    if name == "ds":
        found["format"], meta, errors = formats.of_ds(path)
        return {**found, "size": os.stat(path).st_size, **_dataset(meta, errors)}
    if name in CONTAINERS:
        told, is_dataset = importlib.import_module(".containers", __package__).of(name, path)
        found.update(told)
        if not is_dataset:
            return found
    source = drivers.open_source(path, known)
    try:
        if name not in CONTAINERS:
            found.update(format=formats.titled(known, source), size=os.stat(path).st_size)
        meta, errors = dict(source.meta), {key: error.message for key, error in source.faults.items()}
    finally:
        source.close()
    return {**found, **_dataset(meta, errors, f".{name}")}


def _dataset(meta: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str], own: str = "") -> dict[str, Any]:
    """Return what metadata tell; `own` is the property of this format, of which those of others are only memories."""
    entries = metadata.contents({key: dict(entry) for key, entry in meta.items()}).variables
    record = meta.get(".", {})
    told = {unescape(key): message for key, message in errors.items()}
    dims = {escape(name): entry[".dims"] for name, entry in entries.items()}
    places = set(map(unescape, coordinates(meta, dims)))
    return {
        "dimensions": _dimensions(entries, record),
        "variables": {
            name: {**_variable(entry, own), "coordinate": name in places, "error": told.get(name)}
            for name, entry in _in_order(meta, entries)
        },
        "groups": _names(_stored(record).get("groups")),
        "attributes": metadata.attributes(record),
    }


def _in_order(meta: Iterable[str], entries: Mapping[str, dict[str, Any]]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the variables in the order of the file."""
    return ((name, entries[name]) for name in map(unescape, meta) if name in entries)


def _variable(entry: Mapping[str, Any], own: str) -> dict[str, Any]:
    stored = _stored(entry)
    storage = stored if own in entry else {}
    return {
        "type": entry[".type"],
        "dims": entry[".dims"],
        "shape": entry[".size"],
        "size": _size(entry, storage),
        "missing": entry.get(".missing"),
        "packed": stored.get(PACKED) is True,
        "storage": {key: value for key, value in storage.items() if key != PACKED},
        "attributes": metadata.attributes(entry),
    }


def _stored(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how something is stored, as its property says."""
    return next((entry[name] for name in STORAGE if isinstance(entry.get(name), dict)), {})


def _size(entry: Mapping[str, Any], stored: Mapping[str, Any]) -> int | None:
    """Return the bytes that the values take, as far as the header tells."""
    shape = entry[".size"]
    if shape is None:
        return None
    n = math.prod(shape)
    kind = TYPES.get(entry[".type"] or "")
    if kind is not None and kind.is_string:
        room = stored.get("char")
        length = room.get("size", 1) if isinstance(room, dict) else None
        stored_size = entry.get(formats.LENGTH)
        return n * length if isinstance(length, int) else stored_size if n else 0
    return None if kind is None else n * max(kind.size, 1)


def _dimensions(entries: Mapping[str, dict[str, Any]], record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    stored = _stored(record)
    sizes: dict[str, int | None] = metadata.sizes(entries.values())
    others = stored.get("dimensions")
    if isinstance(others, dict):
        sizes.update({name: n for name, n in others.items() if sizes.get(name) is None})
    unlimited = {*_names(stored.get("unlimited"))}
    for entry in entries.values():
        limits = _stored(entry).get("maxshape")
        if isinstance(limits, list):
            unlimited.update(dim for dim, limit in zip(entry[".dims"], limits, strict=False) if limit is None)
    return {name: {"size": n, "unlimited": name in unlimited} for name, n in sizes.items()}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
