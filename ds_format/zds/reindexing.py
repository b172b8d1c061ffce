"""Rebuilding all files that follow from data.jsonl."""

from __future__ import annotations

import contextlib
import os

from ..base.progress import Advance, Progress
from ..body.body import FileBody
from ..body.lock import Lock
from ..errors import FormatError, UnsupportedError
from ..kernels.files.names import exists, is_folder
from ..kernels.zds.zdx import Table
from . import format, index_bin, manifest
from .docs import DocFiles
from .faults import Faults, Silence
from .line_writer import LineWriter
from .lines import Scan
from .roots import Folder


def reindex(
    path: str | os.PathLike[str],
    collection: str | None = None,
    *,
    cut: bool = False,
    binary: bool = False,
    durable: bool = False,
    progress: Progress | None = None,
) -> dict[str, int]:
    r"""Rebuild index.bin from the lines of data.jsonl, and the counts in manifest.json and zds.json.

    If several lines have one id, the last one counts. Documents that only the old index deleted are restored. A correct
    index remains correct, and data.jsonl is not changed.

    Parameters
    ----------
    path : str or PathLike
        The folder of a store.
    collection : str, optional
        Only this one; by default all.
    cut : bool
        Remove a torn line at the end of data.jsonl, which a crash can leave, and keep it in a file next to it,
        `data.jsonl.torn-1`.
    binary : bool
        Write the binary form of the index, which programs in Python other than this package cannot read.
    durable : bool
        Flush all files to the disk.
    progress : callable, optional
        Called with the number of bytes processed, and their total in all files found so far.

    Returns
    -------
    dict
        Name of the collection → number of documents.

    Raises
    ------
    FormatError
        If the store or collection does not exist, or the last line is torn and `cut` is false.
    UnsupportedError
        If it is an archive.
    BusyError
        If another process writes to it.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.reindexing import reindex
    >>> os.makedirs("store/collections/train/meta")
    >>> with open("store/collections/train/meta/data.jsonl", "w") as file:
    ...     size = file.write('{"_id":"a","x":1}\n{"_id":"b"}\n')
    >>> reindex("store")
    {'train': 2}
    >>> with open("store/collections/train/meta/index.bin") as file:
    ...     file.read()
    'a\t0\t18\nb\t18\t12\n'
    """
    name = os.fspath(path)
    if not is_folder(name) and exists(name):
        raise UnsupportedError("an archive is not changed; unpack it, and pack it again", path=name)
    place = Folder(name)
    if not place.is_store():
        raise FormatError("not a ZDS store", path=name)
    there = place.collections()
    if collection is not None and collection not in there:
        raise FormatError(f"there is no collection {collection!r:.100}", path=name)
    names = [one for one in there if format.is_name(one)] if collection is None else [collection]
    advance = Advance(progress)
    counts = {one: _reindex(place, one, cut, binary, durable, advance) for one in names}
    title = os.path.basename(os.path.realpath(name)).removesuffix(format.SUFFIX)
    manifest.write_store(place, title, counts, durable)
    return counts


def _reindex(place: Folder, collection: str, cut: bool, binary: bool, durable: bool, advance: Advance) -> int:
    lock = Lock(
        place.locate(format.lock_name(collection)), f"{place.path}, collection {collection}", in_own_folder=True
    )
    try:
        ids = DocFiles(place, collection, Silence()).names
        count = len(ids)
        path = place.locate(format.data_name(collection))
        if exists(path, follow=False):
            table = _scan(place, collection, path, cut, durable, advance)
            count = len(table) + sum(not table.has(id) for id in ids)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place.locate(format.aside_name(collection)))
            index_bin.write(place.locate(format.index_name(collection)), table, durable, binary=binary)
        old = manifest.read_manifest(place, collection, Silence()) or {}
        manifest.write_manifest(place, collection, old, count, old.get("strict") is True, durable)
        return count
    finally:
        lock.release(remove=True)


def _scan(place: Folder, collection: str, path: str, cut: bool, durable: bool, advance: Advance) -> Table:
    """Return the positions of the lines.

    Raises
    ------
    FormatError
        If the last one is torn.
    """
    if cut:
        writer = LineWriter(place, collection, False, "ignore", Faults(), durable)
        writer.flush()
        writer.close()
    file = FileBody.open(path)
    scan = Scan(file)
    advance.total += file.size
    table = scan.run(Silence(), advance)
    if scan.left_out:
        _, offset, length, _ = scan.left_out[-1]
        if offset + length == file.size and file.read(file.size - 1, 1) != b"\n":
            raise FormatError(f"byte {offset}: a torn line of {length} bytes at the end; cut=True moves it", path=path)
        Faults().report(path, f"{len(scan.left_out)} lines are not documents; `validate` names them")
    return table
