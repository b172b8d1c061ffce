"""The examples in docstrings run, and every public function and class has one."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ds_format
from ds_format import ops

from .numpy_versions import needs_numpy_2

FINDER = doctest.DocTestFinder()
NEEDS = {
    "ds_format.body.remote.urls": ["urllib3"],
    "ds_format.many.querying": ["duckdb", "pyarrow"],
    "ds_format.tables.document_columns": ["pyarrow"],
    "ds_format.tables.document_rows": ["pandas"],
    "ds_format.zds.tables": ["duckdb", "pandas", "pyarrow"],
}
"""Libraries that are imported by functions, not by modules."""


def modules() -> list[str]:
    """Return the names of all modules written in Python but those of the command line, which is called otherwise."""
    root = Path(ds_format.__file__).parent
    paths = [path.relative_to(root.parent).with_suffix("") for path in sorted(root.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    return [name for name in names if not name.startswith(("ds_format.cli", "ds_format.__main__"))]


def load(name: str) -> ModuleType:
    """Import a module, unless it needs a library that is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("ds_format"):
            raise
        pytest.skip(f"needs {error.name}")


@needs_numpy_2  # which prints the types of scalars
@pytest.mark.parametrize("name", modules())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # examples leave folders behind
    monkeypatch.delenv("DS_MODE", raising=False)
    module = load(name)
    for library in NEEDS.get(name, []):
        pytest.importorskip(library)
    for test in FINDER.find(module, module=module):
        report: list[str] = []
        doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)


def public() -> Iterator[tuple[str, Any]]:
    for name in ops.__all__:
        yield f"ops.{name}", getattr(ops, name)
    for name in ds_format.__all__:
        value = getattr(ds_format, name)
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception)):
            yield name, value
    if importlib.util.find_spec("xarray") is not None:
        for name in ("from_xarray", "open_many", "to_xarray"):
            yield name, getattr(ds_format, name)


def test_every_public_function_and_class_has_an_example() -> None:
    without = [name for name, value in public() if ">>> " not in (inspect.getdoc(value) or "").partition("Examples")[2]]
    assert without == []
