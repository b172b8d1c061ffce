"""Commands that write a dataset with changes: `rename`, `rename_dim`, `rm` and `set`."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import drivers, ops
from ..api import files
from ..api.creation import created
from ..base.dtypes import TYPES
from ..base.progress import Advance, share_of
from ..codec.encode import describe
from ..datasets import META, Dataset, checked
from ..drivers.base import BLOCK_SIZE, STRING_SIZE, block_slices
from ..errors import DsError, UnsupportedError
from ..views.subset import Subset, item_size, memory_size, open_subset
from . import lookup, pst
from .arguments import (
    TYPE_NAMES,
    ArgumentError,
    Command,
    Request,
    UsageError,
    is_none,
    lacking,
    name_or_none,
    text,
    texts,
)
from .lookup import Changer, not_found
from .select_ import WRITTEN, are_times_converted, check_files, reading, with_options, writing

LARGE = 1 << 26
"""Bytes in memory from which a dataset is read and written in blocks, to show progress on a terminal."""


def _files(
    request: Request, names: Callable[[str, bool], Iterable[str]] | None = None
) -> tuple[Request, list[Any], Any, str]:
    """Return a request with all of its options, its arguments, the word for the input, and the name of the output.

    Parameters
    ----------
    request : Request
    names : callable, optional
        Takes the input, and whether there is a word before the pairs; returns the names that can be renamed. A pair
        of any other name is an option if there is such an option. By default, all pairs before INPUT are arguments.

    Raises
    ------
    UsageError
        If there are not two files.
    """
    check_files([word for word in request.words if not isinstance(word, dict)])
    request = with_options(request, request.words[-2:-1], lambda name, value: False)
    *words, source, target = request.words
    if isinstance(source, dict):
        raise UsageError(f"found {next(iter(source), '')}: between INPUT and OUTPUT: put arguments before INPUT")
    if names is not None:
        has_word = any(not isinstance(word, dict) for word in words)
        request = with_options(request, words, lambda name, value: name in names(text(source, "INPUT"), has_word))
    return request, request.words[:-2], source, text(target, "OUTPUT")


@contextlib.contextmanager
def _changing(
    request: Request, source: Any, target: str, *, may_be_new: bool = False
) -> Iterator[tuple[dict[str, Any], Changer]]:
    """Read the part of a dataset that the options select, and write it after the `with` block changed it.

    Yields the dataset and a `Changer`. Times become Julian dates if they will be written in other units. With
    `may_be_new` the bare word `none` is an empty dataset. Errors name the input.
    """
    d = Dataset({META: {META: {}}}) if may_be_new and is_none(source) else _read(request, text(source, "INPUT"))
    try:
        yield d, Changer(source, request)
    except DsError as error:
        raise error.at(path=str(source))
    _write(request, target, d)


def _read(request: Request, path: str) -> dict[str, Any]:
    selection = reading(request, jd=are_times_converted(request))
    if request.progress is not None:
        with open_subset(path, selection, masked=True) as part:
            total = sum(memory_size(entry) for key, entry in part.meta.items() if key != META)
            if total >= LARGE:
                return _read_blocks(part, Advance(share_of(request.progress, 0, total, 2 * total), total))
    return files.read(path, *selection[:5], jd=selection.jd, unpack=False)


def _read_blocks(part: Subset, advance: Advance) -> Dataset:
    """Return a dataset as `files.read` does."""
    dataset = Dataset()
    for key, entry in part.meta.items():
        if key != META:
            size = entry.get(".size")
            dataset[key] = _gathered(part, key, size, advance) if size and 0 not in size else part.read(key)
    dataset[META] = {
        key: {name: value for name, value in entry.items() if name != ".missing"} for key, entry in part.meta.items()
    }
    return dataset


def _gathered(part: Subset, key: str, size: list[int], advance: Advance) -> Any:
    """Return a variable, block by block."""
    values: Any = None
    mask: Any = None
    start = 0
    for block in advance.over_arrays(part.blocks(key), item_size(part.meta[key])):
        data = np.ma.getdata(block).reshape(-1)
        if values is None:
            values = np.empty(math.prod(size), data.dtype)
        stop = start + data.size
        values[start:stop] = data
        if np.ma.getmask(block) is not np.ma.nomask:
            mask = np.zeros(values.size, np.bool_) if mask is None else mask
            mask[start:stop] = np.ma.getmaskarray(block).reshape(-1)
        start = stop
    values = values.reshape(size)
    return values if mask is None else np.ma.MaskedArray(values, mask.reshape(size))


def _write(request: Request, path: str, d: dict[str, Any]) -> None:
    options = writing(request, path)
    total, target = _array_size(d), drivers.located(path)
    if request.progress is None or total < LARGE:
        files.write(target, d, **options)
        return
    advance = Advance(share_of(request.progress, total, total, 2 * total), total)
    try:
        arrays, given = checked(d)
        meta = describe(arrays, given)
        with created(target, meta, **options) as sink:
            for key, array in arrays.items():
                width = item_size(meta[key])
                is_empty = array is None or array.size == 0
                sink.write(key, () if is_empty else advance.over_arrays(_blocks(array, width), width))
    except UnsupportedError as error:
        raise error.at(path=path)


def _array_size(d: Mapping[str, Any]) -> int:
    """Return the bytes of all arrays in memory."""
    arrays = [value for key, value in d.items() if key != META and isinstance(value, np.ndarray)]
    return sum(array.size * (STRING_SIZE if array.dtype.kind == "O" else array.itemsize) for array in arrays)


def _blocks(array: Any, width: int) -> Iterator[Any]:
    return (array[slices] for slices in block_slices(array.shape, width, BLOCK_SIZE))


def _attributes(d: dict[str, Any], variables: Iterable[str | None]) -> tuple[dict[str | None, list[str]], list[str]]:
    """Return the names of the attributes of each variable (None is the dataset), and the sorted names of all."""
    known = {name: list(ops.attrs(d, name) or ()) for name in variables}
    return known, sorted({*itertools.chain(*known.values())})


def rename(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    MissingError
        If none of the variables or attributes exists; if one does not, in strict mode.
    """
    request, words, source, target = _files(request, _variables_or_attributes)
    variables, attributes = _renamings(words)
    n_renamed = 0
    with _changing(request, source, target) as (d, finder):
        for pairs in variables:
            every = ops.vars(d, full=True)
            n_renamed += len(finder.find(pairs, every, "variable"))
            ops.rename_m(d, finder.renaming(pairs, every, "variable"))
        for owners, pairs in attributes:
            found: list[Any] = [None] if owners is None else finder.find(owners, ops.vars(d, full=True), "variable")
            known, every = _attributes(d, found)
            n_renamed += len(finder.find(pairs, every, "attribute"))
            for name, names in known.items():
                ops.rename_attr_m(d, finder.renaming(pairs, names, "attribute"), name)
        finder.settle(changes=n_renamed > 0)
    return ()


