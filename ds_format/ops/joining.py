"""Several datasets → one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..codec.encode import describe
from ..dataset import META, Dataset, arrays_of, metadata_of
from ..merging import Input, assemble


def merge(
    dd: Sequence[Mapping[str, Any]],
    dim: str,
    new: str | None = None,
    variables: Sequence[str] | None = None,
    jd: bool = True,
) -> Dataset:
    """Merge datasets along a dimension.

    Variables that have the dimension are joined along it. If no dataset has it, variables are stacked along it as a new
    first dimension. What a dataset lacks is filled with missing values; types are promoted by the rules of NumPy; of
    attributes later datasets override former ones.

    Parameters
    ----------
    dd : sequence of dict
        Datasets.
    dim : str
        Name of the dimension.
    new : str, optional
        Name of a new dimension along which variables without `dim` are stacked. Without it they are taken from the
        first dataset that has them.
    variables : sequence of str, optional
        Names of the variables that are stacked along a new dimension; all by default. Others are taken from the first
        dataset that has them.
    jd : bool
        Whether variables of time whose units differ become Julian dates, see `ds_format.read`. Otherwise, and where all
        are of the calendar 360_day or all are of all_leap, they are counted in the units of the first.

    Returns
    -------
    Dataset
        Merged numbers are masked arrays with a mask of their shape, also if nothing is missing.

    Raises
    ------
    ValueError
        If an argument has a wrong type, or a variable has not the same dimensions, sizes and kind of values everywhere.

    Examples
    --------
    >>> d1 = {"time": [1, 2], "x": [16.0, 18.0], ".": {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}}}
    >>> d2 = {"time": [3], "x": [None], ".": {"time": {".dims": ["time"]}, "x": {".dims": ["time"]}}}
    >>> merged = merge([d1, d2], "time")
    >>> merged["time"].tolist()
    [1, 2, 3]
    >>> print(merged["x"])
    [16.0 18.0 --]
    """
    if not isinstance(dd, (list, tuple)) or not all(isinstance(d, dict) for d in dd):
        raise ValueError("dd: invalid type")
    for name, value in (("dim", dim), ("new", new)):
        if not (isinstance(value, str) or (name == "new" and value is None)):
            raise ValueError(f"{name}: invalid type")
    if not dd:
        return Dataset({META: {META: {}}})
    metas = [metadata_of(d) for d in dd]
    arrays = [arrays_of(d, meta) for d, meta in zip(dd, metas, strict=True)]
    inputs = [Input(describe(*pair)) for pair in zip(arrays, metas, strict=True)]
    reads = [lambda key, found=found: found[key][None] for found in arrays]
    return assemble(inputs, reads, dim, new, variables, jd, masks=True)
