"""What all tests share: the profiles of property tests, and the reference program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from ds_format.base import modes

from .torch_stand_in import torch_data

__all__ = ["torch_data"]

REFERENCE_VERSION = "5.0.2"

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", deadline=None, derandomize=True, print_blob=True, max_examples=25)
settings.register_profile("deep", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--reference-python",
        metavar="PATH",
        help=f"a Python that has ds-format {REFERENCE_VERSION}, for the tests that compare with it",
    )
    parser.addoption("--zippy", metavar="DIR", help="where the package zippy (zippy-data 0.1.2) lies, as installed")
    parser.addoption("--write-documents", action="store_true", help="put what code prints into the documents")


@pytest.fixture(autouse=True)
def mode_of_the_process() -> Iterator[None]:
    """Undo what code that a test runs, as that of documents, sets for the whole process."""
    before = [*modes._process]
    yield
    modes._process[:] = before


@pytest.fixture(scope="session")
def reference_python(pytestconfig: pytest.Config) -> str:
    """The Python of an environment with the reference program."""
    path: str | None = pytestconfig.getoption("reference_python")
    if path is None:
        pytest.skip(f"needs ds-format {REFERENCE_VERSION}: give --reference-python PATH of a Python that has it")
    told = "import importlib.metadata; print(importlib.metadata.version('ds-format'))"
    found = subprocess.run([path, "-I", "-c", told], check=True, capture_output=True, text=True).stdout.strip()
    assert found == REFERENCE_VERSION, f"--reference-python {path} has ds-format {found}"
    return path
