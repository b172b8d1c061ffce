"""Reading: a file as a Source, on top of a function that fetches raw values.

A format fetches slabs of raw values. This module has the rest: the slabs of a part or a block, the mask, strings, and
reading ahead, in which another thread reads the next slab while one is in use.
"""

from __future__ import annotations

import importlib
import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base.dtypes import TYPES
from ...errors import DsError, FormatError
from ...model import missing
from .. import strings
from ..base import BLOCK_SIZE, LossWarning, Metadata, ReadBy, block_slices, check_faults, warn
from ..handle import properties
from ..slabs import Slices, read_part
from ..source import ReopenedSource
from .catalog import Catalog, FileVariable, dtype_of
from .kept import KeptFile, LibraryHandle

if TYPE_CHECKING:
    from ...hdf5 import Audit


def read_ahead(slabs: Iterator[Callable[[], Any]]) -> Iterator[Any]:
    """Yield the results of functions. Another thread calls the next one meanwhile.

    It is started before the result of the one before is yielded. A caller that stops early does not wait.
    """
    pool: Any = None
    waiting: Callable[[], Any] | None = None
    try:
        for slab in slabs:
            if waiting is None:
                waiting = slab
                continue
            # to load it takes longer than to read a small file
            pool = pool or importlib.import_module("concurrent.futures").ThreadPoolExecutor(1)
            result, waiting = waiting, pool.submit(slab).result
            yield result()
        if waiting is not None:
            yield waiting()
    finally:
        if pool is not None:
            pool.shutdown(wait=False)


