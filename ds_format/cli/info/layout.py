"""Facts → lines: what somebody wants to know first stands first, and what is long is cut, with a hint."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TextIO

from ...base.wording import bytes_of, on_one_line
from . import records
from .values import shown
from .wrapping import Cell, Line, size_of, wrapped

WIDTH = 80
"""Columns, where there is no terminal that says."""
DETAILED = 30
"""Most variables whose attributes are told."""
LISTED = 200
"""Most variables that have a line, most dimensions, and most attributes of the dataset, unless all are wanted."""
ATTRIBUTES = 12
"""Most attributes of a variable that are told, unless all are wanted."""
COLUMNS = (24, 8, 8)
"""Most columns of name, type and size that are aligned."""
PADS = (str.ljust, str.ljust, str.rjust)
"""How."""
UNSURE = ("netcdf", "hdf5")
"""Drivers whose files say which values count as missing, but not whether there are any."""
SENTINELS = ("_FillValue", "missing_value")


class _Group(NamedTuple):
    """A group, or the dataset."""

    prefix: str
    dimensions: dict[str, dict[str, Any]]
    coordinates: dict[str, dict[str, Any]]
    variables: dict[str, dict[str, Any]]
    attributes: dict[str, Any]


class _Page:
    """Takes lines, and remembers whether something was cut."""

    def __init__(self, width: int, driver: str, *, is_long: bool):
        self.width, self.driver, self.is_long = width, driver, is_long
        self.lines: list[Line] = []
        self.is_cut = False

    def add(self, cells: Iterable[Cell], indent: int = 0, hanging: int = 0, gap: str = " ") -> None:
        self.lines += wrapped([*cells], self.width, indent=indent, hanging=hanging, gap=gap)

    def head(self, text: str, indent: int) -> None:
        self.add([[(text, "head")]], indent, indent + 2)

    def value(self, value: Any, limit: int) -> str:
        text, is_cut = shown(value, is_long=self.is_long, limit=max(limit, 16))
        self.is_cut |= is_cut
        return text

    def some(self, items: Mapping[str, Any], most: int) -> dict[str, Any]:
        """Return the first items, or all."""
        if self.is_long or len(items) <= most:
            return dict(items)
        self.is_cut = True
        return dict([*items.items()][:most])

    def more(self, items: Mapping[str, Any], told: Mapping[str, Any], indent: int) -> None:
        if len(told) < len(items):
            self.add([[(f"... {len(items) - len(told)} more", "hint")]], indent)


def columns(stream: TextIO) -> int:
    """Return how wide a terminal is; `WIDTH` for what is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def lines(found: Mapping[str, Any], width: int, *, is_long: bool) -> list[Line]:
    """Return the lines that tell of a file.

    Parameters
    ----------
    found : dict
        As of `facts.of`.
    width : int
        Columns of a line.
    is_long : bool
        Whether nothing is to be cut.
    """
    page = _Page(width, found["driver"], is_long=is_long)
    path = on_one_line(found["path"])
    page.add([[(path, "title"), (":", "")], [(f"{found['format']},", "")], [(bytes_of(found["size"]), "")]], 0, 2)
    for cells in records.told(found, is_long=is_long):
        page.add(cells, 0, 2)
    if "variables" in found:
        for group in _groups(found):
            _add_group(page, group, len(found["variables"]))
    if page.is_cut:
        hint = "cut: ds info -l shows all"
        if "variables" in found:
            hint += "; ds attrs [VAR] FILE prints attributes"
        page.add([[(f"({hint})", "hint")]], 0, 2)
    return page.lines


def _groups(found: Mapping[str, Any]) -> list[_Group]:
    """Return what is in the dataset, and in each of its groups, whose names they begin with; outer ones first."""
    groups: dict[str, _Group] = {"": _Group("", {}, {}, {}, {})}

    def place(name: str) -> _Group:
        prefix = name[: name.rfind("/") + 1] if all(name.split("/")) else ""
        return groups.setdefault(prefix, _Group(prefix, {}, {}, {}, {}))

    for name, variable in found["variables"].items():
        group = place(name)
        (group.coordinates if variable["coordinate"] else group.variables)[name] = variable
    for name, dimension in found["dimensions"].items():
        place(name).dimensions[name] = dimension
    for name in found["groups"]:
        place(f"{name}/x")
    prefixes = set(groups)
    for name, value in found["attributes"].items():
        prefix = name[: name.rfind("/") + 1]
        groups[prefix if prefix in prefixes else ""].attributes[name] = value
    return [groups[prefix] for prefix in sorted(groups)]


