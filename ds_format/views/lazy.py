"""An open file, whose variables are read when you index them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .. import shown_as_html
from ..base.dtypes import COMPOUND, TYPES
from ..base.once import once
from ..base.text import escape, hint, on_one_line, unescape
from ..body import Closing, Opened
from ..datasets import META, attrs, dims
from ..drivers.base import BLOCK_SIZE, Entries, Handle, Metadata, Source, check_faults
from ..errors import DsError, MissingError, UnsupportedError
from ..model.index import normalize
from ..tables.columns import Table, table_of
from ..tables.rows import TableRows, rows_of, shapes_in
from .subset import Subset


class Variable(Opened):
    """A variable of an open file. Its metadata are from the header; data are read when you index it.

    Attributes
    ----------
    name : str
    shape : tuple of int, or None
        None if the variable has no data.
    dims : tuple of str
    attrs : dict
    type : str or None
        The ds type.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("lazy.ds", {"t": [1, 2, 3], ".": {"t": {".dims": ["time"], "units": "s"}}})
    >>> with ds.open("lazy.ds") as file:
    ...     t = file["t"]
    ...     print(t, t.attrs, t[1:])
    <ds_format.Variable 't' (time: 3) int64> {'units': 's'} [2 3]
    """

    def __init__(self, source: Source, key: str, meta: dict[str, Any]):
        self._source = source
        self._key = key
        self.name = unescape(key)
        size = meta.get(".size")
        self.shape: tuple[int, ...] | None = None if size is None else tuple(size)
        self.dims = tuple(dims(key, meta, len(self.shape or ())))
        self.type: str | None = meta.get(".type")
        self._meta = meta

    @once
    def attrs(self) -> dict[str, Any]:
        """Attributes of the variable."""
        return attrs(self._meta)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array that an index returns. It is object for strings.

        Raises
        ------
        DsError
            If the variable cannot be read.
        UnsupportedError
            If the variable has no data and no type.
        """
        check_faults(self._source.faults, [self._key])
        if self.type == COMPOUND:
            found: np.dtype[Any] = self._source.handle(self._key).dtype
            return found
        if self.type not in TYPES:
            message = f"has no known type: found {self.type!r}"
            raise UnsupportedError(message, path=getattr(self._source, "path", None), variable=self.name)
        return np.dtype(TYPES[self.type].code)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape or ())

    @property
    def size(self) -> int:
        """Number of values; 0 without data."""
        return 0 if self.shape is None else int(np.prod(self.shape, dtype=object))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a variable without dimensions")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Read the values that an index selects. Only their bytes are read.

        Parameters
        ----------
        index : int, slice, list or array of int or bool, Ellipsis, or a tuple of these
            Lists in several dimensions select a grid.

        Returns
        -------
        ndarray, MaskedArray, scalar or None
            As `ds_format.read`.

        Raises
        ------
        IndexError
            If a position is out of bounds.
        FormatError
            If the data are damaged.
        """
        if self.shape is None:
            return self._source.read(self._key)
        return self._source.read(self._key, normalize(index, self.shape))

    def blocks(self, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Read the whole variable as consecutive blocks along its first dimensions.

        Parameters
        ----------
        budget : int
            Maximum size of a block in memory, in bytes.
        """
        return self._source.blocks(self._key, budget)

    def handle(self) -> Handle:
        """Return a picklable reference to this variable. It holds no open file, and need not be closed.

        Returns
        -------
        Handle
            It has `.path`, `.shape`, `.dtype`, `.missing` and `.read(index)`, and reads when it is indexed, as
            `dask.array.from_array` requires. If the file was replaced since, reading is an error.

        Raises
        ------
        UnsupportedError
            If values are changed on reading. Packed values are; open the file with `unpack=False`.
        """
        return self._source.handle(self._key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.asanyarray(self[...])
        return array.astype(dtype) if dtype is not None and array.dtype != dtype else array

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {n}" for dim, n in zip(self.dims, self.shape or (), strict=False))
        return on_one_line(f"<ds_format.Variable {self.name!r} ({sizes}) {self.type}>")

    def _repr_html_(self) -> str:
        return shown_as_html({self._key: self._meta}, "ds_format.Variable")


class File(Closing, Opened, Mapping[str, Variable]):
    """An open file, a mapping of name → `Variable`. Close it, or use it in a `with` block.

    Attributes
    ----------
    attrs : dict
        Attributes of the dataset.
    meta : dict
        The metadata of all variables, as in a dataset.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("file.ds", {"t": [1, 2, 3], "n": 7, ".": {"t": {".dims": ["time"]}}})
    >>> with ds.open("file.ds") as file:
    ...     print(list(file), file.dims, file["n"][...])
    ['t', 'n'] {'time': 3} 7
    """

    def __init__(self, source: Subset):
        self._source = source
        self.path = source.path

    @property
    def meta(self) -> Metadata:
        """The metadata of all variables, as in a dataset."""
        return self._source.meta

    @once
    def _entries(self) -> Entries:
        """The same metadata. If there are many entries, each is created on access."""
        return self._source.entries

    @once
    def attrs(self) -> dict[str, Any]:
        """Attributes of the dataset."""
        return attrs(self._entries.get(META, {}))

    @property
    def dims(self) -> dict[str, int]:
        """Sizes of the dimensions, by name."""
        sizes: dict[str, int] = {}
        for variable in self.values():
            sizes.update(zip(variable.dims, variable.shape or (), strict=False))
        return sizes

    def __getitem__(self, name: str) -> Variable:
        """Return a variable, without reading its data.

        Raises
        ------
        MissingError
            If there is no variable of this name.
        """
        key = escape(name)
        if key not in self._entries or key == META:
            raise MissingError(f"variable not found{hint(name, self)}", path=self.path, variable=name)
        return Variable(self._source, key, self._entries[key])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name != META and escape(name) in self._entries

    def __iter__(self) -> Iterator[str]:
        return (unescape(key) for key in self._entries if key != META)

    def __len__(self) -> int:
        return len(self._entries) - (META in self._entries)

    def table(self, dim: str | None = None, *, explode: bool = False) -> Table:
        """Return variables of one dimension as a table, which has an Arrow stream: `polars.DataFrame(file.table())`.

        No library is needed. Text in ds files does not become objects.

        Parameters
        ----------
        dim, explode
            As for `ds_format.to_arrow`.

        Raises
        ------
        MissingError, UnsupportedError
            As for `ds_format.to_arrow`.
        """
        try:
            return read_table(self._source, rows_of(shapes_in(self._source.meta), dim, explode))
        except DsError as error:
            raise error.at(path=self.path)

    def close(self) -> None:
        """Close the file. Arrays that were read remain valid."""
        self._source.close()

    def __repr__(self) -> str:
        return f"<ds_format.File {self.path!r}: {len(self)} variables>"

    def _repr_html_(self) -> str:
        return shown_as_html(self.meta, f"ds_format.File {self.path}")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def read_table(source: Subset, rows: TableRows) -> Table:
    """Read rows of a file. Text in ds files does not become objects.

    Raises
    ------
    OSError, FormatError, UnsupportedError
        If a variable cannot be read, or cannot be a column.
    """
    meta = source.meta
    shapes = shapes_in(meta)
    keys = [key for key in rows.keys if key in shapes]
    source.announce(dict.fromkeys(keys))
    values = {}
    for key in keys:
        strings = source.read_strings(key) if shapes[key][0] == [*rows.sizes] else None
        values[key] = source.read(key) if strings is None else strings
    return table_of(rows, values, meta)
