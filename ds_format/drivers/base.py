"""The protocols of a file format: `Source` reads, `Sink` writes. A `Handle` is a picklable variable of a source.

Reading and writing whole files, selection, conversion and statistics of files larger than memory are built on these.
Names are the keys of a dataset: variable names, escaped by `ds_format.datasets.escape`.
"""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..base.dtypes import TYPES
from ..body import Location
from ..body.stamp import Stamp
from ..errors import DsError, DsWarning, UnsupportedError

Metadata = dict[str, dict[str, Any]]
"""The `"."` entry of a dataset: for each variable its properties (`.dims`, `.size`, `.type`, ...) and attributes,
and under `"."` the attributes of the dataset."""

Entries = Mapping[str, dict[str, Any]]
"""Read-only metadata: a dict, or a mapping that creates an entry at each access."""

ERROR = "error"
WARNING = "warning"

BLOCK_SIZE = 16 * 1024 * 1024
"""Default maximum size of a block, in bytes of the array in memory."""
OBJECT_SIZE = 64
"""Approximate bytes of memory of a Python string in addition to its characters, or of a short string with them."""
STRING_SIZE = 2 * OBJECT_SIZE
"""Estimated bytes of memory of a string of unknown length."""


class Source(Protocol):
    """A file opened for reading."""

    @property
    def meta(self) -> Entries:
        """The metadata, from the header alone.

        Each variable has `.dims` (list of str), `.size` (list of int; None: no data) and `.type` (a ds type name;
        absent or None if the file does not specify it). `.missing` is true if values may be missing.
        """
        ...

    @property
    def faults(self) -> Mapping[str, DsError]:
        """Key of a variable that cannot be read → the error, from the header alone.

        Such a variable is in `meta` with those properties that are known. Reading it raises this error; see
        `check_faults`.
        """
        ...

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or the part selected by `index`. Only the bytes of this part are read.

        Parameters
        ----------
        name : str
            A key of `meta`.
        index : tuple, optional
            One item per dimension, as `ds_format.model.index.normalize` makes them: an int, which removes its axis,
            or a range or an (N,) int64 array of non-negative positions.

        Returns
        -------
        ndarray, MaskedArray or None
            In native byte order, writable. A MaskedArray if a value is missing. For 0-d: a NumPy scalar, str or bytes,
            or a 0-d MaskedArray. None if the variable has no data.

        Raises
        ------
        DsError
            The error in `faults`, if the variable cannot be read.
        """
        ...

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Iterate over the variable as consecutive blocks in C order, each of about `budget` bytes in memory at most.

        Every block is an ndarray or MaskedArray of full rank, with a shape given by `block_slices`. A variable without
        data (`.size` None) or of zero size has no blocks.
        """
        ...

    def handle(self, name: str) -> "Handle":
        """Return a handle that reads one variable elsewhere: in another thread or process, or on another host.

        Parameters
        ----------
        name : str
            A key of `meta`.

        Raises
        ------
        DsError
            The error in `faults`, if the variable cannot be read.
        """
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class Readable(Protocol):
    """A picklable variable of one or many files. It holds no open file, so that closing is not needed."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape; None if there are no data."""
        ...

    @property
    def type(self) -> str | None:
        """Name of the ds type; None only if there are no data."""
        ...

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        ...

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable, or the part selected by an index, as `Source.read` does.

        Raises
        ------
        OSError
            If a file cannot be read.
        ReplacedError
            If the file was replaced or modified after it was opened. Then no numbers are returned.
        FormatError
            If the file is damaged.
        """
        ...


class Handle(Readable, Protocol):
    """A picklable reference to a variable of a file. It holds no open file.

    Reading is thread-safe. Each read opens the file, and compares its stamp.

    Examples
    --------
    >>> import pickle
    >>> from ds_format import open, write
    >>> write("handle.ds", {"x": [1, 2, 3]})
    >>> with open("handle.ds") as file:
    ...     handle = file["x"].handle()
    >>> pickle.loads(pickle.dumps(handle)).read()
    array([1, 2, 3])
    """

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        ...

    @property
    def key(self) -> str:
        """Key of the variable."""
        ...

    @property
    def stamp(self) -> Stamp:
        """Stamp of the file when it was opened, to detect that it was replaced or modified."""
        ...

    @property
    def dtype(self) -> Any:
        """NumPy dtype of the arrays that are read; object for text and byte strings."""
        ...


class Origin(NamedTuple):
    """The arguments with which a source was opened, and the function that opens it again."""

    path: Any
    """Absolute path, or an address."""
    driver: str
    """Name of the format."""
    options: Mapping[str, Any]
    stamp: Stamp
    reopen: Callable[..., Any]
    """Called with this object; returns a Source. Formats are below the function that knows all of them."""


class OtherFormatError(UnsupportedError):
    """A file that the driver of another format reads, though its name is not one of that format.

    Parameters
    ----------
    message : str
        Why this driver does not read it.
    format : str
        Name of the other format.
    """

    def __init__(self, message: str, format: str = ""):
        super().__init__(message)
        self.format = format


class ReadBy(NamedTuple):
    """The library that reads a file, if this package does not."""

    library: str = ""
    """Name of the library; empty: none."""
    reason: str = ""
    """Why the library reads the file; empty: this package reads no such files."""


class Problem(NamedTuple):
    """A fault of a file.

    Examples
    --------
    >>> problem = Problem("a.ds", "x", "text is not UTF-8", "error")
    >>> problem.variable, problem.severity
    ('x', 'error')
    """

    path: str
    """Path of the file."""
    variable: str | None
    """Unescaped name of the variable; None if the fault concerns the whole file."""
    message: str
    """The value found, and the value expected."""
    severity: str
    """`error`: data are wrong or cannot be read. `warning`: this package reads them, but others may not."""


Report = Callable[[Problem], None]
"""Called by the `check` of a driver with each fault that it finds."""


class Sink(Protocol):
    """A file being written: complete after `commit`, removed by `abort`."""

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable of the metadata given at creation from its blocks in C order.

        Variables without data or of zero size may be left out.
        """
        ...

    def commit(self) -> None:
        """Rename the finished file to its final name."""
        ...

    def abort(self) -> None:
        """Remove everything that was written. An existing file of this name is unchanged."""
        ...


