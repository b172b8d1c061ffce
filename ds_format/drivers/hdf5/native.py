"""Reading: an HDF5 file as a Source without h5py, and its variables by their positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import hdf5
from ...base.dtypes import TYPES
from ...body.body import Body
from ..library.catalog import FileVariable, dtype_of
from ..native import HDF5FileSource, HDF5Values, open_native
from ..slabs import Slices
from .by_library import LIBRARY, open_by_library
from .catalog import read_catalog
from .format import HDF5Warning, warn
from .objects import describe, without_padding


class PlainValues(HDF5Values):
    """Reads values of an HDF5 file.

    Parameters
    ----------
    body : Body
        The bytes of the file, a user block included.
    """

    category = HDF5Warning
    library = LIBRARY
    as_text = False

    def __init__(self, body: Body):
        super().__init__(hdf5.content(body) or body)

    def _open_by_library(self, path: str) -> Any:
        return open_by_library(path)

    def _whole(self, variable: FileVariable, place: Any) -> tuple[NDArray[Any], bool] | None:
        # numbers may have another type in the dataset
        return super()._whole(variable, place) if dtype_of(TYPES[variable.type].code) == place.dtype else None

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab; see `Reading`."""
        values, may_miss = super()._fetch_looked(variable, slices)
        if variable.kind == "bool":
            return values.view(np.bool_), may_miss
        return without_padding(values, variable.place.padding) if variable.kind == "fixed" else values, may_miss

    def _padding(self, place: hdf5.DatasetPlace) -> NDArray[Any]:
        if place.dtype.kind == "V" and place.fill is not None:
            raise hdf5.Unusual("strings with a fill value, which is needed beyond their number")
        return super()._padding(place)


class PlainSource(HDF5FileSource):
    """An open HDF5 file; see `NativeSource`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    content : Body
        The same without the user block.
    skip_unsupported : bool
        See `source.HDF5Source`.
    """

    def __init__(self, body: Body, content: Body, skip_unsupported: bool):
        file, left_out = hdf5.with_links(hdf5.read_file(content))
        file, places = describe(file)
        for link in left_out:
            warn(f'left out: "{link.name}", {link.reason}', content.name)
        super().__init__(PlainValues(body), body, read_catalog(file, places, body.name, skip_unsupported))


def opened(body: Body, skip_unsupported: bool) -> PlainSource | None:
    """Open an HDF5 file; see `native.open_native`. `skip_unsupported` is as of `source.HDF5Source`."""
    content = hdf5.content(body)
    if content is None:
        return None
    return open_native(content, (hdf5.SIGNATURE,), lambda content: PlainSource(body, content, skip_unsupported))
