"""Reading: the objects of an HDF5 file as h5py describes them, and its Source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...body import path_text
from ...errors import DsError, FormatError, UnsupportedError
from ...hdf5 import HDF5Dataset, HDF5File, HDF5Group, HDF5Layout
from ...model import missing
from ..library.catalog import FileVariable
from ..library.guard import ERRORS, Guard
from ..library.source import LibrarySource
from ..slabs import Slices, read_filled
from .calls import Node, address_of, describe_filters, describe_type, open_file, read_attributes
from .catalog import read_catalog
from .format import HDF5Warning, warn

Report = Callable[[str, str], None]
"""Takes the path of an object that is left out, and the reason."""


def walk(file: Node, report: Report) -> Iterator[tuple[str, Node, list[tuple[str, Node]]]]:
    """Yield each group once, outer ones first, with its datasets in their order.

    Parameters
    ----------
    file : h5py.File
    report : callable

    Yields
    ------
    prefix : str
        Prefix of the names in the group: `""`, `"g/"`, `"g/h/"`, ...
    group : h5py.Group
    datasets : list of (name, h5py.Dataset)
    """
    root = file["/"]
    seen = {address_of(root.id): "/"}
    waiting = [("", root)]
    later: list[tuple[str, Node | None, str]] = []
    while waiting or later:
        if not waiting:
            # now all groups of the file are listed, and soft links lead to one of these, or to another file
            name, group, reason = later.pop(0)
            if group is None or address_of(group.id) in seen:
                report(name, reason if group is None else _listed(seen[address_of(group.id)]))
                continue
            seen[address_of(group.id)] = name
            waiting.append((name + "/", group))
        prefix, group = waiting.pop()
        datasets: list[tuple[str, Node]] = []
        groups: list[tuple[str, Node]] = []
        for raw, is_hard in _links(group):
            name = prefix + raw.decode("utf-8", "surrogateescape")
            try:
                identifier = h5py.h5o.open(group.id, raw)
            except ERRORS as error:
                later.append((name, None, _nowhere(group, raw, error)))
                continue
            if isinstance(identifier, h5py.h5d.DatasetID):
                datasets.append((name, h5py.Dataset(identifier)))
            elif isinstance(identifier, h5py.h5g.GroupID):
                address = address_of(identifier)
                if not is_hard:
                    later.append((name, h5py.Group(identifier), ""))
                elif address in seen:
                    report(name, _listed(seen[address]))
                else:
                    seen[address] = name
                    groups.append((name + "/", h5py.Group(identifier)))
        yield prefix, group, datasets
        waiting += reversed(groups)


def _listed(name: str) -> str:
    return f'a link to the group "{name}", which is listed under that name'


def _nowhere(group: Node, raw: bytes, error: Exception) -> str:
    """Return why a link has no object."""
    if group.id.links.get_info(raw).type == h5py.h5l.TYPE_SOFT:
        target = group.id.links.get_val(raw).decode("utf-8", "surrogateescape")
        return f'a soft link to "{target}", which leads nowhere'
    return f"a link that leads nowhere ({error.args[0] if error.args else error})"


def _links(group: Node) -> list[tuple[bytes, bool]]:
    """Return the names of a group's links, and whether each is a hard one; these come first."""
    names: list[tuple[bytes, bool]] = []
    others: list[tuple[bytes, bool]] = []

    def sort(name: bytes, info: Any) -> None:
        is_hard = info.type == h5py.h5l.TYPE_HARD
        (names if is_hard else others).append((name, is_hard))

    is_ordered = bool(group.id.get_create_plist().get_link_creation_order())
    order = h5py.h5.INDEX_CRT_ORDER if is_ordered else h5py.h5.INDEX_NAME
    group.id.links.iterate(sort, info=True, idx_type=order)
    return names + others


USER_DEFINED = 2
"""H5D_FILL_VALUE_USER_DEFINED: the writer chose the fill value."""


def describe(file: Node, path: str) -> HDF5File:
    """Return the description of an open file; `path` is for warnings.

    It says as much as reading metadata needs: not where values are, nor the fill values.
    """
    groups: list[HDF5Group] = []
    datasets: list[HDF5Dataset] = []
    for prefix, group, found in walk(file, lambda name, reason: warn(f'left out: "{name}", {reason}', path)):
        groups.append(HDF5Group(prefix.rstrip("/"), 0, UNORDERED, read_attributes(group), [], {}))
        datasets += [_described(file, name, dataset) for name, dataset in found]
    return HDF5File(groups, datasets, [], False, [])


UNORDERED = -1
"""See `HDF5Dataset.order`."""


