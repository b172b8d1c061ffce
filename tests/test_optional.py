"""What is said if a library or a kernel cannot be imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ds_format
from ds_format.base import optional
from ds_format.errors import DriverError

SAMPLE = Path(__file__).parents[1] / "examples" / "sample.nc"
USES = [
    ["-c", "import ds_format as ds; ds.read('sample.nc')"],
    ["-c", "import ds_format as ds; ds.read('sample.ds')"],
    ["-m", "ds_format", "ls", "sample.nc"],
    ["-m", "ds_format", "ls", "sample.ds"],
    ["-m", "ds_format", "cat", "lat", "sample.ds"],
    ["-m", "ds_format", "select", "sample.nc", "x.csv"],
    ["-m", "ds_format", "select", "sample.ds", "x.h5"],
]


def run(words: list[str], folder: Path, package: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("words", USES, ids=[" ".join(words) for words in USES])
def test_kernels_that_are_not_compiled(words: list[str], tmp_path: Path) -> None:
    clone, package = tmp_path / "clone", Path(ds_format.__file__).parent
    shutil.copytree(package, clone / package.name, ignore=shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__"))
    shutil.copy(SAMPLE, tmp_path)
    ds_format.convert(SAMPLE, tmp_path / "sample.ds")
    found = run(words, tmp_path, clone)
    assert found.returncode == 1
    line = found.stderr.splitlines()[-1]
    assert f" is not compiled in {clone}: run `pip install -e .` in this folder" in line
    assert "ds_format.kernels." in line
    assert "install netCDF4" not in found.stderr


@pytest.mark.parametrize("name", ["netCDF4", "h5py"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_library_is_blamed_only_if_it_is_missing(name: str, is_there: bool, tmp_path: Path) -> None:
    source, target = {"netCDF4": ("sample.nc", "copy.nc"), "h5py": ("sample.nc", "copy.h5")}[name]
    options = {"netCDF4": "compression='szip'", "h5py": "compression='lzf'"}[name]  # else it needs no library
    shutil.copy(SAMPLE, tmp_path / source)
    if is_there:
        (tmp_path / f"{name}.py").write_text("raise ImportError('libhdf5.so.310: cannot open shared object file')\n")
    begin = "" if is_there else f"import sys; sys.modules[{name!r}] = None; "
    found = run(
        ["-c", f"{begin}import ds_format as ds; ds.convert({source!r}, {target!r}, {options})"],
        tmp_path,
        Path(ds_format.__file__).parents[1],
    )
    line = found.stderr.splitlines()[-1]
    if is_there:
        assert f"{name}, which is installed: libhdf5.so.310: cannot open shared object file" in line
        assert "pip" not in line
    else:
        wanted = {"netCDF4": "netCDF4", "h5py": "ds-format-cython[hdf5]"}[name]
        assert line.endswith(f"DriverError: cannot import {name}: pip install '{wanted}'")


def test_what_needs_a_library_is_named() -> None:
    with pytest.raises(DriverError, match=r"^a matrix: cannot import no_such_module: pip install 'x'$"):
        optional.library("no_such_module.part", "x", "a matrix")


def test_an_error_of_this_package_stays() -> None:
    error = ImportError("cannot import name 'x'", name="ds_format.api.files", path="api/files.py")
    found = optional.unavailable(error, "h5py", "ds-format-cython[hdf5]")
    assert isinstance(found, ImportError)
    assert (str(found), found.name) == (str(error), error.name)


@pytest.fixture
def beside_a_rival(tmp_path: Path) -> Path:
    """A folder of packages in which ds-format is said to be installed, too."""
    info = tmp_path / "packages" / "ds_format-5.0.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ds-format\nVersion: 5.0.2\n")
    (info.parent / "ds_format").symlink_to(Path(ds_format.__file__).parent)
    return info.parent


RIVAL = "ds-format 5.0.2 is installed in the same folder ds_format"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["-c", "import ds_format; ds_format.from_netcdf4"], 1),
        (["-c", "import sys; sys.modules['ds_format.api.files'] = None; import ds_format; ds_format.read"], 1),
        (
            [
                "-c",
                "import sys; sys.modules['ds_format.cli.values'] = None; from ds_format.cli import main; main(['cat'])",
            ],
            0,
        ),
        (["-m", "ds_format", "--version"], 0),
    ],
)
def test_a_rival_is_named_where_something_fails(
    words: list[str], status: int, beside_a_rival: Path, tmp_path: Path
) -> None:
    found = run(words, tmp_path, beside_a_rival)
    assert found.returncode == status
    assert RIVAL in found.stderr
    alone = run(words, tmp_path, Path(ds_format.__file__).parents[1])
    assert (alone.returncode, RIVAL in alone.stderr) == (status, False)


ORIGINS = {
    "a clone": ({"url": "file:///clones/ds%20format", "dir_info": {"editable": True}}, "-e '/clones/ds format'`"),
    "a folder": ({"url": "file:///clones/ds_format", "dir_info": {}}, "/clones/ds_format`"),
    "a wheel": ({"url": "file:///wheels/x.whl", "archive_info": {}}, "/wheels/x.whl`"),
    "a repository": ({"url": "https://a.b/c.git", "vcs_info": {"vcs": "git"}}, "git+https://a.b/c.git`"),
    "an address": ({"url": "https://a.b/x.whl", "archive_info": {}}, "https://a.b/x.whl`"),
    "an index": (None, "WHEEL` with a wheel of this package or the folder of its clone in place of `WHEEL`"),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_repair_names_what_this_package_was_installed_from(
    origin: str, beside_a_rival: Path, tmp_path: Path
) -> None:
    """A command with the name of the package finds none, because it is on no index."""
    record, words = ORIGINS[origin]
    info = beside_a_rival / "ds_format_cython-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ds-format-cython\nVersion: 0.3\n")
    if record is not None:
        (info / "direct_url.json").write_text(json.dumps(record))
    found = run(["-m", "ds_format", "--version"], tmp_path, beside_a_rival)
    assert found.stderr.endswith(f"then `pip install --force-reinstall --no-deps {words}\n")


def test_a_package_without_files_is_no_rival(beside_a_rival: Path, tmp_path: Path) -> None:
    """docs/installing.md has such a package for those that require ds-format."""
    record = beside_a_rival / "ds_format-5.0.2.dist-info" / "RECORD"
    record.write_text("ds_format-5.0.2.dist-info/METADATA,,\n")
    assert run(["-m", "ds_format", "--version"], tmp_path, beside_a_rival).stderr == ""
    record.write_text("ds_format-5.0.2.dist-info/METADATA,,\nds_format/io.py,,\n")
    assert RIVAL in run(["-m", "ds_format", "--version"], tmp_path, beside_a_rival).stderr


def test_a_rival_is_not_looked_for_by_importing(beside_a_rival: Path, tmp_path: Path) -> None:
    code = (
        "import sys, ds_format as ds; ds.read; hasattr(ds, '__wrapped__'); from ds_format import ops; "
        "print('importlib.metadata' in sys.modules)"
    )
    found = run(["-c", code], tmp_path, beside_a_rival)
    assert (found.stdout, found.stderr) == ("False\n", "")
