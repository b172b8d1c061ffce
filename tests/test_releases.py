"""Each version reads the files of all former ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ds_format as ds

from . import release_files
from .release_files import FOLDER

ROOT = Path(__file__).parents[1]
RELEASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
FILES = [f"{release}/{path.name}" for release in RELEASES for path in release_files.files(FOLDER / release)]
N_FILES = {"0.2.0": 14}


def test_each_release_has_its_files() -> None:
    """`golden/ds/of_0.1.0` has ds files of version 0.1.0."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [*reversed(re.findall(r"^## (\d+\.\d+\.\d+)", changes, re.MULTILINE))] == ["0.1.0", *N_FILES]
    assert [*N_FILES] == RELEASES
    assert {name: len(release_files.files(FOLDER / name)) for name in RELEASES} == N_FILES


@pytest.mark.parametrize("name", FILES)
def test_files_of_former_releases(name: str) -> None:
    path = FOLDER / name
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    assert release_files.read(path) == expected[release_files.kind_of(path)]


@pytest.mark.parametrize("name", FILES)
def test_former_files_are_verified(name: str) -> None:
    assert ds.verify(FOLDER / name) == []


def test_the_files_of_this_version(tmp_path: Path) -> None:
    """They are made as those of a release are: reading back is part of it."""
    release_files.write(tmp_path / "now")
    assert len(release_files.files(tmp_path / "now")) == 14


def test_a_journal_of_0_2_0_is_continued(tmp_path: Path) -> None:
    """A line as that version wrote it, for a run with no options."""
    source, out = tmp_path / "a.nc", tmp_path / "out"
    ds.write(source, {"x": [1, 2]})
    [done] = ds.convert_many(source, out)
    status = source.stat()
    line = {"input": str(source), "size": status.st_size, "mtime_ns": status.st_mtime_ns, "options": "fd9eb8469dea763f"}
    line |= {"output": "a.ds", "output_size": done.size}
    (out / ".ds-convert.jsonl").write_text(json.dumps(line) + "\n")
    assert [found.status for found in ds.convert_many(source, out, resume=True)] == ["skipped"]
    (out / ".ds-convert.jsonl").write_text(json.dumps(line | {"size": "?"}) + "\n" + "{}\n")
    assert [found.status for found in ds.convert_many(source, out, resume=True)] == ["converted"]
