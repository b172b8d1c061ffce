"""Slabs of any size are read without the library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ds_format.drivers import chunked
from ds_format.drivers.netcdf import chunks


@pytest.fixture(autouse=True, scope="module")
def any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "MIN_SIZE", 0)
        patch.setattr(chunks, "MIN_SIZE", 0)
        patch.setattr(chunked, "MIN_CHUNK_SIZE", {False: 0, True: 0})
        patch.setattr(chunks, "IMPORT_SIZE", 0)
        yield
