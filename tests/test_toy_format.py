"""A format of another package, which is installed beside this one: all commands know it.

It is the one that `docs/formats.md` shows, `examples/toy_format`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
POINT = "[ds_format.formats]\ntoy = toy_format:FORMAT\n"
TEXT = "toy\nrain: 0.5 nan 2.0\nsnow depth: 1.0 2.0 3.0\n"


def install(site: Path, points: str = POINT) -> None:
    """Put the package into a folder, as pip does."""
    shutil.copy(ROOT / "examples" / "toy_format" / "toy_format.py", site)
    info = site / "toy_format-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-format\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    install(tmp_path / "site")
    (tmp_path / "a.toy").write_text(TEXT)
    return tmp_path


def python(folder: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "site"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


def ds(folder: Path, *words: str, status: int = 0) -> str:
    done = python(folder, "-m", "ds_format", *words, status=status)
    assert done.stderr == "" or status
    return done.stdout + done.stderr


def test_its_package_has_the_module_and_the_entry_point(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    package = shutil.copytree(ROOT / "examples" / "toy_format", tmp_path / "toy")
    words = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "build", "egg_info"]
    done = subprocess.run(words, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (package / "build" / "lib").iterdir()] == ["toy_format.py"]
    assert (package / "toy_format.egg-info" / "entry_points.txt").read_text() == POINT


def test_the_contract(folder: Path) -> None:
    shutil.copy(ROOT / "examples" / "toy_format" / "test_toy_format.py", folder)
    done = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_toy_format.py")
    assert " passed" in done.stdout


def test_help_and_content(folder: Path) -> None:
    assert ".toy" in ds(folder, "--help")
    (folder / "a.toy").rename(folder / "a")
    assert ds(folder, "ls", "a") == 'rain\n"snow depth"\n'


def test_what_is_wrong_is_said(folder: Path) -> None:
    (folder / "a.toy").write_text("toy\nrain: 0.5 x\n")
    assert ds(folder, "ls", "a.toy", status=1) == "ds ls: a.toy: line 2: could not convert string to float: 'x'\n"
    assert "line 2: could not convert" in ds(folder, "verify", "a.toy", status=1)
    ds(folder, "select", str(ROOT / "examples" / "sample.nc"), "b.toy", status=1)
    assert not (folder / "b.toy").exists()


def test_a_format_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", POINT + "broken = no_such_module:FORMAT\nother = toy_format:ToySource\n")
    (tmp_path / "a.toy").write_text(TEXT)
    done = python(tmp_path, "-c", "import ds_format as ds; print(*ds.read('a.toy'))")
    assert done.stdout == "rain snow depth .\n"
    assert "entry point broken of ds_format.formats" in done.stderr and "no_such_module" in done.stderr
    assert "found type, expected ds_format.drivers.Format" in done.stderr


def test_built_in_formats_are_read_without_asking_others(folder: Path) -> None:
    code = (
        "import sys, ds_format as ds; ds.write('a.ds', {'x': 1}); ds.read('a.ds'); print('toy_format' in sys.modules)"
    )
    assert python(folder, "-c", code).stdout == "False\n"
