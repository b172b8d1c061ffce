"""The options of reading and writing, as the functions of the package take them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import drivers
from ..api.creation import check_times
from ..model.selection import Selection
from . import pst
from .arguments import READ, WRITE, ArgumentError, Request, UsageError, is_none, unquoted
from .commands import Command, Option

Index = int | list[int] | list[bool]
"""A position removes its dimension; a list of positions, or of which of them are wanted, keeps it."""

TIMES = ("calendar", "time_units")
"""Options of writing times."""

RECORDS = ("dim", "key")
"""Options of writing records along a dimension."""

LAYOUTS = ("1.0", "2.0.1")
"""Of ds files."""

LAYOUT = Option("layout", "Of a ds file: 1.0 (the default), or 2.0.1, which older programs read.", "VERSION")
CHECKSUM = Option("checksum", "Of a ds file: true adds checksums, which `ds verify` compares.", "BOOL")
WRITTEN = (LAYOUT, CHECKSUM)
"""Options of commands that write datasets."""

SKIP_UNSUPPORTED = Option(
    "skip-unsupported", "Leave out variables that ds_format cannot hold, with a warning, instead of failing."
)
DIM = Option(
    "dim",
    "For samples (.msgpack) and documents (.zds): the dimension along which they are made. By default an "
    "unlimited one, else that which is the first one of most variables.",
    "NAME",
)
KEY = Option(
    "key",
    "For samples and documents: the variable whose values become their keys. By default these are numbers.",
    "VAR",
)
"""Options of commands that convert."""

_FORMS = {option.name: option.value for option in READ}


def reading(request: Request) -> Selection:
    """Return the selection of the options `sel`, `range`, `at` and `between`: positions in all variables.

    Raises
    ------
    ArgumentError
        If one is not of the form that its help shows.
    """
    found: dict[str, Any] = {}
    sel = positions(objects(request, "sel"))
    if sel:
        found["sel"] = sel
    for name, kinds, argument in (("range", (int,), "range_"), ("between", (int, float, str), "between")):
        bounds = {key: _bounds(name, key, value, kinds) for key, value in _pairs(request, name)}
        if bounds:
            found[argument] = bounds
    at = {key: _values(key, value) for key, value in _pairs(request, "at")}
    if at:
        found["at"] = at
    return Selection(**found)


def writing(request: Request, target: str) -> dict[str, Any]:
    """Return `time_units`, `calendar`, `times`, `version` (the layout of ds files) and `checksum`, if they are given.

    Raises
    ------
    ArgumentError
        If one is no text, or the format of the target has no layouts.
    DriverError
        If no format has the suffix of the target, or it has no such option.
    """
    found = _texts(request, target, (*TIMES, "times"), "text")
    if "times" in found:
        check_times(**found)
    if "layout" in request.options:
        found["version"] = _layout(request.options["layout"], target)
    if "checksum" in request.options:
        found["checksum"] = _checksum(request.options["checksum"], target)
    return found


def _layout(value: Any, target: str) -> str:
    layout = str(value)  # 1.0 was read as a number
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout: expected {' or '.join(LAYOUTS)}, found {pst.encode([value], False)}")
    if drivers.find(target).name != "ds":
        raise ArgumentError(f"{target}: layout is not possible with this format")
    return layout


def _checksum(value: Any, target: str) -> bool:
    if type(value) is not bool:
        raise ArgumentError(f"checksum: expected true or false, found {pst.encode([value], False)}")
    if value and "checksum" not in drivers.find(target).creation:
        raise ArgumentError(f"{target}: checksum is not possible with this format")
    return value


def checked_files(words: Sequence[Any]) -> Sequence[Any]:
    """Return the arguments of a command that writes one file to another: the last two are INPUT and OUTPUT.

    Raises
    ------
    UsageError
        If one of them is missing.
    """
    names = [*map(str, words)]
    found = [name for name in names[-1:] if os.path.isfile(name)]
    # A variable in the place of INPUT, and INPUT in that of OUTPUT, which would be overwritten.
    is_shifted = len(words) > 1 and not (os.path.exists(names[-2]) or drivers.is_known(names[-2]) or is_none(words[-2]))
    if found and (len(words) == 1 or is_shifted):
        raise UsageError(f"OUTPUT is missing: found only {found[0]}, expected INPUT OUTPUT")
    if len(words) < 2:
        raise UsageError("invalid number of arguments")
    return words


def check_places(pairs: Iterable[Mapping[str, Any]], command: Command) -> None:
    """Check that no `NAME: VALUE` pair among the arguments of a command is an option.

    Raises
    ------
    UsageError
        If one is: only pairs before all arguments or after them are options.
    """
    known = {option.name for option in (*READ, *WRITE, *command.options)}
    for name, value in ((name, value) for some in pairs for name, value in some.items()):
        if name in known and not _is_index(value):
            raise UsageError(f'the option "{name}" is between the arguments: options are first or last')


def _is_index(value: Any) -> bool:
    kinds = {type(position) for position in value} if isinstance(value, list) else {type(value)}
    return kinds <= {int} or (kinds == {bool} and isinstance(value, list))


def are_times_converted(request: Request) -> bool:
    """Whether the request asks for times in other units or in another calendar."""
    return any(name in request.options for name in TIMES)


def recording(request: Request, target: str) -> dict[str, Any]:
    """Return `dim` and `key`, those that the request has.

    Raises
    ------
    ArgumentError
        If one is no text.
    DriverError
        If no format has the suffix of the target, or it has no records.
    """
    return _texts(request, target, RECORDS, "a name")


def _texts(request: Request, target: str, names: Sequence[str], kind: str) -> dict[str, Any]:
    """Return those options of creating a file that the request has."""
    found: dict[str, Any] = {name: request.options[name] for name in names if name in request.options}
    for name, value in found.items():
        if not isinstance(value, str):
            raise ArgumentError(f"{name}: invalid type: expected {kind}, found {pst.encode([value], False)}")
    if found:
        drivers.check_creation(drivers.find(target), target, found, (*TIMES, "times", *RECORDS))
    return found


def objects(request: Request, name: str) -> list[dict[str, Any]]:
    """Return what an option of reading holds: an object, or an array that objects stand in, also as one word.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    value = unquoted(request.options.get(name))
    found = value if isinstance(value, list) else [] if value is None else [value]
    for item in found:
        if not isinstance(item, dict):
            raise ArgumentError(f"{name}: invalid type: expected {_FORMS[name]}, found {pst.encode(value, False)}")
    return found


