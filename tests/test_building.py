"""`setup.py` in a folder with two small kernels and with a compiler that only notes how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

for name in ("setuptools", "Cython", "numpy"):
    pytest.importorskip(name)

ROOT = Path(__file__).parents[1]
COMPILER = """#!/bin/sh
echo "$@" >>calls
while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then echo "not for this machine" >"$2"; fi
    shift
done
"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="the compiler is a shell script")]


def calls(folder: Path, **settings: str) -> list[list[str]]:
    """Build in a folder, and return the words of each call of the compiler that compiles."""
    for name in ("setup.py", "README.md"):
        shutil.copy(ROOT / name, folder)
    (folder / "ds_format" / "kernels").mkdir(parents=True)
    for name in ("small", "numpy_strings"):
        (folder / "ds_format" / "kernels" / f"{name}.pyx").write_text("def one():\n    return 1\n")
    compiler = folder / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    unset = ("CFLAGS", "DS_FORMAT_MARCH", "DS_FORMAT_CHECKED")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"CC": str(compiler), "LDSHARED": f"{compiler} -shared", **settings}
    words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, timeout=300)
    made = {path.stem.partition(".")[0] for path in (folder / "ds_format").rglob("*.so")}
    assert {"small", "numpy_strings"} <= made
    return [line.split() for line in (folder / "calls").read_text().splitlines() if " -c " in f" {line} "]


def test_nothing_is_imported_that_was_compiled(tmp_path: Path) -> None:
    """Otherwise the build would fail: these files are no libraries, as if compiled for another processor."""
    assert len(calls(tmp_path)) >= 3


def test_flags_of_the_packager_win(tmp_path: Path) -> None:
    for words in calls(tmp_path, CFLAGS="-O1 -g3 -march=native"):
        for ours, theirs in (("-O3", "-O1"), ("-g0", "-g3")):
            assert ours in words and words[::-1].index(theirs) < words[::-1].index(ours)
        assert [word for word in words if word.startswith("-march")][-1] == "-march=native"


@pytest.mark.parametrize(
    ("settings", "march"),
    [
        ({"DS_FORMAT_MARCH": "x86-64-v3"}, ["-march=x86-64-v3"]),
        ({"DS_FORMAT_MARCH": ""}, []),
        ({}, ["-march=x86-64-v2"] if sysconfig.get_platform() == "linux-x86_64" else []),
        ({"_PYTHON_HOST_PLATFORM": "linux-aarch64"}, []),
    ],
)
def test_the_processor(settings: dict[str, str], march: list[str], tmp_path: Path) -> None:
    for words in calls(tmp_path, **settings):
        assert [word for word in words if word.startswith("-march")] == march


def test_one_kernel_needs_numpy_2(tmp_path: Path) -> None:
    for words in calls(tmp_path):
        (target,) = [word for word in words if "NPY_TARGET_VERSION" in word]
        needs_2 = any(word.endswith("numpy_strings.c") for word in words)
        assert target.endswith("NPY_2_0_API_VERSION" if needs_2 else "NPY_1_25_API_VERSION")
