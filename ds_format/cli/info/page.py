"""Facts of a file → lines: the most important facts first, long values cut with a hint, colours on a terminal."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from ...base.text import aligned, bytes_of, on_one_line
from ..pst import as_lists

StyledText = tuple[str, str]
"""Text and its role, which determines the colour; "": no colour."""
Cell = Sequence[StyledText]
"""Text that is not broken unless it is longer than a line."""
Line = list[StyledText]

LEAST = 16
"""Minimum width of the text, even on a narrower terminal."""

DETAILED = 30
"""Maximum number of variables above which attributes are omitted."""
LISTED = 200
"""Maximum number of variables, of dimensions, and of attributes of the dataset, without `-l`."""
ATTRIBUTES = 12
"""Maximum number of attributes of a variable, without `-l`."""
COLUMNS = (24, 8, 8)
"""Maximum width of name, type and size up to which they are aligned."""
UNSURE = ("netcdf", "hdf5")
"""Drivers whose files define a missing value, but do not record whether it occurs."""
SENTINELS = ("_FillValue", "missing_value")


class _Group(NamedTuple):
    """A group, or the dataset."""

    prefix: str
    dimensions: dict[str, dict[str, Any]]
    coordinates: dict[str, dict[str, Any]]
    variables: dict[str, dict[str, Any]]
    attributes: dict[str, Any]


class _Page:
    """Collects lines, and remembers whether something was cut."""

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
        """Return the first `most` items, or all with `-l`."""
        if self.is_long or len(items) <= most:
            return dict(items)
        self.is_cut = True
        return dict([*items.items()][:most])

    def more(self, items: Mapping[str, Any], told: Mapping[str, Any], indent: int) -> None:
        if len(told) < len(items):
            self.add([[(f"... {len(items) - len(told)} more", "hint")]], indent)


def lines(found: Mapping[str, Any], width: int, *, is_long: bool) -> list[Line]:
    """Return the lines about a file.

    Parameters
    ----------
    found : dict
        From `facts_of`.
    width : int
        Columns of a line.
    is_long : bool
        Whether to print everything in full.
    """
    page = _Page(width, found["driver"], is_long=is_long)
    path = on_one_line(found["path"])
    page.add([[(path, "title"), (":", "")], [(f"{found['format']},", "")], [(bytes_of(found["size"]), "")]], 0, 2)
    if reader := found.get("reader"):
        library, reason = reader["library"], on_one_line(reader["reason"] or "")
        page.add([[(f"read by {library}: {reason}" if library else "read without a library", "hint")]], 0, 2)
    for cells in container_cells(found, is_long=is_long):
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
    """Return the contents of the dataset and of each group, outer groups first. Names start with their group."""
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
    """Return a name without the group under which it is listed."""
    return on_one_line(name.removeprefix(group.prefix))


def _add_variables(page: _Page, group: _Group, variables: Mapping[str, Any], n: int, indent: int) -> None:
    is_detailed = page.is_long or n <= DETAILED
    told = page.some(variables, LISTED)
    rows = [[*_cells(name, one, group)] for name, one in told.items()]
    for (name, kind, size), dims, one in zip(
        aligned([row[:3] for row in rows], COLUMNS, right=(2,)), [row[3] for row in rows], told.values(), strict=True
    ):
        rest: list[Cell] = [[(dims, "dims")], [(", ".join(_notes(one, page.driver)), "note")]]
        units = one["attributes"].get("units")
        if not is_detailed and units is not None:
            rest.append([(f"[{shown(units, limit=30)[0]}]", "")])
        page.add(
            [[(name, "name")], [(kind, "type")], [(size, "")], *(cell for cell in rest if size_of(cell))],
            indent,
            indent + 4,
            "  ",
        )
        if one["error"] is not None:
            page.add([[(page.value(f"cannot be read: {one['error']}", 200), "error")]], indent + 4, indent + 4)
        if is_detailed:
            _add_attributes(page, one["attributes"], indent + 4)
        elif one["attributes"].keys() - {"units"}:
            page.is_cut = True
    page.more(variables, told, indent)


def _cells(name: str, variable: Mapping[str, Any], group: _Group) -> Iterator[str]:
    """Yield name, type, size and dimensions."""
    shape = variable["shape"]
    yield _short(name, group)
    yield on_one_line(variable["type"] or "?")
    yield "" if variable["size"] is None else bytes_of(variable["size"])
    sizes = ["?"] * len(variable["dims"]) if shape is None else list(map(str, shape))
    dims = [f"{_short(dim, group)}: {size}" for dim, size in zip(variable["dims"], sizes, strict=False)]
    yield f"({', '.join(dims)})" if dims else "scalar" if shape == [] else ""


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


ENTRIES = 20
"""Maximum number of entries of a sample or document, and of lines of the tree of an object, without `-l`."""


def container_cells(found: Mapping[str, Any], *, is_long: bool) -> Iterator[Sequence[Cell]]:
    """Yield the cells of each line about a container; nothing for other files."""
    if "samples" in found:
        about = f"{found['samples']}, {bytes_of(found['bytes'])} in all"
        yield _line("samples", f"{about}; {'an index' if found['index'] else 'no index: ds reindex makes one'}")
        if found["first"] is not None:
            yield _line("first key", found["first"]["key"])
            yield _line("first sample", _entries(found["first"]["entries"], is_long))
    for name, one in found.get("collections", {}).items():
        n = one["documents"]
        index = "no index" if one["index"] is None else f"index of {bytes_of(one['index'])}"
        layout = "" if one["layout"] is None else f" as {'lines' if one['layout'] == 'jsonl' else 'files'}"
        about = f"{n} document{'s' if n != 1 else ''}{layout}, {bytes_of(one['bytes'])}"
        yield _line("collection", f"{name}: {about}; {index}")
        if one["first"] is not None:
            yield _line("first document", _entries(one["first"], is_long))
    if "object" in found:
        n = found["buffers"]
        yield _line("buffers", f"{n}{', mappable' if found['mappable'] else ''}")
        if "variables" not in found:
            lines = [*found["object"].lines()]
            yield _line("object", "")
            shown = lines if is_long else lines[:ENTRIES]
            yield from ([[(f"  {on_one_line(line)}", "")]] for line in shown)
            if len(shown) < len(lines):
                yield [[(f"  ... {len(lines) - len(shown)} more lines: ds inspect prints all", "hint")]]


def _line(name: str, text: str) -> Sequence[Cell]:
    return [[(name, "head"), (":", "")], [(on_one_line(text), "")]]


def _entries(entries: Any, is_long: bool) -> str:
    if not isinstance(entries, dict):
        return str(entries)
    shown = [f"{name}: {kind}" for name, kind in entries.items()]
    if not is_long and len(shown) > ENTRIES:
        shown = [*shown[:ENTRIES], f"... {len(shown) - ENTRIES} more"]
    return ", ".join(shown)


MAX_TEXT = 120
"""Maximum number of characters of a value, without `-l`."""
MAX_ITEMS = 8
"""Maximum number of items of an array, without `-l`."""


def shown(value: Any, *, is_long: bool = False, limit: int = MAX_TEXT) -> tuple[str, bool]:
    r"""Return a value as text, with control characters escaped, and whether it was cut.

    Parameters
    ----------
    value : object
        A value from a driver: text, numbers, lists, objects of JSON, scalars and arrays of NumPy.
    is_long : bool
        Whether to return the whole value. Otherwise each run of blanks and line ends in a text becomes one blank.
    limit : int
        Maximum number of characters, unless `is_long`.

    Examples
    --------
    >>> shown("made by\n\x1b[31mme"), shown([1.0, 2.5]), shown(list(range(12)))
    (('made by \\x1b[31mme', False), ('1.0, 2.5', False), ('0, 1, 2, 3, 4, 5, 6, 7, ... 12 in all', True))
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        start = value if is_long else " ".join(value[: 4 * limit].split())
        text, is_cut = on_one_line(start), len(value) > 4 * limit and not is_long
    else:
        text, is_cut = _of_items(value, is_long)
        text = on_one_line(text)
    if is_long or (len(text) <= limit and not is_cut):
        return text, False
    return text if text.endswith(" in all") and len(text) <= limit else f"{text[: limit - 3]}...", True


