"""The reader in C gives the values of `ds.read`, and refuses other variables. It is safe with hostile headers."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.base.text import escape
from ds_format.errors import DsError

from .. import golden_ds as golden
from ..conftest import ROOT
from ..headers.corpus import File, families
from ..headers.mutations import mutated
from . import documented

GCC = shutil.which("gcc")
pytestmark = pytest.mark.skipif(GCC is None, reason="needs gcc")
SOURCES = [ROOT / "examples" / "c" / name for name in ("ds_reader.c", "print_variable.c")]
WARNINGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SUPPORTED = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {"float32", "float64"}
FILES = [path.relative_to(golden.FOLDER).as_posix() for path in sorted(golden.FOLDER.rglob("*.ds"))]
UNRECOGNISED = ("v1_broken/", "v2_broken/")
"""Faults of old writers, which the program does not recognise, as docs/other_languages.md says."""


def build(folder: Path, *options: str) -> Path:
    assert GCC is not None
    program = folder / "print_variable"
    subprocess.run([GCC, *WARNINGS, *options, "-O1", "-o", program, *SOURCES], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c")
    try:
        return build(folder, *SANITIZERS)
    except subprocess.CalledProcessError:  # without the libraries of the sanitizers
        return build(folder)


def run(program: Path, name: str, *paths: Path) -> dict[Path, str]:
    """Return what the program prints for each file."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run([program, name, *paths], capture_output=True, check=False, env=environment)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr.decode()[-3000:]
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(paths)
    return {path: line.removeprefix(f"{path}: ") for path, line in zip(paths, lines, strict=True)}


def is_supported(data: Any, meta: dict[str, Any]) -> bool:
    return meta[".type"] in SUPPORTED and data is not None and not np.ma.is_masked(data)


def check(line: str, data: Any, meta: dict[str, Any]) -> None:
    """Compare a line of the program with what `ds.read` returns."""
    array = np.asarray(data)
    shape, _, words = line.partition("]")
    assert shape == f"{meta['.type']} [{', '.join(map(str, array.shape))}"
    read = np.array([*map(float if array.dtype.kind == "f" else int, words.split())], array.dtype)
    np.testing.assert_array_equal(read, array.reshape(-1))


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in SOURCES[0].parent.iterdir():
        shutil.copy(path, tmp_path)
    ds.convert(ROOT / "examples" / "sample.nc", "sample.ds")
    commands, printed = documented("sh")
    assert subprocess.run(commands, shell=True, check=True, capture_output=True, text=True).stdout == printed


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FILES)
def test_golden_files(program: Path, name: str) -> None:
    path = golden.FOLDER / name
    try:
        dataset = ds.read(path, full=True, unpack=False)
    except DsError:
        assert "]" not in run(program, "x", path)[path] or name.startswith("corrupt/")
        return
    keys = [key for key in dataset if key.isascii() and key.isidentifier()] if not name.startswith(UNRECOGNISED) else []
    for key in keys[:20]:  # each is a process
        data = dataset[key]
        line = run(program, key, path)[path]
        if is_supported(data, dataset["."][key]) and not line.startswith(f'variable "{key}": .missing'):
            check(line, data, dataset["."][key])
        else:
            assert line.startswith(f'variable "{key}": .')


def test_names(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    ds.write(path, {"wind speed/10 m": [1.5, -2.0], "\\.x": [1], "temperature": np.int8(7)})
    assert run(program, "wind speed/10 m", path) == {path: "float64 [2] 1.5 -2"}
    assert run(program, "temperature", path) == {path: "int8 [] 7"}
    assert run(program, "temp", path) == {path: 'variable "temp": not found'}
    for name in (".", ".x", "\\.x", 'a"'):
        assert "are not supported" in run(program, name, path)[path]


def test_a_file_that_is_not_there_or_truncated(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    assert run(program, "x", path) == {path: 'variable "x": cannot be opened'}
    ds.write(path, {"x": np.arange(1000.0)})
    path.write_bytes(path.read_bytes()[:-1])
    assert run(program, "x", path) == {path: 'variable "x": .size: the values go beyond the end of the file'}


def names(file: File) -> list[str]:
    """Return the variables of a file that the program may know."""
    try:
        return [name for name in ds.loads(file.head + file.body) if name.isascii() and name.isidentifier()]
    except DsError:
        return ["x"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_hostile_headers(program: Path, tmp_path: Path) -> None:
    dice = random.Random(1)
    files = [(file, names(file)) for family in families() for file in family]
    files = [row for row in files if row[1]]
    by_name: dict[str, list[Path]] = {}
    for i in range(600):
        file, known = dice.choice(files)
        path = tmp_path / f"{i}.ds"
        path.write_bytes(mutated(dice, file.head) + file.body[: dice.choice((None, None, 10))])
        by_name.setdefault(dice.choice(known), []).append(path)
    n_read = 0
    for name, paths in by_name.items():
        for path, line in run(program, name, *paths).items():
            if "]" not in line:
                continue
            try:
                dataset = ds.read(path, [name], full=True, unpack=False)
            except (DsError, ValueError):
                continue
            check(line, dataset[escape(name)], dataset["."][escape(name)])
            n_read += 1
    assert n_read > 50
