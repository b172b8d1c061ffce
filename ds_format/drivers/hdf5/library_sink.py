"""Writing with h5py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...errors import DsError
from ...model.settings import SCALE_CLASS
from ..library import guard
from .attributes import Native
from .format import CACHE, LIBVER, Kind
from .new_file import NewDataset, NewFile, NewType
from .sink import HDF5Sink

OCTETS = h5py.vlen_dtype(np.dtype("u1"))

SCALE_USER = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "u4")], align=True)
"""A dataset that has a scale, and the number of its dimension, in the attribute `REFERENCE_LIST` of the scale."""


class LibraryDataset(NewDataset):
    """A dataset that h5py writes.

    Parameters
    ----------
    dataset : h5py.Dataset
    kind : Kind
    """

    def __init__(self, dataset: Any, kind: Kind):
        self._dataset = dataset
        self._kind = kind
        self.max_shape = dataset.maxshape

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `NewDataset.put`."""
        if self._kind == "octets":
            self._put_octets(slices, values)
        else:
            self._dataset[slices if slices else ()] = values if slices else values[()]

    def _put_octets(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write sequences of bytes by way of the library's lower level, which does not guess at their shape."""
        octets = np.empty(values.shape, dtype=object)
        octets.reshape(-1)[:] = [np.frombuffer(item, "u1") for item in values.reshape(-1).tolist()]
        space = self._dataset.id.get_space()
        if slices:
            space.select_hyperslab(tuple(s.start for s in slices), values.shape)
        memory = h5py.h5s.create_simple(values.shape) if slices else h5py.h5s.create(h5py.h5s.SCALAR)
        self._dataset.id.write(memory, space, octets, h5py.h5t.py_create(OCTETS))

    def get(self, slices: tuple[slice, ...]) -> NDArray[Any]:
        """See `NewDataset.get`."""
        return np.asarray(self._dataset[slices])


class LibraryFile(NewFile):
    """A file that h5py writes.

    Parameters
    ----------
    path : str
        A file, which is emptied.
    target : str
        The name for messages.
    """

    def __init__(self, path: str, target: str):
        with guard.Guard(DsError, target):
            self._file = h5py.File(path, "w", libver=LIBVER, track_order=True, **CACHE)
            self._objects = {"": self._file["/"]}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def group(self, path: str) -> None:
        """See `NewFile.group`."""
        self._objects[path] = self._file.create_group(path, track_order=True)

    def dataset(self, path: str, shape: tuple[int, ...], type_: NewType, options: Mapping[str, Any]) -> NewDataset:
        """See `NewFile.dataset`."""
        dtype = _dtype(type_)
        if h5py.check_vlen_dtype(dtype) is not None:  # HDF5 2 refuses checksums of what points elsewhere
            options = {name: value for name, value in options.items() if name != "fletcher32"}
        made = self._file.create_dataset(path, shape, dtype=dtype, track_order=True, **options)
        self._objects[path] = made
        return LibraryDataset(made, type_.kind)

    def attribute(self, path: str, name: str, value: Native) -> None:
        """See `NewFile.attribute`."""
        attributes = self._objects[path].attrs
        if value is None:
            attributes.create(name, h5py.Empty(np.dtype("f4")))
        elif isinstance(value, (str, list)):
            text = value if isinstance(value, str) else np.array(value, dtype=object)
            attributes.create(name, text, dtype=h5py.string_dtype())
        else:
            attributes.create(name, value)

    def scale(self, path: str, name: str) -> None:
        """Make a dataset a dimension scale (HDF5 Dimension Scale Specification 1.0, sections 3 and 4).

        HDF5's high-level library does this, too. But the wheels of h5py and netCDF4 both have this library, with the
        same file name in some versions, and a process that loads both then calls the wrong one, which fails. It also
        reads and writes the list of all datasets of a scale for each of them.
        """
        for attribute, text in (("CLASS", SCALE_CLASS.encode()), ("NAME", name.encode("utf-8", "surrogateescape"))):
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(len(text) + 1)
            kind.set_strpad(h5py.h5t.STR_NULLTERM)
            space = h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5a.create(self._objects[path].id, attribute.encode(), kind, space)
            made.write(np.array(text, f"S{len(text) + 1}"), mtype=kind)

    def attach(self, users: Mapping[str, Sequence[str]]) -> None:
        """See `NewFile.attach`."""
        found: dict[str, list[tuple[Any, int]]] = {}
        for path, scales in users.items():
            dataset, rows = self._objects[path], np.empty(len(scales), object)
            for axis, scale in enumerate(scales):
                rows[axis] = np.array([self._objects[scale].ref], h5py.ref_dtype)
                found.setdefault(scale, []).append((dataset.ref, axis))
            dataset.attrs.create("DIMENSION_LIST", rows, dtype=h5py.vlen_dtype(h5py.ref_dtype))
        for scale, references in found.items():
            self._objects[scale].attrs.create("REFERENCE_LIST", np.array(references, SCALE_USER))


def _dtype(type_: NewType) -> Any:
    if type_.kind == "octets":
        return OCTETS
    if type_.kind == "string":
        return h5py.string_dtype("utf-8" if type_.name == "unicode" else "ascii")
    return type_.dtype if type_.members is None else h5py.enum_dtype(type_.members, type_.dtype)


class H5pySink(HDF5Sink):
    """An HDF5 file being written with h5py; see `HDF5Sink`."""

    def _create_file(self) -> LibraryFile:
        with self._lent() as written:
            self._new = made = LibraryFile(written, self.path)
        return made

    def _close_file(self, file: LibraryFile) -> None:
        file.close()