def _of_items(value: Any, is_long: bool) -> tuple[str, bool]:
    """Return the text of numbers, lists and objects, and whether items were left out."""
    if getattr(value, "ndim", 0):
        value = value.reshape(-1)
    value = as_lists(value)
    if not isinstance(value, (list, tuple)):
        return _of_one(value), False
    told = value if is_long else value[:MAX_ITEMS]
    text = ", ".join(map(_of_one, told))
    if len(told) < len(value):
        return f"{text}, ... {len(value)} in all", True
    return text or "[]", False


def _of_one(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def wrapped(cells: Sequence[Cell], width: int, *, indent: int = 0, hanging: int = 0, gap: str = " ") -> list[Line]:
    """Return cells wrapped to lines.

    Parameters
    ----------
    cells : sequence of Cell
    width : int
        Columns of a line.
    indent, hanging : int
        Blanks before the first line, and before the others.
    gap : str
        Text between two cells. At the end of a line its trailing blanks are removed.

    Returns
    -------
    list of Line

    Examples
    --------
    >>> wrapped(
    ...     [[("one", "")], [("two", "key")], [("three times", "")]], 20, indent=2, hanging=4, gap="; "
    ... )
    [[('  ', ''), ('one', ''), ('; ', ''), ('two', 'key'), (';', '')], [('    ', ''), ('three times', '')]]
    """
    lines: list[Line] = []
    line: Line = [(" " * indent, "")] if indent else []
    used, is_begun = indent, False
    room = max(width, hanging + LEAST)
    for i, cell in enumerate(cells):
        end = len(gap.rstrip()) if i + 1 < len(cells) else 0
        size = sum(len(text) for text, _ in cell)
        if is_begun:
            if used + len(gap) + size + end <= room:
                line.append((gap, ""))
                used += len(gap)
            else:
                lines.append(_with_gap(line, gap))
                line, used = [(" " * hanging, "")] if hanging else [], hanging
        for text, role in cell:
            while used + len(text) > room:
                n = _place(text, room - used, is_first=used == hanging)
                line.append((text[:n], role))
                lines.append(line)
                text = text[n:].lstrip()
                line, used = [(" " * hanging, "")] if hanging else [], hanging
            if text:
                line.append((text, role))
                used += len(text)
        is_begun = True
    return [_stripped(line) for line in (*lines, line)]


def _stripped(line: Line) -> Line:
    """Return a line without blanks at its end."""
    while line and not line[-1][0].strip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else line


def _with_gap(line: Line, gap: str) -> Line:
    return [*line, (gap.rstrip(), "")] if gap.rstrip() else line


def _place(text: str, room: int, *, is_first: bool) -> int:
    """Return the position to break a text: after a blank, or else anywhere if it is alone on its line."""
    place = text.rfind(" ", 0, room + 1)
    return place if place > 0 else max(room, 1) if is_first else 0


def size_of(cell: Cell) -> int:
    """Return the columns that a cell takes."""
    return sum(len(text) for text, _ in cell)


STYLES = {
    "title": "bold",
    "head": "bold",
    "name": "cyan",
    "type": "green",
    "dims": "yellow",
    "key": "blue",
    "note": "magenta",
    "error": "bold red",
    "hint": "dim",
}
"""Role → style of rich. Only the eight basic colours are used, because users choose them in their terminals."""


def are_coloured(stream: TextIO) -> bool:
    """Whether to print colours: on a terminal that supports them, unless they are disabled."""
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") not in {None, "", "dumb", "unknown"}
        and _painter() is not None
    )


@functools.cache
def _painter() -> Callable[[str, str], str] | None:
    """Return a function that styles text for a role; None if rich is not installed.

    Only the styles of rich are imported, because its console takes longer than all of `ds info`.
    """
    try:
        style, color = importlib.import_module("rich.style").Style, importlib.import_module("rich.color")
    except ImportError:
        return None
    system: Any = color.ColorSystem.STANDARD
    styles = {role: style.parse(words) for role, words in STYLES.items()}

    def paint(text: str, role: str) -> str:
        painted: str = styles[role].render(text, color_system=system)
        return painted

    return paint


def texts(lines: Iterable[Line], is_coloured: bool) -> Iterator[str]:
    """Yield the text of each line."""
    paint = _painter() if is_coloured else None
    for line in lines:
        yield "".join(text if not role or paint is None else paint(text, role) for text, role in line)
