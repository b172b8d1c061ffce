"""Ready-made lines, checked and put into files of their own: all of them, or none."""

from __future__ import annotations

import os
from typing import Any

from ..body.temporary import WorkFolder
from ..errors import UnsupportedError
from ..kernels.files import files
from ..kernels.zds.zdx import Table
from . import format
from .bulk import Check, checked
from .docfiles import DocFiles
from .documents import decoder
from .places import Folder


def write_documents(
    place: Folder, collection: str, docs: DocFiles, source: Any, name: str, check: Check | None, durable: bool
) -> tuple[int, list[str]]:
    """Add lines as they are, each as the file of a document; of several with one id the last one counts.

    They are written into a folder beside `docs` while they are checked, and get their names when all are right.

    Parameters
    ----------
    place : Folder
    collection : str
    docs : DocFiles
        Gets the ids.
    source, name, check
        As for `bulk.write_lines`.
    durable : bool
        Flush files and folders to the disk.

    Returns
    -------
    n : int
        The lines.
    ids : list of str
        What they are about.

    Raises
    ------
    FormatError
        If a line is no document; it names line and byte. Nothing is added then.
    UnsupportedError
        If an id cannot be the name of a file. Nothing is added then.
    OSError
        If writing fails. Nothing is added then, unless a file cannot even be renamed.
    """
    table, n = Table(), 0
    final = os.path.join(place.path, *format.docs_name(collection).split("/"))
    ids: dict[str, str] = {}
    targets: dict[str, str] = {}
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with WorkFolder(final, "import") as beside:
        for _, data in checked(table, source, 0, name, check):
            lines = bytes(data).split(b"\n")[:-1]
            for line, document in zip(lines, decoder.many(lines), strict=True):
                id = document[format.ID]
                path = os.path.join(beside, f"{id}{format.DOCUMENT_SUFFIX}")
                ids[path] = id
                try:
                    targets[path] = place.locate(format.document_name(collection, id))
                except UnsupportedError as error:
                    raise error.at(path=name)
                files.write_file(path, [line, b"\n"], True, durable)
            n += len(lines)
        os.makedirs(final, exist_ok=True)
        for path, target in targets.items():
            os.replace(path, target)
            docs.note(ids[path])
        if durable and targets:
            files.sync_folder(next(iter(targets.values())))
    return n, list(ids.values())
