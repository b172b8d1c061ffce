"""Writing: an HDF5 file as a Sink."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

import h5py
import numpy as np

from ...dtypes import TYPES
from ...errors import DsError, UnsupportedError
from ...target import naming
from ..base import Metadata
from ..library.spool import Spool
from ..settings import LABELS, as_hdf5
from ..sink import FileSink
from .attributes import write_attributes, write_marker
from .calls import Node, create_file, library, warn
from .kinds import file_dtype
from .names import IMPOSSIBLE, PURE_DIMENSION
from .plan import DatasetPlan, plan_file
from .storage import COMPRESSIONS, creation_options, enum_members
from .survey import Form, known_form, survey
from .writing import NumberWriter, StringWriter, Writer


class HDF5Sink(FileSink):
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
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._file: Node | None = None
        self._compression, self._level = compression, level
        self._written: dict[str, int] = {}
        if compression is not None and compression not in COMPRESSIONS:
            raise UnsupportedError(
                f'found the compression "{compression}", expected one of {", ".join(COMPRESSIONS)}', path=self.path
            )
        try:
            self._plan = plan_file(as_hdf5(meta))
        except DsError as error:
            raise error.at(path=self.path) from error.__cause__
        try:
            with naming(self.path), self._target.lent() as written:
                self._file = create_file(written, self.path)
            with library(UnsupportedError, self.path):
                for group in self._plan.groups:
                    self._file.create_group(group, track_order=True)
                for name, values in self._plan.attributes.items():
                    owner = self._file[name or "/"]
                    write_marker(owner, write_attributes(owner, values, None, False))
        except BaseException:
            self.abort()
            raise

    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        plan = self._plan.variables[name]
        form = known_form(plan)
        if form is not None:
            self._write_blocks(plan, form, blocks)
            return
        spool = Spool(blocks, plan.total, os.path.dirname(self._target.final) or ".")
        try:
            try:
                form = survey(plan, spool)
            except UnsupportedError as error:
                raise error.at(path=self.path, variable=plan.name) from error.__cause__
            self._write_blocks(plan, form, spool)
        finally:
            spool.close()

    def _finish(self) -> None:
        for plan in self._plan.variables.values():
            if plan.name not in self._written:
                self._write_blocks(plan, known_form(plan) or survey(plan, []), [])
            written = self._written[plan.name]
            if written != plan.total:
                raise UnsupportedError(f"found {written} values, expected {plan.total}", variable=plan.name)
        with library(DsError, self.path):
            self._make_scales()
        self._end()

    def _close(self) -> None:
        # what made the library fail before makes it fail again
        with contextlib.suppress(DsError):
            self._end()

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with library(DsError, self.path):
                file.close()

    @property
    def _open_file(self) -> Node:
        if self._file is None:
            raise DsError("the file is finished, or given up", path=self.path)
        return self._file

    def _write_blocks(self, plan: DatasetPlan, form: Form, blocks: Iterable[Any]) -> None:
        with library(UnsupportedError, self.path, plan.name):
            writer = self._define(plan, form)
        for block in blocks:
            with library(UnsupportedError, self.path, plan.name):
                values = writer.values(block)
            with library(DsError, self.path, plan.name):
                writer.add(values)
        with library(DsError, self.path, plan.name):
            self._end_variable(writer)
        # an open dataset keeps chunks
        self._written[plan.name] = writer.written

    def _define(self, plan: DatasetPlan, form: Form) -> Writer:
        """Make the dataset of a variable, with its attributes."""
        file = self._open_file
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
        dataset = file.create_dataset(plan.path, plan.shape or (), dtype=dtype, track_order=True, **options)
        attributes_dtype = np.dtype(TYPES[form.stored].code) if is_number else None
        marker.update(write_attributes(dataset, plan.attributes, attributes_dtype, plan.is_scale))
        kind = NumberWriter if form.kind in ("number", "bool") else StringWriter
        return kind(plan, form, dataset)

    def _end_variable(self, writer: Writer) -> None:
        plan = writer.plan
        if plan.shape is not None:
            writer.finish()
            self._warn_of_clashes(writer)
        write_marker(writer.dataset, plan.marker)

    def _warn_of_clashes(self, writer: Writer) -> None:
        if isinstance(writer, NumberWriter):
            for sentinel, n in zip(writer.sentinels, writer.clashes, strict=True):
                if n:
                    warn(
                        f"{n} present values equal {sentinel}, which means missing to other programs",
                        self.path,
                        writer.plan.name,
                    )

    def _make_scales(self) -> None:
        """Make the dimension scales, attach them, and label the dimensions of all variables."""
        file = self._open_file
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
