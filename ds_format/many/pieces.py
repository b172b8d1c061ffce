"""Files and datasets as pieces of a merged one: consecutive small files that are alike, others one by one."""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import os
import stat
import zlib
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import drivers
from ..base import modes
from ..base.text import unescape
from ..body import Closing, Location, path_text
from ..body.body import FIRST_SIZE
from ..codec.encode import describe
from ..datasets import META, Dataset, arrays_of, as_array, as_masked
from ..drivers.alike import AlikeFiles, DatasetStack
from ..drivers.base import Metadata, SmallFiles, check_faults
from ..errors import UnsupportedError, explained
from ..kernels.files import files
from ..model import packing
from ..model.conventions import parents_bounds, with_parents
from ..model.dataset_attributes import as_variables
from ..model.marks import settled
from ..model.merge_plan import MergeInput, lengths_along
from ..model.merged_arrays import assemble
from ..views.groups import open_group
from ..views.subset import Subset

MAX_OPEN = 64
"""Maximum number of files that are open at the same time."""
MAX_HELD = 64 * 1024 * 1024
"""Maximum number of bytes of files that are in memory completely, and so are not open."""
Content = bytearray | int | Exception | None
"""Content of a file: its bytes, the errno or error if it cannot be read, or None if it has to be read separately."""
Skip = Callable[[Location, Exception], None]


class OpenFiles(Closing):
    """Opens files on demand, and keeps them open until the end, unless there are too many.

    Files whose sources have their bytes in memory (`held`, a number of bytes) are not open, and are kept in addition.

    The files requested first are kept, and all others share the last slot: a loop over all files opens only those again
    that have no slot of their own. If the least recently used file were closed instead, the loop would open all of them
    each time.

    Parameters
    ----------
    open_one : callable
        Path → Subset.
    most : int, optional
        Maximum number of files that are open at the same time; by default `MAX_OPEN`.
    """

    def __init__(self, open_one: Callable[[Any], Subset], most: int | None = None):
        self._open_one = open_one
        self._most = MAX_OPEN if most is None else most
        self._kept: dict[Location, Subset] = {}
        self._n_open = self._held = 0
        self._last: tuple[Location, Subset] | None = None

    def __getitem__(self, path: Location) -> Subset:
        found = self._kept.get(path)
        if found is None and self._last is not None and self._last[0] == path:
            found = self._last[1]
        if found is None:
            self._close_last()
            found = self._open_one(path)
            # a file that is elsewhere is not open in this process, but has its first bytes in memory
            held = getattr(found.source, "held", 0) or (0 if isinstance(path, str) or path.is_near else FIRST_SIZE)
            if held and self._held + held <= MAX_HELD:
                self._held += held
                self._kept[path] = found
            elif self._n_open < self._most - 1:
                self._n_open += 1
                self._kept[path] = found
            else:
                self._last = path, found
        return found

    def _close_last(self) -> None:
        if self._last is not None:
            last, self._last = self._last[1], None
            last.close()

    def close(self) -> None:
        """Close all open files."""
        self._close_last()
        while self._kept:
            self._kept.popitem()[1].close()


def open_sources(skip_unsupported: bool = False, most: int | None = None, group: str | None = None) -> OpenFiles:
    """Return an `OpenFiles` for files that are read through sources, or for one group of each."""
    return OpenFiles(functools.partial(open_group, wanted=group, skip_unsupported=skip_unsupported), most)


