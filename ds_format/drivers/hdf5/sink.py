"""Writing: the metadata of a dataset → groups, datasets and dimension scales of an HDF5 file; and its Sink.

If the metadata are not enough to create a dataset, all of its values are searched first: for the type, NULs in
strings, and a number or string that no present value has, to mark missing ones. Numbers are searched only if their type
has few values.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...errors import UnsupportedError
from ...model import missing
from ...model.missing import candidates
from ...model.settings import LABELS, NON_COORDINATE, PURE_DIMENSION, setting
from ..base import BLOCK_SIZE, Metadata, block_slices
from ..library.catalog import groups_of, lineage, split
from ..library.plan import (
    SMALL,
    Facts,
    FilePlan,
    VariablePlan,
    attributes_of,
    by_group,
    dimension_sizes,
    plan_variables,
)
from ..library.sink import LibrarySink, LibraryWriter, count_present
from ..sink import FileSink
from ..slabs import slab_runs
from .attributes import Marker, Native, stored_attributes
from .format import (
    IMPOSSIBLE,
    MARKER,
    PROPERTY,
    HDF5Warning,
    Kind,
    creation_options,
    enum_members,
    is_path,
    substitute,
)
from .new_file import NewDataset, NewFile, NewType


@dataclass(slots=True)
class DatasetPlan(VariablePlan):
    """One variable of the metadata."""

    path: str = ""
    """Path of its dataset."""
    scales: tuple[str, ...] = ()
    """Dimension scales to attach, one per axis; empty: none."""
    is_scale: bool = False
    """Whether it is itself the scale of its dimension."""
    marker: Marker = field(default_factory=dict)


def plan_file(meta: Metadata) -> FilePlan[DatasetPlan]:
    """Return what a file needs to hold a dataset.

    Raises
    ------
    UnsupportedError
        If the metadata contradict themselves.
    """
    record = setting(meta.get(".", {}), PROPERTY, dict) or {}
    variables = plan_variables(DatasetPlan, meta, "HDF5", PROPERTY)
    sizes = dimension_sizes(variables.values())
    recorded = {
        name: size
        for name, size in (setting(record, "dimensions", dict) or {}).items()
        if is_path(name) and isinstance(size, int) and size >= 0 and name not in sizes
    }
    groups = [name for name in setting(record, "groups", list) or [] if isinstance(name, str) and is_path(name)]
    groups = groups_of((*(plan.name for plan in variables.values() if is_path(plan.name)), *recorded), groups)
    usable = {name for name in (*sizes, *recorded) if is_path(name) and name not in groups}
    _place(variables, usable, groups)
    for key, plan in variables.items():
        if meta[key].get(".time") is True:
            plan.marker["time"] = True
    attached = {name for plan in variables.values() for name in plan.scales}
    coordinates = {plan.name for plan in variables.values() if plan.is_scale}
    pure = {name: n for name, n in {**sizes, **recorded}.items() if name in usable and name not in coordinates}
    return FilePlan(
        variables=variables,
        groups=groups,
        dimensions={name: n for name, n in pure.items() if name in attached or name in recorded},
        attributes={group: attributes_of(entry) for group, entry in by_group(meta.get(".", {}), groups).items()},
    )


def _place(variables: dict[str, DatasetPlan], usable: set[str], groups: list[str]) -> None:
    """Decide the paths of variables and the scales of their dimensions. The marker names dimensions without a scale."""
    taken = {*groups, *usable, *(plan.name for plan in variables.values())}
    for plan in variables.values():
        name = plan.name
        plan.is_scale = name in usable and plan.dims == (name,) and plan.shape is not None
        plan.path = name
        if not is_path(name) or name in groups:
            plan.path = substitute(name, taken)
            taken.add(plan.path)
            plan.marker["name"] = name
        elif name in usable and not plan.is_scale:
            group, base = split(name)
            plan.path = f"{group}/{NON_COORDINATE}{base}".removeprefix("/")
    for plan in variables.values():
        if not plan.dims or plan.is_scale:
            continue
        around = {"", split(plan.path)[0], *lineage(plan.path)}
        # netCDF does not look for a dimension elsewhere
        if plan.shape is not None and all(dim in usable and split(dim)[0] in around for dim in plan.dims):
            plan.scales = plan.dims
        else:
            plan.marker["dims"] = list(plan.dims)


WIDER = {"float16": "float32", "bool": "int8", "int8": "int16", "uint8": "int16", "int16": "int32", "uint16": "int32"}
"""Type → a type that holds all its values and one more."""


@dataclass(slots=True)
class Form:
    """How the values of a variable are stored in the file."""

    type: str
    """ds type."""
    stored: str
    """ds type of the file; wider than `type` if no number of that one is left to mark missing values."""
    kind: Kind
    free: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    """Numbers that may mark missing ones, the best first."""
    mark: bytes | None = None
    """The bytes written for a missing string."""


def form_of(plan: DatasetPlan, facts: Facts) -> Form:
    """Return how the values of a variable are stored, by the facts about them."""
    form = _form(plan, facts.type)
    if form.kind == "string":
        form.kind = "octets" if facts.has_nul else "string"
        form.mark = facts.mark if facts.has_missing else None
    elif facts.has_missing and facts.free is not None:
        form.free = facts.free
        if not form.free.size:
            form.stored, form.kind = WIDER[form.type], "number"
            form.free = candidates(np.dtype(TYPES[form.stored].code))
        form.free = form.free[:1]
    return form


def _form(plan: DatasetPlan, type_name: str) -> Form:
    if TYPES[type_name].is_string:
        return Form(type_name, type_name, "string")
    if type_name == "bool":
        return Form(type_name, type_name, "bool")
    dtype = np.dtype(TYPES[type_name].code)
    own = missing.sentinels(plan.attributes, dtype, False)[:1]
    return Form(type_name, type_name, "number", np.concatenate([np.array(own, dtype), candidates(dtype)]))


class DatasetWriter(LibraryWriter[DatasetPlan]):
    """Takes the blocks of one variable.

    Parameters
    ----------
    plan : DatasetPlan
    form : Form
    file : NewFile
    dataset : NewDataset
    """

    CLASH = "which means missing to other programs"

    def __init__(self, plan: DatasetPlan, form: Form, file: NewFile, dataset: NewDataset):
        dtype = np.dtype(TYPES[form.stored].code)
        is_own = form.kind == "number" and form.type == form.stored
        sentinels = missing.sentinels(plan.attributes, dtype, False) if is_own else []
        super().__init__(plan, form.type, dtype, sentinels, form.mark)
        self.form = form
        self.file = file
        self.dataset = dataset

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `LibraryWriter.put`."""
        self.dataset.put(slices, values)

    def finish(self) -> list[str]:
        """Write the marker; see `LibraryWriter.finish`."""
        if self.plan.shape is not None:
            self.tell()
        mark(self.file, self.plan.path, self.plan.marker)
        return super().finish()

    @abstractmethod
    def tell(self) -> None:
        """Record in the marker what the values showed."""