class FileRow(Protocol):
    """Consecutive small files of one format. `drivers.alike.AlikeFiles` adds their values with it."""

    @property
    def entries(self) -> Metadata:
        """Metadata of all files so far. Later ones override earlier ones. Attributes may lack types; see `typed`."""
        ...

    def start(
        self,
        path: Location,
        held: Any,
        stacks: Mapping[str, Any],
        wanted: Collection[str],
        once: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Add the values of the first file, and return its attributes of the dataset.

        Parameters
        ----------
        path : str
        held : object
        stacks : mapping
            The `alike.StackedValues` of each variable with data, to which its values are appended.
        wanted : collection of str
            Keys of the variables to add from this file.
        once : mapping
            The `alike.Constant` of each variable whose values are not added from later files, but compared with it.

        Raises
        ------
        FormatError
            If a requested variable is damaged.
        """
        ...

    def take(self, path: Location, held: Any) -> dict[str, Any] | None:
        """Add a file, and return its attributes of the dataset: the same object if they are those of the file before.

        Return None if merging could give another plan for this file. Then nothing is added.

        Raises
        ------
        FormatError
            If it is alike, but damaged. Then nothing is added.
        """
        ...

    def typed(self, entries: Metadata) -> Metadata:
        """Convert attributes to the types of a Source, in place."""
        ...

    def missing(self) -> Mapping[str, bool]:
        """Return whether values may be missing in any file, for variables whose entries do not have `.missing`."""
        ...


class SmallFiles(NamedTuple):
    """The functions of a format for small files, which are read into memory, many at a time."""

    size: int
    """Maximum size of a small file, in bytes."""
    hold: Callable[[Location, bytearray], Any]
    """Called with path and content of a file. Returns the object that represents it in memory, or None if it has to be
    opened like a larger file. Raises FormatError if it finds that the file is damaged."""
    digest: Callable[[Any], int]
    """Called with this object; returns a digest of the header, of 32 bits."""
    read: Callable[[Location, Any, Collection[str] | None, bool | None], Any]
    """Called with the path, this object (which may be consumed), keys of variables or None for all, and `unpack` as for
    `packing.is_unpacked_by`. Returns a dataset, as `Driver.read` does, without variables that do not exist."""
    begin: Callable[[Location, Any], FileRow]
    """Called with the path of a file and this object; returns a row of files which begins with it."""
    masks: bool = False
    """Whether users expect masked arrays of numbers, even if nothing is missing."""


def value_size(type_name: str | None) -> int:
    """Return the size of one value in memory, in bytes; an estimate for strings and unknown types."""
    ds_type = TYPES.get(type_name or "")
    return 8 if ds_type is None else STRING_SIZE if ds_type.is_string else max(ds_type.size, 1)


def check_faults(faults: Mapping[str, DsError], keys: Iterable[str]) -> None:
    """Raise the error of the first of the given variables that cannot be read, if there is one; see `Source.faults`.

    For functions that do not read a variable: for example, one that is to be written, but has no data.
    """
    for key in keys:
        if key in faults:
            raise faults[key].with_traceback(None)


def block_slices(
    shape: Sequence[int], item_size: int, budget: int, chunk: Sequence[int] | None = None
) -> Iterator[tuple[slice, ...]]:
    """Divide a C-ordered array into consecutive blocks along its first axes.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array. If empty, there is one block.
    item_size : int
        Bytes of one value in memory.
    budget : int
        Maximum number of bytes of a block. A block has at least one value.
    chunk : sequence of int, optional
        Chunk lengths of the file per axis. Blocks end at multiples of them if the budget allows.

    Yields
    ------
    tuple of slice
        One slice per axis, in C order of the array. Together they cover it once. No tuple if a size is 0.
    """
    if 0 in shape:
        return
    axis, inner = len(shape), max(item_size, 1)
    while axis and inner * shape[axis - 1] <= budget:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield tuple(slice(0, n) for n in shape)
        return
    step = max(budget // inner, 1)
    if chunk is not None and step > chunk[axis - 1]:
        step -= step % chunk[axis - 1]
    size, outer = shape[axis - 1], shape[: axis - 1]
    tail = tuple(slice(0, n) for n in shape[axis:])
    for flat in range(math.prod(outer)):
        position = []
        for n in reversed(outer):
            flat, i = divmod(flat, n)
            position.append(slice(i, i + 1))
        head = tuple(reversed(position))
        for start in range(0, size, step):
            yield (*head, slice(start, min(start + step, size)), *tail)


class LossWarning(DsWarning):
    """Information of a dataset that a file does not contain, or contains differently."""


def warn(
    message: str, path: str | None = None, variable: str | None = None, *, category: type[LossWarning] = LossWarning
) -> None:
    """Issue a warning that names file and variable, in the form of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), category, stacklevel=3)
