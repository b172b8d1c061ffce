"""Files of references: JSON, or a folder of Parquet files that fsspec reads on demand.

Source: the reader of the latter, `LazyReferenceMapper` of fsspec. The folder has the metadata of all arrays in
`.zmetadata`, and for each array the files `NAME/refs.0.parq` and so on, with a row for each chunk, in C order.
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import drivers
from ..body import Address, path_text, suffix_of
from ..body.target import FolderTarget, naming, write_whole
from ..errors import UnsupportedError
from ..tables.arrow import parquet
from ..views.subset import Input, Path
from .arrays import VirtualArray
from .kerchunk import Urls, found_dataset, metadata_of, references

RECORD_SIZE = 10_000
"""Chunks in a file."""
METADATA = ".zmetadata"
SUFFIXES = (".json", ".parquet")
ENCODED = b"base64:"
"""The beginning of values that fsspec decodes."""


def virtualize(
    paths: Input | Iterable[Input],
    output: Path,
    dim: str | None = None,
    urls: Urls | None = None,
    *,
    variables: str | Iterable[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
) -> None:
    """Write Kerchunk references to ds and NetCDF files, atomically; see `references`.

    Parameters
    ----------
    paths, dim, urls, variables, storage_options, store
        As for `ds_format.references`.
    output : str, bytes or PathLike
        A JSON file, `.json`. Or a folder, `.parquet`, for references to so many chunks that they take long to load: it
        has Parquet files, of which readers load those that they need. It is written by pyarrow. An existing folder is
        only replaced if it has references.

    Raises
    ------
    UnsupportedError
        If `output` has another suffix, or the folder is not local; and as for `references`.
    OSError, DriverError, FormatError, MissingError
        As for `references`, or if the output cannot be written.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("x.ds", {"x": [1.0] * 1000})
    >>> virtualize("x.ds", "refs.json")
    """
    target, suffix = drivers.located(output), suffix_of(output)
    if suffix not in SUFFIXES:
        message = "found another suffix, expected .json for one file, or .parquet for a folder of references"
        raise UnsupportedError(message, path=path_text(output))
    if suffix == ".json":
        found = references(paths, dim, urls, variables=variables, storage_options=storage_options, store=store)
        write_whole(target, [json.dumps(found, allow_nan=False).encode()])
        return
    if isinstance(target, Address):
        raise UnsupportedError("a folder of references can only be written to a local path", path=target.name)
    name = path_text(target)
    folder = FolderTarget(name, replaces=_has_references if os.path.isdir(name) else None)
    dataset, addresses = found_dataset(paths, dim, urls, variables, storage_options, store)
    content = {"metadata": metadata_of(dataset), "record_size": RECORD_SIZE, "zarr_consolidated_format": 1}
    try:
        with naming(output):
            top = folder.create()
            for path, array in dataset.arrays():
                inner = os.path.join(top, *path.split("/"))
                os.makedirs(inner, exist_ok=True)
                for i, rows in _records(array, addresses):
                    _write(os.path.join(inner, f"refs.{i}.parq"), parquet(rows))
            _write(os.path.join(top, METADATA), json.dumps(content, allow_nan=False).encode())
            folder.commit()
    except BaseException:
        folder.abort()
        raise


def _has_references(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, METADATA))


def _write(path: str, data: Any) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _records(array: VirtualArray, addresses: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over the numbers and the columns of files. There is none for chunks of which none was written."""
    if array.files is None or array.offsets is None or array.sizes is None:
        if array.data or not array.shape:
            is_encoded = array.data.startswith(ENCODED)
            yield 0, {"raw": [ENCODED + base64.b64encode(array.data) if is_encoded else array.data]}
        return
    grid = [-(-n // step) for n, step in zip(array.shape, array.chunk, strict=True)]
    numbers = np.ravel_multi_index(tuple(array.positions), grid) if grid else np.zeros(len(array.files), np.int64)
    order = np.argsort(numbers, kind="stable")
    firsts = np.searchsorted(numbers[order], np.arange(0, math.prod(grid) + RECORD_SIZE, RECORD_SIZE))
    for i, (first, end) in enumerate(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)):
        if first == end:
            continue
        chosen = order[first:end]
        rows = numbers[chosen] - i * RECORD_SIZE
        n = min(RECORD_SIZE, math.prod(grid) - i * RECORD_SIZE)
        names = np.full(n, None, object)
        names[rows] = [addresses[file] for file in array.files[chosen].tolist()]
        columns = {"path": names}
        for name, values in (("offset", array.offsets), ("size", array.sizes)):
            columns[name] = np.zeros(n, np.int64)
            columns[name][rows] = values[chosen]
        yield i, columns
