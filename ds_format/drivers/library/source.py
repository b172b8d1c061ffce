"""Reading: a file as a Source, above whatever fetches its values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Generic

from numpy.typing import NDArray

from ...body.stamp import watched, watched_blocks
from ...errors import DsError
from ..base import BLOCK_SIZE, Metadata, check_faults
from ..handle import Reopened
from ..slabs import Slices
from . import ahead
from .catalog import Catalog, V
from .reading import Reading


class LibrarySource(Reopened, Reading[V], Generic[V]):
    """An open file; see `ds_format.drivers.base.Source`."""

    meta: Metadata
    faults: Mapping[str, DsError]

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

    def _fetch_looked(self, variable: V, slices: Slices) -> tuple[NDArray[Any], bool]:
        return self._fetch(variable, slices), True

    def _prepare(self, variable: V, slices: Slices) -> Callable[[], NDArray[Any]] | None:
        """Return what reads a slab without the library, in any thread; None: `_fetch` does."""
        return None

    def _job(self, variable: V, slices: Slices) -> ahead.Job:
        prepared = None if variable.length is not None else self._prepare(variable, slices)
        if prepared is None:
            return ahead.Job(partial(self._slab, variable, slices), False)

        def read() -> tuple[NDArray[Any], bool]:
            try:
                return prepared(), True
            except DsError as error:
                raise error.at(path=self._path, variable=variable.name) from error.__cause__

        return ahead.Job(read, True)

    def _take(self, catalog: Catalog[V]) -> None:
        self.meta, self.faults, self._variables = catalog.meta, catalog.faults, catalog.variables

    def _variable(self, name: str) -> V:
        check_faults(self.faults, [name])
        return self._variables[name]

    @watched
    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are damaged, cut, or not what the attributes promise.
        UnsupportedError
            If ds has no such type, or the library cannot decode the values.
        """
        return self.read_variable(self._variable(name), index)

    @watched_blocks
    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        return self.blocks_of(self._variable(name), budget)
