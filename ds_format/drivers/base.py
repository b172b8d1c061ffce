"""The two verbs of a file format: `Source` reads, `Sink` writes. A `Handle` is what of a source can travel.

Whole reads and writes, selection, conversion and statistics of files larger than memory are built on top of these.
Names are the keys of a dataset: variable names, escaped by `ds_format.dataset.escape`.
"""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..body.stamp import Stamp
from ..errors import DsError

Metadata = dict[str, dict[str, Any]]
"""The `"."` entry of a dataset: for each variable its properties (`.dims`, `.size`, `.type`, ...) and attributes,
and under `"."` the attributes of the dataset."""

Entries = Mapping[str, dict[str, Any]]
"""Metadata to read: a dict, or a mapping that makes an entry each time it is looked up."""

ERROR = "error"
WARNING = "warning"

BLOCK_SIZE = 16 * 1024 * 1024
"""Default budget of one block, in bytes of the array in memory."""
OBJECT_SIZE = 64
"""About the bytes of memory that a Python string takes besides its characters, or a short one with them."""
STRING_SIZE = 2 * OBJECT_SIZE
"""Bytes of memory that a string of unknown length is estimated to take."""


class Source(Protocol):
    """An open file to read from."""

    @property
    def meta(self) -> Entries:
        """From the header alone.

        Each variable has `.dims` (list of str), `.size` (list of int; None: no data) and `.type` (a ds type name;
        absent or None if the file does not say). `.missing` is true where values may be missing.
        """
        ...

    @property
    def faults(self) -> Mapping[str, DsError]:
        """From the header alone: why a variable cannot be had, by its key.

        Such a one stands in `meta` with what can be said of it, and to read it raises this error; see `check_faults`.
        """
        ...

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or the part that `index` selects, reading only the bytes of that part.

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
            In native byte order, writable. A MaskedArray if a value is missing. 0-d: a NumPy scalar, str or bytes, or a
            0-d MaskedArray. None if the variable has no data.

        Raises
        ------
        DsError
            That of `faults`, if the variable cannot be had.
        """
        ...

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield the variable as consecutive blocks in C order, each of at most about `budget` bytes in memory.

        Every block is an ndarray or MaskedArray of full rank, shaped as one of `block_slices` says. A variable without
        data (`.size` None) or of zero size has no blocks.
        """
        ...

    def handle(self, name: str) -> "Handle":
        """Return what reads one variable elsewhere: in another thread or process, or on another host.

        Parameters
        ----------
        name : str
            A key of `meta`.

        Raises
        ------
        DsError
            That of `faults`, if the variable cannot be had.
        """
        ...

    def close(self) -> None:
        """Release the file."""
        ...


class Readable(Protocol):
    """A variable that can be pickled and needs no closing, for nothing of it is open: of a file, or of many as one."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        ...

    @property
    def type(self) -> str | None:
        """Name of the ds type; None only without data."""
        ...

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        ...

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Return the variable, or the part that an index selects, as `Source.read` does.

        Raises
        ------
        OSError
            If a file cannot be read.
        ReplacedError
            If it is not the file any more that was opened; no numbers are returned.
        FormatError
            If it is damaged.
        """
        ...


class Handle(Readable, Protocol):
    """A variable of a file that is not open, made for travelling.

    Any number of threads may read at once. Each read opens the file, and compares its stamp.

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
        """The file, as an absolute path."""
        ...

    @property
    def key(self) -> str:
        """Of the variable."""
        ...

    @property
    def stamp(self) -> Stamp:
        """What tells whether the file is still the one that was opened."""
        ...

    @property
    def dtype(self) -> Any:
        """NumPy dtype of the arrays that are read; object for text and byte strings."""
        ...


class Origin(NamedTuple):
    """How a source was opened."""

    path: str
    """Absolute."""
    driver: str
    """The name of its format."""
    options: Mapping[str, Any]
    stamp: Stamp


class Problem(NamedTuple):
    """Something that is wrong with a file.

    Examples
    --------
    >>> problem = Problem("a.ds", "x", "text is not UTF-8", "error")
    >>> problem.variable, problem.severity
    ('x', 'error')
    """

    path: str
    """The file."""
    variable: str | None
    """Its variable, by the unescaped name; None: the file as a whole."""
    message: str
    """What was found and what was expected."""
    severity: str
    """`error`: data are wrong or cannot be read. `warning`: this package reads them, others perhaps not."""


Report = Callable[[Problem], None]
"""Takes what the `check` of a driver finds, while it goes on."""


class Sink(Protocol):
    """A file being written: whole after `commit`, absent after `abort`."""

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable of the metadata given at creation from its blocks in C order.

        Variables without data or of zero size may be left out.
        """
        ...

    def commit(self) -> None:
        """Move the finished file to its name."""
        ...

    def abort(self) -> None:
        """Leave no trace; a file that stood under the name stays as it was."""
        ...


