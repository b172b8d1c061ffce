"""`ds set`: set data, types, dimensions and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..base.dtypes import TYPES
from ..dataset import Dataset
from ..ops import attr, attrs, dims, type, var, vars
from . import changes, options, pst
from .arguments import ArgumentError, Request, UsageError, is_none, name_or_none, texts
from .commands import Command
from .patterns import Changer, not_found

COMMAND = Command(
    usage=(
        "ds [OPTIONS] set [ATTRS] [--] INPUT OUTPUT",
        "ds [OPTIONS] set VAR [TYPE [DIMS [DATA]]] [ATTRS] [--] INPUT OUTPUT",
        "ds [OPTIONS] set { VARIABLE... }... [ATTRS] [--] INPUT OUTPUT",
    ),
    about="Writes the dataset of a file to another, with changes: attributes of the dataset, one variable, or several "
    "in braces. Attributes behind VAR are its own; beside braces they are the dataset's. OUTPUT may be INPUT.",
    arguments=(
        (
            "VAR",
            (
                "Name of a variable, or a pattern of names, all of which are set; none is the dataset. "
                "A variable that does not exist is made if it gets DATA."
            ),
        ),
        (
            "TYPE",
            (
                "float32, float64, int8 to int64, uint8 to uint64, bool, str (bytes) or unicode (text). Values are "
                "converted; one that does not fit is an error. With none the type is that of the data."
            ),
        ),
        (
            "DIMS",
            "Name of the dimension, or { NAME... } of several. With none they stay; { } gives them names from VAR.",
        ),
        (
            "DATA",
            "A value, or { VALUE... }, nested for more dimensions. In braces none is a missing value; alone, no data.",
        ),
        ("ATTRS", "NAME: VALUE pairs: attributes, or patterns of names, and what they are set to."),
        ("VARIABLE...", "VAR [TYPE [DIMS [DATA]]] [ATTRS] as above."),
        ("INPUT", "The file to read; none begins with an empty dataset."),
        ("OUTPUT", "The file to write."),
    ),
    options=options.WRITTEN,
    examples=(
        ("Make a file:", "ds set x float32 time '{' 16. none 21. '}' units: K none new.ds"),
        ("Two variables:", "ds set '{' t none t '{' 1 2 '}' '}' '{' x none t '{' 5 6 '}' '}' none n.ds"),
        ("An attribute of the dataset:", "ds set title: 'New title' data.ds output.ds"),
        ("Attributes of a variable:", "ds set temperature units: K data.ds output.ds"),
        ("Another type:", "ds set temperature float32 data.ds output.ds"),
    ),
)


class Setting(NamedTuple):
    """What is to be set of a variable, or of the dataset."""

    variable: str | None
    """A name or pattern; None is the dataset."""
    type: str | None
    dims: list[str] | None
    """None: as they are."""
    data: Sequence[Any]
    """One item if data are given."""
    attributes: dict[str, Any]


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or cannot hold the data.
    MissingError
        If none of the variables exists or gets data; if one does not, in strict mode.
    """
    rest, source, target = changes.files(request)
    settings = list(_settings(rest))
    d = Dataset({".": {".": {}}}) if is_none(source) else changes.read(request, source)
    finder = Changer(source, request)
    n_set = sum(_apply(d, setting, finder) for setting in settings)
    finder.settle(changes=n_set > 0)
    changes.write(request, target, d)
    return ()


def _settings(words: Sequence[Any]) -> Iterator[Setting]:
    if words and not isinstance(words[0], (list, dict)):
        yield _setting(words)
        return
    for word in words:
        if isinstance(word, list):
            yield _setting(word)
        elif isinstance(word, dict):
            yield Setting(None, None, None, (), _values(word))
        else:
            raise UsageError("invalid number of arguments")


def _setting(words: Sequence[Any]) -> Setting:
    found = [word for word in words if not isinstance(word, dict)]
    if not 0 < len(found) <= 4:
        raise UsageError("invalid number of arguments")
    attributes = {name: value for word in words if isinstance(word, dict) for name, value in _values(word).items()}
    variable = name_or_none(found[0], "VAR")
    if variable is None and len(found) > 1:
        raise ArgumentError("VAR: none is the dataset, which has neither type nor dimensions nor data")
    kind = name_or_none(found[1], "TYPE") if len(found) > 1 else None
    if kind is not None and kind not in TYPES:
        raise ArgumentError(f'variable "{variable}": invalid type {kind}: expected one of {" ".join(TYPES)}')
    names = None if len(found) < 3 or is_none(found[2]) else texts(found[2], "DIMS")
    return Setting(variable, kind, names, [_data(word) for word in found[3:]], attributes)


def _data(word: Any) -> Any:
    """Return data as they were typed: if a value in an array is text, so are all but none."""
    data = pst.value(word)
    return _as_text(word) if isinstance(data, list) and _has_text(data) else data


def _has_text(data: Any) -> bool:
    return any(map(_has_text, data)) if isinstance(data, list) else isinstance(data, str)


def _as_text(word: Any) -> Any:
    if isinstance(word, list):
        return [_as_text(item) for item in word]
    return None if is_none(word) else str(word) if isinstance(word, str) else word


def _values(pairs: dict[str, Any]) -> dict[str, Any]:
    return {name: pst.value(value) for name, value in pairs.items()}


def _apply(d: dict[str, Any], setting: Setting, finder: Changer) -> int:
    """Apply a setting, and return to how many variables, the dataset among them."""
    if setting.variable is None:
        _set_attributes(d, None, setting.attributes, finder)
        return 1
    every = vars(d, full=True)
    found = finder.match(setting.variable, every) or ([setting.variable] if setting.data else [])
    if not found:
        finder.miss(not_found(setting.variable, every, "variable", finder.path))
    for name in found:
        with changes.about(finder.path):
            for data in setting.data:
                var(d, name, data)
            if setting.type is not None:
                type(d, name, setting.type)
            if setting.dims is not None:
                dims(d, name, setting.dims or None)
        _set_attributes(d, name, setting.attributes, finder)
    return len(found)


def _set_attributes(d: dict[str, Any], variable: str | None, values: dict[str, Any], finder: Changer) -> None:
    for pattern, value in values.items():
        for name in finder.match(pattern, list(attrs(d, variable) or ())) or [pattern]:
            attr(d, name, value, var=variable)
