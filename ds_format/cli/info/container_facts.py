"""Facts about samples, documents and pickled objects, in addition to the dataset that they may contain."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from ... import binpickle
from ...body import size_of
from ...datadings import format as datadings_format
from ...datadings.reader import MsgpackReader
from ...drivers.binpickle_.source import BinPickleSource
from ...drivers.records import sidecar
from ...errors import DsError
from ...kernels.files.names import exists
from ...zds.format import index_name, is_name
from ...zds.roots import StoreRoot
from ...zds.store import ZDSStore
from ...zds.store_access import open_store
from ..records.printing import described
from ..records.record_readers import document_size, layout_in, size_in

ContainerFacts = tuple[dict[str, Any], bool]
"""Facts, and whether there is a dataset whose metadata can be read without reading everything."""


def _samples(path: str) -> ContainerFacts:
    with MsgpackReader(path) as reader:
        n = len(reader)
        found = {
            "format": "datadings",
            "size": os.stat(path).st_size,
            "samples": n,
            "bytes": reader.data_size,
            "first": {"key": reader.find_key(0), "entries": _entries(reader.get(0))} if n else None,
            "index": [suffix for suffix in datadings_format.INDEX if exists(path + suffix)],
        }
    return found, exists(path + sidecar.SUFFIX)


def _entries(record: Any) -> Any:
    """Return the types of the entries of a sample or document."""
    if not isinstance(record, dict):
        return described(record)
    return {name if isinstance(name, str) else repr(name): described(value) for name, value in record.items()}


def _documents(path: str) -> ContainerFacts:
    with contextlib.closing(open_store(path, strict=None)) as place:
        names = [name for name in place.collections() if is_name(name)]
        found = {
            "format": f"ZDS {place.kind}",
            "size": size_of(path),
            "collections": {name: _collection(path, place, name) for name in names},
        }
        has_sidecar = any(size_in(place, sidecar.member_name(name)) is not None for name in names)
    return found, has_sidecar


def _collection(path: str, place: StoreRoot, name: str) -> dict[str, Any]:
    with ZDSStore.open(path, name) as store:
        first = next(iter(store.scan()), None)
        n = len(store)
    return {
        "documents": n,
        "layout": layout_in(place, name),
        "bytes": document_size(place, name),
        "index": size_in(place, index_name(name)),
        "first": None if first is None else _entries(first),
    }


def _object(path: str) -> ContainerFacts:
    with binpickle.BinPickleFile(path) as file:
        version, is_mappable, n = file.header.version, file.is_mappable, len(file.entries)
    tree = binpickle.inspect(path)
    found = {
        "format": f"BinPickle {version}",
        "size": os.stat(path).st_size,
        "mappable": is_mappable,
        "buffers": max(n - 1, 0),
        "object": tree,
    }
    return found, _is_dataset(path)


def _is_dataset(path: str) -> bool:
    """Whether this package wrote an object as a dataset. False if the object cannot be loaded safely."""
    try:
        source = BinPickleSource(path)
    except DsError:
        return False
    source.close()
    return source.is_own


FORMATS: dict[str, Callable[[str], ContainerFacts]] = {"binpickle": _object, "datadings": _samples, "zds": _documents}
"""The name of a driver → what takes a path, and returns `format` and `size`; of samples `samples`, `bytes`, `first` and
`index`; of documents `collections`; of an object `object`, its tree, `mappable` and `buffers`. Raises DsError or
OSError if the container cannot be read."""
