"""`ds merge`: join files along a dimension."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import drivers, timeaxis
from ..base.text import escape, hint
from ..body import Location
from ..datasets import META, attrs
from ..errors import DsError, UnsupportedError
from ..kernels.files.names import exists
from ..many.merging import merge_files
from ..many.patterns import with_members
from ..model.merge_plan import size_along
from ..views.subset import Subset, open_subset
from . import lookup, pst
from .arguments import ArgumentError, Command, Option, Request, boolean, names
from .select_ import STORED, WRITTEN, reading, refuse_folder, writing


def run(request: Request) -> Iterable[Any]:
    """Write the file; there is nothing to print.

    Raises
    ------
    DsError, OSError
        If a file cannot be read or written, or the files are incompatible.
    """
    pattern, *words, output = request.names("DIM [INPUT]... OUTPUT")
    inputs = with_members(words)
    if not inputs and exists(output):
        raise ArgumentError(
            f"{output}: there are no inputs, and this existing file would be replaced by an empty dataset"
        )
    refuse_folder(output, "merged.ds")
    new = request.get("new")
    jd = request.get("jd", False)
    dim = _dimension(pattern, inputs, new, fixed=request.flag("F"))
    # A single input is copied, so OUTPUT cannot have been forgotten.
    if len(inputs) > 1 and not request.flag("overwrite") and exists(output):
        _check_output(dim, inputs, output)
    merge_files(
        dim,
        inputs,
        output,
        new=new,
        variables=request.get("variables"),
        jd=jd,
        stack=request.get("stack", ()),
        attributes=request.get("attributes", ()),
        progress=request.progress,
        **reading(request).selectors(),
        **writing(request, output),
    )
    return ()


def _dimension(pattern: str, inputs: Sequence[Location], new: str | None, *, fixed: bool) -> str:
    """Return the dimension that a pattern matches in the inputs, or the name of a new dimension.

    Raises
    ------
    ArgumentError
        If the pattern matches several dimensions, or the name of a new dimension is probably a mistake.
    MissingError
        If the pattern matches none.
    """
    known: set[str] = set()
    is_pattern = not fixed and any(char in pattern for char in "*?[")
    for path in inputs:
        known.update(lookup.sizes_in(path))
        if not is_pattern and pattern in known:
            return pattern
    if not is_pattern:
        if new != pattern:
            _check_new(pattern, known)
        return pattern
    matching = lookup.match(pattern, sorted(known))
    if not matching:
        raise lookup.not_found(pattern, sorted(known), "dimension")
    if len(matching) > 1:
        raise ArgumentError(f'more than one dimension is matching the pattern "{pattern}"')
    return matching[0]


def _check_new(dim: str, known: Iterable[str]) -> None:
    """Raise if a dimension that no input has is probably a file or a misspelt name."""
    if os.path.isfile(dim) or drivers.is_known(dim):
        raise ArgumentError(f'DIM is missing: expected the name of a dimension, found the file name "{dim}"')
    meant = hint(dim, sorted(known))
    if meant:
        raise ArgumentError(f'dimension "{dim}" not found{meant} To create it, add `new: {pst.encode([dim], False)}`')


def _check_output(dim: str, inputs: Sequence[Location], output: str) -> None:
    """Raise unless an existing output is one of the inputs, or looks like an earlier merge of them."""
    if os.path.isfile(output) and not os.path.getsize(output):
        return
    if any(exists(path) and os.path.samefile(path, output) for path in inputs):
        return
    sizes, n_coordinates = [], 0
    try:
        with open_subset(output, unpack=True) as found:
            n = _length(found, dim)
            has_coordinate = _is_coordinate(found, dim)
            for path in inputs:
                with open_subset(path, unpack=True) as given:
                    sizes.append(_length(given, dim))
                    n_coordinates += _is_coordinate(given, dim)
                    if has_coordinate and _is_coordinate(given, dim) and _have_common_value(given, found, escape(dim)):
                        return
    except (DsError, OSError) as error:
        reason = f"cannot be compared with the inputs ({error})"
    else:
        if has_coordinate or n_coordinates:
            reason = f'has no value of "{dim}" in common with the inputs'
        elif n <= max(sizes) and sum(size > 0 for size in sizes) > 1:
            reason = f'is not longer along "{dim}" than an input'
        else:
            return
    raise ArgumentError(
        f"{output}: the file exists, and {reason}: is OUTPUT missing? Add --overwrite to replace the file"
    )


def _is_coordinate(source: Subset, dim: str) -> bool:
    """Whether a file has values of the coordinate with the name of a dimension. It may be a scalar."""
    entry = source.meta.get(escape(dim), {})
    size = entry.get(".size")
    return dim != META and size is not None and len(size) <= 1


def _length(source: Subset, dim: str) -> int:
    """Return the size of a dimension in a file; 1 if the file lacks it and is stacked."""
    size = size_along(source.meta, dim)
    return 1 if size is None else size


TOLERANCE = 1e-12
"""Relative tolerance for equal times after a conversion of units."""


def _have_common_value(given: Subset, found: Subset, key: str) -> bool:
    """Whether a coordinate has a common value in two files. Times are compared in the same units."""
    left, right = (np.ma.asanyarray(source.read(key)).ravel().compressed() for source in (given, found))
    own, other = attrs(given.meta[key]), attrs(found.meta[key])
    if left.dtype.kind not in "OT" and right.dtype.kind in "OT" and timeaxis.is_time(own):  # written with `times: iso`
        try:
            right = np.array([timeaxis.from_iso(text, own["units"], own.get("calendar")) for text in right.tolist()])
        except (TypeError, ValueError):
            return False
        other = own
    if left.dtype.kind in "OT" or right.dtype.kind in "OT":
        return not set(left.tolist()).isdisjoint(right.tolist())
    if any(own.get(name) != other.get(name) for name in ("units", "calendar")) and timeaxis.is_time(own):
        try:
            left = timeaxis.convert(left, own["units"], own.get("calendar"), other["units"], other.get("calendar"))
        except (KeyError, UnsupportedError):
            return False
    left, right = (values[np.isfinite(values)].astype(np.float64) for values in (left, np.sort(right)))
    tolerance = TOLERANCE * np.maximum(1, abs(left))
    first, end = np.searchsorted(right, left - tolerance), np.searchsorted(right, left + tolerance, "right")
    return bool((first < end).any())


COMMANDS = {
    "merge": Command(
        usage=("ds merge [OPTIONS] DIM [--] [INPUT]... OUTPUT",),
        about="Joins variables along DIM in the order of the files. Variables without DIM are taken from the first "
        "file that has them, with a warning if they differ. If no variable has DIM, all variables are stacked along it "
        "as a new first dimension. If DIM is a scalar coordinate, coordinates that are equal in all files are kept "
        "once. Values of variables that a file lacks become missing. Attributes are taken from the last file that has "
        "them, with a warning if those of the dataset differ. Files may be larger than memory.",
        arguments=(
            ("DIM", "Name of a dimension, or a pattern that matches one."),
            ("INPUT", "The files to read."),
            (
                "OUTPUT",
                "The file to write. Without --overwrite, only an earlier result is replaced.",
            ),
        ),
        options=(
            Option(
                "attributes",
                "Make these attributes of the dataset variables along DIM, so that the values of all files are kept: a "
                "name or { NAME... }.",
                "ATTRS",
                names,
            ),
            Option(
                "jd",
                "Convert times with different units to Julian dates instead of the units of the first file.",
                "true | false",
                boolean,
            ),
            *WRITTEN,
            *STORED,
            Option(
                "new",
                "Stack variables without DIM along this new first dimension. Repeat DIM here to create it although an "
                "input has a dimension with a similar name.",
                "NAME",
            ),
            Option(
                "overwrite",
                "Replace OUTPUT even if it does not look like an earlier result: it has no value of the coordinate DIM "
                "in common with an input or, without such a coordinate, is not longer than an input along DIM.",
            ),
            Option(
                "stack",
                "Repeat these variables without DIM along it, so that the values of all files are kept: a name or "
                "{ NAME... }.",
                "VARS",
                names,
            ),
            Option("variables", "Stack only these along a new dimension: a name or { NAME... }.", "VARS", names),
        ),
        examples=(
            ("Join files in time:", "ds merge time january.ds february.ds winter.ds"),
            ("Stack model runs:", "ds merge run run1.ds run2.ds runs.ds"),
            ("Keep latitudes that differ between files:", "ds merge time january.ds february.ds winter.ds stack: lat"),
            ("Keep the title of each file:", "ds merge time january.ds february.ds winter.ds attributes: title"),
            ("Stack also the variables without time:", "ds merge time january.ds february.ds winter.ds new: month"),
        ),
        run=run,
    ),
}
