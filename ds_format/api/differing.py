"""What differs between two datasets: files of any formats, datasets in memory, objects of xarray."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base.text import escape, hint, unescape
from ..comparison.datasets import DiffOptions, MemorySource, differences
from ..comparison.records import Differences
from ..comparison.values import Rule
from ..dataset import META
from ..errors import MissingError
from ..model.selection import ALL, Selection, Selector
from ..views.subset import Subset, open_subset
from .writing import is_xarray

Progress = Callable[[int, int], None]
Choose = Callable[[list[str]], Iterable[str]]


def diff(
    a: Any,
    b: Any,
    variables: str | Iterable[str] | None = None,
    sel: Selector = None,
    range_: Selector = None,
    at: Selector = None,
    between: Selector = None,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    ignore: str | Iterable[str] = (),
    header: bool = True,
    values: bool = True,
    unpack: bool | None = True,
    skip_unsupported: bool = False,
    first: bool = False,
    progress: Progress | None = None,
) -> Differences:
    """Find out what differs between two datasets.

    Files are read block by block, and so may be larger than memory. NaN is the same as NaN, and 0.0 as -0.0; missing
    values are the same, whatever lies under the mask. The order of variables and attributes does not count, nor how a
    format stores them.

    Parameters
    ----------
    a, b : str, bytes, PathLike, dict, xarray.Dataset, xarray.DataArray or xarray.DataTree
        Files of any two formats, datasets, or objects of xarray, which are coded as `ds_format.from_xarray` says.
    variables : str or iterable of str, optional
        Names of the variables to compare, and nothing else; all by default. One that only one dataset has differs.
    sel, range_, at, between : dict, optional
        Which part of both is compared; as `ds_format.read`. Positions of differences are those in this part.
    rtol, atol : float
        Numbers are the same that differ by no more than `atol + rtol * abs(b)`, as for `numpy.isclose`.
    ignore : str or iterable of str
        Attributes to leave out, of variables and of the dataset: names, or patterns as `"*"`.
    header : bool
        Whether to compare dimensions, types and attributes.
    values : bool
        Whether to compare values.
    unpack : bool or None
        Whether packed integers are compared as what they stand for, and their attributes of packing left out. None:
        where that is the convention of the file, as for `ds_format.read`. False: as they are stored.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising.
    first : bool
        Whether to end with the first difference.
    progress : callable, optional
        Called with the bytes done and the bytes in all, both of the data of `a` in memory.

    Returns
    -------
    Differences
        A tuple of `Difference`: dimensions, attributes of the dataset, variables that only one has, then one variable
        after another. Empty, and so false, if the datasets are the same. It is shown as lines to be read.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError
        If neither dataset has one of the variables.
    UnsupportedError
        If a dataset holds what ds has no type for.
    ValueError
        If a tolerance is negative or NaN.

    Examples
    --------
    >>> from ds_format import read, write
    >>> meta = {"t": {".dims": ["day"], "units": "K"}, ".": {"history": "made"}}
    >>> write("one.ds", {"t": [280.0, 281.0, 282.0], ".": meta})
    >>> day = read("one.ds")
    >>> day["t"][1] += 0.25
    >>> day["."]["t"]["units"] = "kelvin"
    >>> diff("one.ds", day)
    attribute  t:units  A "K", B "kelvin"
    values     t        1 of 3 differ; first at [1]: A 281.0, B 281.25; by at most 0.25; relatively 0.000889
    2 differences (attribute 1, values 1), in 1 of 1 variable
    >>> diff("one.ds", day, atol=0.5, ignore="units")
    no differences
    """
    with opened(a, unpack, skip_unsupported) as left, opened(b, unpack, skip_unsupported) as right:
        names = None if variables is None else [variables] if isinstance(variables, str) else list(variables)
        return compare(
            left,
            right,
            None if names is None else lambda known: _known(names, known),
            Selection(None, sel, range_, at, between),
            DiffOptions(
                rule_of(rtol, atol),
                header,
                values,
                (ignore,) if isinstance(ignore, str) else tuple(ignore),
                first,
                is_one_file(a, b),
                progress,
            ),
        )


def rule_of(rtol: float, atol: float) -> Rule:
    """Return tolerances as a rule.

    Raises
    ------
    ValueError
        If one is negative or NaN.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise ValueError(f"{name}: found {value!r}, expected a number of 0 or more")
    return Rule(float(rtol), float(atol))


@contextlib.contextmanager
def opened(source: Any, unpack: bool | None, skip_unsupported: bool) -> Iterator[Subset]:
    """Open whatever can be compared; parameters and errors as `diff`."""
    if isinstance(source, (str, bytes, os.PathLike)):
        subset = open_subset(source, unpack=unpack, skip_unsupported=skip_unsupported)
        with subset, subset.telling_of_skipping():
            yield subset
        return
    if is_xarray(source):
        from ..xarray_.writing import from_xarray

        source = from_xarray(source)
    yield Subset(MemorySource(source), "a dataset in memory", ALL, unpack)


def compare(a: Subset, b: Subset, choose: Choose | None, selection: Selection, how: DiffOptions) -> Differences:
    """Compare what is open.

    Parameters
    ----------
    a, b : Subset
    choose : callable, optional
        Takes the names of all variables of both, and returns those that are wanted.
    selection : Selection
        Positions along dimensions.
    how : How
    """
    keys = {key for key in (*a.meta, *b.meta) if key != META}
    wanted = None if choose is None else set(map(escape, choose(sorted(map(unescape, keys)))))
    if selection.has_positions:
        a, b = a.part(selection), b.part(selection)
    found = differences(a, b, how, wanted)
    return Differences(itertools.islice(found, 1) if how.first else found, len(keys if wanted is None else wanted))


def _known(names: list[str], known: list[str]) -> list[str]:
    for name in names:
        if name not in known:
            raise MissingError(f'variable "{name}" not found in either dataset{hint(name, known)}')
    return names


def is_one_file(a: Any, b: Any) -> bool:
    """Whether both are the same file on disk: its header is read, but its values are the same."""
    if not all(isinstance(one, (str, bytes, os.PathLike)) for one in (a, b)):
        return False
    return os.path.isfile(a) and os.path.samefile(a, b)
