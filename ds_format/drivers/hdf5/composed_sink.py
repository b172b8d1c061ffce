"""Writing without a library: a small file is kept in memory, and put together when all of it is known.

If something is `NotCovered`, h5py writes the whole file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...body.body import OutputBody
from ...codec.pipeline import encoder
from ...hdf5.composing import (
    ASCII_STRING,
    CONSTANT,
    DATASPACE,
    DATATYPE,
    MAX_RANK,
    MAX_VALUES,
    NULL,
    OCTETS,
    SCALAR,
    STRING,
    STRING_SIZE,
    Filters,
    NewAttribute,
    NewObject,
    NewStorage,
    NotCovered,
    compose_file,
    enum_type,
    fill_message,
    number_type,
    space,
    stored_chunks,
    text_type,
)
from ...model.settings import SCALE_CLASS, setting
from ..library.catalog import split
from ..library.sink import OwnFileSink
from .attributes import Native
from .by_library import copy_by_library
from .format import BOOLEAN
from .new_file import NewDataset, NewFile, NewType
from .sink import DatasetPlan, HDF5Sink

BOOL = np.dtype("i1")
GROWING_SIZE = 1024
"""Length of a chunk along a dimension without values, as h5py chooses it."""
LEVEL = 4
"""Level of gzip if none is given, as of h5py."""
STRINGS = {"unicode": STRING, "str": ASCII_STRING}


class ComposedDataset(NewDataset):
    """A dataset that is kept in memory; parameters as of `NewFile.dataset`."""

    def __init__(self, shape: tuple[int, ...], type_: NewType, options: Mapping[str, Any]):
        self.shape = shape
        self.type = type_
        self.options = options
        self.max_shape = options.get("maxshape", shape)
        self.is_text = type_.kind in ("string", "octets")
        self.values: NDArray[Any] | None = None
        """None: nothing was written."""

    def put(self, slices: tuple[slice, ...], values: NDArray[Any]) -> None:
        """See `NewDataset.put`."""
        if self.values is None:
            self.values = np.empty(self.shape, object if self.is_text else self.type.dtype)
        self.values[slices] = values if slices else values[()]

    def get(self, slices: tuple[slice, ...]) -> NDArray[Any]:
        """See `NewDataset.get`."""
        return np.empty(0) if self.values is None else self.values[slices]


@dataclass(slots=True)
class Object:
    """A group or a dataset, with what it gets later."""

    dataset: ComposedDataset | None = None
    attributes: dict[str, Native] = field(default_factory=dict)
    name: str | None = None
    """As a dimension scale."""
    scales: Sequence[str] = ()
    """Paths of the scales of its dimensions."""


class ComposedFile(NewFile):
    """A file that is kept in memory."""

    def __init__(self) -> None:
        self._objects = {"": Object()}

    def group(self, path: str) -> None:
        """See `NewFile.group`."""
        self._objects[path] = Object()

    def dataset(self, path: str, shape: tuple[int, ...], type_: NewType, options: Mapping[str, Any]) -> NewDataset:
        """See `NewFile.dataset`."""
        made = ComposedDataset(shape, type_, options)
        self._objects[path] = Object(made)
        return made

    def attribute(self, path: str, name: str, value: Native) -> None:
        """See `NewFile.attribute`."""
        self._objects[path].attributes[name] = value

    def scale(self, path: str, name: str) -> None:
        """See `NewFile.scale`."""
        self._objects[path].name = name

    def attach(self, users: Mapping[str, Sequence[str]]) -> None:
        """See `NewFile.attach`."""
        for path, scales in users.items():
            self._objects[path].scales = scales

    def copy(self, file: NewFile) -> None:
        """Make the same objects in another file."""
        for path, each in self._objects.items():
            if each.dataset is not None:
                shape = each.dataset.shape
                made = file.dataset(path, shape, each.dataset.type, each.dataset.options)
                if each.dataset.values is not None:
                    made.put(tuple([slice(0, n) for n in shape]), each.dataset.values)
            elif path:
                file.group(path)
            for name, value in each.attributes.items():
                file.attribute(path, name, value)
            if each.name is not None:
                file.scale(path, each.name)
        file.attach({path: each.scales for path, each in self._objects.items() if each.scales})

    def compose(self) -> bytes:
        """Return the bytes of the file.

        Raises
        ------
        NotCovered
            If a library must write it.
        """
        places = {path: i for i, path in enumerate(self._objects)}
        objects = []
        for path, each in self._objects.items():
            group, base = split(path)
            attributes = [_attribute(name, value) for name, value in each.attributes.items()]
            if each.name is not None:
                texts = {"CLASS": SCALE_CLASS.encode(), "NAME": each.name.encode("utf-8", "surrogateescape")}
                attributes += [_fixed_text(name, text + b"\0") for name, text in texts.items()]
            messages, storage = ([], None) if each.dataset is None else _stored(each.dataset)
            scales = tuple([places[scale] for scale in each.scales])
            parent = places[group] if path else 0
            objects.append(NewObject(base.encode(), parent, messages, attributes, scales, storage))
        return compose_file(objects)


def _fixed_text(name: str, text: bytes) -> NewAttribute:
    return NewAttribute(name.encode(), text_type(len(text)), SCALAR, text)


def _attribute(name: str, value: Native) -> NewAttribute:
    raw = name.encode()
    if value is None:
        return NewAttribute(raw, number_type(np.dtype("<f4")), NULL, b"")
    if isinstance(value, str):
        return NewAttribute(raw, STRING, SCALAR, [value.encode()])
    if isinstance(value, list):
        return NewAttribute(raw, STRING, space((len(value),)), [each.encode() for each in value])
    array = np.asarray(value)
    if array.dtype == np.bool_:
        return NewAttribute(raw, enum_type(BOOL, BOOLEAN), space(array.shape), np.ascontiguousarray(array))
    stored = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return NewAttribute(raw, number_type(stored.dtype), space(array.shape), stored)


def _stored(dataset: ComposedDataset) -> tuple[list[tuple[int, int, bytes]], NewStorage]:
    """Return the messages of a dataset, and its values."""
    shape, options, values = dataset.shape, dataset.options, dataset.values
    is_bool = dataset.type.kind == "bool"
    if dataset.is_text:
        type_, size = OCTETS if dataset.type.kind == "octets" else STRINGS[dataset.type.name], STRING_SIZE
    else:
        dtype = BOOL if is_bool else dataset.type.dtype
        members = BOOLEAN if is_bool else dataset.type.members
        type_, size = number_type(dtype) if members is None else enum_type(dtype, members), dtype.itemsize
        values = None if values is None else np.ascontiguousarray(values).view(dtype)
    if any(limit not in (None, n) for limit, n in zip(dataset.max_shape, shape, strict=True)):
        raise NotCovered("a limit of growth")
    chunk = _chunk(shape, options)
    messages = [
        (DATASPACE, 0, space(shape, tuple([limit is None for limit in dataset.max_shape]))),
        (DATATYPE, CONSTANT, type_),
        fill_message(None, is_written=True, is_chunked=chunk is not None),
    ]
    if chunk is None:
        content: Any = values if values is None or not dataset.is_text else values.ravel().tolist()
        return messages, NewStorage(None, size * math.prod(shape), content if math.prod(shape) else None)
    filters = _filters(options)
    if (dataset.is_text and filters != Filters()) or math.prod(chunk) * size > MAX_VALUES:
        raise NotCovered("filters of text, or large chunks")
    steps = filters.steps(size)
    if steps:
        messages.append(filters.message(size))
    fill = b"" if dataset.is_text else 0
    chunks = [] if values is None else stored_chunks(values, chunk, encoder(steps), fill)
    return messages, NewStorage(chunk, size, chunks)


def _chunk(shape: tuple[int, ...], options: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the shape of chunks; one for all values if the options leave it open, None for no chunks."""
    given = options.get("chunks")
    return tuple([n or GROWING_SIZE for n in shape]) if given is True else given


