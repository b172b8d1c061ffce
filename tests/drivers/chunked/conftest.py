"""Slabs of any size are read without the library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ds_format.drivers import chunked


@pytest.fixture(autouse=True, scope="module")
def any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "MIN_SIZE", 0)
        patch.setattr(chunked, "MIN_CHUNK_SIZE", {False: 0, True: 0})
        yield
