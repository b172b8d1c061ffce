"""The root of a store in a folder at an address, and bodies whose bytes are read as `bytes`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal

from ..body import Address, Opened
from ..body.body import FIRST_SIZE, Body
from ..body.remote.fetching import side_by_side
from ..errors import FormatError
from . import format
from .documents import decoder
from .roots import Unused, name_parts

ORDER = "order.ids"
"""A file in `meta` in which programs store the ids of documents in separate files, one on each line."""


class BytesBody(Opened, Body):
    """A body that reads `bytes` of another one, under a name of its own.

    Parameters
    ----------
    file : Body
    name : str
        For messages.
    """

    __slots__ = ("_file", "name", "size")

    def __init__(self, file: Body, name: str):
        self._file = file
        self.size = file.size
        self.name = name

    @property
    def is_far(self) -> bool:  # type: ignore[override]
        """Whether each read is a request."""
        return self._file.is_far

    @property
    def batch(self) -> int:  # type: ignore[override]
        """How many bytes a reader should ask for in one call, at most."""
        return self._file.batch

    def in_file(self) -> tuple[int, int] | None:
        """Return the position of the bytes in an open file."""
        return self._file.in_file()

    def announce(self, offsets: Any, sizes: Any) -> None:
        """Receive the ranges that will be read next; see `Body`."""
        self._file.announce(offsets, sizes)

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes."""
        return bytes(self._file.read(offset, size))

    def section(self, offset: int, size: int | None = None) -> Body:
        """Return a part."""
        return BytesBody(self._file.section(offset, size), self.name)


class FolderElsewhere:
    """A store in a folder at an address. It has the methods of `roots.Folder` for reading.

    Files are opened by their names, since web servers do not list them. Collections are those in zds.json, and
    documents in separate files those in `order.ids`.

    Parameters
    ----------
    address : Address
        The folder.
    """

    kind: Literal["address"] = "address"

    def __init__(self, address: Address):
        self.path = address.name
        self._address = address
        self._opened: dict[str, Body | None] = {}

    def is_store(self) -> bool:
        """Return whether there is a file zds.json."""
        return self.open(format.STORE_FILE) is not None

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of documents in separate files that begin with a prefix, sorted."""
        found = []
        for collection in self.collections():
            folder = format.docs_name(collection) + "/"
            if not (folder.startswith(prefix) or prefix.startswith(folder)):
                continue
            file = self.open(f"{format.COLLECTIONS}/{collection}/{format.META}/{ORDER}")
            lines = b"" if file is None else file.read(0, file.size)
            ids = {line.removesuffix("\r") for line in lines.decode("utf-8", "replace").split("\n")}
            found += [format.document_name(collection, id) for id in ids if format.is_document_name(id)]
        return sorted(name for name in found if name.startswith(prefix))

    def collections(self) -> list[str]:
        """Return the names of the collections in zds.json, sorted.

        Raises
        ------
        FormatError
            If this file is damaged.
        """
        file = self.open(format.STORE_FILE)
        try:
            facts = {} if file is None else decoder.one(file.read(0, file.size).removeprefix(format.BOM))
        except FormatError as error:
            raise error.at(path=f"{self.path}/{format.STORE_FILE}")
        listed = facts.get("collections")
        return sorted(listed) if isinstance(listed, dict) else []

    def open(self, name: str) -> Body | None:
        """Open a file, or return None if it does not exist. Files of metadata are opened once.

        Raises
        ------
        UnsafeError
            If the name leads outside of the root.
        OSError
            If it cannot be read.
        """
        name_parts(name)
        if name in self._opened:
            return self._opened[name]
        file: Body | None
        try:
            file = BytesBody(self._address.sibling("/" + name).open(FIRST_SIZE), f"{self.path}/{name}")
        except FileNotFoundError:
            file = None
        if f"/{format.DOCS}/" not in name:
            self._opened[name] = file
        return file

    def open_together(self, names: Iterable[str]) -> None:
        """Open files of metadata side by side."""
        tasks = [functools.partial(self.open, name) for name in names]
        side_by_side(tasks, len(tasks))

    def unused(self, prefix: str = "") -> list[Unused]:
        """Return nothing: files that are not used are not known."""
        return []

    def close(self) -> None:
        """Do nothing: open bodies stay valid."""


def open_elsewhere(address: Address) -> FolderElsewhere | Address:
    """Return the folder at an address, or the address if it is a file, which is open for the next reader then.

    Raises
    ------
    OSError
        If there is neither.
    """
    folder = FolderElsewhere(address)
    try:
        file = address.open(FIRST_SIZE, FIRST_SIZE)
    except OSError as error:
        if not folder.is_store():
            raise error from None
        return folder
    if file.head(2) != b"PK" and folder.is_store():  # a server may show the contents of a folder as a page
        return folder
    address.keep(file)
    return address