class SourcePiece:
    """A file of any format.

    Parameters
    ----------
    path : str or Address
    files : OpenFiles
        Opens the file.
    keys : container of str, optional
        Keys of the requested variables; all by default.
    attributes : collection of str, optional
        Keys of the requested attributes of the dataset.

    Raises
    ------
    OSError, DsError
        If the file cannot be opened, or does not contain a requested variable.
    """

    def __init__(
        self, path: Location, files: OpenFiles, keys: Container[str] | None = None, attributes: Collection[str] = ()
    ):
        self.paths = [path]
        self.unlike: Mapping[str, tuple[Location, Any]] = {}
        self._files = files
        self._masks = drivers.find_existing(path).masks
        subset = files[path]
        self.meta = self.first = subset.meta
        self.dataset_attributes: Sequence[Mapping[str, Any]] = [
            {key: subset.meta[META][key] for key in attributes if key in subset.meta[META]}
        ]
        wanted = [key for key in subset.meta if key != META and (keys is None or key in keys)]
        with subset.telling_of_skipping():
            check_faults(subset.faults, wanted)
        if hasattr(subset.source, "check_sizes"):
            subset.source.check_sizes(wanted)

    def read(self, key: str) -> Any:
        """Return one variable."""
        array = self.part(key, None)[None]
        return as_masked(array) if self._masks else array

    def digest(self) -> int:
        """Return a digest of the header, of 32 bits; 0 for formats without one."""
        subset = self._files[self.paths[0]]
        known = next((key for key in subset.meta if key != META and key not in subset.faults), None)
        return 0 if known is None else zlib.crc32(subset.source.handle(known).stamp.digest)

    def part(self, key: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or the part selected by an index, as an array or MaskedArray."""
        subset = self._files[self.paths[0]]
        try:
            return as_array(subset.read(key, index))
        except UnsupportedError:
            with subset.telling_of_skipping():
                raise


class DatasetPiece:
    """A dataset in memory."""

    def __init__(self, path: Location, dataset: Mapping[str, Any]):
        self.paths = [path]
        self.unlike: Mapping[str, tuple[Location, Any]] = {}
        self.dataset_attributes: Sequence[Mapping[str, Any]] = [{}]
        self._arrays, meta = arrays_of(dataset)
        self.meta = self.first = describe(self._arrays, meta)

    def read(self, key: str) -> Any:
        """Return one variable."""
        array = self._arrays[key][None]
        return as_masked(array) if drivers.find_existing(self.paths[0]).masks else array


def name_of(paths: Sequence[Location]) -> str:
    """Return a name for consecutive files, one of which has a fault, for messages."""
    return path_text(paths[0]) if len(paths) == 1 else f"{paths[0]} ... {paths[-1]}"


class UnpackedPiece:
    """A piece whose packed variables are unpacked."""

    def __init__(self, piece: DatasetStack, packed: Mapping[str, Mapping[str, Any]]):
        self.paths = piece.paths
        self.dataset_attributes = piece.dataset_attributes
        self.meta: Metadata = {**piece.meta, **{key: packing.unpacked_meta(entry) for key, entry in packed.items()}}
        self.first: Metadata = {
            **piece.first,
            **{key: packing.unpacked_meta({**entry, **piece.first[key]}) for key, entry in packed.items()},
        }
        self._piece = piece
        self._packed = packed
        self.unlike = {key: (path, self._unpacked(key, value)) for key, (path, value) in piece.unlike.items()}

    def read(self, key: str) -> Any:
        """Return one variable."""
        return self._unpacked(key, self._piece.read(key))

    def _unpacked(self, key: str, values: Any) -> Any:
        return packing.unpack(values, self._packed[key]) if key in self._packed else values


def _unpacked(piece: DatasetStack, unpack: bool | None) -> DatasetStack:
    packed = packing.entries_to_unpack(piece.meta, unpack)
    return UnpackedPiece(piece, packed) if packed else piece


def read_pieces(
    found: Iterable[tuple[Location, Content]],
    skip: Skip,
    opened_files: OpenFiles,
    keys: Container[str] | None = None,
    dim: str | None = None,
    attributes: Collection[str] = (),
    *,
    stack: Collection[str] = (),
    one_by_one: bool = False,
    compare: Callable[[Location, Mapping[str, Any]], bool] | None = None,
    watch: Callable[[int, int, bool], None] | None = None,
) -> Iterator[DatasetStack]:
    """Iterate over files as pieces of a merged dataset: consecutive small files that are alike, others one by one.

    Parameters
    ----------
    found : iterable of (path, content)
    skip : callable
        Called with the path of a file that cannot be read, and the error.
    opened_files : OpenFiles
        See `open_sources`.
    keys : container of str, optional
        Keys of the requested variables; all by default.
    dim : str, optional
        Dimension to merge along. Variables without it are taken from the first file.
    attributes : collection of str, optional
        Keys of attributes of the dataset to record for each file.
    stack : collection of str
        Keys of variables without it that are read from each file nevertheless.
    one_by_one : bool
        Make each file a separate piece, opened by `opened_files`, even if it is small.
    compare : callable, optional
        See `AlikeFiles`.
    watch : callable, optional
        Called for each small file with its index, the digest of its header, and whether it was only read here: see
        `WatchedFiles.check`.
    """
    row: AlikeFiles | None = None
    small_of_row: SmallFiles | None = None
    suffix, small = drivers.UNKNOWN, None
    for i, (path, content) in enumerate(found):
        try:
            content = bytes_of(path, content)
            if not one_by_one and not path.endswith(suffix):
                suffix, small = drivers.small_files_of(path)
            held: Any = None
            if small is not None:
                is_late = content is None
                if content is None:
                    content = _small_content(path, small.size)
                if content is not None:
                    held = small.hold(path, content)
                if held is not None:
                    if watch is not None:
                        watch(i, small.digest(held), is_late)
                    if row is not None and small is small_of_row and row.add(path, held):
                        continue
            piece: DatasetStack
            if small is None or held is None:
                piece, next_row = SourcePiece(path, opened_files, keys, attributes), None
                if compare is not None:
                    compare(path, piece.first[META])
            else:
                piece = next_row = AlikeFiles(small, path, held, keys, dim, attributes, stack, compare)
        except Exception as error:  # noqa: BLE001 - `skip` decides
            skip(path, error)
            continue
        if row is not None:
            yield row
        row, small_of_row = next_row, small
        if row is None:
            yield piece
    if row is not None:
        yield row


def _small_content(path: Location, limit: int) -> bytearray | None:
    """Return the bytes of a small file on this machine; None for other files."""
    if isinstance(path, str):
        status = os.stat(path)
        is_small = status.st_size <= limit and not stat.S_ISDIR(status.st_mode)
        return files.read_file(path, limit) if is_small else None
    if not path.is_near:
        return None
    held = path.whole(limit)
    if held is not None:
        return held
    body = path.open(limit)
    if body.is_in_memory:
        return bytearray(body.memory)
    path.keep(body)
    return None


def bytes_of(path: Location, content: Content) -> bytearray | None:
    """Return the bytes of a file, or None if it has to be read separately; raise the error if it cannot be read."""
    if isinstance(content, bytearray):
        return content
    if content is None or content == errno.EISDIR:  # a folder may be a dataset
        return None
    raise OSError(content, os.strerror(content), path_text(path)) if isinstance(content, int) else content


def fail(path: Location, error: Exception) -> None:
    """Raise the error of a file that cannot be read."""
    raise explained(error) if isinstance(error, FileNotFoundError) else error


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Disable the garbage collector, which would search many new datasets again and again without finding anything."""
    enabled = gc.isenabled()
    try:
        gc.disable()  # not before, or an interrupt in between would leave it disabled
        yield
    finally:
        if enabled:
            gc.enable()


def merge_pieces(
    pieces: Sequence[DatasetStack],
    dim: str,
    new: str | None = None,
    variables: Collection[str] | None = None,
    jd: bool | None = True,
    keys: Sequence[str] | None = None,
    unpack: bool | None = False,
    *,
    stack: Collection[str] = (),
    attributes: Collection[str] = (),
    masks: bool = False,
) -> Dataset:
    """Merge pieces into one dataset. Each array is allocated once.

    Parameters
    ----------
    pieces : sequence of DatasetStack
    dim, new, variables, jd, stack
        As for `plan_merge`.
    keys : sequence of str, optional
        Keys of the variables to merge; all by default.
    unpack : bool or None
        As for `packing.is_unpacked_by`.
    attributes : collection of str
        Keys of attributes of the dataset, which the pieces have recorded, that become variables along `dim`.
    masks : bool
        As for `merged_arrays.assemble`.

    Raises
    ------
    OSError, FormatError
        If a piece cannot be read.
    UnsupportedError
        If the pieces cannot be merged.
    """
    pieces = [_unpacked(piece, unpack) for piece in pieces]
    inputs = [
        MergeInput(
            _only(piece.meta, keys), len(piece.paths), piece.first, path_text(piece.paths[0]), piece.paths, piece.unlike
        )
        for piece in pieces
    ]
    known = {key for given in inputs for key in given.meta}
    for key in keys or ():
        if key not in known:
            others = [unescape(other) for other in pieces[0].meta if other != META] if pieces else []
            modes.missing(f'variable "{unescape(key)}" not found', meant=(unescape(key), others))
    merged = assemble(inputs, [piece.read for piece in pieces], dim, new, variables, jd, stack, masks=masks)
    merged[META] = settled(merged[META], merged)
    each = [one for piece in pieces for one in piece.dataset_attributes] if attributes else []
    merged.update(as_variables(attributes, each, lengths_along(inputs, dim), dim, merged[META]))
    return merged


def sizes_along(pieces: Sequence[DatasetStack], dim: str) -> list[int]:
    """Return the number of positions of each dataset along the merged dimension; see `lengths_along`."""
    return lengths_along([MergeInput(piece.meta, len(piece.paths)) for piece in pieces], dim)


def _only(meta: Metadata, keys: Sequence[str] | None) -> Metadata:
    if keys is None:
        return meta
    whole = with_parents(meta)
    with_parent = {other for key in keys for other in parents_bounds(meta.get(key, {}))}
    return {key: (meta if key in with_parent else whole)[key] for key in (*keys, META) if key in meta}