def positions(pairs: list[dict[str, Any]]) -> dict[str, Index]:
    """Return the index of each dimension from `DIM: INDEX` pairs.

    Raises
    ------
    ArgumentError
        If an index is anything but an integer, an array of integers or an array of booleans.
    """
    found = {dim: index for some in pairs for dim, index in some.items()}
    for dim, index in found.items():
        if not _is_index(index):
            raise ArgumentError(f"{dim}: expected an index or an array of indexes, found {pst.encode([index], False)}")
    return found


def _pairs(request: Request, name: str) -> list[tuple[str, Any]]:
    return [pair for item in objects(request, name) for pair in item.items()]


def _bounds(name: str, key: str, value: Any, kinds: tuple[type, ...]) -> tuple[Any, Any]:
    fits = isinstance(value, list) and len(value) == 2
    if not fits or not all(bound is None or type(bound) in kinds for bound in value):
        raise ArgumentError(f"{name}: {key}: invalid type: expected {{ A B }}, found {pst.encode([value], False)}")
    low, high = value
    return low, high


def _values(key: str, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    if not values or not all(type(item) in (int, float, str) for item in values):
        raise ArgumentError(
            f"at: {key}: invalid type: expected a value or an array of values, found {pst.encode([value], False)}"
        )
    return values[0] if len(values) == 1 else values
