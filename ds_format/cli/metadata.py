"""What a file holds, by the names that people know."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .. import drivers
from ..base.names import unescape
from ..drivers.base import Metadata
from .arguments import Request, count, text
from .output import in_type
from .patterns import Finder


class Contents(NamedTuple):
    """What the header of a file says."""

    attributes: dict[str, Any]
    """Of the dataset, by unescaped names."""
    variables: dict[str, dict[str, Any]]
    """Metadata of each variable by its unescaped name, sorted."""


def read(path: str) -> Contents:
    """Return what a file holds.

    Each variable has `.type` (None if the file does not say), `.size` (None: no data) and `.dims`, made from the name
    if the file does not say.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    return contents(drivers.meta(path))


def contents(meta: Metadata) -> Contents:
    """Return what a file holds from its metadata; see `read`."""
    found = {unescape(key): dict(entry) for key, entry in meta.items() if key != "."}
    for name, entry in found.items():
        entry.setdefault(".type")
        size = entry.setdefault(".size")
        if entry.get(".dims") is None:
            entry[".dims"] = [f"{name}_{i}" for i in range(1, len(size or ()) + 1)]
    return Contents(attributes(meta.get(".", {})), dict(sorted(found.items())))


def attributes(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes in the metadata of a variable or dataset by name, floats as numbers of their type."""
    types = entry.get(".dtypes")
    types = types if isinstance(types, dict) else {}
    found = {}
    for key, value in entry.items():
        if not key.startswith("."):
            name = types.get(key)
            found[unescape(key)] = in_type(value, name[0] if isinstance(name, list) and name else name)
    return found


def sizes(entries: Iterable[dict[str, Any]]) -> dict[str, int | None]:
    """Return the size of each dimension of some variables, in order of appearance; None without data along it."""
    found: dict[str, int | None] = {}
    for entry in entries:
        size = entry[".size"]
        for i, dim in enumerate(entry[".dims"]):
            if found.get(dim) is None:
                found[dim] = None if size is None else size[i]
    return found


def of_one(request: Request) -> dict[str, Any]:
    """Return the metadata of the variable that a request names before its file; nothing if it does not exist.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, in strict mode.
    """
    count(request, 2, 2, lacks="VAR", lister="ls")
    variable, path = text(request.words[0], "VAR"), text(request.words[1], "INPUT")
    entries = read(path).variables
    name = Finder(path, request).find_one(variable, list(entries), "variable")
    return {} if name is None else entries[name]
