"""Writing: a NetCDF file as a Sink."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from ...errors import DsError, UnsupportedError
from ...names import unescape
from ...opened import Opened
from ...target import Target as TargetFile
from ...target import naming
from ..base import Metadata
from ..library.guard import telling_of_a_full_disk
from ..settings import HDF5, as_netcdf, setting
from ..slabs import slab_runs
from ..spool import Spool
from ..times import as_written, blocks_as_written, is_time, time_coding
from .attributes import write_attributes
from .caches import fit, release
from .calls import close_file, create_file, drop, library, warn
from .definition import Definer, Target, define_enum
from .groups import split
from .plan import FilePlan, VariablePlan, choose_format, plan_file
from .storage import PROPERTY
from .survey import Facts, known_facts, survey
from .values import any_enum_value, file_values


class NetCDFSink(Opened):
    """A NetCDF file being written; see `ds_format.drivers.base.Sink`.

    It grows under another name in the folder of its target, and takes the target's place as a whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; behind a link, what the link points to.
    meta : dict
        Metadata of the dataset. The property `.netcdf` (see `ds_format.drivers.netcdf.storage`) restores how a file was
        stored that it was read from; nothing depends on it.
    format : str, optional
        `NETCDF4`, `NETCDF4_CLASSIC`, `NETCDF3_CLASSIC`, `NETCDF3_64BIT_OFFSET` or `NETCDF3_64BIT_DATA`. By default the
        one that the dataset was read from, if it can hold it (a `NetCDFWarning` otherwise); else `NETCDF4`.
    time_units, calendar : str, optional
        What variables with `.time` are written in; see `ds_format.drivers.times.time_coding`.

    Raises
    ------
    OSError
        As `open` in mode `x` would; IsADirectoryError if the target is a folder.
    UnsupportedError
        If NetCDF, or the format asked for, cannot hold the dataset.
    """

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        *,
        format: str | None = None,
        time_units: str | None = None,
        calendar: str | None = None,
    ):
        self._path = os.fsdecode(path)
        self._times = time_coding(time_units, calendar)
        self._time_keys = {key for key, properties in meta.items() if is_time(properties)}
        self._file = TargetFile(path)
        try:
            self._plan = plan_file(as_written(as_netcdf(meta), self._times))
            self._format, reason = choose_format(self._plan, format)
        except DsError as error:
            raise error.at(path=self._path) from error.__cause__
        if reason is not None:
            variable, what = reason
            recorded = self._plan.recorded_format
            warn(f"the format {recorded} cannot hold {what}: written as {self._format}", self._path, variable)
        for key, properties in meta.items():
            members = setting(properties.get(HDF5), "enum", dict)
            if members and PROPERTY not in properties:
                warn("left out: the names of its numbers, an enumeration of HDF5", self._path, unescape(key))
        self._targets: dict[str, Target] = {}
        self._open: Definer | None = None
        try:
            # the library would report a missing folder as a lack of permission
            with naming(self._path), self._file.lent() as written:
                file = create_file(written, self._format, self._path)
            self._open = Definer(file, self._path, self._format)
            with library(UnsupportedError, self._path):
                self._define_file(self._plan)
            for key, plan in self._plan.variables.items():
                facts = known_facts(plan, self._format)
                if facts is not None:
                    self._define(key, plan, facts)
        except BaseException:
            self.abort()
            raise

    def __del__(self) -> None:
        definer = getattr(self, "_open", None)
        if definer is not None:
            drop(definer.file)

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable; see `Sink.write`.

        Parameters
        ----------
        name : str
            A key of the metadata.
        blocks : iterable
            Arrays, masked arrays or scalars: together the values in C order.

        Raises
        ------
        UnsupportedError
            If values do not fit the type, the number or what NetCDF can hold.
        DsError
            If the library cannot write.
        """
        plan = self._plan.variables[name]
        if name in self._time_keys:
            blocks = blocks_as_written(blocks, self._times, plan.name, self._path)
        with telling_of_a_full_disk(self._file, self._path):
            self._write(name, plan, blocks)

    def _write(self, name: str, plan: VariablePlan, blocks: Iterable[Any]) -> None:
        target = self._targets.get(name)
        if target is not None:
            self._write_blocks(target, blocks)
            return
        spool = Spool(blocks, plan.total, os.path.dirname(self._file.final) or ".")
        try:
            try:
                facts = survey(spool, plan.type)
            except UnsupportedError as error:
                raise error.at(path=self._path, variable=plan.name) from error.__cause__
            self._write_blocks(self._define(name, plan, facts), spool)
        finally:
            spool.close()

    def commit(self) -> None:
        """Finish the file, and move it to its name.

        Raises
        ------
        UnsupportedError
            If values of a variable have not been written.
        DsError
            If the library cannot finish the file; the target is then as it was.
        """
        try:
            for key, plan in self._plan.variables.items():
                if key not in self._targets:
                    self._define(key, plan, Facts(plan.type or "float64", has_missing=False))
                written = self._targets[key].written
                if written != plan.total:
                    message = f"found {written} values, expected {plan.total}"
                    raise UnsupportedError(message, path=self._path, variable=plan.name)
            with telling_of_a_full_disk(self._file, self._path):
                self._close()
            with naming(self._path):
                self._file.commit()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Leave no trace."""
        try:
            self._close()
        except DsError:
            # what made the library fail before makes it fail again
            pass
        finally:
            self._file.abort()

    def _close(self) -> None:
        definer, self._open = self._open, None
        self._targets.clear()
        if definer is not None:
            with library(DsError, self._path):
                close_file(definer.file)

    @property
    def _definer(self) -> Definer:
        if self._open is None:
            raise DsError("the file is finished, or given up", path=self._path)
        return self._open

    def _define_file(self, plan: FilePlan) -> None:
        """Define all but variables."""
        file = self._definer.file
        if self._format.startswith("NETCDF3"):
            # every value is written, so that none need be pre-filled
            file.set_fill_off()
        for group in plan.groups:
            file.createGroup(group)
        for name, size in plan.dimensions.items():
            group, base = split(name)
            is_unlimited = name in plan.unlimited
            self._definer.group(group).createDimension(base, None if is_unlimited else size)
        for record in plan.enums:
            define_enum(self._definer, record)
        for group, values in plan.attributes.items():
            prefix = f"{group}/" if group else ""
            strings = [name.removeprefix(prefix) for name in plan.strings if split(name)[0] == group]
            encoded = self._definer.attributes(values, strings, {}, None, prefix)
            write_attributes(self._definer.group(group), encoded)

    def _define(self, key: str, plan: VariablePlan, facts: Facts) -> Target:
        with library(UnsupportedError, self._path, plan.name):
            self._targets[key] = self._definer.define(plan, facts)
        return self._targets[key]

    def _write_blocks(self, target: Target, blocks: Iterable[Any]) -> None:
        plan = target.plan
        with library(DsError, self._path, plan.name):
            fit(target.variable)
        for block in blocks:
            with library(UnsupportedError, self._path, plan.name):
                values = file_values(target, block)
                if target.written + len(values) > plan.total:
                    raise UnsupportedError(f"found more than {plan.total} values")
            with library(DsError, self._path, plan.name):
                self._put(target, values)
        with library(DsError, self._path, plan.name):
            release(target.variable)
        for position, n in target.clashes.items():
            value = target.sentinels[position]
            warn(f"{n} present values equal {value}, which means missing", self._path, plan.name)
        target.clashes.clear()

    def _put(self, target: Target, values: NDArray[Any]) -> None:
        """Write values in the form of the file, after those already written."""
        variable = target.variable
        start = target.written
        shape = target.plan.shape or ()
        with any_enum_value(variable, values):
            for slices in slab_runs(shape, start, start + len(values)):
                sizes = [s.stop - s.start for s in slices]
                n = math.prod(sizes)
                part = values[target.written - start : target.written - start + n]
                if target.length is not None:
                    slices, sizes = (*slices, slice(0, target.length)), [*sizes, target.length]
                if not slices:
                    variable[...] = part[0]
                elif target.length != 0:
                    variable[slices] = part.reshape(sizes)
                target.written += n
