"""Writing: an HDF5 file as a Sink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import h5py
import numpy as np

from ...base.dtypes import TYPES
from ...errors import DsError, UnsupportedError
from ..base import Metadata
from ..library.guard import Guard
from ..library.plan import FilePlan
from ..library.sink import LibrarySink
from ..settings import LABELS, as_hdf5
from .attributes import write_attributes, write_marker
from .calls import Node, create_file, library, warn
from .kinds import file_dtype
from .names import IMPOSSIBLE, PURE_DIMENSION
from .plan import DatasetPlan, plan_file
from .storage import COMPRESSIONS, creation_options, enum_members
from .survey import Form, known_form, survey
from .writing import DatasetWriter, NumberWriter, StringWriter


class HDF5Sink(LibrarySink[DatasetPlan, Form]):
    """An HDF5 file being written; see `ds_format.drivers.base.Sink`.

    It grows under another name in the folder of its target, and takes the target's place as a whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; behind a link, what the link points to.
    meta : dict
        Metadata of the dataset. The property `.hdf5` (see `ds_format.drivers.hdf5.storage`) restores how a file was
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

    def _guard(self, error: type[DsError], variable: str | None = None) -> Guard:
        return library(error, self.path, variable)

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
        return survey(plan, blocks)

    def _warn(self, message: str, variable: str) -> None:
        warn(message, self.path, variable)

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
