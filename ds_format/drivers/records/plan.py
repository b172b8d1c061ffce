"""Which variables of a dataset become records, along which axis, and what their keys are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...base.names import escape, unescape
from ...dataset import META, dims
from ...errors import UnsupportedError
from ..base import Metadata
from ..settings import HDF5, NETCDF, names, setting

Label = str | int
"""A dimension by its name, or the first one of variables whose dimensions have no names by its size."""


class RecordsPlan(NamedTuple):
    """How a dataset becomes records."""

    axes: dict[str, int]
    """Variables that become entries, by their keys in the dataset → the axis that becomes the records."""
    n: int
    """Records."""
    key: str | None
    """The variable whose values are the keys of the records; None: their numbers are."""


def plan_of(meta: Metadata, dim: str | None, key: str | None, own: str) -> RecordsPlan:
    """Return how a dataset becomes records.

    Parameters
    ----------
    meta : Metadata
        Each variable with `.size`.
    dim : str, optional
        The dimension. By default an unlimited one; else that which is the first one of most variables.
    key : str, optional
        Name of the variable whose values become keys. By default that one called as `own`, if there is one.
    own : str
        Name of the entry of a record that is its key.

    Raises
    ------
    UnsupportedError
        If no variable has such a dimension, or a variable cannot be the keys.
    """
    labels = {
        name: _labels(name, entry) for name, entry in meta.items() if name != META and entry.get(".size") is not None
    }
    label = _default(meta, labels) if dim is None else dim
    axes = {name: found.index(label) for name, found in labels.items() if label in found}
    if dim is not None and not axes:
        raise UnsupportedError(f'no variable has the dimension "{dim}"')
    sizes = {meta[name][".size"][axis]: name for name, axis in axes.items()}
    if len(sizes) > 1:
        (n, first), (other, second) = list(sizes.items())[:2]
        raise UnsupportedError(
            f'dimension "{label}" has size {other}, but {n} in variable "{unescape(first)}"', variable=unescape(second)
        )
    return RecordsPlan(axes, next(iter(sizes), 0), _key(meta, axes, key, own))


def _labels(key: str, entry: dict[str, Any]) -> Sequence[Label]:
    size = entry[".size"]
    found: list[Label] = list(dims(key, entry, len(size)))
    if entry.get(".dims") is None and size:
        found[0] = size[0]
    return found


def _default(meta: Metadata, labels: dict[str, Sequence[Label]]) -> Label | None:
    present = {label for found in labels.values() for label in found}
    unlimited: list[Label] = [*names(meta.get(META, {}).get(NETCDF), "unlimited")]
    for name, found in labels.items():
        limits = setting(meta[name].get(HDF5), "maxshape", list) or []
        unlimited += [label for label, n in zip(found, limits, strict=False) if n is None]
    for label in unlimited:
        if label in present:
            return label
    first = Counter(found[0] for found in labels.values() if found)
    return first.most_common(1)[0][0] if first else None


def _key(meta: Metadata, axes: dict[str, int], name: str | None, own: str) -> str | None:
    if name is None and own not in axes:
        return None
    key = own if name is None else escape(name)
    if own in axes and (key != own or meta[own].get(".type") != "unicode"):
        raise UnsupportedError(f'the entry "{own}" of a record is its key; expected text that is', variable=own)
    if key not in axes or len(meta[key][".size"]) != 1:
        raise UnsupportedError("expected a variable of one value for each record, to be its key", variable=name or own)
    return key
