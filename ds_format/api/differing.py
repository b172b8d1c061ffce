"""Compare two datasets: files of any formats, datasets in memory, objects of xarray."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import drivers
from ..base.text import escape, hint, unescape
from ..body import Address
from ..comparison.datasets import DiffOptions, MemorySource, differences
from ..comparison.records import Differences
from ..comparison.values import Rule
from ..datasets import META
from ..errors import MissingError, UnsupportedError
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
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> Differences:
    """Compare two datasets.

    Files are read block by block, so they can be larger than memory. NaN equals NaN, 0.0 equals -0.0, and missing
    values are equal, whatever is under the mask. The order of variables and attributes is ignored, and so is the way in
    which a format stores them.

    Parameters
    ----------
    a, b : str, bytes, PathLike, file object, dict, xarray.Dataset, xarray.DataArray or xarray.DataTree
        Files of any two formats, datasets, or objects of xarray, which are encoded as by `ds_format.from_xarray`.
        Files are given by their paths or addresses.
    variables : str or iterable of str, optional
        Names of the only variables to compare; all by default. A variable that only one dataset has is a difference.
    sel, range_, at, between : dict, optional
        The part of both datasets to compare, as `ds_format.read`. Positions of differences are positions in this part.
    rtol, atol : float
        Numbers are equal if they differ by at most `atol + rtol * abs(b)`, as for `numpy.isclose`.
    ignore : str or iterable of str
        Attributes of variables and of the dataset to ignore: names, or patterns such as `"*"`.
    header : bool
        Compare dimensions, types and attributes.
    values : bool
        Compare values.
    unpack : bool or None
        Compare unpacked values of packed numbers, and ignore the attributes of packing. None unpacks where
        `ds_format.read` does by default. False compares the stored values.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising an error.
    first : bool
        Stop at the first difference.
    progress : callable, optional
        Called with the number of compared bytes and the total number, both of the data of `a` in memory.
    storage_options, store
        For both files, as for `ds_format.read`.

    Returns
    -------
    Differences
        A tuple of `Difference`: dimensions, attributes of the dataset, variables that only one dataset has, then
        variable by variable. It is empty, and therefore false, if the datasets are equal. It prints one line for
        each difference.

    Raises
    ------
    OSError, DriverError, FormatError
        If a file cannot be read.
    MissingError
        If neither dataset has one of the variables.
    UnsupportedError
        If a dataset has a type that ds does not have.
    ValueError
        If a tolerance is negative or NaN.

    Examples
    --------
    >>> import ds_format as ds
    >>> meta = {"t": {".dims": ["day"], "units": "K"}, ".": {"history": "made"}}
    >>> ds.write("one.ds", {"t": [280.0, 281.0, 282.0], ".": meta})
    >>> day = ds.read("one.ds")
    >>> day["t"][1] += 0.25
    >>> day["."]["t"]["units"] = "kelvin"
    >>> ds.diff("one.ds", day)
    attribute  t:units  A "K", B "kelvin"
    values     t        1 of 3 differ; first at [1]: A 281.0, B 281.25; by at most 0.25; relatively 0.000889
    2 differences (attribute 1, values 1), in 1 of 1 variable
    >>> ds.diff("one.ds", day, atol=0.5, ignore="units")
    no differences
    """
    a, b = (located_dataset(one, storage_options, store) for one in (a, b))
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


def located_dataset(one: Any, storage_options: Mapping[str, Any] | None, store: Any) -> Any:
    """Return a dataset or an object of xarray as it is, and a file as `drivers.located` does.

    Raises
    ------
    UnsupportedError
        If it is none of these.
    """
    if _is_dataset(one):
        return one
    try:
        return drivers.located(one, storage_options, store)
    except TypeError as error:
        raise UnsupportedError(f"a dataset must be a dict or a file: {error}") from None


def rule_of(rtol: float, atol: float) -> Rule:
    """Return a rule with these tolerances.

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
    """Open a file, a dataset or an object of xarray. Parameters and errors are those of `diff`."""
    if not _is_dataset(source):
        subset = open_subset(source, unpack=unpack, skip_unsupported=skip_unsupported)
        with subset, subset.telling_of_skipping():
            yield subset
        return
    if is_xarray(source):
        from ..xarray_.writing import from_xarray

        source = from_xarray(source)
    yield Subset(MemorySource(source), "a dataset in memory", ALL, unpack)


def _is_dataset(source: Any) -> bool:
    return isinstance(source, Mapping) or is_xarray(source)


def compare(a: Subset, b: Subset, choose: Choose | None, selection: Selection, how: DiffOptions) -> Differences:
    """Compare two open datasets.

    Parameters
    ----------
    a, b : Subset
    choose : callable, optional
        Called with the names of all variables of both; returns those to compare.
    selection : Selection
        Positions along dimensions.
    how : DiffOptions
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
    """Whether both are the same file on disk. Its header is still read, but its values need no comparison."""
    if not all(isinstance(one, (str, bytes, os.PathLike)) and not isinstance(one, Address) for one in (a, b)):
        return False
    return os.path.isfile(a) and os.path.samefile(a, b)
