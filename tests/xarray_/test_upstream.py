"""xarray's own tests of formats of files, for ds files: those inside of its wheel.

They change with every version, so that one is pinned; under any other they are skipped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import ds_format

PINNED = "2026.9.0"

xarray = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
if xarray.__version__ != PINNED:
    pytest.skip(f"xarray {xarray.__version__} has other tests than {PINNED}", allow_module_level=True)
pytest.importorskip("pytest_asyncio", reason="tests of xarray need pytest-asyncio (group optional)")

from xarray.tests import test_backends as upstream  # noqa: E402
from xarray.tests.conftest import *  # noqa: E402,F403 - fixtures

# xarray's tests run under the filters of xarray, which lets its own warnings be
pytestmark = pytest.mark.filterwarnings("ignore")

ONCE = "to append does not apply: a ds file is written once"
NO_STORE = "stores are a matter of the formats that xarray itself writes"


class DsFiles(upstream.CFEncodedBase):
    """What `CFEncodedBase` does with files, done with ds files."""

    engine: Any = "ds"
    file_format: Any = "NETCDF4"  # that is, with all types of these files

    def save(self, dataset: Any, path: str, **kwargs: Any) -> Any:
        return ds_format.write(path + ".ds", dataset, **kwargs)

    @contextlib.contextmanager
    def open(self, path: str, **kwargs: Any) -> Iterator[Any]:
        with xarray.open_dataset(path + ".ds", **kwargs) as opened:
            yield opened

    @pytest.mark.skip(reason=NO_STORE)
    def test_write_store(self) -> None: ...

    @pytest.mark.xfail(reason=ONCE, raises=ds_format.UnsupportedError)
    def test_append_write(self) -> None:
        super().test_append_write()

    @pytest.mark.xfail(reason=ONCE, raises=ds_format.UnsupportedError)
    def test_append_overwrite_values(self) -> None:
        super().test_append_overwrite_values()

    @pytest.mark.xfail(reason=ONCE, raises=AssertionError)  # another error is expected there
    def test_append_with_invalid_dim_raises(self) -> None:
        super().test_append_with_invalid_dim_raises()

    @pytest.mark.xfail(reason="no _FillValue appears that nobody has set", raises=KeyError)
    def test_default_fill_value(self) -> None:
        super().test_default_fill_value()

    @pytest.mark.xfail(reason="what is null comes back so, not as empty text", raises=AssertionError)
    def test_roundtrip_stringdtype_nulls(self) -> None:
        super().test_roundtrip_stringdtype_nulls()


class TestEager(DsFiles):
    """Datasets in memory, and opened without dask."""


class TestDask(DsFiles):
    """Datasets of dask, written in parallel, and opened in chunks."""

    @pytest.mark.skip(reason="what is opened in chunks is not kept")
    def test_dataset_caching(self) -> None: ...

    def save(self, dataset: Any, path: str, **kwargs: Any) -> Any:
        return super().save(dataset.chunk(), path, **kwargs)

    @contextlib.contextmanager
    def open(self, path: str, **kwargs: Any) -> Iterator[Any]:
        with super().open(path, **{"chunks": -1, **kwargs}) as opened:
            yield opened
