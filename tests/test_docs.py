"""What the documents show is true: each block of code runs, and prints what the `text` block behind it says.

`pytest tests/test_docs.py --write-documents` puts what is printed now into the documents.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ds_format
from ds_format.cli.commands import COMMANDS

from .conftest import ROOT
from .drivers.netcdf_compare import differences
from .remote.server import Server

DOCUMENTS = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts),
]
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]

FENCED = re.compile(
    r"(?:^<!-- (?:not run: (?P<reason>.+)|needs: (?P<needs>.+)) -->\n)?^```(?P<language>.*)\n(?P<code>(?:.*\n)*?)```$",
    re.MULTILINE,
)
NOT_CODE = ("text", "json", "{")
"""What begins so is not run: what is printed, and directives."""


class Block(NamedTuple):
    language: str
    code: str
    line: int
    """Of the document, before the first one of the code."""
    reason: str | None
    """Why it is not run."""
    needs: str
    """Modules without which it is not run."""
    output: tuple[int, int] | None
    """Where in the document stands what it prints, if it says so."""


def blocks(text: str) -> Iterator[Block]:
    found = list(FENCED.finditer(text))
    assert text.count("```") == 2 * len(found)
    for i, match in enumerate(found):
        behind = found[i + 1] if i + 1 < len(found) else None
        shown = behind is not None and behind["language"] == "text" and not text[match.end() : behind.start()].strip()
        line = text.count("\n", 0, match.start("code"))
        output = behind.span("code") if behind is not None and shown else None
        yield Block(match["language"], match["code"], line, match["reason"], match["needs"] or "", output)


@pytest.fixture
def host() -> Iterator[Server]:
    """A web server with the files of the page on remote files."""
    pressure = np.arange(24 * 90 * 180, dtype="f4").reshape(24, 90, 180) % 11 + 1000
    dims = {"time": {".dims": ["time"]}, "pressure": {".dims": ["time", "lat", "lon"]}}
    datasets: dict[str, Any] = {"grid.ds": {"time": np.arange(24), "pressure": pressure, ".": dims}}
    for day, rain in enumerate([0.0, 2.5, 1.0]):
        meta = {"time": {".dims": ["time"]}, "rain": {".dims": ["time"], "units": "mm"}}
        datasets[f"day{day}.ds"] = {"time": [day], "rain": [rain], ".": meta}
    server = Server({name: ds_format.dumps(one) for name, one in datasets.items()})
    yield server
    server.close()


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_blocks_run(path: Path, pytestconfig: pytest.Config, host: Server) -> None:
    old = new = path.read_text()
    names: dict[str, Any] = {"__name__": path.stem}
    if path.name == "remote.md":
        if not all(map(is_installed, ("urllib3", "xarray"))):
            pytest.skip("needs urllib3 and xarray")
        names["HOST"] = host.url().rstrip("/")
    for block in blocks(old):
        if block.reason or block.language.startswith(NOT_CODE) or not all(map(is_installed, block.needs.split(", "))):
            continue
        where = f"{path.name}, line {block.line}"
        assert block.language in ("python", "sh"), where
        printed = run_python(block, where, names) if block.language == "python" else run_shell(block.code)
        if block.output is not None:
            start, end = (place + len(new) - len(old) for place in block.output)
            if not pytestconfig.getoption("write_documents"):
                assert printed == new[start:end], where
            new = new[:start] + printed + new[end:]
    if new != old:
        path.write_text(new)


def is_installed(module: str) -> bool:
    return not module or importlib.util.find_spec(module) is not None


def run_python(block: Block, where: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile("\n" * block.line + block.code, where, "exec"), names)
    return stream.getvalue()


def run_shell(code: str) -> str:
    return subprocess.run(["sh", "-e", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_the_commands_of_the_readme_are_run_by_ci() -> None:
    excused = [block.code for block in blocks((ROOT / "README.md").read_text()) if block.reason]
    assert len(excused) == 2
    assert all(re.fullmatch(r"python3 -m venv \.venv && .*\n", code) for code in excused)
    assert "'^python3 -m venv'" in (ROOT / ".ci" / "common").read_text()
    for name in ("run", "newest", "second"):
        assert '/common"' in (ROOT / ".ci" / name).read_text()


def test_only_blocks_that_install_or_check_are_excused() -> None:
    excused = {path.name for path in DOCUMENTS if any(block.reason for block in blocks(path.read_text()))}
    assert excused == {"README.md", "CONTRIBUTING.md", "index.md"}


def test_links_lead_to_files() -> None:
    for path in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
            assert link.startswith("https://") or (path.parent / link).is_file(), f"{path.name}: {link}"


def test_every_command_has_a_page_that_shows_its_help() -> None:
    for name in COMMANDS:
        page = ROOT / "docs" / "commands" / f"{name}.md"
        assert page.read_text().count(f"```{{ds-help}} {name}\n```\n") == 1, page


def test_the_sample_is_what_its_script_makes(tmp_path: Path) -> None:
    sample = ROOT / "examples" / "sample.nc"
    runpy.run_path(str(ROOT / "examples" / "make_sample.py"))["make"](tmp_path / "sample.nc")
    assert differences(sample, tmp_path / "sample.nc") == []
    assert sample.stat().st_size < 30_000
