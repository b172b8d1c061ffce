"""For `ds verify`: structures that reading does not need, and the parts of a dataset that were written.

A file of some kilobytes may have datasets of any size that were never written. To read all of one takes hours, and
only what was written can be damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..body.body import Body
from ..errors import Unusual
from ..kernels.hdf5.unread import check_unread as _check_unread
from .arrays import MAX_RATIO, MAX_SIZE, DatasetPlace, stored_of
from .header import content, read_file
from .reading import first_bytes, read_known


def check_unread(body: Body) -> None:
    """Compare the checksums of the structures that are not needed to read a file.

    These are the B-trees by creation order, and the free space of heaps.

    Raises
    ------
    FormatError
        If one is damaged: with its position.
    Unusual
        If one is not known.
    """
    body = content(body) or body
    file = read_file(body)
    addresses = [group.address for group in file.groups]
    addresses += [dataset.address for dataset in file.datasets]
    addresses += [type_.address for _, type_ in file.types if type_.address is not None]

    def parse(segments: Any, size: int) -> Any:
        return _check_unread(segments, size, addresses, Unusual)

    read_known(body, parse, first_bytes(body))


def written_parts(body: Body, place: DatasetPlace) -> Iterator[tuple[range, ...]] | None:
    """Yield the chunks of a dataset that were written, as ranges of its indices; None if reading all takes no longer.

    Raises
    ------
    FormatError
        If the index of chunks is damaged.
    Unusual
        If it is not supported.
    """
    layout = place.layout
    if place.size <= max(MAX_SIZE, MAX_RATIO * body.size):
        return None
    if layout.address is None:
        return iter(())
    if layout.chunk is None:
        return None
    stored = stored_of(body, place)
    if stored.chunks is None:
        return None
    positions = zip(*np.unravel_index(stored.chunks.numbers, stored.grid), strict=True)
    lengths = list(zip(layout.chunk, place.shape, strict=True))
    return (
        tuple([range(int(i) * step, min((int(i) + 1) * step, n)) for i, (step, n) in zip(at, lengths, strict=True)])
        for at in positions
    )
