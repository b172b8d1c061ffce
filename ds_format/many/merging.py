"""Merging many files into one along a dimension, block by block, in bounded memory."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import reprlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import drivers
from ..api.conversion import counted
from ..api.creation import created
from ..base import modes
from ..base.progress import Progress
from ..base.text import escape, keys_of, on_one_line, unescape
from ..body import Location, path_text
from ..body.body import Body
from ..body.locating import arriving
from ..codec.encode import describe
from ..datasets import META, as_array, dims
from ..drivers.base import BLOCK_SIZE, Metadata, Sink, block_slices, check_faults
from ..errors import DsError, UnsupportedError
from ..model.constants import Constants, Value, equal_rows
from ..model.conventions import BOUNDS, coordinates, named
from ..model.dataset_attributes import AttributeComparison, as_variables
from ..model.merge_plan import (
    DECIDING,
    MergeInput,
    MergePart,
    MergePlan,
    Way,
    converted,
    lengths_along,
    plan_merge,
    size_along,
)
from ..model.merged_arrays import blank
from ..model.packing import is_packed
from ..model.selection import Selection, Selector
from ..views.subset import Input, Path, Subset, item_size, memory_size, open_subset
from .pieces import OpenFiles

if TYPE_CHECKING:
    from ..api.options import MergeOptions, Writable


def merge_files(
    dim: str,
    inputs: Iterable[Input],
    output: Path | Writable,
    *,
    new: str | None = None,
    variables: Sequence[str] | None = None,
    jd: bool | None = None,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    sel: Selector = None,
    range_: Selector = None,
    at: Selector = None,
    between: Selector = None,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **options: Unpack[MergeOptions],
) -> None:
    """Merge files along a dimension into one file, as `ds_format.merge` does with datasets.

    Data are processed in blocks, so that files may be larger than memory. Numbers of ds files that are joined along
    their first dimension are copied from file to file without decoding. The output is written atomically.

    Parameters
    ----------
    dim : str
        Name of the dimension.
    inputs : iterable of str, bytes, PathLike or file object
        Files of any supported formats: paths or addresses.
    output : str, bytes, PathLike or file object
        The output, a path or an address. May be one of the inputs.
    new, variables
        As `ds_format.merge`.
    jd : bool, optional
        Whether times with different units become Julian dates. By default they do only if their calendars differ;
        otherwise they get the units of the first file. False: always those of the first file.
    stack : str or iterable of str
        Names of variables without `dim` that get it: values of each file are repeated along it. By default they are
        taken from the first file, with a `DsWarning` if they differ.
    attributes
        As `ds_format.read_many`.
    sel, range_, at, between : dict, optional
        As `ds_format.read`, for each input.
    progress : callable, optional
        Called with the number of bytes of data in memory that are processed, and their total.
    storage_options : dict, optional
        Options for addresses, as for `ds_format.read` and `ds_format.write`.
    store : object, optional
        The store that has the inputs, as for `ds_format.read`.
    **options
        Options of the format of the output. With `time_units` or `calendar`, all times are converted to these.

    Raises
    ------
    TypeError
        If `dim` is not text, or `inputs` is a single path.
    OSError, DriverError, FormatError, IndexError
        As `ds_format.read`.
    UnsupportedError
        If the files cannot be merged, or the format of the output does not support a variable. In strict mode also if
        variables that are taken from the first file, or attributes of the dataset, differ.

    Examples
    --------
    >>> from ds_format import read, write
    >>> write("a.ds", {"t": [1, 2], ".": {"t": {".dims": ["t"]}}})
    >>> write("b.ds", {"t": [3], ".": {"t": {".dims": ["t"]}}})
    >>> merge_files("t", ["a.ds", "b.ds"], "both.ds")
    >>> read("both.ds")["t"]
    array([1, 2, 3])
    """
    _check_order(dim, inputs)
    decodes = not drivers.TIMES.isdisjoint(options)
    selection = Selection(None, sel, range_, at, between, decodes)
    paths, target = drivers.located_each(inputs, storage_options, store), drivers.located(output, storage_options)
    given: dict[str, Any] = {"new": new, "variables": variables, "jd": jd, "stack": stack, "attributes": attributes}
    merge_parts(dim, paths, target, lambda path: open_subset(path, selection), progress=progress, **given, **options)


def merge_parts(
    dim: str,
    paths: Sequence[Location],
    target: Path,
    open_one: Callable[[Location], Subset],
    *,
    progress: Progress | None = None,
    new: str | None = None,
    variables: Sequence[str] | None = None,
    jd: bool | None = None,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    appends: bool = False,
    **options: Any,
) -> None:
    """Merge a part of each file into one file; see `merge_files`.

    Parameters
    ----------
    paths : sequence of str or Address
        The files, whose names are in messages.
    target : str or Address
    open_one : callable
        Opens the part of a file.
    appends : bool
        Whether `stack` and `attributes` are no options, which messages then do not mention.
    dim, progress, new, variables, jd, stack, attributes, **options
        As `merge_files`.
    """
    asked = new, variables, jd, stack, attributes, appends
    with planned(dim, paths, open_one, *asked) as (files, plans, meta, arrays, _):
        _warn_of_packing(files.metas, plans, meta, target)
        with created(target, meta, **options) as sink:
            _write(files, plans, meta, sink, progress)
            for key, array in arrays.items():
                sink.write(key, [array])


class Planned(NamedTuple):
    """A merge of open files before it is written."""

    files: _Files
    plans: Sequence[MergePlan]
    meta: dict[str, dict[str, Any]]
    """Metadata of the merged dataset."""
    arrays: Mapping[str, Any]
    """Attributes of the dataset that become variables."""
    constants: Constants
    """Which variables without the dimension differ."""


@contextlib.contextmanager
def planned(
    dim: str,
    paths: Sequence[Location],
    open_one: Callable[[Location], Subset],
    new: str | None = None,
    variables: Sequence[str] | None = None,
    jd: bool | None = None,
    stack: str | Iterable[str] = (),
    attributes: str | Iterable[str] = (),
    appends: bool = False,
) -> Iterator[Planned]:
    """Open files, plan their merge, and report what differs between them; parameters and errors as `merge_parts`."""
    empty: dict[str, UnsupportedError] = {}

    def opening(path: Location) -> Subset:
        with modes.collecting_empty() as found:
            subset = open_one(path)
        empty.update(found)
        return subset

    with OpenFiles(opening) as opened:
        files = _Files(paths, opened)
        # Some inputs may have no positions along DIM, such as files of other months; not all.
        is_empty = not any(size_along(part_meta, dim) for part_meta in files.metas)
        for other, error in empty.items():
            if other != dim or is_empty:
                modes.report_empty(other, error)
        repeated = [unescape(key) for key in keys_of(stack)]
        if variables is None and not repeated and new in (None, dim):
            variables = _stacked(files, dim)
        given = files.inputs()
        plans, meta = plan_merge(given, dim, new, variables, jd, repeated)
        constants = Constants(plans, given, dim)
        _compare(files, plans, constants)
        constants.report(can_stack=not appends)
        asked = keys_of(attributes)
        each = [one.meta[META] for one in given]
        comparison = AttributeComparison(dim, asked)
        for path, one in zip(paths, each, strict=True):
            comparison.add(path_text(path), one)
        comparison.report("last", can_keep=not appends)
        arrays = as_variables(asked, each, lengths_along(given, dim), dim, meta)
        meta.update(describe(arrays, meta))
        yield Planned(files, plans, meta, arrays, constants)


def _check_order(dim: Any, inputs: Any) -> None:
    """Raise if the arguments may be in the order of `ds_format.open_many`."""
    if not isinstance(dim, str) or drivers.is_one_file(inputs):
        raise TypeError(
            f"merge_files(dim, inputs, output): found {reprlib.repr(dim)} as dim, expected the name of a dimension, "
            f"and {reprlib.repr(inputs)} as inputs, expected a list of files"
        )


def _compare(files: _Files, plans: Sequence[MergePlan], constants: Constants) -> None:
    """Compare variables that are taken from the first file with those of others, those of many bytes in blocks."""
    counts = Counter(itertools.chain(*constants.keys))
    part: dict[str, tuple[slice, ...]] = {}
    size = 0
    for plan in plans:
        if counts[plan.key] < 2:
            continue
        width, shape = item_size({".type": plan.type}), plan.shape or ()
        blocks = [tuple(slice(0, n) for n in shape)] if 0 in shape else block_slices(shape, width, BLOCK_SIZE)
        for block in blocks:
            n = width * math.prod(item.stop - item.start for item in block)
            if plan.key in part or size + n > BLOCK_SIZE:
                _compare_part(files, part, constants)
                part, size = {}, 0
            part[plan.key] = block
            size += n
    _compare_part(files, part, constants)


def _compare_part(files: _Files, part: Mapping[str, tuple[slice, ...]], constants: Constants) -> None:
    """Compare a block of each of some variables, in one pass over the files."""
    first: dict[str, Any] = {}
    for i, keys in enumerate(constants.keys):
        for key in keys:
            if key not in part or (i > 0 and constants.is_different(key)):
                continue
            entry, block = files.metas[i][key], part[key]
            array = None  # it is not needed if sizes differ
            if list(entry[".size"]) == first.setdefault(key, list(entry[".size"])):
                array = as_array(files[i].read(key, tuple([range(item.start, item.stop) for item in block])))[None]
            constants.add(key, Value(path_text(files.paths[i]), entry, array), [item.start for item in block])
    constants.forget()


class _Files:
    """The inputs, by index."""

    def __init__(self, paths: Sequence[Location], files: OpenFiles):
        self.paths = paths
        self._files = files
        self.metas = []
        self.copied: list[set[str]] = []
        """For each file, the keys of variables whose bytes can be copied unchanged."""
        for path in arriving(paths):
            subset = files[path]
            check_faults(subset.faults, subset.meta)
            self.metas.append(subset.meta)
            self.copied.append({key for key in subset.meta if key != META and _is_stored(subset, key)})

    def inputs(self) -> list[MergeInput]:
        """Return the inputs of the merge plan."""
        return [MergeInput(meta, name=path_text(path)) for meta, path in zip(self.metas, self.paths, strict=True)]

    def __getitem__(self, i: int) -> Subset:
        return self._files[self.paths[i]]


def _stacked(files: _Files, dim: str) -> list[str] | None:
    """Return the names of the variables to stack, if the files have a scalar coordinate named like the dimension.

    Other coordinates that are equal in all files are kept once. Otherwise return None: all variables are stacked.
    """
    metas = files.metas
    is_scalar = any(meta.get(escape(dim), {}).get(".size") == [] for meta in metas)
    if not is_scalar or any(size_along(meta, dim) is not None for meta in metas):
        return None
    first = {key: entry for key, entry in metas[0].items() if key != META}
    own = {key: dims(key, entry, len(entry.get(".size") or ())) for key, entry in first.items()}
    found = coordinates(metas[0], own)
    found.update(key for other in [*found] for key in named(other, first[other], BOUNDS) if key in own)
    once = {key for key in found if key != escape(dim) and _is_equal_in_all(files, key)}
    return [unescape(key) for key in dict.fromkeys(itertools.chain(*metas)) if key != META and key not in once]


def _is_equal_in_all(files: _Files, key: str) -> bool:
    entries = [meta.get(key) for meta in files.metas]
    first = entries[0] or {}
    if first.get(".size") is None:
        return False
    for entry in entries[1:]:
        if entry is None or any(str(entry.get(name)) != str(first.get(name)) for name in DECIDING):
            return False
    expected = as_array(files[0].read(key))[None]
    return all(equal_rows(as_array(files[i].read(key))[None], expected).all() for i in range(1, len(entries)))


def _warn_of_packing(metas: Sequence[Metadata], plans: Sequence[MergePlan], meta: Metadata, output: Path) -> None:
    """Warn of variables that are packed in inputs, but written as floats because their packing differs."""
    for plan in plans:
        parts = [metas[part.input][plan.key] for part in plan.parts]
        if any(is_packed(entry, entry.get(".type")) for entry in parts) and not is_packed(meta[plan.key], plan.type):
            told = f'variable "{unescape(plan.key)}": packed differently in the inputs: written as {plan.type}'
            warnings.warn(on_one_line(f"{path_text(output)}: {told}"), stacklevel=3)


def _is_stored(subset: Subset, key: str) -> bool:
    try:
        return subset.stored(key) is not None
    except DsError:  # reading it raises the error
        return False


def _write(
    files: _Files, plans: Sequence[MergePlan], meta: dict[str, dict[str, Any]], sink: Sink, progress: Progress | None
) -> None:
    with_data = [plan for plan in plans if plan.shape is not None]
    total = sum(memory_size(meta[plan.key]) for plan in with_data)
    done = 0
    for plan in with_data:
        start = done

        def report(n: int, start: int = start, size: int = item_size(meta[plan.key])) -> None:
            if progress is not None:
                progress(start + n * size, total)

        if hasattr(sink, "copy") and _is_copy(files, plan):
            sink.copy(plan.key, plan.type, _stored(files, plan, report))
        else:
            sink.write(plan.key, counted(blocks(files, plan), report))
        done += memory_size(meta[plan.key])


def _is_copy(files: _Files, plan: MergePlan) -> bool:
    """Return whether the bytes of the merged variable are those of its parts, one after another."""
    if plan.missing or plan.axis or plan.way is Way.REPEAT or any(part.convert is not None for part in plan.parts):
        return False
    if any(files.metas[part.input][plan.key].get(".type") != plan.type for part in plan.parts):
        return False
    return all(plan.key in files.copied[part.input] for part in plan.parts)


def _stored(files: _Files, plan: MergePlan, report: Any) -> Iterator[Body]:
    size = 0
    for part in plan.parts:
        file = files[part.input]
        stored = file.stored(plan.key)
        if stored is not None:
            section = file.section(stored)
            yield section
            section.watch.check()
            size += section.size
            report(size // item_size({".type": plan.type}))


def blocks(files: Any, plan: MergePlan) -> Iterator[Any]:
    """Iterate over a merged variable as consecutive blocks.

    Parameters
    ----------
    files : sequence of Source
    plan : MergePlan
        Plan of a variable with data.
    """
    shape = plan.shape or ()
    if plan.way is Way.FIRST:
        yield from files[plan.parts[0].input].blocks(plan.key)
        return
    starts = [part.start for part in plan.parts]
    for block in block_slices(shape, item_size({".type": plan.type}), BLOCK_SIZE):
        along = block[plan.axis]
        out = blank([item.stop - item.start for item in block], plan.type)
        flags = np.ones(out.shape, np.bool_)
        first = max(bisect.bisect_right(starts, along.start) - 1, 0)
        for part in plan.parts[first:]:
            if part.start >= along.stop:
                break
            _put(files[part.input], plan, part, block, out, flags)
        yield np.ma.MaskedArray(out, flags, copy=False) if flags.any() else out


def _put(source: Any, plan: MergePlan, part: MergePart, block: tuple[slice, ...], out: Any, flags: Any) -> None:
    """Write the values of a part into a block of the merged variable."""
    along = block[plan.axis]
    begin, end = max(along.start, part.start), min(along.stop, part.start + part.n)
    if begin >= end:
        return
    items = [range(item.start, item.stop) for item in block]
    items[plan.axis] = range(begin - part.start, end - part.start)
    if plan.way is not Way.JOIN:
        del items[plan.axis]
    data = as_array(source.read(plan.key, tuple(items)))
    if plan.way is not Way.JOIN:
        data = data[None]  # which is assigned to all positions
    data = converted(plan, part, data)
    at = (*(slice(None),) * plan.axis, slice(begin - along.start, end - along.start))
    out[at] = np.ma.getdata(data)
    flags[at] = np.ma.getmaskarray(data)
