"""`ds info` and `ds meta`: the headers of files as an overview, or unchanged.

::

    __init__.py         header of a file → facts, which `info -j` prints
    container_facts.py  samples, documents and objects → facts
    page.py             facts → lines, as wide as the terminal
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ... import drivers
from ...base import error_text
from ...base.dtypes import PACKED, TYPES
from ...base.text import escape, on_one_line, unescape
from ...body import MEMBER_MARK, Location, path_text
from ...drivers.base import Source
from ...drivers.ds import header as ds_header
from ...errors import DsError
from ...model.conventions import coordinates
from ...model.settings import setting
from .. import lookup, pst
from ..arguments import FORMAT, Command, Option, Request
from ..lookup import Finder
from ..progress import columns
from . import page

LENGTH = ".stored"
"""Bytes of a variable in a ds file."""
CONTAINERS = ("binpickle", "datadings", "zds")
STORAGE = (".netcdf", ".hdf5")
"""Properties that describe storage in files of a format."""


def info(request: Request) -> Iterator[Any]:
    """Print an overview of the files; with `-j` yield an object for each.

    Raises
    ------
    DsError, OSError
        If a file cannot be read; if there are several files, at the end.
    """
    words = request.names("FILE...")
    paths: Sequence[Location] = words
    if any(MEMBER_MARK in word for word in words):
        from ...many.patterns import with_members

        paths = with_members(words)
    as_json, format = request.flag("j"), request.get("format")
    failed = 0
    for i, path in enumerate(paths):
        try:
            found = facts_of(path, format)
        except (DsError, OSError) as error:
            if len(paths) == 1:
                raise
            failed += 1
            message = error_text.describe_with_hint(error)
            _say(message)
            if as_json:
                yield {"path": path_text(path), "error": message}
            continue
        if as_json:
            yield {**found, "object": found["object"].as_json()} if "object" in found else found
        else:
            _print(found, i > 0, is_long=request.flag("l"))
    if failed:
        raise DsError(f"{failed} of {len(paths)} files failed")


def _print(found: dict[str, Any], is_next: bool, *, is_long: bool) -> None:
    is_coloured = page.are_coloured(sys.stdout)
    lines = page.lines(found, columns(sys.stdout), is_long=is_long)
    if is_next:
        lines.insert(0, [])
    pst.put((f"{line}\n" for line in page.texts(lines, is_coloured)), as_is=is_coloured)


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        print(on_one_line(f"ds info: {message}"), file=sys.stderr)


def facts_of(path: Location, format: str | None = None) -> dict[str, Any]:
    """Return facts about a file.

    Parameters
    ----------
    path : str or Address
        The file, the folder of a store, or a pack, of which only the number of `members` is returned.
    format : str, optional
        Its format; see `ds_format.read`.

    Returns
    -------
    dict
        `path`, `driver`, `format`, `size` in bytes, and the facts of `container_facts.FORMATS` about a container. Those
        of NetCDF and HDF5 files have a `reader`: the `library` that reads the file and the `reason`, or None. A
        dataset also has `dimensions`: name → `size` (None: unknown) and `unlimited`; `variables`: name → `type`,
        `dims`, `shape` (None: no data), `size` in bytes of the values (None: unknown), `coordinate`, `missing` (whether
        values may be missing; None: unknown), `packed`, `storage`, `attributes`, and `error` (the reason why it cannot
        be read, or None); `groups`, which may be empty; and `attributes`.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    """
    if format is None and (members := lookup.members(path)) is not None:
        n, size = len(members), drivers.size_of(path)
        return {"path": path, "driver": "zip", "format": f"ZIP, {n} files", "size": size, "members": n}
    known = drivers.find_existing(path) if format is None else drivers.of_format(format)
    name = known.name
    found: dict[str, Any] = {"path": path_text(path), "driver": name}
    if name == "ds" and not (isinstance(path, str) and os.path.isdir(path)):
        found["format"], meta, errors = _of_ds(drivers.located(path))
        return {**found, "size": drivers.size_of(path), **_dataset(meta, errors)}
    if (facts := _of_header(path, known)) is not None:
        return {**found, **facts}
    if name in CONTAINERS:
        from . import container_facts

        facts, is_dataset = container_facts.FORMATS[name](path_text(path))
        found.update(facts)
        if not is_dataset:
            return found
    source = drivers.open_source(path, known, structured="structured" in known.options)
    try:
        if name not in CONTAINERS:
            if (origin := getattr(source, "origin", None)) is not None:
                known = drivers.of_format(origin.driver)  # not always the format that the name of the file says
            found.update(driver=known.name, format=_titled(known, source), size=drivers.size_of(path))
            reader = getattr(source, "reader", None)
            if reader is not None:
                found["reader"] = {"library": reader.library or None, "reason": reader.reason or None}
        meta, errors = dict(source.meta), {key: error.message for key, error in source.faults.items()}
    finally:
        source.close()
    return {**found, **_dataset(meta, errors, f".{name}")}


def _dataset(meta: Mapping[str, Mapping[str, Any]], errors: Mapping[str, str], own: str = "") -> dict[str, Any]:
    """Return facts from metadata. `own` is the storage property of the format of the file.

    Storage properties of other formats come from a former file, and do not describe this one.
    """
    entries = lookup.from_metadata({key: dict(entry) for key, entry in meta.items()}).variables
    record = meta.get(".", {})
    messages = {unescape(key): message for key, message in errors.items()}
    dims = {escape(name): entry[".dims"] for name, entry in entries.items()}
    axes = set(map(unescape, coordinates(meta, dims)))
    return {
        "dimensions": _dimensions(entries, record),
        "variables": {
            name: {**_variable(entry, own), "coordinate": name in axes, "error": messages.get(name)}
            for name, entry in _in_order(meta, entries)
        },
        "groups": _names(_stored(record).get("groups")),
        "attributes": lookup.attributes(record),
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
        "attributes": lookup.attributes(entry),
    }


def _stored(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the storage property of a variable or dataset."""
    return next((entry[name] for name in STORAGE if isinstance(entry.get(name), dict)), {})


