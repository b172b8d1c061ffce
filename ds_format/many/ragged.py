"""Files of stations → one file: rows one after another, and a variable that counts those of each station.

This is the contiguous ragged array of the CF conventions 1.11, section 9.3.3.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..api.writing import write
from ..base.text import escape, unescape
from ..body import Location, path_text
from ..datasets import META, Dataset, as_array
from ..drivers.base import Metadata
from ..errors import DsError, UnsupportedError
from ..model.conventions import SAMPLE_DIMENSION
from ..model.dataset_attributes import as_variables
from ..ops.renaming import rename_dim
from ..ops.variables import names_by_key
from ..tables.rows import rows_of, shapes_in
from ..views.subset import Input, Path, open_subset
from .patterns import found_files
from .pieces import fail, merge_pieces, no_collection, open_sources, read_pieces, sizes_along
from .reading import contents

if TYPE_CHECKING:
    from ..api.options import MergeOptions, Writable

ROW_SIZE = "row_size"
ROLE = "cf_role"
IDENTITY = "timeseries_id"
"""The value of `cf_role` of the variable that identifies stations."""


def merge_ragged(
    inputs: Input | Iterable[Input],
    output: Path | Writable,
    dim: str = "obs",
    *,
    station: str = "station",
    along: str | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    **options: Unpack[MergeOptions],
) -> int:
    """Merge the files of many stations into one, which keeps each station: a ragged array of the CF conventions.

    Rows of the stations follow each other along one dimension. The variable `row_size` has their number for each
    station. Scalars, and attributes of the dataset that differ, become variables along the dimension of the stations.
    `ds_format.read(output, at={"station": "st001"})` returns the rows of one station.

    The merged data are in memory before they are written.

    Parameters
    ----------
    inputs : path, pattern or iterable
        Files of any supported formats, one for each station; as for `ds_format.open_many`.
    output : str, bytes, PathLike or file object
    dim : str
        Name of the dimension of all rows.
    station : str
        Name of the dimension of the stations, and of the variable that identifies them: a scalar or an attribute of
        this name if its values differ between all files, otherwise the names of the files without their suffix.
    along : str, optional
        Dimension of the rows in the files. By default it is that of all variables of the first file with dimensions.
    threads, storage_options, store
        As for `ds_format.read_many`.
    **options
        As for `ds_format.write`.

    Returns
    -------
    int
        The number of stations.

    Raises
    ------
    OSError, DriverError, FormatError
        As for `ds_format.read`, for the first file that cannot be read.
    UnsupportedError
        If the files cannot be merged; or two have the same identity; or the name of a dimension, of `row_size`, or of
        an attribute that becomes a variable is that of a variable already.

    Examples
    --------
    >>> import ds_format as ds
    >>> for name, rain in {"st001": [0.5, 1.0], "st002": [2.0]}.items():
    ...     ds.write(f"{name}.ds", {"rain": rain, "latitude": 54.0, ".": {"rain": {".dims": ["time"]}}})
    >>> ds.merge_ragged(["st001.ds", "st002.ds"], "reports.ds")
    2
    >>> ds.read("reports.ds")["row_size"], ds.read("reports.ds", at={"station": "st001"})["rain"]
    (array([2, 1]), array([0.5, 1. ]))
    """
    files = found_files(inputs, storage_options, store)
    with open_subset(files[0]) as first:
        meta, path = first.meta, first.path
    shapes = shapes_in(meta)
    try:
        columns = {key: row for key, row in shapes.items() if len(row[0]) == 1}
        rows = next(iter(rows_of(columns, along, explode=False).sizes))
    except DsError as error:
        raise error.at(path=path)
    with no_collection():
        merged, sizes, each = _joined(files, rows, station, threads, *_single(meta))
    if dim != rows and any(dim in names for names in names_by_key(merged).values()):
        raise UnsupportedError(f'there is a dimension "{dim}" already; choose another name by `dim`', path=path)
    rename_dim(merged, rows, dim)
    _add_attributes(merged, each, station)
    if ROW_SIZE in merged:
        raise UnsupportedError("there is a variable of this name already", path=path, variable=ROW_SIZE)
    merged[ROW_SIZE] = np.array(sizes, np.int64)
    merged[META][ROW_SIZE] = {".dims": [station], "long_name": "number of rows", SAMPLE_DIMENSION: dim}
    _identify(merged, station, files)
    write(output, merged, storage_options=storage_options, **options)
    return len(files)


def _joined(
    files: Sequence[Location],
    rows: str,
    station: str,
    threads: int | None,
    attributes: Collection[str],
    scalars: Collection[str],
) -> tuple[Dataset, list[int], list[Mapping[str, Any]]]:
    """Return the merged files, the number of rows of each, and the attributes of each.

    Files are read again if they have attributes or scalars that are not known yet.
    """
    with open_sources() as opened:
        found = contents(files, threads)
        pieces = list(read_pieces(found, fail, opened, None, rows, attributes, stack=scalars))
        each_single = zip(*(_single(piece.meta) for piece in pieces), strict=True)
        known = [dict.fromkeys(chain.from_iterable(keys)) for keys in each_single]
        if known[0].keys() <= {*attributes} and known[1].keys() <= {*scalars}:
            merged = merge_pieces(pieces, rows, station, [*map(unescape, scalars)], jd=None)
            each = [one for piece in pieces for one in piece.dataset_attributes]
            return merged, sizes_along(pieces, rows), each
    return _joined(files, rows, station, threads, *known)


def _single(meta: Metadata) -> tuple[list[str], list[str]]:
    """Return the keys of the attributes of a dataset, and of its scalars."""
    attributes = [key for key in meta[META] if key[:1] != "."]
    return attributes, [key for key, entry in meta.items() if key != META and entry.get(".size") == []]


def _add_attributes(merged: Dataset, each: Sequence[Mapping[str, Any]], station: str) -> None:
    """Add those attributes of the files that differ as variables; a variable of the same name stays what it is."""
    meta = merged[META]
    known = dict.fromkeys(key for one in each for key in one if key[:1] != ".")
    differing = [key for key in known if len({_text(one.get(key)) for one in each}) > 1]
    names = {key: f"{key}_of_file" if key in meta else key for key in differing}
    for key in differing:
        del meta[META][key]
    renamed = [{names[key]: value for key, value in one.items() if key in names} for one in each]
    merged.update(as_variables([*names.values()], renamed, [1] * len(each), station, meta))


def _text(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def _identify(merged: Dataset, station: str, files: Sequence[Location]) -> None:
    """Make sure that a variable with the name of the dimension identifies each station."""
    key, meta = escape(station), merged[META]
    if key not in meta:
        paths = [path_text(path) for path in files]
        names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
        if len({*names}) < len(names):
            common = len(os.path.commonpath([os.path.dirname(path) for path in paths])) + 1
            names = [os.path.splitext(path)[0][common:] for path in paths]
        merged[key] = np.array(names, object)
        meta[key] = {".dims": [station], "long_name": "name of the file"}
    values = as_array(merged[key]).tolist()
    seen: dict[Any, Location] = {}
    for value, path in zip(values if meta[key][".dims"] == [station] else [None] * len(files), files, strict=True):
        if value is None or value in seen:
            message = f"found {value!r} in {path_text(seen.get(value, path))}, too; choose another name by `station`"
            raise UnsupportedError(message, path=path_text(path), variable=station)
        seen[value] = path
    if not any(entry.get(ROLE) == IDENTITY for name, entry in meta.items() if name != META):
        meta[key][ROLE] = IDENTITY
    meta[META].setdefault("featureType", "timeSeries")
