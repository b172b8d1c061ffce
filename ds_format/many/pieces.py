"""Files and datasets as pieces of a merged one."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any

from .. import drivers
from ..base import modes
from ..base.names import unescape
from ..codec.encode import describe
from ..dataset import META, Dataset, arrays_of, as_array, as_masked, metadata_of
from ..drivers.base import Metadata, check_faults
from ..drivers.library.missing import settled
from ..drivers.small import Piece
from ..errors import UnsupportedError
from ..model import packing
from ..model.conventions import parents_bounds, with_parents
from ..model.merge_plan import MergeInput, size_along
from ..model.merged_arrays import assemble
from .opened_files import OpenFiles


class SourcePiece:
    """A file of any format.

    Parameters
    ----------
    path : str
    files : OpenFiles
        Which open it.
    keys : container of str, optional
        Of the variables that are wanted; all by default.
    attributes : collection of str, optional
        Keys of attributes of the dataset that are wanted.

    Raises
    ------
    OSError, DsError
        If the file cannot be opened, or does not hold what is wanted.
    """

    def __init__(
        self, path: str, files: OpenFiles, keys: Container[str] | None = None, attributes: Collection[str] = ()
    ):
        self.paths = [path]
        self._files = files
        self._masks = drivers.find_existing(path).masks
        subset = files[path]
        self.meta = self.first = subset.meta
        self.noted: Sequence[Mapping[str, Any]] = [
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

    def digest(self) -> bytes:
        """Return that of the header; empty for formats that have none of their own."""
        subset = self._files[self.paths[0]]
        known = next((key for key in subset.meta if key != META and key not in subset.faults), None)
        return b"" if known is None else subset.source.handle(known).stamp.digest

    def part(self, key: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or the part that an index selects, as an array or MaskedArray."""
        subset = self._files[self.paths[0]]
        try:
            return as_array(subset.read(key, index))
        except UnsupportedError:
            with subset.telling_of_skipping():
                raise


class DatasetPiece:
    """A dataset in memory."""

    def __init__(self, path: str, dataset: Mapping[str, Any]):
        self.paths = [path]
        self.noted: Sequence[Mapping[str, Any]] = [{}]
        meta = metadata_of(dataset)
        self._arrays = arrays_of(dataset, meta)
        self.meta = self.first = describe(self._arrays, meta)

    def read(self, key: str) -> Any:
        """Return one variable."""
        array = self._arrays[key][None]
        return as_masked(array) if drivers.find_existing(self.paths[0]).masks else array


def name_of(paths: Sequence[str]) -> str:
    """Return what a message calls some files in a row, in one of which something is wrong."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} ... {paths[-1]}"


class UnpackedPiece:
    """Another piece, in which packed variables are unpacked."""

    def __init__(self, piece: Piece, packed: Mapping[str, Mapping[str, Any]]):
        self.paths = piece.paths
        self.noted = piece.noted
        self.meta: Metadata = {**piece.meta, **{key: packing.unpacked_meta(entry) for key, entry in packed.items()}}
        self.first: Metadata = {
            **piece.first,
            **{key: packing.unpacked_meta({**entry, **piece.first[key]}) for key, entry in packed.items()},
        }
        self._piece = piece
        self._packed = packed

    def read(self, key: str) -> Any:
        """Return one variable."""
        values = self._piece.read(key)
        return packing.unpack(values, self._packed[key]) if key in self._packed else values


def _unpacked(piece: Piece, unpack: bool | None) -> Piece:
    packed = packing.entries_to_unpack(piece.meta, unpack)
    return UnpackedPiece(piece, packed) if packed else piece


def merge_pieces(
    pieces: Sequence[Piece],
    dim: str,
    new: str | None = None,
    variables: Collection[str] | None = None,
    jd: bool = True,
    keys: Sequence[str] | None = None,
    unpack: bool | None = False,
    *,
    masks: bool = False,
) -> Dataset:
    """Merge pieces into one dataset, each array of which is allocated once.

    Parameters
    ----------
    pieces : sequence of Piece
    dim, new, variables, jd
        As `ds_format.merge`.
    keys : sequence of str, optional
        Of the variables to merge; all by default.
    unpack : bool or None
        As `packing.is_unpacked_by`.
    masks : bool
        As `model.merged_arrays.assemble`.

    Raises
    ------
    OSError, FormatError
        If a piece cannot be read.
    UnsupportedError
        If the pieces cannot be merged.
    """
    pieces = [_unpacked(piece, unpack) for piece in pieces]
    inputs = [MergeInput(_only(piece.meta, keys), len(piece.paths), piece.first, piece.paths[0]) for piece in pieces]
    known = {key for given in inputs for key in given.meta}
    for key in keys or ():
        if key not in known:
            others = [unescape(other) for other in pieces[0].meta if other != META] if pieces else []
            modes.missing(f'variable "{unescape(key)}" not found', meant=(unescape(key), others))
    merged = assemble(inputs, [piece.read for piece in pieces], dim, new, variables, jd, masks=masks)
    merged[META] = settled(merged[META], merged)
    return merged


def sizes_along(pieces: Sequence[Piece], dim: str) -> list[int]:
    """Return how many positions of the merged dimension each dataset has: one each, if the dimension is new."""
    sizes = [size_along(piece.meta, dim) for piece in pieces]
    one = 1 if all(size is None for size in sizes) else 0
    return [one if size is None else size for piece, size in zip(pieces, sizes, strict=True) for _ in piece.paths]


def _only(meta: Metadata, keys: Sequence[str] | None) -> Metadata:
    if keys is None:
        return meta
    whole = with_parents(meta)
    with_parent = {other for key in keys for other in parents_bounds(meta.get(key, {}))}
    return {key: (meta if key in with_parent else whole)[key] for key in (*keys, META) if key in meta}
