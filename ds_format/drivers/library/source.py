"""Reading: a file as a Source, above whatever fetches its values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from ...dtypes import TYPES
from ...errors import DsError, FormatError
from ...opened import Opened
from .. import strings
from ..base import BLOCK_SIZE, Metadata, block_slices, check_faults
from ..loss import LossWarning
from ..slabs import Slices, read_part
from . import guard, missing
from .catalog import Catalog, V


class LibrarySource(Opened, ABC, Generic[V]):
    """An open file; see `ds_format.drivers.base.Source`.

    A format fetches slabs of raw values (`_fetch`) and knows what its numbers mean (`_cast`). Which slabs make a part
    or a block, what is missing, and how characters and bytes become strings is the same for all.
    """

    meta: Metadata
    faults: Mapping[str, DsError]
    category: ClassVar[type[LossWarning]]
    """Of the warnings of the format."""
    _path: str

    @abstractmethod
    def _fetch(self, variable: V, slices: Slices) -> NDArray[Any]:
        """Return a slab of raw values.

        Parameters
        ----------
        variable : FileVariable
            With data.
        slices : tuple of slice
            Of step 1, one for each dimension in the file, that of the characters of strings included; may be empty.

        Returns
        -------
        ndarray
            Of full rank: numbers and booleans in native byte order, S1 for characters, S of fixed length, or objects of
            `bytes` or, if the variable `is_decoded`, `str`.
        """

    @abstractmethod
    def _cast(self, variable: V, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return raw numbers in the ds type of the variable.

        Raises
        ------
        FormatError
            If one that is not masked has no place there.
        """

    def _take(self, catalog: Catalog[V]) -> None:
        self.meta, self.faults, self._variables = catalog.meta, catalog.faults, catalog.variables

    def _variable(self, name: str) -> V:
        check_faults(self.faults, [name])
        return self._variables[name]

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are damaged, cut, or not what the attributes promise.
        UnsupportedError
            If ds has no such type, or the library cannot decode the values.
        """
        variable = self._variable(name)
        if variable.shape is None:
            return None
        if index is None:
            index = tuple(range(n) for n in variable.shape)
        fetch = partial(self._slab, variable)
        raw: Any = read_part(fetch, variable.shape, index, variable.size, variable.chunk)
        counts = [0] * len(variable.sentinels)
        # one string of an object array comes without an array, which must not cut NULs off
        array = np.asarray(raw) if isinstance(raw, (np.ndarray, np.generic)) else strings.as_objects(raw)[0]
        values = self._decode(variable, array, counts)
        self._warn_of_several(variable, counts)
        if values.ndim == 0 and not isinstance(values, np.ma.MaskedArray):
            return values[()]
        return values

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        variable = self._variable(name)
        if variable.shape is None:
            return
        counts = [0] * len(variable.sentinels)
        left = math.prod(variable.shape)
        for slices in block_slices(variable.shape, variable.memory_size, budget, variable.chunk):
            block = self._decode(variable, self._slab(variable, slices), counts)
            left -= block.size
            if not left:
                # before the last block: who has counted does not come back
                self._warn_of_several(variable, counts)
            yield block

    def _slab(self, variable: V, slices: Slices) -> NDArray[Any]:
        """Return a slab as the file has it, characters joined to byte strings."""
        if variable.length is None:
            return self._fetch(variable, slices)
        return strings.joined(self._fetch(variable, (*slices, slice(0, variable.length))))

    def _decode(self, variable: V, raw: NDArray[Any], counts: list[int]) -> NDArray[Any]:
        """Return values as ds has them; add to `counts` how many equal each sentinel."""
        if TYPES[variable.type].is_string:
            return self._decode_strings(variable, raw)
        mask, found = missing.count(raw, variable.sentinels)
        counts[:] = [a + b for a, b in zip(counts, found, strict=True)]
        values = self._cast(variable, raw, mask)
        if mask is None:
            return values
        fill_value = variable.sentinels[0] if values.dtype == raw.dtype else None
        return np.ma.MaskedArray(values, mask=mask, fill_value=fill_value)

    def _decode_strings(self, variable: V, raw: NDArray[Any]) -> NDArray[Any]:
        values = raw.astype(object)
        if variable.type == "unicode" and not variable.is_decoded:
            try:
                values = strings.decoded(values)
            except FormatError as error:
                raise error.at(path=self._path, variable=variable.name) from error.__cause__
        if variable.mark is None:
            return values
        is_text = variable.type == "unicode"
        mark: Any = variable.mark if is_text else variable.mark.encode("utf-8", "surrogatepass")
        mask = np.asarray(values == mark, dtype=bool)
        return np.ma.MaskedArray(values, mask=mask) if mask.any() else values

    def _warn_of_several(self, variable: V, counts: list[int]) -> None:
        used = [(n, value) for n, value in zip(counts, variable.sentinels, strict=True) if n]
        if len(used) > 1:
            which = ", ".join(f"{n} are {value}" for n, value in used)
            message = f"missing values are marked in {len(used)} ways ({which}): a mask does not tell them apart"
            guard.warn(self.category, message, self._path, variable.name)