class StringWriter(DatasetWriter):
    """Takes strings."""

    def values(self, block: Any) -> NDArray[Any]:
        """Return byte strings; see `LibraryWriter.values`."""
        return self.byte_strings(block)

    def tell(self) -> None:
        """See `DatasetWriter.tell`."""
        if self.form.type == "str" or self.form.kind == "octets":
            self.plan.marker["type"] = self.form.type
        if self.form.mark is not None:
            self.plan.marker["missing"] = self.form.mark.decode()


class NumberWriter(DatasetWriter):
    """Takes numbers and booleans, and chooses a number to mark missing ones while writing."""

    def __init__(self, plan: DatasetPlan, form: Form, file: NewFile, dataset: NewDataset):
        super().__init__(plan, form, file, dataset)
        self.free = form.free

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
            raise UnsupportedError("every number of its type is present: none is left to mark missing values")
        if not self.has_missing or missing.is_value(self.free[:1], before)[0]:
            return
        shape = self.plan.shape or ()
        for run in slab_runs(shape, 0, self.written):
            sizes = [s.stop - s.start for s in run]
            for part in block_slices(sizes, self.dtype.itemsize, BLOCK_SIZE):
                slices = tuple(slice(a.start + b.start, a.start + b.stop) for a, b in zip(run, part, strict=True))
                old = self.dataset.get(slices)
                self.dataset.put(slices, np.where(missing.is_value(old, before), self.free[0], old))

    def tell(self) -> None:
        """Mark what the attributes do not say; see `DatasetWriter.tell`."""
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
            self.file.attribute(self.plan.path, missing.FILL_ATTRIBUTE, self.free[0])
            marker["fill"] = True


