"""The gallery: scripts of `docs/gallery_src` run commands by `sh`; their pages show these, and what they draw.

sphinx-gallery executes the scripts. A page has the command as a reader would type it, not the Python around it.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx.application import Sphinx

import ds_format

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "examples" / "sample.nc"
DATA = (".ds", ".nc")
PICTURES = (".png", ".svg")
CODE = re.compile(r"^\.\. code-block:: Python\n\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
UNWANTED = (
    re.compile(
        r"^\.\. only:: html\n\n    \.\. note::\n        :class: sphx-glr-download-link-note\n(?:\n|     .*\n)*",
        re.MULTILINE,
    ),
    re.compile(r"^\.\. _sphx_glr_download_.*", re.MULTILINE | re.DOTALL),
    re.compile(r"^\.\. rst-class:: sphx-glr-timing\n\n.*\n", re.MULTILINE),
)


class Run:
    """The folder of the commands of one script, and their output."""

    folder: tempfile.TemporaryDirectory[str]
    commands: list[str]
    pictures: list[Path]
    printed: list[str]

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.commands, self.pictures, self.printed = [], [], []
        shutil.copy(SAMPLE, self.folder.name)
        command = Path(self.folder.name, "bin", "ds")
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ds_format "$@"\n')
        command.chmod(command.stat().st_mode | stat.S_IXUSR)

    def environment(self) -> dict[str, str]:
        """Return the variables that a command sees: `ds` on the path, and a terminal of a size that fits a page."""
        changed = {
            "PATH": f"{self.folder.name}/bin{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(ds_format.__file__).parents[1]),
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "72",
            "LINES": "22",
        }
        return {key: value for key, value in os.environ.items() if key != "DS_MODE"} | changed


runs: list[Run] = []


def fresh(_conf: dict[str, Any], _path: str) -> None:
    """Begin a script, in a folder of its own that has the sample."""
    runs[:] = [Run()]


def sh(command: str) -> None:
    """Run a command where the files of the script are, and keep what it draws or prints.

    Raises
    ------
    RuntimeError
        If it fails, or says anything on stderr.
    """
    (run,) = runs
    folder = Path(run.folder.name)
    for path in Path().iterdir():
        if path.suffix in DATA:
            shutil.move(path, folder / path.name)
    before = set(folder.iterdir())
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=folder, env=run.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command}\nstatus {done.returncode}\n{done.stderr}")
    run.commands.append(command)
    run.pictures += sorted(path for path in set(folder.iterdir()) - before if path.suffix in PICTURES)
    if done.stdout:
        run.printed.append(done.stdout)


def scrape(_block: Any, variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Take what the commands of a block made, and return what shows it: text as a terminal would."""
    (run,) = runs
    shown = []
    for made, kind in [*((path, "drawn") for path in run.pictures), *((text, "terminal") for text in run.printed)]:
        target = Path(next(variables["image_path_iterator"]))
        if isinstance(made, Path):
            shutil.copy(made, target)
        else:
            photograph(made, target)
        place, words = os.path.relpath(target, conf["src_dir"]), run.commands[-1]
        shown.append(f"\n.. image:: /{place}\n   :alt: Drawn by the command: {words}\n   :class: {kind}\n")
    run.pictures, run.printed = [], []
    return "".join(shown)


def photograph(text: str, path: Path) -> None:
    """Draw text as a terminal shows it. Braille is drawn dot by dot: few fonts have it."""
    lines = text.splitlines()
    size, columns = 10.0, max(map(len, lines)) + 2
    width, height = 0.602 * size, 1.5 * size
    font = {"family": "DejaVu Sans Mono", "size": size}
    figure = Figure(figsize=(columns * width / 72, (len(lines) + 1) * height / 72), facecolor="#1e2127")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-1, columns - 1), ylim=(len(lines) + 0.5, -0.5))
    axes.set_axis_off()
    dots = []
    for row, line in enumerate(lines):
        for column, character in enumerate(line):
            if "\u2800" <= character <= "\u28ff":
                dots += [(column + x, row + y) for x, y in raised(ord(character) - 0x2800)]
            elif character != " ":
                axes.text(column, row + 0.5, character, color="#d7dae0", va="center", **font)
    if dots:
        axes.scatter(*zip(*dots, strict=True), s=2.5, color="#61afef", linewidths=0)
    figure.savefig(path, dpi=100)


def raised(bits: int) -> Iterator[tuple[float, float]]:
    """Yield where in its cell the dots of a character of Braille are."""
    for bit, (column, row) in enumerate([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]):
        if bits >> bit & 1:
            yield 0.25 + 0.5 * column, 0.125 + 0.25 * row


def as_typed(match: re.Match[str]) -> str:
    """Return a block of Python with its calls of `sh` as blocks of commands."""
    code = "\n".join(line[4:] for line in match[1].splitlines())
    commands, rest = [], []
    for node in ast.parse(code).body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "sh":
            commands.append(ast.literal_eval(call.args[0]))
        elif not (isinstance(node, ast.ImportFrom) and node.module == "pictures"):
            rest.append(node)
    if not commands:
        return match[0]
    if rest:
        raise ValueError(f"a block has commands and other code: {code}")
    lines = "\n".join(f"    {line}" for line in "\n".join(commands).splitlines())
    return f".. code-block:: sh\n\n{lines}\n\n"


def show_commands(_app: Sphinx, name: str, source: list[str]) -> None:
    """Change the page of a script before it is read."""
    if name.startswith("gallery/"):
        for part in UNWANTED:
            source[0] = part.sub("", source[0])
        source[0] = CODE.sub(as_typed, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("source-read", show_commands)
    return {"parallel_read_safe": True}
