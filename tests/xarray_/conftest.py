"""Fixtures and options that xarray's own tests need."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for marker in ("flaky", "network", "skip_if_param", "skip_with_dask_array"):
        config.addinivalue_line("markers", f"{marker}: of a test of xarray")
