"""The rules of the house that a program can check. The layers are import-linter contracts in `pyproject.toml`."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ds_format
from benchmarks import house

from .conftest import cases

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "ds_format" / "kernels"
BELOW = {  # which folders of kernels may use which others
    "common": set(),
    "files": {"common"},
    "ds": {"common", "header", "json"},
    "header": {"common", "json"},
    "json": {"common"},
    "msgpack": {"common"},
    "hdf5": {"common"},
    "classic": {"common", "files"},
    "netcdf": {"common"},
    "pickle": {"common"},
    "datadings": {"common", "msgpack"},
    "zds": {"common", "json"},
    "table": {"common", "json"},
}
LIMITS = {"ds_format/**/*.pyx": 500, "ds_format/**/*.py": 600, "tests/**/*.py": 700}


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


@pytest.mark.parametrize("pattern", LIMITS)
def test_files_stay_short(pattern: str) -> None:
    paths = sorted(ROOT.glob(pattern))
    assert paths
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    assert names([path for path, length in lengths.items() if length > LIMITS[pattern]]) == []


def imported(code: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after running `code`."""
    line = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", line], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_library() -> None:
    plain = imported("")
    extra = {name.partition(".")[0] for name in imported("import ds_format") - plain}
    assert not extra & {"numpy", "netCDF4", "h5py", "xarray", "json", "msgpack"}


def test_the_contract_of_formats_needs_no_pytest() -> None:
    assert not imported("import ds_format.testing") & {"pytest", "_pytest", "hypothesis"}


def test_listing_a_ds_file_loads_no_numpy(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    ds_format.write(path, {"x": 1})
    assert "numpy" not in imported(f"from ds_format.cli import main; main(['ls', {str(path)!r}])")


def test_reading_a_ds_file_loads_no_netcdf_library(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    code = f"import ds_format; ds_format.write({str(path)!r}, {{'x': 1}}); ds_format.read({str(path)!r})"
    assert not imported(code) & {"netCDF4", "cftime", "h5py", "xarray"}


@cases("module", house.modules())
def test_the_package_imports_its_own_modules_by_relative_name(module: str) -> None:
    for node in ast.walk(house.trees()[module]):
        if isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if alias.name.partition(".")[0] == "ds_format"]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").partition(".")[0] != "ds_format"


@cases("module", house.modules())
def test_each_module_says_what_it_is(module: str) -> None:
    tree = house.trees()[module]
    assert ast.get_docstring(tree)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]


def test_tables_have_one_user() -> None:
    """Libraries of tables are imported in one room. Import-linter does not see names in strings."""
    named = [
        module
        for module, tree in house.trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
        if re.search(r"(library|import_module)$", ast.unparse(node.func))
        if re.match(r"(pyarrow|duckdb)\b", str(node.args[0].value))
    ]
    users = {*named}
    # a pickle of pandas has columns of pyarrow, and safe loading knows no other room
    assert users - {"ds_format.binpickle.machine.pandas_"} == {"ds_format.tables.libraries"}


@pytest.mark.parametrize("path", sorted(KERNELS.rglob("*.pyx")), ids=lambda path: path.name)
def test_each_kernel_has_a_stub(path: Path) -> None:
    assert path.with_suffix(".pyi").is_file()


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in KERNELS.iterdir() if path.is_dir() and path.name[0] != "_")
)
def test_kernels_point_downward(folder: str) -> None:
    texts = [
        path.read_text() for path in (KERNELS / folder).iterdir() if path.suffix in (".py", ".pyi", ".pyx", ".pxd")
    ]
    used = {name for text in texts for name in re.findall(r"^from \.\.(\w+)[.\w]* c?import", text, re.MULTILINE)}
    assert used <= BELOW[folder]


DOCUMENT = re.sub(r"https?://[^)\s]+", "", (ROOT / "docs" / "architecture.md").read_text())
PATHS = sorted(
    set(re.findall(r"\w+(?:/\w+)+(?:\.pyx?)?|\w+(?=/)|\w+\.pyx?\b|(?<=^- \*\*)\w+(?=\*\*)", DOCUMENT, re.MULTILINE))
)
NAMES = sorted(set(re.findall(r"\bds_format(?:\.\w+)+", DOCUMENT)))


@cases("path", PATHS)
def test_paths_in_the_document_exist(path: str) -> None:
    place = ROOT / "ds_format" / path
    assert place.exists() or place.with_suffix(".py").exists()


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_document_exist(name: str) -> None:
    is_module = ROOT.joinpath(*name.split(".")).with_suffix(".py").exists()
    try:
        # `resolve_name` hides the error of a module that lacks a library
        importlib.import_module(name) if is_module else pkgutil.resolve_name(name)
    except ImportError as error:
        if (error.name or "").startswith("ds_format"):
            raise
        pytest.skip(f"needs {error.name}")


def test_the_document_has_paths_and_names() -> None:
    assert {"codec", "codec/layout.py", "kernels/files/files.pyx"} <= set(PATHS)
    assert {"ds_format.read", "ds_format.zds"} <= set(NAMES)
