"""Writing: an HDF5 file as a Sink."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...errors import UnsupportedError
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..library import missing
from ..library.plan import FilePlan
from ..library.sink import LibrarySink, LibraryWriter, count_present
from ..settings import LABELS, as_hdf5
from ..slabs import slab_runs
from .attributes import write_attributes, write_marker, write_value
from .format import (
    COMPRESSIONS,
    IMPOSSIBLE,
    OCTETS,
    PURE_DIMENSION,
    HDF5Warning,
    Node,
    create_file,
    creation_options,
    enum_members,
    file_dtype,
)
from .plan import SMALL, DatasetPlan, Form, known_form, plan_file, survey_form


class DatasetWriter(LibraryWriter[DatasetPlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    plan : DatasetPlan
    form : Form
    dataset : h5py.Dataset
    """

    CLASH = "which means missing to other programs"

    def __init__(self, plan: DatasetPlan, form: Form, dataset: Node):
        dtype = np.dtype(TYPES[form.stored].code)
        is_own = form.kind == "number" and form.type == form.stored
        sentinels = missing.sentinels(plan.attributes, dtype, False) if is_own else []
        super().__init__(plan, form.type, dtype, sentinels, form.mark)
        self.form = form
        self.dataset = dataset

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        self.dataset[slices if slices else ()] = values if slices else values[()]

    def finish(self) -> list[str]:
        """Write the marker; see `LibraryWriter.finish`."""
        if self.plan.shape is not None:
            self.tell()
        write_marker(self.dataset, self.plan.marker)
        return super().finish()

    @abstractmethod
    def tell(self) -> None:
        """Say in the marker what the values turned out to be."""


class StringWriter(DatasetWriter):
    """Takes strings."""

    def values(self, block: Any) -> NDArray[Any]:
        """Return byte strings; see `LibraryWriter.values`."""
        return self.byte_strings(block)

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """Write a slab; sequences of bytes by way of the library's lower level, which does not guess at their shape."""
        if self.form.kind == "string":
            super().put(slices, values)
            return
        octets = np.empty(values.shape, dtype=object)
        octets.reshape(-1)[:] = [np.frombuffer(item, "u1") for item in values.reshape(-1).tolist()]
        space = self.dataset.id.get_space()
        if slices:
            space.select_hyperslab(tuple(s.start for s in slices), values.shape)
        memory = h5py.h5s.create_simple(values.shape) if slices else h5py.h5s.create(h5py.h5s.SCALAR)
        self.dataset.id.write(memory, space, octets, h5py.h5t.py_create(OCTETS))

    def tell(self) -> None:
        """See `DatasetWriter.tell`."""
        if self.form.type == "str" or self.form.kind == "octets":
            self.plan.marker["type"] = self.form.type
        if self.form.mark is not None:
            self.plan.marker["missing"] = self.form.mark.decode()


class NumberWriter(DatasetWriter):
    """Takes numbers and booleans; finds out on the way which number can stand for missing ones."""

    def __init__(self, plan: DatasetPlan, form: Form, dataset: Node):
        super().__init__(plan, form, dataset)
        self.free = form.free
        self.has_missing = False

    def values(self, block: Any) -> NDArray[Any]:
        """Return numbers, with one for the missing that no present one equals; see `LibraryWriter.values`."""
        values, gone = self.numbers(block)
        if gone is not None and (self.plan.missing is False or not self.free.size):
            raise UnsupportedError('found missing values, expected none (property ".missing")')
        if self.plan.missing is not False and self.form.kind == "number" and self.dtype.itemsize > SMALL:
            self._choose(values, gone)
        self.count_clashes(values, gone)
        if gone is None:
            return values
        self.has_missing = True
        return np.where(gone, self.free[0], values).astype(self.dtype, copy=False)

    def _choose(self, values: NDArray[Any], gone: NDArray[np.bool_] | None) -> None:
        """Drop those numbers that are present; if one of them was written for missing values, write another."""
        before = self.free[0]
        self.free = np.array([number for number in self.free if not count_present(values, gone, number)], self.dtype)
        if not self.free.size:
            raise UnsupportedError("found no number that is left to mark missing values")
        if not self.has_missing or missing.is_value(self.free[:1], before)[0]:
            return
        shape = self.plan.shape or ()
        for run in slab_runs(shape, 0, self.written):
            sizes = [s.stop - s.start for s in run]
            for part in block_slices(sizes, self.dtype.itemsize, BLOCK_SIZE):
                slices = tuple(slice(a.start + b.start, a.start + b.stop) for a, b in zip(run, part, strict=True))
                old = self.dataset[slices]
                self.dataset[slices] = np.where(missing.is_value(old, before), self.free[0], old)

    def tell(self) -> None:
        """Mark what the attributes do not tell; see `DatasetWriter.tell`."""
        marker = self.plan.marker
        if self.form.stored != self.form.type:
            marker["type"] = self.form.type
        if not self.has_missing:
            if any(self.clashes):
                marker["missing"] = None
            return
        if not any(self.clashes) and any(missing.is_value(self.free[:1], sentinel)[0] for sentinel in self.sentinels):
            return
        marker["missing"] = self.free[0].item()
        if missing.FILL_ATTRIBUTE not in self.plan.attributes:
            write_value(self.dataset, missing.FILL_ATTRIBUTE, self.free[0])
            marker["fill"] = True