def mark(file: NewFile, path: str, marker: Marker) -> None:
    """Write the marker of an object, if it is not empty; an existing one is replaced."""
    if marker:
        file.attribute(path, MARKER, json.dumps(marker))


class HDF5Sink(LibrarySink[DatasetPlan], FileSink):
    """An HDF5 file being written; see `ds_format.drivers.base.Sink`.

    It is written under another name in the folder of its target, and replaces the target atomically.

    Parameters
    ----------
    path : str, bytes or PathLike
        The target; a symbolic link is followed.
    meta : dict
        Metadata of the dataset.
    planned : FilePlan
    compression : {"gzip", "lzf"}, optional
        Applies to numbers with dimensions whose property `.hdf5` has no compression.
    level : int, optional
        Level of `gzip`, 0 to 9.
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
    _new: NewFile

    def __init__(
        self,
        path: Any,
        meta: Metadata,
        planned: FilePlan[DatasetPlan],
        *,
        compression: str | None = None,
        level: int | None = None,
        atomic: bool = True,
        durable: bool = False,
    ):
        self._planned, self._compression, self._level = planned, compression, level
        self._datasets: dict[str, NewDataset] = {}
        """By path."""
        super().__init__(path, meta, atomic=atomic, durable=durable)
        self._begin()

    def _plan_file(self) -> FilePlan[DatasetPlan]:
        return self._planned

    def _define_file(self) -> None:
        for group in self._plan.groups:
            self._new.group(group)
        for group, values in self._plan.attributes.items():
            stored, marker = stored_attributes(values, None, False)
            self._set(group, stored, marker)

    def _set(self, path: str, attributes: dict[str, Native], marker: Marker) -> None:
        for name, value in attributes.items():
            self._new.attribute(path, name, value)
        mark(self._new, path, marker)

    def _candidates(self, plan: DatasetPlan, type_name: str) -> NDArray[Any] | None:
        # of a large type, one for missing values is chosen while blocks are written
        return _form(plan, type_name).free if TYPES[type_name].size <= SMALL else None

    def _writer(self, plan: DatasetPlan, facts: Facts) -> DatasetWriter:
        """Make the dataset of a variable, with its attributes."""
        form, marker = form_of(plan, facts), plan.marker
        type_ = NewType(form.kind, form.stored)
        options: dict[str, Any] = {}
        if plan.shape is None:
            # a null dataspace would keep netCDF from reading the whole file
            marker["empty"] = True
            if plan.type is None:
                marker["type"] = "none"
            elif form.kind == "string" and form.type == "str":
                marker["type"] = "str"
        else:
            is_text = form.kind in ("string", "octets")  # of which HDF5 would compress references alone
            options = creation_options(plan.record, plan.shape, None if is_text else self._compression, self._level)
            if form.kind == "number":
                members = enum_members(plan.record, type_.dtype)
                type_ = type_._replace(is_big_endian=plan.record.get("endian") == "big", members=members)
        dataset = self._datasets[plan.path] = self._new.dataset(plan.path, plan.shape or (), type_, options)
        dtype = np.dtype(TYPES[form.stored].code) if form.kind == "number" else None
        stored, more = stored_attributes(plan.attributes, dtype, plan.is_scale)
        self._set(plan.path, stored, {})
        marker.update(more)
        kind = NumberWriter if form.kind in ("number", "bool") else StringWriter
        return kind(plan, form, self._new, dataset)

    def _complete(self) -> None:
        """Make the dimension scales, attach them, and label the dimensions of all variables."""
        file, plans = self._new, self._plan.variables.values()
        for plan in plans:
            if plan.is_scale:
                file.scale(plan.path, plan.path.rpartition("/")[2])
        unlimited = {
            dim
            for plan in plans
            for dim, limit in zip(plan.scales, self._datasets[plan.path].max_shape, strict=False)
            if limit is None
        }
        for name, n in self._plan.dimensions.items():
            options = {"maxshape": (None,), "chunks": (max(n, 1),)} if name in unlimited else {}
            # nothing is written, so it takes no space
            file.dataset(name, (n,), NewType("number", "float32", is_big_endian=True), options)
            file.scale(name, f"{PURE_DIMENSION}{n:10d}")
        file.attach({plan.path: plan.scales for plan in plans if plan.scales})
        for plan in plans:
            if plan.dims and plan.shape is not None and not any(map(IMPOSSIBLE.search, plan.dims)):
                file.attribute(plan.path, LABELS, [*plan.dims])  # for programs that know no scales, as ds-format 5.0.2
