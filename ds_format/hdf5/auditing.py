"""Damage of a file: checks before a library reads it, and, for `ds verify`, structures that reading does not need.

A library that reads a damaged file may end the process. So before it gets a file, everything in it that this package
knows is checked (`Audit`).

`ds verify` reads the parts of a dataset that were written. A file of some kilobytes may have datasets of any size that
were never written. To read all of one takes hours, and only what was written can be damaged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..body.body import Body
from ..errors import FormatError, Unusual
from ..kernels.hdf5.segments import check_unread as _check_unread
from .arrays import MAX_RATIO, MAX_SIZE, DatasetPlace, check_index, place_of, stored_of
from .header import content, read_file, read_partly
from .links import with_links
from .reading import first_bytes, read_known
from .records import HDF5Dataset


class Audit:
    """The known parts of a file that a library must read. None of them is damaged.

    Parameters
    ----------
    body : Body
        The bytes of the file, a user block included.
    netcdf : bool
        Whether it is the netCDF library, which goes into each name of a group.

    Attributes
    ----------
    datasets : dict of HDF5Dataset
        Those that are known, by each of their names.

    Raises
    ------
    FormatError, TruncatedError
        If something is damaged.
    """

    def __init__(self, body: Body, *, netcdf: bool):
        self._body = content(body) or body
        file = read_partly(self._body, netcdf=netcdf)
        if netcdf:
            with contextlib.suppress(Unusual):
                with_links(file, netcdf=True)
        with contextlib.suppress(Unusual):
            file, _ = with_links(file)
        self.datasets: dict[str, HDF5Dataset] = {each.name: each for each in file.datasets}
        for dataset in file.datasets:
            try:
                with contextlib.suppress(Unusual):
                    place_of(dataset)
            except FormatError as error:
                raise error.at(variable=dataset.name)
        self._unchecked = {each.address for each in file.datasets}

    def check_values(self, name: str) -> None:
        """Check the index of the chunks of a dataset, once.

        Raises
        ------
        FormatError
            If it is damaged.
        """
        dataset = self.datasets.get(name)
        if dataset is not None and dataset.address in self._unchecked:
            self._unchecked.discard(dataset.address)
            try:
                with contextlib.suppress(Unusual):
                    check_index(self._body, dataset)
            except FormatError as error:
                raise error.at(variable=name)


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
