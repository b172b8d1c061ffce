"""Both writers of HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .files import by_library


@pytest.fixture(scope="module", params=["composed", "h5py"])
def writer(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let files be written as usual, then by h5py."""
    if request.param == "h5py":
        with by_library():
            yield request.param
    else:
        yield request.param


@pytest.fixture
def left_to_h5py(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of files that were composed in vain, as it grows."""
    from ds_format.drivers.hdf5 import by_library as library, composed_sink  # noqa: PLC0415

    copy, found = library.copy_by_library, []

    def spy(make: object, written: str, target: str) -> None:
        found.append(Path(target).name)
        copy(make, written, target)  # type: ignore[arg-type]

    monkeypatch.setattr(composed_sink, "copy_by_library", spy)
    return found
