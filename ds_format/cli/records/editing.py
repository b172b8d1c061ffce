"""`ds records put`, `delete`, `scan`, `import` and `export`: documents of ZDS stores."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from ...base.progress import Advance
from ...body.target import Target, naming
from ...errors import DsError, MissingError
from ...kernels.files.presence import exists, is_file
from ...kernels.json.values import dumps
from ...zds.format import DEFAULT_COLLECTION
from ...zds.store import ZDSStore
from ..arguments import ArgumentError, Request, names, text
from ..output import Text
from . import documents, formats
from .printing import integer, over_records, watching
from .showing import shown


def put(request: Request) -> Iterable[Any]:
    """Put a document; there is nothing to print."""
    path = formats.store(request, "put", is_made=True)
    key = text(request.words[1], "KEY")
    given = text(request.words[2], "JSON") if len(request.words) > 2 else sys.stdin.read()
    try:
        document = json.loads(given, parse_constant=_refuse)
    except ValueError as error:
        hint = "; what stands behind -- is taken as it is" if len(request.words) > 2 else ""
        raise ArgumentError(f"expected an object in JSON, found {given!r:.60}: {error}{hint}") from None
    if not isinstance(document, dict):
        raise ArgumentError(f"expected an object in JSON, found {given!r:.60}")
    with _writable(request, path) as store:
        try:
            store.put(key, document)
        except DsError as error:
            raise error.at(path=path)
    return ()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def delete(request: Request) -> Iterable[Any]:
    """Delete documents, all or none; there is nothing to print."""
    path = formats.store(request, "delete")
    keys = [text(word, "KEY") for word in request.words[1:]]
    with _writable(request, path) as store:
        for key in keys:
            if key not in store:
                raise MissingError(f"no document with the id {key!r:.60}", path=path)
        for key in dict.fromkeys(keys):
            store.delete(key)
    return ()


def _writable(request: Request, path: str) -> ZDSStore:
    wanted = formats.collection_of(request)
    if wanted is None:
        is_there = is_file(path) or documents.is_store(path)
        wanted = documents.collection_of(path, None, is_made=True) if is_there else DEFAULT_COLLECTION
    return ZDSStore.open(path, wanted, mode="a", layout=formats.layout_of(request))


def scan(request: Request) -> Iterator[Any]:
    """Yield documents, or parts of them; with `-j` one line of JSON for each."""
    path = formats.store(request, "scan")
    fields = [part for name in names(request.options.get("fields"), "fields") for part in name.split(",")] or None
    where = names(request.options.get("where"), "where") or None
    limit = integer(request, "limit")
    if limit is not None and limit < 0:
        raise ArgumentError(f"limit: expected 0 or more, found {limit}")
    counts = bool(request.options.get("count"))
    n = 0
    with formats.reader(request, path) as reader:
        found = islice(reader.store.scan(fields=fields, where=where), limit)
        for document in found if where else over_records(found, watching(request), reader):
            n += 1
            if not counts:
                yield Text(dumps(document).decode()) if request.options.get("j") else shown(document, None)
    if counts:
        yield n


def import_(request: Request) -> Iterable[Any]:
    """Put documents from lines of JSON, all or none; there is nothing to print."""
    path = formats.store(request, "import", is_made=True)
    source = text(request.words[1], "FILE")
    with open(source, "rb") as file, _writable(request, path) as store:
        store.write_jsonl(_Watched(file, Advance(request.progress, os.stat(source).st_size)))
    return ()


class _Watched:
    """A file that tells how far it has been read."""

    def __init__(self, file: BinaryIO, advance: Advance):
        self.name = file.name
        self._file, self._advance = file, advance

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self._advance.add(len(data))
        return data


def export(request: Request) -> Iterable[Any]:
    """Write records as lines of JSON; there is nothing to print."""
    path, file = text(request.words[0], "INPUT"), text(request.words[1], "FILE")
    if exists(file) and not request.options.get("y"):
        raise ArgumentError(f"{file}: file exists; -y replaces it")
    with formats.reader(request, path) as reader:
        target = Target(file)
        try:
            with naming(file), open(target.create(), "wb") as out:
                lines = (line + b"\n" for line in reader.lines())
                out.writelines(over_records(lines, request.progress, reader))
            target.commit()
        except BaseException:
            target.abort()
            raise
    return ()
