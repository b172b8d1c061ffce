"""Hash the content of a dataset: the same for a file in any format, and for a dataset in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.progress import Advance, Progress
from ..base.text import hint, unescape
from ..comparison.content import digests_of, is_small, joined
from ..datasets import META
from ..errors import MissingError
from ..model.selection import Selection
from .differing import located_dataset, opened


def digest(
    d: Any,
    variables: str | Iterable[str] | None = None,
    *,
    unpack: bool | None = False,
    skip_unsupported: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> str:
    """Return the hash of the content of a dataset.

    It depends on names, dimensions, types, values, missing values and attributes. It does not depend on the format of
    the file, the order of variables and attributes, chunks, compression and byte order. So a file and its conversion
    have the same hash, unless the conversion warned of a loss. `docs/format.md` defines it.

    Values are read block by block, in bounded memory.

    Parameters
    ----------
    d : str, bytes, PathLike, file object, dict, xarray.Dataset, xarray.DataArray or xarray.DataTree
        A file of any format, by its path or address, a dataset, or an object of xarray, which is encoded as by
        `ds_format.from_xarray`.
    variables : str or iterable of str, optional
        Names of the only variables to hash, with the attributes of the dataset; all by default.
    unpack : bool or None
        Hash unpacked values of packed numbers, without the attributes of packing. None unpacks where `ds_format.read`
        does by default. False hashes the stored values.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising an error.
    progress : callable, optional
        Called with the number of hashed bytes and the total number, both of the data in memory.
    storage_options, store
        As for `ds_format.read`.

    Returns
    -------
    str
        64 hexadecimal digits: BLAKE2b of 32 bytes.

    Raises
    ------
    OSError, DriverError, FormatError
        If the file cannot be read.
    MissingError
        If one of the variables does not exist.
    UnsupportedError
        If the dataset has a type that ds does not have.

    Examples
    --------
    >>> import ds_format as ds
    >>> day = {"t": [280.0, 281.0], ".": {"t": {".dims": ["day"], "units": "K"}}}
    >>> ds.write("day.ds", day)
    >>> ds.write("day.json", day)
    >>> ds.digest("day.ds")
    '5b7c52e34d03894759a70f641d8153b11da3e3e4863a36acf1173df02ca4945f'
    >>> ds.digest("day.ds") == ds.digest("day.json") == ds.digest(day)
    True
    """
    options: dict[str, Any] = {"unpack": unpack, "skip_unsupported": skip_unsupported, "progress": progress}
    return of_dataset(digests(d, variables, **options, storage_options=storage_options, store=store))


def digests(
    d: Any,
    variables: str | Iterable[str] | None = None,
    *,
    unpack: bool | None = False,
    skip_unsupported: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> dict[str, str]:
    """Return the hash of the content of each variable.

    Parameters and errors are those of `ds_format.digest`.

    Returns
    -------
    dict
        Key of each variable → 64 hexadecimal digits, in the order of the file. Names are not part of it, so that a
        renamed variable keeps its hash. Under `"."` is the hash of the attributes of the dataset.

    Examples
    --------
    >>> import ds_format as ds
    >>> found = ds.digests({
    ...     "a": [1, 2],
    ...     "b": [1, 2],
    ...     "c": [1, 3],
    ...     ".": {"b": {".dims": ["a_1"]}, "c": {".dims": ["a_1"]}},
    ... })
    >>> sorted(found), found["a"] == found["b"], found["a"] == found["c"]
    (['.', 'a', 'b', 'c'], True, False)
    """
    names = [variables] if isinstance(variables, str) else None if variables is None else [*variables]
    with opened(located_dataset(d, storage_options, store), unpack, skip_unsupported) as subset:
        known = [unescape(key) for key in subset.meta if key != META]
        for name in names or ():
            if name not in known:
                raise MissingError(f'variable "{name}" not found{hint(name, known)}', path=subset.path)
        source = subset if names is None else subset.part(Selection(names))
        small = (key for key, entry in source.meta.items() if key != META and is_small(entry))
        source.announce(dict.fromkeys(small))
        return {key: one.hex() for key, one in digests_of(source, Advance(progress)).items()}


def of_dataset(found: Mapping[str, str]) -> str:
    """Return the hash of a dataset from those that `digests` returns."""
    return joined({key: bytes.fromhex(one) for key, one in found.items()}).hex()