def _variables_or_attributes(path: str, attributes: bool) -> Iterable[str]:
    """Return the names of all variables of a file, or those of all attributes."""
    facts = lookup.read(path)
    if not attributes:
        return facts.variables
    return itertools.chain(facts.attributes, *map(lookup.attributes, facts.variables.values()))


AttributeRenamings = list[tuple[list[str] | None, dict[str, str | None]]]


def _renamings(words: Sequence[Any]) -> tuple[list[dict[str, str | None]], AttributeRenamings]:
    """Return `OLD: NEW` pairs of variables, and of attributes with the variables that have them."""
    first = words[0] if words else {}
    if isinstance(first, dict):
        if not all(isinstance(word, dict) for word in words):
            raise UsageError("expected only OLD: NEW before the files, or VAR first")
        return [_old_to_new(words)] if words else [], []
    groups = [words] if not isinstance(first, list) or not any(isinstance(item, dict) for item in first) else words
    found: AttributeRenamings = []
    for group in groups:
        if not isinstance(group, (list, tuple)) or not group:
            raise UsageError("expected { VAR OLD: NEW... } in each pair of braces")
        if len(group) < 2 or not all(isinstance(item, dict) for item in group[1:]):
            raise lacking(["OLD: NEW"], group)
        found.append((None if is_none(group[0]) else texts(group[0], "VAR"), _old_to_new(group[1:])))
    return [], found


