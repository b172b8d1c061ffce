"""The examples of the help: each runs as it stands, in a shell, in a folder with the files that it names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format
from ds_format.api import files
from ds_format.cli import commands
from ds_format.cli import help as explain
from ds_format.datadings.writer import FileWriter
from ds_format.zds.packing import unpack

NAMES = (
    "data.ds",
    "data.nc",
    "input.ds",
    "input.nc",
    "january.ds",
    "february.ds",
    "run1.ds",
    "run2.ds",
    "run1.nc",
    "a.ds",
    "b.nc",
    "data.msgpack",
    "store.zds",
    "data.bpk",
    "archive/2026/january.nc",
    "archive/february.nc",
)
"""Files that examples read, beside `run2.nc`, which differs from `run1.nc`."""
SILENT = ("diff", "verify")
"""Commands that print nothing where all is well."""
EXAMPLES = [
    *(("", line) for _, line in explain.page_of().examples),
    *((name, line) for name in commands.COMMANDS for _, line in commands.load(name).examples),
]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples read."""
    folder = tmp_path_factory.mktemp("samples")
    dims = {"time": np.arange(3.0), "lat": np.linspace(-60, 60, 5), "lon": np.linspace(0, 300, 6)}
    dataset: dict[str, Any] = {
        **dims,
        "temperature": np.array([250.0, 275.0, 300.0]),
        "pressure": np.linspace(900, 1000, 90).reshape(3, 5, 6),
        ".": {name: {".dims": [name], "units": "1"} for name in dims},
    }
    for name, names in (("temperature", ["time"]), ("pressure", list(dims))):
        dataset["."][name] = {".dims": names, "units": "K", "long_name": name}
    dataset["."]["time"]["units"] = "hours since 2026-01-01"
    dataset["."]["."] = {"title": "T"}
    (folder / "archive" / "2026").mkdir(parents=True)
    for name in NAMES:
        files.write(folder / name, dataset)
    (folder / "table.dat").write_text("time,temperature\n0,250\n")
    files.write(folder / "run2.nc", {**dataset, "pressure": dataset["pressure"] + 0.5})
    for name in ("a", "b"):
        with FileWriter(folder / f"{name}.msgpack") as writer:
            writer.write({"key": name})
    unpack(folder / "store.zds", folder / "weather")
    return folder


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_command_has_two(name: str) -> None:
    examples = commands.load(name).examples
    assert len(examples) >= 2
    assert len({line for _, line in examples}) == len(examples)
    for told, _ in examples:
        assert told.endswith((":", "?"))


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES], ids=lambda line: line)
def test_no_shell_changes_it(line: str) -> None:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    assert not re.search(r"[{}*?\[\]<>|&;$~#!]", bare)


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells the files of a folder from those that stood there before."""
    every = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in every}


@pytest.mark.parametrize(("command", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_it_runs_in_a_shell(command: str, line: str, samples: Path, folder: Path) -> None:
    if " -o " in line:
        pytest.importorskip("matplotlib")
    program = folder / "bin" / "ds"
    program.parent.mkdir()
    package = Path(ds_format.__file__).parents[1]
    program.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m ds_format "$@"\n')
    program.chmod(0o755)
    work = shutil.copytree(samples, folder / "work")
    before = contents(work)
    env = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(["sh", "-c", line], cwd=work, env=env, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.returncode in ((0, 1) if command == "diff" else (0,))
    if done.returncode or line.split()[1] not in SILENT:
        assert done.stdout.strip() or contents(work) != before


def test_braces_in_quotes_suit_every_shell(samples: Path, folder: Path) -> None:
    for shell in ("bash", "dash", "zsh", "fish", "tcsh"):
        if shutil.which(shell):
            line = f"{sys.executable} -m ds_format cat -n time data.ds sel: '{{ time: {{ 0 2 }} }}'"
            env = {**os.environ, "PYTHONPATH": str(Path(ds_format.__file__).parents[1])}
            done = subprocess.run([shell, "-c", line], cwd=samples, env=env, capture_output=True, text=True, timeout=60)
            assert (done.stdout, done.stderr) == ("0.000000\n2.000000\n", ""), shell