def _filters(options: Mapping[str, Any]) -> Filters:
    level = options.get("compression_opts", LEVEL) if "compression" in options else None
    return Filters(level, bool(options.get("shuffle")), bool(options.get("fletcher32")))


def is_small(plans: Collection[DatasetPlan], compression: str | None) -> bool:
    """Return whether a file is likely to be composed: it has few values, and no filter that needs a library."""
    compressions = {compression, *(setting(plan.record, "compression", str) for plan in plans)}
    ranks = [len(plan.shape or ()) for plan in plans]
    return "lzf" not in compressions and max(ranks, default=0) <= MAX_RANK and sum(map(_size, plans)) <= MAX_VALUES


def _size(plan: DatasetPlan) -> int:
    is_text = plan.type is None or TYPES[plan.type].is_string
    return plan.total * (STRING_SIZE if is_text else max(TYPES[plan.type or "float64"].size, 1))


class SmallHDF5Sink(OwnFileSink[DatasetPlan], HDF5Sink):
    """A small HDF5 file being written; see `HDF5Sink`."""

    def _create_file(self) -> OutputBody:
        self._new = self._composed = ComposedFile()
        return super()._create_file()

    def _complete(self) -> None:
        super()._complete()
        try:
            self._file.write(0, self._composed.compose())
        except NotCovered:
            self._end()
            with self._target.lent_again() as written:
                copy_by_library(self._composed.copy, written, self.path)