class HDF5Sink(LibrarySink[DatasetPlan, Form]):
    """An HDF5 file being written; see `ds_format.drivers.base.Sink`.

    It grows under another name in the folder of its target, and takes the target's place as a whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; behind a link, what the link points to.
    meta : dict
        Metadata of the dataset. The property `.hdf5` (see `ds_format.drivers.hdf5.format`) restores how a file was
        stored that it was read from; nothing depends on it.
    compression : {"gzip", "lzf"}, optional
        For all variables but scalars, where the property `.hdf5` does not say.
    level : int, optional
        Of `gzip`, 0 to 9.
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If HDF5 cannot hold the dataset.
    """

    category = HDF5Warning

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        compression: str | None = None,
        level: int | None = None,
        atomic: bool = True,
        durable: bool = False,
    ):
        self._compression, self._level = compression, level
        super().__init__(path, meta, atomic=atomic, durable=durable)

    def _plan_file(self) -> FilePlan[DatasetPlan]:
        found = self._compression
        if found is not None and found not in COMPRESSIONS:
            raise UnsupportedError(f'found the compression "{found}", expected one of {", ".join(COMPRESSIONS)}')
        return plan_file(as_hdf5(self.meta))

    def _create_file(self, written: str) -> Node:
        return create_file(written, self.path)

    def _close_file(self, file: Node) -> None:
        file.close()

    def _define_file(self) -> None:
        for group in self._plan.groups:
            self._file.create_group(group, track_order=True)
        for name, values in self._plan.attributes.items():
            owner = self._file[name or "/"]
            write_marker(owner, write_attributes(owner, values, None, False))

    def _known(self, plan: DatasetPlan) -> Form | None:
        return known_form(plan)

    def _survey(self, plan: DatasetPlan, blocks: Iterable[Any]) -> Form:
        return survey_form(plan, blocks)

    def _writer(self, plan: DatasetPlan, form: Form) -> DatasetWriter:
        """Make the dataset of a variable, with its attributes."""
        marker = plan.marker
        is_number = form.kind == "number"
        dtype = file_dtype(form.stored, form.kind)
        options: dict[str, Any] = {}
        if plan.shape is None:
            # a null dataspace would keep netCDF from reading the whole file
            marker["empty"] = True
            if plan.type is None:
                marker["type"] = "none"
            elif form.kind == "string" and form.type == "str":
                marker["type"] = "str"
        elif is_number:
            members = enum_members(plan.record, dtype)
            if plan.record.get("endian") == "big":
                dtype = dtype.newbyteorder(">")
            if members is not None:
                dtype = h5py.enum_dtype(members, dtype)
        if plan.shape is not None:
            options = creation_options(plan.record, plan.shape, self._compression, self._level)
        dataset = self._file.create_dataset(plan.path, plan.shape or (), dtype=dtype, track_order=True, **options)
        attributes_dtype = np.dtype(TYPES[form.stored].code) if is_number else None
        marker.update(write_attributes(dataset, plan.attributes, attributes_dtype, plan.is_scale))
        kind = NumberWriter if form.kind in ("number", "bool") else StringWriter
        return kind(plan, form, dataset)

    def _complete(self) -> None:
        """Make the dimension scales, attach them, and label the dimensions of all variables."""
        file = self._file
        plans = self._plan.variables.values()
        for plan in plans:
            if plan.is_scale:
                file[plan.path].make_scale(plan.path.rpartition("/")[2])
        unlimited = {
            dim
            for plan in plans
            for dim, limit in zip(plan.scales, file[plan.path].maxshape or (), strict=False)
            if limit is None
        }
        for name, n in self._plan.dimensions.items():
            options = {"maxshape": (None,), "chunks": (max(n, 1),)} if name in unlimited else {}
            # nothing is written: it takes no room
            scale = file.create_dataset(name, (n,), dtype=np.dtype(">f4"), track_order=True, **options)
            scale.make_scale(f"{PURE_DIMENSION}{n:10d}")
        for plan in plans:
            for axis, dim in enumerate(plan.scales):
                file[plan.path].dims[axis].attach_scale(file[dim])
            if plan.dims and plan.shape is not None and not any(map(IMPOSSIBLE.search, plan.dims)):
                # for programs that know no scales, as ds-format 5.0.2
                file[plan.path].attrs.create(LABELS, plan.dims, dtype=h5py.string_dtype())