def _described(file: Node, name: str, dataset: Node) -> HDF5Dataset:
    shape, chunk = dataset.shape, dataset.chunks
    is_fill_chosen = dataset.id.get_create_plist().fill_value_defined() == USER_DEFINED
    chunk = None if chunk is None else tuple(map(int, chunk))
    return HDF5Dataset(
        name,
        address_of(dataset.id),
        UNORDERED,
        describe_type(dataset.id),
        None if shape is None else tuple(map(int, shape)),
        () if shape is None else tuple(-1 if n is None else int(n) for n in dataset.maxshape),
        HDF5Layout("contiguous" if chunk is None else "chunked", None, 0, chunk, None, (), 0),
        describe_filters(dataset.id),
        b"" if is_fill_chosen else None,
        True,
        read_attributes(dataset),
        [],
        {DIMENSION_LIST: _scales(file, dataset)},
    )


DIMENSION_LIST = "DIMENSION_LIST"


def _scales(file: Node, dataset: Node) -> tuple[tuple[int, ...], ...]:
    """Return the address of the first scale of each axis.

    The library's own functions for scales and labels are left alone: they crash in damaged files.
    """
    if DIMENSION_LIST not in dataset.attrs:
        return ()
    lists = dataset.attrs[DIMENSION_LIST]
    return tuple([_scale(file, references) for references in lists]) if np.shape(lists) == (dataset.ndim,) else ()


def _scale(file: Node, references: Any) -> tuple[int, ...]:
    if not len(references) or not isinstance(references[0], h5py.Reference) or not references[0]:
        return ()
    try:
        return (address_of(h5py.h5r.dereference(references[0], file.id)),)
    except ERRORS:
        # the scale was deleted
        return ()


class HDF5Source(LibrarySource):
    """An open HDF5 file; see `ds_format.drivers.base.Source`.

    Values are returned as stored. A value is missing if it equals `_FillValue` or a `missing_value`, or if this package
    marked it. In files of the netCDF library, its default fill values count as well. The array below the mask keeps the
    stored values.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables of types that ds does not have, with an `HDF5Warning`. Attributes of such types are always
        left out.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """

    category = HDF5Warning

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self.path = path_text(path)
        self._file = open_file(path)
        self._opened: tuple[FileVariable, Node] | None = None
        try:
            with Guard(FormatError, self.path):
                file = describe(self._file, self.path)
                places = {each.name: each.name.encode("utf-8", "surrogateescape") for each in file.datasets}
                self._take(read_catalog(file, places, self.path, skip_unsupported))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._opened = None
        with Guard(DsError, self.path):
            self._file.close()

    def _dataset(self, variable: FileVariable) -> Node:
        """Return an open dataset; one at a time, so that the library keeps chunks of one alone."""
        opened = self._opened
        if opened is not None and opened[0] is variable:
            return opened[1]
        dataset = h5py.Dataset(h5py.h5d.open(self._file.id, variable.place))
        _check_filters(dataset)
        self._opened = (variable, dataset)
        return dataset

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        with Guard(FormatError, self.path, variable.name):
            found = _raw(self._dataset(variable), slices, variable.extent)
        shape = [s.stop - s.start for s in slices]
        if variable.kind == "octets":
            # before something takes a sequence for an array of the variable
            return _joined_octets(found if slices else [found], shape)
        array = np.asarray(found).reshape(shape)
        # the dtypes of the library carry names and encodings
        return array.astype(np.dtype(array.dtype.str).newbyteorder("="), copy=False)


def _raw(dataset: Node, slices: Slices, extent: tuple[int, ...] | None) -> Any:
    """Return a slab as the library does."""
    if any(s.start >= s.stop for s in slices):
        # the library refuses empty slabs
        return np.empty(0, dataset.dtype)
    if extent is not None:
        return read_filled(lambda part: dataset[part], slices, extent, lambda: _fill(dataset))
    return dataset[slices if slices else ()]


def _fill(dataset: Node) -> NDArray[Any]:
    """Return what netCDF-4 has where a variable is shorter than its dimensions."""
    dtype = dataset.dtype
    fill = dataset.fillvalue if dataset.id.get_create_plist().fill_value_defined() == USER_DEFINED else None
    if dtype.kind == "O":
        return np.array([fill if isinstance(fill, bytes) else b""], dtype=object)
    if fill is None:
        fill = missing.DEFAULT_FILLS.get(dtype.str[1:], 0) if dtype.kind in "fiu" else b""
    return np.array([fill], dtype=dtype)


def _joined_octets(sequences: Any, shape: list[int]) -> NDArray[Any]:
    flat = sequences if isinstance(sequences, list) else sequences.reshape(-1).tolist()
    values = np.empty(len(flat), dtype=object)
    values[:] = [np.asarray(item, "u1").tobytes() for item in flat]
    return values.reshape(shape)


def _check_filters(dataset: Node) -> None:
    plist = dataset.id.get_create_plist()
    for i in range(plist.get_nfilters()):
        number, _, _, name = plist.get_filter(i)
        if not h5py.h5z.filter_avail(number):
            label = f' "{name.decode(errors="replace")}"' if name else ""
            raise UnsupportedError(
                f"its values are encoded with the filter {number}{label}, which is not installed (see hdf5plugin)"
            )