class Reading(ABC):
    """Reads variables, parts and blocks of them.

    A format fetches slabs of raw values (`_fetch_looked`). The slabs of a part or a block, the mask, and the conversion
    of characters and bytes to strings are the same for all.
    """

    category: ClassVar[type[LossWarning]]
    """Category of the warnings of the format."""
    path: str

    @abstractmethod
    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab of raw values, and whether one of them may mean "missing"; see `LibrarySource._fetch`."""

    def _cast(self, variable: FileVariable, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return raw numbers in the ds type of the variable, which must hold all present values.

        Raises
        ------
        FormatError
            If a value that is not masked does not fit this type.
        """
        dtype = dtype_of(TYPES[variable.type].code)
        if raw.dtype == dtype:
            return raw
        present = raw if mask is None else np.where(mask, 0, raw).astype(raw.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            values = present.astype(dtype)
            back = values.astype(raw.dtype)
        if np.array_equal(back, present, equal_nan=raw.dtype.kind == "f"):
            return values
        text = f"found values of type {raw.dtype} that do not fit {variable.type}, its type by its attributes"
        if variable.type == "bool":
            text = (
                f"found the value {present[back != present].flat[0]}, expected 0 or 1: by its attributes it is boolean"
            )
        raise FormatError(text, path=self.path, variable=variable.name)

    def read_variable(self, variable: FileVariable, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it, as `Source.read` does; errors as of `LibrarySource.read`."""
        shape = variable.shape
        if shape is None:
            return None
        raw: Any
        if index is None:
            raw, may_miss = self._slab(variable, tuple([slice(0, n) for n in shape]))
        else:
            slabs = _Slabs(partial(self._slab, variable))
            raw = read_part(slabs.fetch, shape, index, variable.size, variable.chunk)
            # one string of an object array comes without an array, which must not cut NULs off
            raw = np.asarray(raw) if isinstance(raw, (np.ndarray, np.generic)) else strings.as_objects(raw)[0]
            may_miss = slabs.may_miss
        return self._finished(variable, raw, may_miss)

    def _finished(self, variable: FileVariable, raw: NDArray[Any], may_miss: bool) -> Any:
        """Return values that were read as ds has them."""
        counts = [0] * len(variable.sentinels)
        values = self._decode(variable, raw, counts, may_miss)
        if may_miss:
            self._warn_of_several(variable, counts)
        if values.ndim == 0 and not isinstance(values, np.ma.MaskedArray):
            return values[()]
        return values

    def blocks_of(self, variable: FileVariable, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks, as `Source.blocks` does."""
        if variable.shape is None:
            return
        counts = [0] * len(variable.sentinels)
        left = math.prod(variable.shape)
        every = block_slices(variable.shape, variable.memory_size, budget, variable.chunk)
        for raw, may_miss in self._slabs(variable, every):
            block = self._decode(variable, raw, counts, may_miss)
            left -= block.size
            if not left:
                # before the last block: a caller that counts blocks does not resume the generator
                self._warn_of_several(variable, counts)
            yield block

    def _slabs(self, variable: FileVariable, every: Iterator[Slices]) -> Iterator[tuple[NDArray[Any], bool]]:
        """Iterate over slabs; see `_slab`."""
        return map(partial(self._slab, variable), every)

    def _slab(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab as the file has it, characters joined to byte strings; see `_fetch_looked`."""
        if variable.length is None:
            return self._fetch_looked(variable, slices)
        characters, _ = self._fetch_looked(variable, (*slices, slice(0, variable.length)))
        return strings.joined(characters), True

    def _decode(self, variable: FileVariable, raw: NDArray[Any], counts: list[int], may_miss: bool) -> NDArray[Any]:
        """Return values as ds has them; add to `counts` how many equal each sentinel, if one may."""
        if variable.dtype is not None:
            return raw
        if TYPES[variable.type].is_string:
            return self._decode_strings(variable, raw)
        mask = None
        if may_miss:
            mask, found = missing.count(raw, variable.sentinels)
            counts[:] = [a + b for a, b in zip(counts, found, strict=True)]
        values = self._cast(variable, raw, mask)
        if mask is None:
            return values
        fill_value = variable.sentinels[0] if values.dtype == raw.dtype else None
        return np.ma.MaskedArray(values, mask=mask, fill_value=fill_value)

    def _decode_strings(self, variable: FileVariable, raw: NDArray[Any]) -> NDArray[Any]:
        values = raw.astype(object)
        if variable.type == "unicode" and not variable.is_decoded:
            try:
                values = strings.decoded(values)
            except FormatError as error:
                raise error.at(path=self.path, variable=variable.name) from error.__cause__
        if variable.mark is None:
            return values
        mark: Any = variable.mark
        if variable.type != "unicode" and isinstance(mark, str):
            mark = mark.encode("utf-8", "surrogatepass")
        mask = np.asarray(values == mark, dtype=bool)
        return np.ma.MaskedArray(values, mask=mask) if mask.any() else values

    def _warn_of_several(self, variable: FileVariable, counts: list[int]) -> None:
        """Warn if missing values of another type than that of the file, below whose mask is nothing, differ there."""
        if not counts or variable.sentinels[0].dtype == dtype_of(TYPES[variable.type].code):
            return
        used = [(n, value) for n, value in zip(counts, variable.sentinels, strict=True) if n]
        if len(used) > 1:
            which = ", ".join(f"{n} are {value}" for n, value in used)
            message = f"missing values are marked in {len(used)} ways ({which}): a mask does not tell them apart"
            warn(message, self.path, variable.name, category=self.category)


class _Slabs:
    """Fetches slabs, and records whether one of their values may mean "missing"."""

    def __init__(self, fetch: Callable[[Slices], tuple[NDArray[Any], bool]]):
        self._fetch = fetch
        self.may_miss = False

    def fetch(self, slices: Slices) -> NDArray[Any]:
        slab, may_miss = self._fetch(slices)
        self.may_miss |= may_miss
        return slab


class SlabSource(ReopenedSource, Reading):
    """A source of which a library fetches slabs. `Reading` has the rest."""

    path: str
    _variables: dict[str, FileVariable]

    def _take(self, catalog: Catalog) -> None:
        self.meta, self.faults, self._variables = catalog.meta, catalog.faults, catalog.variables

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `BaseSource`.

        Raises
        ------
        FormatError
            If the data are damaged, cut, or not what the attributes promise.
        UnsupportedError
            If the library cannot decode the values.
        """
        return self.read_variable(self._variables[name], index)

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        return self.blocks_of(self._variables[name], budget)


class LibrarySource(SlabSource):
    """A file that a library has open; see `ds_format.drivers.base.Source`."""

    reader = ReadBy()
    """Set by the function that opens the source, which knows the reason."""
    audit: Audit | None = None
    """Checks the index of the chunks of a variable before the library reads it. Set by the same function."""
    _kept: weakref.ref[KeptFile] | None = None

    @abstractmethod
    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab of raw values.

        Parameters
        ----------
        variable : FileVariable
            With data.
        slices : tuple of slice
            One for each dimension in the file, that of the characters of strings included, with step 1; may be empty.

        Returns
        -------
        ndarray
            Full rank: numbers and booleans in native byte order, S1 for characters, S of fixed length, or objects of
            `bytes` or, if the variable `is_decoded`, `str`.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the file; closing twice is no error."""

    @property
    def kept(self) -> KeptFile:
        """The object that opens the file for all handles."""
        found = None if self._kept is None else self._kept()
        if found is None:
            found = KeptFile(self.origin)
            self._kept = weakref.ref(found)
        return found

    def keep(self) -> None:
        """Leave the file open for the handles, of which the last one closes it."""
        self.kept.keep(self)

    def handle(self, name: str) -> LibraryHandle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""
        check_faults(self.faults, [name])
        shape, type_name = properties(self.meta, name)
        may_be_missing = bool(self.meta[name].get(".missing", True))
        dtype = self._variables[name].dtype
        return LibraryHandle(self.origin, name, shape, type_name, may_be_missing, self.kept, dtype)

    def fetch(self, key: str, slices: Slices) -> NDArray[Any]:
        """Return a slab of raw values; see `LibrarySource._fetch`."""
        self._check(key)
        return self._fetch(self._variables[key], slices)

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        return self._fetch(variable, slices), True

    def described(self) -> tuple[Metadata, Mapping[str, DsError], dict[str, FileVariable]]:
        """Return metadata, faults and variables in a form that can be pickled."""
        return self.meta, self.faults, {key: each._replace(place=None) for key, each in self._variables.items()}

    def _check(self, name: str) -> None:
        super()._check(name)
        if self.audit is not None:
            self.audit.check_values(self._variables[name].name)
