"""A dataset as documents."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from ....base.names import unescape
from ....body.target import naming, resolve
from ....body.temporary import WorkFolder
from ....errors import DsError, UnsupportedError
from ....zds.archives.packing import pack
from ....zds.format import DEFAULT_COLLECTION, ID, SUFFIX, check_id
from ....zds.store import ZDSStore
from ...ds.source import DsSource
from ...strings import OBJECT_SIZE
from .. import companion
from ..plan import RecordsPlan
from ..sink import Block, RecordSink, blocks
from . import companion_member
from .columns import values_of
from .names import Path, paths_of, put


class DocumentSink(RecordSink):
    """Documents being written; see `RecordSink`. By default the text variable `_id` is their ids."""

    KEY = ID

    def _check(self, plan: RecordsPlan) -> None:
        resolve(self.path)

    def _store(self, source: DsSource) -> None:
        plan = self._plan
        paths = paths_of(unescape(key) for key in plan.axes if key != ID)
        with packed(self.path, durable=self._durable) as folder:
            with ZDSStore.open(folder, mode="w") as store:
                for block in blocks(source, plan, OBJECT_SIZE):
                    store.put_many(_documents(block, paths, _checked(block.keys, plan, store)))
                n = len(store)
            meta = {**companion.of_written(self.meta, source)}
            for key in plan.axes:
                meta[key][".missing"] = source.meta[key].get(".missing", False)
            companion_member.create(folder, DEFAULT_COLLECTION, plan.axes, n, meta, source)


@contextlib.contextmanager
def packed(path: str, *, durable: bool = False) -> Iterator[str]:
    """Make an archive of what a block puts into a folder, which lies beside it and is removed.

    Parameters
    ----------
    path : str
        Of the archive, which appears when the block ends; if it raises, nothing does.
    durable : bool
        Flush it to the disk.
    """
    root = ""
    try:
        with naming(path), WorkFolder(path, "store") as folder:
            root = os.path.join(folder, os.path.basename(path).removesuffix(SUFFIX) or DEFAULT_COLLECTION)  # its name
            os.mkdir(root)
            yield root
            pack(root, path, durable=durable)
    except DsError as error:
        if root and error.path is not None and error.path.startswith(root):
            error.path = path + error.path.removeprefix(root).replace(os.sep, "!", 1)
        raise


def _checked(keys: list[str], plan: RecordsPlan, store: ZDSStore) -> Iterator[str]:
    """Yield keys that can be ids, each of which comes once."""
    variable = None if plan.key is None else unescape(plan.key)
    for key in keys:
        if variable is not None:
            try:
                check_id(key)
            except UnsupportedError as error:
                raise error.at(variable=variable)
            if key in store:
                raise UnsupportedError(f"found the key {key!r:.60} for the second time", variable=variable)
        yield key


def _documents(block: Block, paths: dict[str, Path], ids: Iterator[str]) -> Iterator[dict[str, Any]]:
    columns = {unescape(key): values_of(array) for key, array in block.arrays.items() if key != ID}
    names = [ID, *columns]
    is_flat = all(len(paths[name]) == 1 for name in columns)
    rows = zip(*columns.values(), strict=True) if columns else iter([()] * len(block.keys))
    for key, row in zip(ids, rows, strict=True):
        if is_flat:
            yield dict(zip(names, (key, *row), strict=True))
            continue
        document: dict[str, Any] = {ID: key}
        for name, value in zip(columns, row, strict=True):
            put(document, paths[name], value)
        yield document