def _add_group(page: _Page, group: _Group, n: int) -> None:
    indent = 2 if group.prefix else 0
    if group.prefix:
        page.add([[("group ", "head"), (on_one_line(group.prefix[:-1]), "title")]], 0, 2)
    if group.dimensions:
        page.head("dimensions:", indent)
        told = page.some(group.dimensions, LISTED)
        page.add([_dimension(group, name, one) for name, one in told.items()], indent + 2, indent + 2, ", ")
        page.more(group.dimensions, told, indent + 2)
    for head, variables in (("coordinates:", group.coordinates), ("variables:", group.variables)):
        if variables:
            page.head(head, indent)
            _add_variables(page, group, variables, n, indent + 2)
    if group.attributes:
        page.head("attributes:", indent)
        told = page.some(group.attributes, LISTED)
        for name, value in told.items():
            _add_attribute(page, name[len(group.prefix) :], value, indent + 2)
        page.more(group.attributes, told, indent + 2)


def _dimension(group: _Group, name: str, dimension: Mapping[str, Any]) -> Cell:
    size = "?" if dimension["size"] is None else str(dimension["size"])
    told = [(_short(name, group), "dims"), (f": {size}", "")]
    return [*told, (" (unlimited)", "note")] if dimension["unlimited"] else told


def _short(name: str, group: _Group) -> str:
    """Return a name without the group that it is told in."""
    return on_one_line(name.removeprefix(group.prefix))


def _add_variables(page: _Page, group: _Group, variables: Mapping[str, Any], n: int, indent: int) -> None:
    is_detailed = page.is_long or n <= DETAILED
    told = page.some(variables, LISTED)
    rows = [[*_cells(name, one, group)] for name, one in told.items()]
    widths = [
        min(max(map(size_of, column)), most) for column, most in zip(zip(*rows, strict=True), COLUMNS, strict=False)
    ]
    for row, one in zip(rows, told.values(), strict=True):
        name, kind, size = (_padded(*each) for each in zip(row, widths, PADS, strict=False))
        rest = [row[3], [(", ".join(_notes(one, page.driver)), "note")]]
        units = one["attributes"].get("units")
        if not is_detailed and units is not None:
            rest.append([(f"[{shown(units, limit=30)[0]}]", "")])
        page.add([name, kind, size, *(cell for cell in rest if size_of(cell))], indent, indent + 4, "  ")
        if one["error"] is not None:
            page.add([[(page.value(f"cannot be read: {one['error']}", 200), "error")]], indent + 4, indent + 4)
        if is_detailed:
            _add_attributes(page, one["attributes"], indent + 4)
        elif one["attributes"].keys() - {"units"}:
            page.is_cut = True
    page.more(variables, told, indent)


def _padded(cell: Cell, width: int, pad: Callable[[str, int], str]) -> Cell:
    [(text, role)] = cell
    return [(pad(text, width), role)]


def _cells(name: str, variable: Mapping[str, Any], group: _Group) -> Iterator[Cell]:
    """Yield name, type, size and dimensions."""
    shape = variable["shape"]
    yield [(_short(name, group), "name")]
    yield [(on_one_line(variable["type"] or "?"), "type")]
    yield [("" if variable["size"] is None else bytes_of(variable["size"]), "")]
    sizes = ["?"] * len(variable["dims"]) if shape is None else list(map(str, shape))
    dims = [f"{_short(dim, group)}: {size}" for dim, size in zip(variable["dims"], sizes, strict=False)]
    yield [(f"({', '.join(dims)})" if dims else "scalar" if shape == [] else "", "dims")]


def _notes(variable: Mapping[str, Any], driver: str) -> Iterator[str]:
    if variable["shape"] is None and variable["error"] is None:
        yield "no data"
    if variable["missing"] and driver not in UNSURE:
        yield "missing values"
    elif variable["missing"] and any(name in variable["attributes"] for name in SENTINELS):
        yield "may be missing"
    if variable["packed"]:
        yield "packed"
    compression = variable["storage"].get("compression")
    if isinstance(compression, str):
        yield on_one_line(compression)


def _add_attributes(page: _Page, attributes: Mapping[str, Any], indent: int) -> None:
    if page.is_long:
        for name, value in attributes.items():
            _add_attribute(page, name, value, indent)
        return
    told = page.some(attributes, ATTRIBUTES)
    cells: list[Cell] = [
        [(on_one_line(name), "key"), (f": {page.value(value, page.width - indent - len(name) - 3)}", "")]
        for name, value in told.items()
    ]
    if len(told) < len(attributes):
        cells.append([(f"... {len(attributes) - len(told)} more", "hint")])
    if cells:
        page.add(cells, indent, indent, "; ")


def _add_attribute(page: _Page, name: str, value: Any, indent: int) -> None:
    key = on_one_line(name)
    texts = value.splitlines() if page.is_long and isinstance(value, str) else [value]
    first, *others = [page.value(text, page.width - indent - len(key) - 2) for text in texts or [""]]
    page.add([[(key, "key"), (":", "")], [(first, "")]], indent, indent + 4)
    for text in others:
        page.add([[(text, "")]], indent + 4, indent + 4)