def _size(entry: Mapping[str, Any], stored: Mapping[str, Any]) -> int | None:
    """Return the bytes of the values, or None if the header does not determine them."""
    shape = entry[".size"]
    if shape is None:
        return None
    n: int = math.prod(shape)
    kind = TYPES.get(entry[".type"] or "")
    if kind is not None and kind.is_string:
        char = stored.get("char")
        length = char.get("size", 1) if isinstance(char, dict) else None
        stored_size = entry.get(LENGTH)
        return n * length if isinstance(length, int) else stored_size if n else 0
    if kind is None:
        size = setting(setting(stored, "compound", dict), "size", int)
        return None if size is None else n * size
    return n * max(kind.size, 1)


def _dimensions(entries: Mapping[str, dict[str, Any]], record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    stored = _stored(record)
    sizes: dict[str, int | None] = lookup.sizes(entries.values())
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


def _titled(format: drivers.Format, source: Source) -> str:
    """Return the usual name of the format of an open file."""
    title = drivers.load(format).title
    return title(source) if title is not None else format.title or format.name


def _of_ds(path: str) -> tuple[str, dict[str, dict[str, Any]], dict[str, str]]:
    """Return version, metadata and errors from the header of a ds file.

    Returns
    -------
    format : str
        With the version of its layout.
    meta : dict
        As from `ds_header.read`, with `.missing`, and the bytes in the file as `LENGTH`.
    faults : dict
        Errors of variables by key.

    Raises
    ------
    DsError, OSError
        If it cannot be read.
    """
    header, meta, _ = ds_header.read(path)
    faults = {}
    for key in header.keys:
        described = header.variables[key]
        var = described.var
        if var is None:
            faults[key] = described.error
        else:
            meta[key][".missing"] = var.missing
            meta[key][LENGTH] = var.length or None
    return "ds-1.0" if header.version == "1.0" else f"ds {header.version}", meta, faults


def _of_header(path: Any, format: drivers.Format) -> dict[str, Any] | None:
    """Return facts from the header of a file, which needs no library; None if the file must be opened."""
    if format.meta is None or format.title_of is None:
        return None
    path = drivers.located(path)
    meta = format.meta(path)
    if meta is None:
        return None
    title, size = format.title_of(meta), drivers.size_of(path)
    reader = {"library": None, "reason": None}
    return {"format": title, "size": size, "reader": reader, **_dataset(meta, {}, f".{format.name}")}


PROPERTIES = (".dims", ".size", ".type", ".time")
"""Properties of variables in files other than ds files. The remaining properties describe storage."""


def meta(request: Request) -> Iterator[Any]:
    """Yield the metadata by key, or those of one variable with sorted keys.

    Raises
    ------
    DsError, OSError
        If the file cannot be read.
    MissingError
        If the variable does not exist, except in soft mode.
    """
    (variable,), path = request.optional("VAR")
    entries = _entries(path)
    if variable is None:
        yield dict(sorted(entries.items()))
        return
    keys = {unescape(key): key for key in entries if key != "."}
    key: str | None = "."
    if variable != ".":
        name = Finder(path, request).find_one(variable, sorted(keys), "variable")
        key = None if name is None else keys[name]
    entry = {} if key is None else entries.get(key, {})
    yield dict(sorted(entry.items()))


def _entries(path: str) -> dict[str, dict[str, Any]]:
    """Return the metadata of a ds file unchanged, or attributes and `PROPERTIES` from another file."""
    if drivers.find_existing(path).name == "ds" and not os.path.isdir(path):
        return ds_header.entries(drivers.located(path))
    entries = {}
    for key, entry in drivers.meta(path).items():
        attributes = {name: value for name, value in entry.items() if not name.startswith(".")}
        entries[key] = {**attributes, **{name: entry[name] for name in PROPERTIES if name in entry}}
    if not entries.get("."):
        entries.pop(".", None)
    return entries


COMMANDS = {
    "info": Command(
        usage=("ds info [OPTIONS] [--] FILE...",),
        about="Prints an overview of each file: its format and size, its dimensions, coordinates and variables with "
        "type, dimensions, size in bytes and attributes, and the attributes of the dataset. For samples, documents "
        "and pickled objects, it prints their number and structure. Only headers are read if the format has them. "
        "Long values are cut, and each variable takes one line if there are many; -l prints everything. Terminals "
        "show colours if the library rich is installed (pip install 'ds-format-cython[rich]'), unless NO_COLOR is set "
        "or TERM is dumb.",
        arguments=(("FILE", "A file of any format, or the folder of a store of documents."),),
        options=(
            Option("l", "Print all variables and all attributes in full, each on a separate line."),
            FORMAT,
        ),
        examples=(
            ("Overview of a file:", "ds info data.nc"),
            ("Overview as JSON:", "ds info -j data.nc"),
            ("All attributes in full:", "ds info -l data.nc"),
        ),
        run=info,
    ),
    "meta": Command(
        usage=("ds meta [OPTIONS] [VAR] [--] INPUT",),
        about="Prints the header of a file: attributes, and properties, whose names start with a dot. For a ds file, "
        "these are all its properties, including position and storage of the data.",
        arguments=(
            (
                "VAR",
                "Name of a variable, or a pattern that matches one; . is the dataset. Everything if absent or none.",
            ),
            ("INPUT", "The file."),
        ),
        options=(),
        examples=(
            ("All metadata of a file, as JSON:", "ds meta -j data.ds"),
            ("Metadata of a variable:", "ds meta temperature data.ds"),
            ("Attributes of the dataset:", "ds meta . data.ds"),
        ),
        run=meta,
    ),
}