def _old_to_new(words: Iterable[dict[str, Any]]) -> dict[str, str | None]:
    return {old: name_or_none(new, old) for word in words for old, new in word.items()}


def rename_dim(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    MissingError
        If none of the dimensions exists; if one does not, in strict mode.
    """
    request, words, source, target = _files(request, lambda path, _: lookup.sizes_in(path))
    if not words:
        raise lacking(["OLD: NEW"], [source, target])
    if not all(isinstance(word, dict) for word in words):
        raise UsageError("expected only OLD: NEW before the files")
    pairs = _old_to_new(words)
    if None in pairs.values():
        old = next(old for old, new in pairs.items() if new is None)
        raise ArgumentError(f"{old}: invalid type: expected a name, found none")
    with _changing(request, source, target) as (d, finder):
        names = ops.dims(d, full=True)
        finder.settle(changes=bool(finder.find(pairs, names, "dimension")))
        ops.rename_dim_m(d, finder.renaming(pairs, names, "dimension"))
    return ()


def remove(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written.
    MissingError
        If none of the variables or attributes exists; if one does not, in strict mode.
    """
    request, words, source, target = _files(request)
    if not words:
        raise lacking(["VAR"], [source, target])
    if len(words) > 2:
        raise UsageError(f"found {len(words)} arguments before INPUT, expected at most VAR ATTR: put several in braces")
    variables = None if is_none(words[0]) else texts(words[0], "VAR")
    attributes = None if len(words) < 2 or is_none(words[1]) else texts(words[1], "ATTR")
    if variables is None and attributes is None:
        raise ArgumentError("VAR: none is the dataset, of which only attributes can be removed")
    with _changing(request, source, target) as (d, finder):
        found: list[Any] = [None] if variables is None else finder.find(variables, ops.vars(d, full=True), "variable")
        removed = found
        if attributes is None:
            for name in dict.fromkeys(found):
                ops.rm(d, name)
        else:
            known, every = _attributes(d, found)
            removed = finder.find(attributes, every, "attribute")
            for name, names in known.items():
                for attribute in dict.fromkeys(removed):
                    if attribute in names:
                        ops.rm_attr(d, attribute, name)
        finder.settle(changes=bool(removed))
    return ()


class Setting(NamedTuple):
    """New values for a variable or for the dataset."""

    variable: str | None
    """A name or pattern; None is the dataset."""
    type: str | None
    dims: list[str] | None
    """None: unchanged."""
    data: Sequence[Any]
    """One item if data are given."""
    attributes: dict[str, Any]


def set_(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or cannot hold the data.
    MissingError
        If none of the variables exists or gets data; if one does not, in strict mode.
    """
    request, words, source, target = _files(request)
    settings = list(_settings(words))
    with _changing(request, source, target, may_be_new=True) as (d, finder):
        n_set = sum(_apply(d, setting, finder) for setting in settings)
        finder.settle(changes=n_set > 0)
    return ()


def _settings(words: Sequence[Any]) -> Iterator[Setting]:
    if words and not isinstance(words[0], (list, dict)):
        yield _setting(words)
        return
    for word in words:
        if isinstance(word, list):
            yield _setting(word)
        elif isinstance(word, dict):
            yield Setting(None, None, None, (), pst.value(word))
        else:
            raise UsageError(f"found {word} after braces or attributes: expected VAR first, or {{ VARIABLE... }}")


def _setting(words: Sequence[Any]) -> Setting:
    found = [word for word in words if not isinstance(word, dict)]
    if not found:
        raise lacking(["VAR"], words)
    if len(found) > 4:
        raise UsageError(
            f"found {len(found)} arguments for a variable, expected at most VAR TYPE DIMS DATA: put several values in "
            "braces"
        )
    attributes = {name: value for word in words if isinstance(word, dict) for name, value in pst.value(word).items()}
    variable = name_or_none(found[0], "VAR")
    if variable is None and len(found) > 1:
        raise ArgumentError("VAR: none is the dataset, which has neither type nor dimensions nor data")
    kind = name_or_none(found[1], "TYPE") if len(found) > 1 else None
    if kind is not None and kind not in TYPES:
        raise ArgumentError(f'variable "{variable}": invalid type {kind}: expected one of {" ".join(TYPES)}')
    names = None if len(found) < 3 or is_none(found[2]) else texts(found[2], "DIMS")
    return Setting(variable, kind, names, [_data(word) for word in found[3:]], attributes)


def _data(word: Any) -> Any:
    """Return data of an argument. If an array contains text, all values except `none` become text as typed."""
    data = pst.value(word)
    return _as_text(word) if isinstance(data, list) and _has_text(data) else data


def _has_text(data: Any) -> bool:
    return any(map(_has_text, data)) if isinstance(data, list) else isinstance(data, str)


def _as_text(word: Any) -> Any:
    if isinstance(word, list):
        return [_as_text(item) for item in word]
    return None if is_none(word) else str(word) if isinstance(word, str) else word


def _apply(d: dict[str, Any], setting: Setting, finder: Changer) -> int:
    """Apply a setting, and return the number of changed variables, where the dataset counts as one."""
    if setting.variable is None:
        _set_attributes(d, None, setting.attributes, finder)
        return 1
    every = ops.vars(d, full=True)
    found = finder.match(setting.variable, every) or ([setting.variable] if setting.data else [])
    if not found:
        finder.miss(not_found(setting.variable, every, "variable", finder.path))
    for name in found:
        for data in setting.data:
            ops.var(d, name, data)
        if setting.type is not None:
            ops.type(d, name, setting.type)
        if setting.dims is not None:
            ops.dims(d, name, setting.dims or None)
        _set_attributes(d, name, setting.attributes, finder)
    return len(found)


def _set_attributes(d: dict[str, Any], variable: str | None, values: dict[str, Any], finder: Changer) -> None:
    for pattern, value in values.items():
        for name in finder.match(pattern, list(ops.attrs(d, variable) or ())) or [pattern]:
            ops.attr(d, name, value, var=variable)


COMMANDS = {
    "rename": Command(
        usage=(
            "ds rename [OPTIONS] OLD: NEW... [--] INPUT OUTPUT",
            "ds rename [OPTIONS] VAR OLD: NEW... [--] INPUT OUTPUT",
            "ds rename [OPTIONS] { VAR OLD: NEW... }... [--] INPUT OUTPUT",
        ),
        about="Renames variables, and writes the dataset to another file. After VAR or in braces, it renames "
        "attributes. All names change at once, so that two can swap names. OUTPUT may be INPUT.",
        arguments=(
            ("VAR", "Variable whose attributes to rename: a name, a pattern, or { VAR... }. none is the dataset."),
            (
                "OLD: NEW",
                (
                    "The name, or a pattern that matches one, and the new name. none removes it. A dimension of the "
                    "same name is also renamed. Attributes that refer to the variable, such as coordinates and bounds, "
                    "are updated."
                ),
            ),
            ("INPUT", "The file to read."),
            ("OUTPUT", "The file to write."),
        ),
        options=WRITTEN,
        examples=(
            ("Rename two variables:", "ds rename temperature: t pressure: p data.ds output.ds"),
            ("Rename an attribute of a variable:", "ds rename temperature long_name: description data.ds output.ds"),
            ("Remove an attribute of the dataset:", "ds rename none title: none data.ds output.ds"),
        ),
        run=rename,
    ),
    "rename_dim": Command(
        usage=("ds rename_dim [OPTIONS] OLD: NEW... [--] INPUT OUTPUT",),
        about="Renames dimensions, and writes the dataset to another file. All names change at once, so that two can "
        "swap names. OUTPUT may be INPUT.",
        arguments=(
            ("OLD: NEW", "The name, or a pattern that matches one, and the new name."),
            ("INPUT", "The file to read."),
            ("OUTPUT", "The file to write."),
        ),
        options=WRITTEN,
        examples=(
            ("Rename a dimension:", "ds rename_dim time: t data.ds output.ds"),
            ("Swap two:", "ds rename_dim lat: lon lon: lat data.ds output.ds"),
        ),
        run=rename_dim,
    ),
    "rm": Command(
        usage=("ds rm [OPTIONS] VAR [--] INPUT OUTPUT", "ds rm [OPTIONS] VAR ATTR [--] INPUT OUTPUT"),
        about="Removes variables or attributes, and writes the dataset to another file. OUTPUT may be INPUT.",
        arguments=(
            ("VAR", "Name of a variable, a pattern of names, or { VAR... }. With ATTR, none is the dataset."),
            ("ATTR", "Name of an attribute to remove, a pattern of names, or { ATTR... }."),
            ("INPUT", "The file to read."),
            ("OUTPUT", "The file to write."),
        ),
        options=WRITTEN,
        examples=(
            ("Remove two variables:", "ds rm '{' temperature pressure '}' data.ds output.ds"),
            ("Remove an attribute of all variables:", "ds rm '*' long_name data.ds output.ds"),
            ("Remove an attribute of the dataset:", "ds rm none title data.ds output.ds"),
        ),
        run=remove,
    ),
    "set": Command(
        usage=(
            "ds [OPTIONS] set [ATTRS] [--] INPUT OUTPUT",
            "ds [OPTIONS] set VAR [TYPE [DIMS [DATA]]] [ATTRS] [--] INPUT OUTPUT",
            "ds [OPTIONS] set { VARIABLE... }... [ATTRS] [--] INPUT OUTPUT",
        ),
        about="Sets attributes of the dataset, one variable, or several variables in braces, and writes the dataset to "
        "another file. Attributes after VAR belong to the variable. Attributes outside braces belong to the dataset. "
        "OUTPUT may be INPUT.",
        arguments=(
            (
                "VAR",
                (
                    "Name of a variable, or a pattern that matches one or more. none is the dataset. "
                    "A missing variable is created if you give DATA."
                ),
            ),
            (
                "TYPE",
                (
                    f"{TYPE_NAMES}. Values are converted. A value that does not fit is an error. With none, the type "
                    "follows from the data."
                ),
            ),
            (
                "DIMS",
                "Name of the dimension, or { NAME... } of several. none keeps them, { } derives names from VAR.",
            ),
            (
                "DATA",
                (
                    "A value, or { VALUE... }, nested for more dimensions. none is a missing value in braces, and no "
                    "data otherwise."
                ),
            ),
            ("ATTRS", "NAME: VALUE pairs of attributes, or of patterns of their names."),
            ("VARIABLE...", "VAR [TYPE [DIMS [DATA]]] [ATTRS] as above."),
            ("INPUT", "The file to read. none starts with an empty dataset."),
            ("OUTPUT", "The file to write."),
        ),
        options=WRITTEN,
        examples=(
            ("Create a file:", "ds set x float32 time '{' 16. none 21. '}' units: K none new.ds"),
            ("Two variables:", "ds set '{' t none t '{' 1 2 '}' '}' '{' x none t '{' 5 6 '}' '}' none n.ds"),
            ("An attribute of the dataset:", "ds set title: 'New title' data.ds output.ds"),
            ("Attributes of a variable:", "ds set temperature units: K data.ds output.ds"),
            ("Another type:", "ds set temperature float32 data.ds output.ds"),
        ),
        run=set_,
    ),
}
