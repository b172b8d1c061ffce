"""xarray's own tests of NetCDF files, on ds files: `test_backends`, `test_backends_datatree`, `test_distributed`.

They are in its wheel and change with every version, so that one is pinned; under any other they are skipped. A test
that `docs/xarray.md` lists has to fail: if it passes, the list is wrong.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PINNED = "2026.9.0"

xarray = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
if xarray.__version__ != PINNED:
    pytest.skip(f"xarray {xarray.__version__} has other tests than {PINNED}", allow_module_level=True)
pytest.importorskip("pytest_asyncio", reason="tests of xarray need pytest-asyncio (group optional)")
pytest.importorskip("distributed", reason="needs distributed (extra dask)")

from distributed.utils_test import *  # noqa: E402,F403 - fixtures
from xarray.tests import test_backends, test_backends_datatree, test_distributed  # noqa: E402
from xarray.tests.conftest import *  # noqa: E402,F403 - fixtures
from xarray.tests.test_backends_datatree import unaligned_datatree_nc  # noqa: E402,F401 - fixture
from xarray.tests.test_distributed import tmp_netcdf_filename  # noqa: E402,F401 - fixture

from . import upstream  # noqa: E402

xarray.set_options(warn_for_unclosed_files=False)  # importing its tests turns it on for the whole run

# xarray's tests run under the filters of xarray, which lets its own warnings be
pytestmark = pytest.mark.filterwarnings("ignore")

DOCUMENT = Path(__file__).parents[2] / "docs" / "xarray.md"
EXCEPTED = frozenset(re.findall(r"`(test_\w+)`", DOCUMENT.read_text(encoding="utf-8")))


@pytest.fixture(autouse=True)
def ds_files(monkeypatch: Any, tmp_path: Any, request: Any) -> None:
    """Let a test of xarray write and open ds files; those that are listed have to fail."""
    upstream.use_ds_files(monkeypatch, tmp_path, test_backends, test_backends_datatree, test_distributed)
    if request.node.originalname in EXCEPTED:
        request.applymarker(pytest.mark.xfail(reason="listed in docs/xarray.md", strict=True))


class TestFiles(test_backends.TestNetCDF4Data):
    """Datasets in memory, and opened without dask."""

    engine: Any = "ds"


class TestFilesOfDask(test_backends.TestNetCDF4ViaDaskData):
    """Datasets of dask, written in parallel, and opened in chunks."""

    engine: Any = "ds"

    def save(self, dataset: Any, path: Any, **kwargs: Any) -> Any:
        return super().save(dataset.chunk(), path, **kwargs)


class TestManyFiles(test_backends.TestOpenMFDatasetWithDataVarsAndCoordsKw):
    """How `open_mfdataset` combines files."""


class TestOpening(test_backends.TestDask):
    """Files opened as arrays of dask, by `open_mfdataset` above all."""


class TestArrays(test_backends.TestDataArrayToNetCDF):
    """Files of one array."""


class TestFilesAsTrees(test_backends_datatree.TestNetCDF4DataTree):
    """The tests of `TestFiles`, opened as trees."""

    engine: Any = "ds"


class TestTrees(test_backends_datatree.TestNetCDF4DatatreeIO):
    """Trees, written and opened."""

    engine: Any = "ds"


class TestGenericTrees(test_backends_datatree.TestGenericNetCDFIO):
    """Trees, opened without the name of an engine."""


def test_excepted_tests_exist() -> None:
    """The document lists no test that does not run here."""
    classes = [kind for name, kind in globals().items() if name.startswith("Test")]
    assert EXCEPTED and [name for name in EXCEPTED if not any(hasattr(kind, name) for kind in classes)] == []


@pytest.mark.parametrize("compute", [True, False])
def test_dask_distributed_netcdf_roundtrip(loop: Any, tmp_path: Any, compute: bool) -> None:
    test_distributed.test_dask_distributed_netcdf_roundtrip(loop, str(tmp_path / "a.nc"), "netcdf4", "NETCDF4", compute)


def test_dask_distributed_read_netcdf_integration_test(loop: Any, tmp_path: Any) -> None:
    name = str(tmp_path / "a.nc")
    test_distributed.test_dask_distributed_read_netcdf_integration_test(loop, name, "netcdf4", "NETCDF4")


test_dask_distributed_write_netcdf_with_dimensionless_variables = (
    test_distributed.test_dask_distributed_write_netcdf_with_dimensionless_variables
)
test_open_mfdataset_can_open_files_with_cftime_index = (
    test_distributed.test_open_mfdataset_can_open_files_with_cftime_index
)
test_open_mfdataset_multiple_files_parallel_distributed = (
    test_distributed.test_open_mfdataset_multiple_files_parallel_distributed
)
test_open_mfdataset_multiple_files_parallel = test_distributed.test_open_mfdataset_multiple_files_parallel