class FileRow(Protocol):
    """What small files of one format say that are in a row: `drivers.alike.AlikeFiles` takes their values by it."""

    @property
    def entries(self) -> Metadata:
        """Of the files so far: later ones override former ones. Attributes may lack types; see `typed`."""
        ...

    def start(
        self,
        path: str,
        held: Any,
        stacks: Mapping[str, Any],
        wanted: Collection[str],
        each: Collection[str],
    ) -> dict[str, Any]:
        """Take the values of the first file, and return its attributes of the dataset.

        Parameters
        ----------
        path : str
        held : object
        stacks : mapping
            The `alike.StackedValues` of each variable that has data: its values are appended there.
        wanted : collection of str
            Keys of the variables of this file.
        each : collection of str
            Keys of those of which later files are read, too.

        Raises
        ------
        FormatError
            If a variable that is wanted is damaged.
        """
        ...

    def take(self, path: str, held: Any) -> dict[str, Any] | None:
        """Take one more file, and return its attributes of the dataset: the same object if they are those of the last.

        None: it differs in what decides how files are merged, and nothing is taken of it.

        Raises
        ------
        FormatError
            If it is alike, but damaged; then nothing of it has been taken.
        """
        ...

    def typed(self, entries: Metadata) -> Metadata:
        """Give attributes the types that a Source gives them, in place."""
        ...

    def missing(self) -> Mapping[str, bool]:
        """Return whether values may be missing in any file, of variables whose entries do not have `.missing`."""
        ...


class SmallFiles(NamedTuple):
    """What can be done with small files of one format, which are held in memory, and read many at a time."""

    size: int
    """Bytes up to which a file is small."""
    hold: Callable[[str, bytearray], Any]
    """Takes path and content of a file, and returns what is held of it; None: it is to be opened like a larger one. It
    raises FormatError if the file is seen to be damaged."""
    digest: Callable[[Any], int]
    """Takes what is held of a file, and returns 32 bits that tell its header from others."""
    read: Callable[[str, Any, Collection[str] | None, bool | None], Any]
    """Takes the path, what is held (once: it may be given away), keys of variables or None for all, and `unpack` as
    `packing.is_unpacked_by`. It returns a dataset, as `Driver.read` does; variables that do not exist are left out."""
    begin: Callable[[str, Any], FileRow]
    """Takes the path of a file and what is held of it, and returns a row of files which begins with it."""
    masks: bool = False
    """Whether users expect masked arrays of numbers, also where nothing is missing."""


def check_faults(faults: Mapping[str, DsError], keys: Iterable[str]) -> None:
    """Raise the error of the first of some variables that cannot be had, if there is one; see `Source.faults`.

    For whoever does without reading: a variable that is to be written, say, but has no data.
    """
    for key in keys:
        if key in faults:
            raise faults[key].with_traceback(None)


def block_slices(
    shape: Sequence[int], item_size: int, budget: int, chunk: Sequence[int] | None = None
) -> Iterator[tuple[slice, ...]]:
    """Cut a C-ordered array into consecutive blocks along its first axes.

    Parameters
    ----------
    shape : sequence of int
        May be empty: one block.
    item_size : int
        Bytes of one value in memory.
    budget : int
        Bytes that one block may take; at least one value is always taken.
    chunk : sequence of int, optional
        Chunk lengths of the file per axis: cuts fall on multiples of them where the budget allows.

    Yields
    ------
    tuple of slice
        One per axis, in C order of the array; together they cover it once. Nothing if a size is 0.
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


class LossWarning(UserWarning):
    """Something of a dataset that a file does not hold, or holds differently."""


def warn(message: str, path: str, variable: str | None = None) -> None:
    """Issue a `LossWarning` that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), LossWarning, stacklevel=3)
