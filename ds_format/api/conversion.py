"""Convert one file to another, variable by variable and block by block, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from .. import drivers
from ..base.progress import Progress
from ..body import Address
from ..body.body import Body
from ..datasets import META, as_array
from ..drivers.base import Sink, Source, check_faults
from ..errors import UnsupportedError
from ..model.marks import settled
from ..model.selection import Selection, Selector
from ..views.subset import Input, Path, Subset, item_size, memory_size, open_subset
from .creation import created

if TYPE_CHECKING:
    from .options import ConvertOptions, TableReadOptions, Writable

SMALL_SIZE = 1 << 20
"""Bytes of all values in memory, up to which formats that can do so write a file in one step."""


def convert(
    source: Input,
    target: Path | Writable,
    variables: Sequence[str] | None = None,
    sel: Selector = None,
    *,
    range_: Selector = None,
    at: Selector = None,
    between: Selector = None,
    jd: bool = False,
    skip_unsupported: bool = False,
    progress: Progress | None = None,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    reading: TableReadOptions | None = None,
    **options: Unpack[ConvertOptions],
) -> None:
    """Convert a file to another format, or a part of it. The shell's command for this is `ds select`.

    Data are converted block by block, so files can be larger than memory. Writing is atomic. The target can be the
    source itself.

    Parameters
    ----------
    source, target : str, bytes, PathLike or file object
        Paths or addresses. The suffixes determine the formats.
    variables : sequence of str, optional
        Names of the variables to convert; all by default.
    sel, range_, at, between : dict, optional
        As `ds_format.read`.
    jd : bool
        Convert variables of time to Julian dates, as `ds_format.read` does. The options `time_units` and `calendar` of
        the target write times in these units instead, if its format has them.
    skip_unsupported : bool
        Leave out variables that the ds model cannot hold, with a warning, instead of raising an error.
    progress : callable, optional
        Called with the number of converted bytes and the total number, both of the data in memory.
    storage_options : dict, optional
        Options for addresses, as for `ds_format.read` and `ds_format.write`.
    store : object, optional
        The store that has the source, as for `ds_format.read`.
    reading : dict, optional
        Options of `ds_format.read` for CSV files, if the source is one, as `{"decimal": ","}`.
    **options
        Options of the target's format; see `ds_format.write`.

    Raises
    ------
    OSError, DriverError, FormatError, IndexError
        As `ds_format.read`.
    UnsupportedError
        If a format cannot hold a variable.

    Examples
    --------
    >>> import ds_format as ds
    >>> meta = {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}
    >>> ds.write("day.ds", {"t": [0, 6, 12], "x": [1.5, 2.5, 3.5], ".": meta})
    >>> ds.convert("day.ds", "noon.json", ["x"], between={"t": (6, None)})
    >>> ds.read("noon.json")["x"]
    array([2.5, 3.5])
    """
    selection = Selection(variables, sel, range_, at, between, jd or not drivers.TIMES.isdisjoint(options))
    where, target = drivers.located(source, storage_options, store), drivers.located(target, storage_options)
    convert_selection(where, target, selection, skip_unsupported, progress, reading, **options)


class Output(NamedTuple):
    """A file to write."""

    path: Any
    format: drivers.Format
    options: dict[str, Any]
    """Options of the format, and of times; see `creation.create_sink`."""

    @classmethod
    def of(cls, target: Path | Writable, options: Mapping[str, Any]) -> Output:
        """Return the file with a path, and the format that its suffix or the option `format` names.

        Raises
        ------
        DriverError
            If there is no such format, or it cannot be written there.
        """
        path, given = drivers.located(target), dict(options)
        return cls(path, drivers.find_output(path, given), given)

    @property
    def writer(self) -> Callable[..., bool] | None:
        """The function that writes a file of the format in one step, if it can; see `Driver.write`."""
        return None if drivers.CODED & self.options.keys() else drivers.load(self.format).write

    def creation_options(self) -> dict[str, Any]:
        """Return the options for it; errors as of `drivers.creation_options`."""
        return drivers.creation_options(self.format, self.path, self.options)


def convert_selection(
    source: Path,
    target: Path | Writable,
    selection: Selection,
    skip_unsupported: bool = False,
    progress: Progress | None = None,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Convert a part of a file. Parameters and errors are those of `convert`."""
    output, body = Output.of(target, options), None
    if selection.is_everything and not reading:
        is_done, body = convert_small(source, output, progress)
        if is_done:
            return
    with open_subset(source, selection, skip_unsupported=skip_unsupported, body=body, reading=reading) as part:
        write_subset(part, output, progress)


def convert_small(source: Path, output: Output, progress: Progress | None) -> tuple[bool, Body | None]:
    """Convert all of a small local file in one step, if both formats can do so.

    The output has the same bytes as with `write_subset`.

    Returns
    -------
    is_done : bool
        Whether the file was converted.
    body : Body or None
        The file, if it was opened and not converted.
    """
    write = output.writer
    if write is None or (type(source) is not str and isinstance(source, Address)):
        return False, None
    read = drivers.of_existing(source).read_small
    if read is None:
        return False, None
    try:
        found = read(source, SMALL_SIZE)
    except (UnsupportedError, IsADirectoryError):
        return False, None  # the general way names the option that leaves the variable out, and opens folders
    if isinstance(found, Body):
        return False, found
    arrays, meta, size = found
    if not write(output.path, arrays, meta, **output.creation_options()):
        return False, None
    if progress is not None:
        progress(size, size)
    return True, None


def write_subset(part: Subset, output: Output, progress: Progress | None = None) -> None:
    """Write an open part of a file to another file. Errors are those of `convert`."""
    meta = part.meta
    if output.format.is_table and part.asked is not None:
        meta = {key: meta[key] for key in (*part.asked, META)}
    with part.telling_of_skipping():
        check_faults(part.faults, meta)
    with_data = [key for key, entry in meta.items() if key != META and entry.get(".size") is not None]
    total = sum(memory_size(meta[key]) for key in with_data)
    write = output.writer if total <= SMALL_SIZE else None
    if write is not None:
        arrays = {key: _whole(part, key) for key in meta if key != META}
        if write(output.path, arrays, settled(meta, arrays), **output.creation_options()):
            if progress is not None:
                progress(total, total)
            return
    with created(output.path, meta, output.format, whole=part.source.meta, **output.options) as sink:
        _copy(part, sink, with_data, total, progress)


def _whole(part: Source, key: str) -> Any:
    entry = part.meta[key]
    return None if entry.get(".size") is None else as_array(part.read(key), entry.get(".type"))


def _copy(part: Source, sink: Sink, keys: Iterable[str], total: int, progress: Progress | None) -> None:
    done = 0
    for key in keys:
        entry, start = part.meta[key], done

        def report(n: int, start: int = start, size: int = item_size(entry)) -> None:
            if progress is not None:
                progress(start + n * size, total)

        sink.write(key, counted(part.blocks(key), report))
        done += memory_size(entry)


def counted(blocks: Iterable[Any], report: Callable[[int], None]) -> Iterator[Any]:
    """Yield blocks, and report how many values have been consumed."""
    n = 0
    for block in blocks:
        yield block
        n += block.size
        report(n)
